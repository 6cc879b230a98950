// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watching: deaths, ends, restarts, the end of the system.

use crate::component::{self, Running};
use crate::resources::Resources;
use crate::{power_off, say};
use image::{OnDeath, System};
use macadamia::alloc::vec::Vec;
use macadamia::ipc::{Message, Received, receive};
use macadamia::{MessageKind, cap, start, time, utcb};

/// Notification bit of the alarm for restarts.
const RESTART: u32 = 1 << 31;

/// Serves for ever. Ends the machine when the description says so, or when nothing
/// but servers that never end is left.
pub fn serve(resources: &mut Resources, system: &System, mut all: Vec<Running>) -> ! {
    utcb::accept(RESTART);
    let mut due: Vec<(u64, usize)> = Vec::new();
    loop {
        let Ok(received) = receive(None) else { continue };
        if received.kind == MessageKind::Notification {
            restart_due(resources, system, &mut all, &mut due);
        } else {
            let index = (received.badge as usize).wrapping_sub(1);
            if index >= all.len() {
                continue;
            }
            if let Some(failed) = ended(system, index, &received) {
                bury(system, &mut all, &mut due, index, failed);
            } else {
                // Not a request that it knows: the caller may go on.
                let _ = macadamia::ipc::reply(received.handle, Message::new([u32::MAX, 0, 0]));
            }
        }
        program(&due);
        let busy = system.components.iter().zip(&all).any(|(c, r)| r.alive && c.name != "console" && c.name != "clock" && !c.service);
        if !busy && due.is_empty() {
            power_off();
        }
    }
}

/// Whether a message means that its sender has ended, and then whether it failed.
fn ended(system: &System, index: usize, received: &Received) -> Option<bool> {
    let name = system.components.get(index).map_or("?", |c| &c.name);
    match received.kind {
        MessageKind::Exception => {
            let frame = cap::frame();
            let [vector, address, error] = received.words;
            say(format_args!("`{name}` died: exception {vector}, error {error:#x}, address {address:#x}, at {:#x}", frame.eip));
            Some(true)
        }
        MessageKind::Call if received.words[0] == start::EXIT => {
            let code = received.words[1];
            if code != 0 {
                say(format_args!("`{name}` ended with code {code}"));
            }
            Some(code != 0)
        }
        _ => None,
    }
}

/// Takes a component down and does what the description says.
fn bury(system: &System, all: &mut [Running], due: &mut Vec<(u64, usize)>, index: usize, failed: bool) {
    let (Some(component), Some(running)) = (system.components.get(index), all.get_mut(index)) else { return };
    if let Err(error) = component::take_down(running) {
        say(format_args!("cannot take `{}` down: {}", component.name, error.text()));
    }
    match component.on_death {
        OnDeath::Stop if failed => {
            say(format_args!("`{}` stops the system", component.name));
            power_off();
        }
        OnDeath::Restart { first_ms, most_ms } if failed => {
            let doubled = u64::from(first_ms) << running.restarts.min(16);
            let delay = doubled.min(u64::from(most_ms)) * 1_000_000;
            running.restarts += 1;
            due.push((time::now() + delay, index));
        }
        _ => {}
    }
}

fn restart_due(resources: &mut Resources, system: &System, all: &mut [Running], due: &mut Vec<(u64, usize)>) {
    let now = time::now();
    let ready: Vec<usize> = due.iter().filter(|(at, _)| *at <= now).map(|(_, index)| *index).collect();
    due.retain(|(at, _)| *at > now);
    for index in ready {
        if let Err(error) = component::start(resources, system, all, index) {
            let name = system.components.get(index).map_or("?", |c| &c.name);
            say(format_args!("cannot start `{name}` again: {}", error.text()));
        }
    }
}

fn program(due: &[(u64, usize)]) {
    if let Some(at) = due.iter().map(|(at, _)| *at).min() {
        let _ = time::alarm(at, RESTART);
    }
}
