// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver of a network card: it gives the card slots of its port's memory (docs/net.md), and
//! the switch the slots that the card has filled. It sees the descriptors and this memory, and no
//! client's memory.
//!
//! The card is a virtio network card or an 82540EM (grants `card`, `queue`). Before the port is
//! attached again the card is reset, so that it no longer writes to any slot.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod card;
mod e1000;
mod lane;
mod measured;

use card::Found;
use lane::{Receive, Send, Trouble};
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::card::Card;
use macadamia::heartbeat::Heart;
use macadamia::net::port::{AGAIN, FRAMES, Port, Rings};
use macadamia::{Env, Irq, Word, ipc, println, time};
use measured::Measured;

macadamia::main!(run);

/// Notification bits of the card's interrupt (the description's `interrupt`) and of the alarm.
const INTERRUPT: u32 = 1;
const ALARM: u32 = 2;
/// How long nothing is tried after trouble, in nanoseconds: at first, and at most.
const FIRST_PAUSE: u64 = 1_000_000;
const LONGEST_PAUSE: u64 = 1_000_000_000;

fn run(env: Env) {
    let Some(port) = Port::find(&env) else {
        panic!("it needs the memory `network`, and `switch` and `switch-bell` to call and notify")
    };
    let mut heart = Heart::new(&env, ALARM as Word);
    let measured = Measured::of(&env);
    let mut pause = FIRST_PAUSE;
    let mut line = None;
    loop {
        let began = time::now();
        let result = match open(&env, &mut line) {
            #[cfg(target_endian = "little")]
            Ok(Some((Found::Virtio(mut card), irq))) => {
                drive(&port, &mut heart, measured.as_ref(), &mut *card, irq)
            }
            Ok(Some((Found::E1000(mut card), irq))) => {
                drive(&port, &mut heart, measured.as_ref(), &mut card, irq)
            }
            Ok(None) => idle(&port, &mut heart),
            Err(reason) => {
                println!("no network card: {reason}");
                idle(&port, &mut heart)
            }
        };
        // The card was reset when it was dropped.
        if let Err(trouble) = result {
            if time::now() - began > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            println!("{trouble}: begins again in {} ms", pause / 1_000_000);
            pause_for(&mut heart, pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// The card, reset, and its interrupt line, if the machine has one. The line is opened once.
fn open(env: &Env, line: &mut Option<Irq>) -> Result<Option<(Found, Irq)>, String> {
    let Some(card) = card::open(env)? else { return Ok(None) };
    let irq = match *line {
        Some(irq) => irq,
        None => *line.insert(env.open_irq(card::GRANT, "interrupt")?),
    };
    // An interrupt from before the reset was perhaps not taken back.
    irq.acknowledge().map_err(|error| format!("no interrupt: {}", error.text()))?;
    Ok(Some((card, irq)))
}

/// Does nothing for this many nanoseconds. What is notified meanwhile waits.
fn pause_for(heart: &mut Heart, nanoseconds: u64) {
    let end = time::now() + nanoseconds;
    while time::now() < end {
        // Without an alarm it goes on at once.
        if heart.alarm(Some(end)).and_then(|()| ipc::wait(ALARM)).is_err() {
            return;
        }
    }
}

/// Without a card: says so to each life of the switch.
fn idle(port: &Port, heart: &mut Heart) -> Result<(), Trouble> {
    port.attach_card(None)?;
    loop {
        heart.alarm(None)?;
        if ipc::wait(AGAIN | ALARM)? & AGAIN != 0 {
            return Ok(());
        }
    }
}

/// Carries frames until the port has to be attached again.
fn drive(
    port: &Port,
    heart: &mut Heart,
    measured: Option<&Measured>,
    card: &mut impl Card,
    irq: Irq,
) -> Result<(), Trouble> {
    let mut link = card.link();
    let Rings { input, output } = port.attach_card(Some(link))?;
    let (mut receive, mut send) = (Receive::new(output), Send::new(input));
    loop {
        while receive.turn(card, port)? | send.turn(card, port, measured)? {}
        heart.alarm(None)?;
        let bits = ipc::wait(INTERRUPT | FRAMES | AGAIN | ALARM)?;
        if bits & AGAIN != 0 {
            return Ok(());
        }
        if bits & INTERRUPT != 0 {
            if let Some(measured) = measured {
                measured.interrupted();
            }
            let changed = card.acknowledge();
            irq.acknowledge()?;
            let now = card.link();
            if changed && now != link {
                link = now;
                port.link(link.is_up)?;
            }
        }
    }
}
