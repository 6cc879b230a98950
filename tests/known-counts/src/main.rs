// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs whose counts are known by hand, each in an interval. `xtask/src/test/model.rs` has the
//! counts that the machine model must find, for the TLBs and caches of `pentium4-1400`.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

mod colours;
mod lines;

use abi::CacheOp;
use alloc::vec::Vec;
use core::hint::black_box;
use core::sync::atomic::AtomicU32;
use lines::{PAGE, REPETITIONS, WORD, read};
use macadamia::alien::Alien;
use macadamia::interval::{begin, begin_free, end};
use macadamia::ipc::{Message, call, reply_wait, run};
use macadamia::map::{Window, map, own};
use macadamia::{Env, Quota, Result, Rights, Space, Thread, result};
use processor::{PC, Words, code};

macadamia::main!(start);

/// Pages that the alien's code is on.
const CODE_PAGES: u32 = 40;
/// The address in its home of a small space of as many bytes.
const HIGHER: u32 = 16 << 20;

/// Reads repeatedly.
fn reads<const ID: u32>(memory: &[AtomicU32], count: usize, stride: usize) {
    let mut sum = 0_u32;
    // Not unrolled: the same code is executed each time.
    for _ in 0..black_box(REPETITIONS) {
        let (count, stride) = black_box((count, stride));
        begin::<ID>();
        sum = sum.wrapping_add(read(memory, count, stride));
        end::<ID>();
    }
    assert!(sum == 0, "memory is not what it was");
}

/// System calls that do nothing but enter the kernel and leave it.
fn system_calls<const ID: u32>(count: u32) {
    for _ in 0..black_box(REPETITIONS) {
        begin::<ID>();
        for _ in 0..count {
            assert!(Quota(image::slot::QUOTA).info().is_ok(), "no figures of the quota");
        }
        end::<ID>();
    }
}

/// An alien whose code jumps through [`CODE_PAGES`] pages, one instruction on each, and back to the
/// first through the handler. If this is a small space, the alien's is one, too, in its own home.
fn jumps<const ID: u32>(env: &mut Env) -> Result<()> {
    let place = own().start;
    let ram = env.memory("ram");
    let last = (CODE_PAGES - 1) * abi::PAGE_SIZE;
    let window = Window::open(place, ram, 0, CODE_PAGES * abi::PAGE_SIZE, Rights(3))?;
    let write = |at: u32, code: &[u8]| {
        (at..).step_by(4).zip(processor::words(code)).for_each(|(at, word)| window.write(at, word))
    };
    (0..CODE_PAGES - 1).for_each(|page| write(page * abi::PAGE_SIZE, &code::jump(abi::PAGE_SIZE)));
    let call = code::system_call();
    let behind = last + call.len() as u32;
    write(last, &[call, &code::jump(behind.wrapping_neg())].concat());
    Space(image::slot::SPACE).cache(place, CODE_PAGES * abi::PAGE_SIZE, CacheOp::SyncCode)?;
    let quota = Quota(image::slot::QUOTA);
    let space = quota.create_space(0, env.free_slot())?;
    map(space, place, ram, 0, CODE_PAGES * abi::PAGE_SIZE, Rights(5))?;
    if env.start.arguments.iter().any(|argument| argument == "small") {
        quota.create_home(env.free_slot())?.take_in(HIGHER, space, HIGHER)?;
    }
    let (alien, handle) =
        Alien::create(quota, space, env.free_slot(), Thread(image::slot::THREAD))?;
    alien.thread.set_priority(90, 90)?;
    let mut frame = alien.frame();
    frame.set(PC, place);
    alien.set_frame(&frame);
    let mut event = run(handle)?;
    for _ in 0..REPETITIONS {
        begin::<ID>();
        event = run(event.handle)?;
        end::<ID>();
        assert!(
            alien.frame().word(PC) == place + behind,
            "stopped at {:#x}",
            alien.frame().word(PC)
        );
    }
    Ok(())
}

fn serve() -> ! {
    let (mut handle, mut answer) = (0, Message::default());
    loop {
        match reply_wait(handle, answer) {
            Ok(received) => {
                (handle, answer) = (
                    received.handle,
                    Message { words: received.words, count: received.count, caps: 0 },
                )
            }
            Err(_) => handle = 0,
        }
    }
}

fn start(mut env: Env) {
    match env.start.arguments.first().map(|argument| argument.as_str()) {
        Some("server") => serve(),
        Some("spoiler") => colours::spoil(),
        Some("reader") => return colours::stay(&env),
        _ => {}
    }
    let memory: Vec<AtomicU32> = (0..120 * PAGE / WORD).map(|_| AtomicU32::new(0)).collect();
    reads::<1>(&memory, 100, PAGE);
    reads::<2>(&memory, 40, PAGE);
    reads::<3>(&memory, 90, 64);
    reads::<4>(&memory, 160, 64);
    reads::<5>(&memory, 5, 2048);
    reads::<6>(&memory, 3, 2048);
    system_calls::<10>(10);
    if let Err(error) = jumps::<20>(&mut env) {
        panic!("no alien: {}", error.text());
    }
    // A system call switches nothing, a call of another space does: the second is caught.
    begin_free::<30>();
    assert!(Quota(image::slot::QUOTA).info().is_ok(), "no figures of the quota");
    end::<30>();
    begin_free::<31>();
    let reply = call(env.thread("server"), Message::default());
    end::<31>();
    assert!(reply.is_ok(), "no answer");
    result!("done");
}
