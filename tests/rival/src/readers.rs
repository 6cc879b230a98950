// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leaves dead readers at the console, more than the console has memory for.

use core::sync::atomic::{AtomicU32, Ordering};
use macadamia::ipc::{self, Message, send};
use macadamia::start::{self, Usage, components};
use macadamia::{Env, Error, Result, Thread, cap, console, result, slot, thread};

const CONSOLE: Thread = Thread(slot::CONSOLE);
/// Readers that die while they wait: their handles by themselves are more than the console's heap.
const DEAD: u32 = 20_000;
/// One more than may wait.
const CROWD: u32 = console::READERS + 1;
/// Above the first thread: when that continues, a reader waits.
const PRIORITY: u32 = 101;

/// Readers that did not wait, because there were too many.
static REFUSED: AtomicU32 = AtomicU32::new(0);

extern "C" fn reader(_: u32) -> ! {
    while console::read() != Err(Error::BadState) {}
    REFUSED.fetch_add(1, Ordering::Relaxed);
    loop {
        // For ever: it is never notified.
        let _ = ipc::wait(0);
    }
}

/// A thread that waits for input.
fn waiting(env: &mut Env) -> Result<Thread> {
    let thread = thread::spawn(reader, 0, env.free_slot())?;
    thread.set_priority(PRIORITY, PRIORITY)?;
    Ok(thread)
}

fn attack(env: &mut Env) -> Result<()> {
    // The input needs no answer, and no thread waits for one.
    for _ in 0..DEAD {
        send(CONSOLE, Message::new([console::READ, 0, 0]))?;
    }
    // To the console each of these is a thread that died and another one that came.
    let mortal = waiting(env)?;
    for _ in 0..DEAD {
        mortal.stop()?;
        mortal.set_registers(&mortal.registers()?, true)?;
    }
    cap::delete(mortal.0)?;
    for _ in 0..CROWD {
        waiting(env)?;
    }
    Ok(())
}

/// Attacks, and lets the witness report the result.
pub fn run(mut env: Env) {
    result!("not ok rival.results: a component writes results that the description does not let");
    let watched = start::status("console").map(|_| ()).or(Usage::of_root().map(|_| ()));
    if watched.is_ok() || components().next().is_some() {
        panic!("the root server answers a component that the description does not let watch");
    }
    if let Err(error) = attack(&mut env) {
        panic!("the attack failed: {}", error.text());
    }
    if let Err(error) = env.thread("witness").ask([REFUSED.load(Ordering::Relaxed), 0, 0]) {
        panic!("no witness: {}", error.text());
    }
}
