// SPDX-License-Identifier: MIT OR Apache-2.0
//! The component that misbehaves, a different way in each life.

use crate::request;
use core::hint::black_box;
use macadamia::heartbeat::Heart;
use macadamia::ipc::{self, Message};
use macadamia::{Env, Error, MessageKind, Quota, Thread, Word, println, slot, start, utcb};

/// Notification bit of the alarm for its heartbeats.
const ALARM: Word = 1;
/// Calls that it answers before it misbehaves.
const CALLS: u32 = 20;
/// Messages in a flood.
const FLOOD: Word = 100_000;
/// Mapped by nobody.
const NOWHERE: Word = 0x7000_0000;

/// What it does, life after life; afterwards it behaves.
const MISDEEDS: [fn(&mut Env); 8] = [
    read_nowhere,
    write_kernel_page,
    mask_interrupts,
    overflow_stack,
    panic,
    flood,
    exhaust_quota,
    hang,
];

/// Lives in which it misbehaves.
pub const LIVES: u32 = MISDEEDS.len() as u32;

/// Serves, and misbehaves.
pub fn run(mut env: Env) {
    let life = env.start.restarts;
    let misdeed = MISDEEDS.get(life as usize);
    let (mut handle, mut answer, mut calls) = (0, Message::default(), 0);
    let mut heart = Heart::new(&env, ALARM);
    utcb::accept(ALARM as u32);
    loop {
        if let Err(error) = heart.alarm(None) {
            println!("cannot send a heartbeat: {}", error.text());
        }
        match ipc::reply_wait(handle, answer) {
            Ok(received) if received.kind == MessageKind::Notification => handle = 0,
            Ok(received) => {
                let [asked, number, _] = received.words;
                let number = if asked == request::ADD_ONE { number.wrapping_add(1) } else { 0 };
                (handle, answer) = (received.handle, Message::new([number, life as Word, 0]));
                calls += 1;
            }
            // The caller is gone.
            Err(_) => handle = 0,
        }
        if let Some(misdeed) = misdeed.filter(|_| calls == CALLS) {
            // The caller of the last call waits: it has to learn of the restart.
            misdeed(&mut env);
            start::exit(1);
        }
    }
}

fn read_nowhere(_: &mut Env) {
    println!("reading memory that is not there");
    println!("read {}", black_box(start::bytes(NOWHERE, 1))[0]);
}

fn write_kernel_page(_: &mut Env) {
    println!("writing the kernel's information page");
    start::fill(black_box(abi::utcb::KIP_ADDRESS), 4, &[]);
}

/// By the port of the interrupt controller, which only the kernel has.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn mask_interrupts(_: &mut Env) {
    const MASK: u16 = 0x21;
    println!("executing a privileged instruction: masking every interrupt");
    macadamia::port::write8(MASK, 0xff);
}

/// By the port of the interrupt controller, which only the kernel has.
#[cfg(any(target_arch = "powerpc", target_arch = "mips64", target_arch = "wasm32"))]
fn mask_interrupts(_: &mut Env) {
    const MASK: u16 = 0x21;
    println!("writing to a port that is the kernel's: masking every interrupt");
    macadamia::port::write8(MASK, 0xff);
}

/// By the interrupt controller's register, where the kernel sees it.
#[cfg(target_arch = "arm")]
fn mask_interrupts(_: &mut Env) {
    const DISABLE: u32 = 0xf014_0014;
    println!("writing the kernel's view of a device: masking every interrupt");
    start::fill(black_box(DISABLE), 4, &[0xff; 4]);
}

fn overflow_stack(_: &mut Env) {
    fn deeper(depth: u32) -> u32 {
        let room = black_box([depth; 256]);
        if depth == u32::MAX { 0 } else { deeper(depth + 1) + room[0] }
    }
    println!("using more stack than there is");
    println!("{}", deeper(0));
}

fn panic(_: &mut Env) {
    let empty: &[u32] = black_box(&[]);
    println!("panicking");
    println!("{}", empty[black_box(3)]);
}

/// Sends to the rhythm as fast as it can.
fn flood(env: &mut Env) {
    println!("flooding the rhythm with {FLOOD} messages");
    let rhythm = env.thread("rhythm");
    let (mut taken, mut refused) = (0, 0);
    for i in 0..FLOOD {
        match ipc::send_poll(rhythm, Message::new([i, i, i])) {
            Ok(()) => taken += 1,
            Err(_) => refused += 1,
        }
    }
    println!("{taken} taken, {refused} refused");
}

/// Takes the processor for good: neither its clients nor the root server's first thread get any of
/// it.
fn hang(_: &mut Env) {
    println!("going round in circles");
    // Without a `pause`: at each, QEMU leaves what it translated, and 200 ms of its own time would
    // be a hundred million of them.
    loop {
        black_box(());
    }
}

/// Makes spaces until it cannot pay for another, and threads until there is no room either.
fn exhaust_quota(env: &mut Env) {
    println!("making spaces and threads until the Quota is used up");
    let quota = Quota(slot::QUOTA as Word);
    let count = |make: &mut dyn FnMut() -> Result<(), Error>| {
        let mut made = 0;
        loop {
            match make() {
                Ok(()) => made += 1,
                Err(error) => return (made, error),
            }
        }
    };
    let (spaces, space_error) = count(&mut || quota.create_space(16, env.free_slot()).map(|_| ()));
    let own = macadamia::Space(slot::SPACE as Word);
    let (threads, thread_error) = count(&mut || {
        quota.create_thread(own, env.free_slot(), None).map(|(_, _): (Thread, _)| ())
    });
    println!(
        "{spaces} spaces ({}), {threads} threads ({})",
        space_error.text(),
        thread_error.text()
    );
}
