// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the way from a process to its server at ring 1 and back costs (docs/entry-area.md), by the
//! machine model: an alien's system calls, each in an interval. With the argument `clock`: by the
//! clock, in pairs with system calls of this component's own.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use abi::arch::x86_64::marker::{BEGIN, END, OPCODE, immediate};
use abi::frame::vector;
use abi::utcb::AREA_BYTES;
use abi::{Op, PAGE_SIZE, Rights, Tag, USER_END, Word};
use macadamia::alloc::vec::Vec;
use macadamia::cap::{copy, delete};
use macadamia::ipc::{poll, receive};
use macadamia::map::map;
use macadamia::time::counter;
use macadamia::{Env, Quota, Result, Space, Thread, result, start};
use processor::code;

macadamia::main!(run);

/// The server resumes its alien, whose next system call comes: visit 0 is `run`, visit 1 the call.
const CROSSING: u32 = 30;
/// How often.
const REPETITIONS: usize = 50;

const OWN: Space = Space(image::slot::SPACE as Word);
const QUOTA: Quota = Quota(image::slot::QUOTA as Word);
/// The window of the server; its code, its data and its stack after the kernel's part.
const WINDOW: Word = USER_END - (512 << 20);
const CODE: Word = WINDOW + AREA_BYTES;
const DATA: Word = CODE + PAGE_SIZE;
/// The code of the alien.
const ALIEN: Word = 0x0800_0000;
/// Where this component maps.
const PLACE: Word = 0x1200_0000;
/// Pages of the RAM.
const PAGES: Word = 3;

/// A marker of the model's.
fn marker(kind: u32) -> Vec<u8> {
    [&[OPCODE][..], &immediate(kind, CROSSING).to_le_bytes()].concat()
}

/// System calls of a pair by the clock, each of both kinds; and pairs.
const CALLS: u64 = 50_000;
const PAIRS: usize = 21;

/// A server, and a space that shows it.
struct Spaces {
    server: Space,
    space: Space,
    /// The server's exceptions come here.
    own: Thread,
}

fn spaces(env: &mut Env) -> Result<Spaces> {
    let (ram, window) = (env.memory("ram"), env.memory("window"));
    let server = QUOTA.create_space_at(16, env.free_slot(), WINDOW)?;
    server.serve(window, false)?;
    map(server, CODE, ram, 0, 2 * PAGE_SIZE, Rights::RWX)?;
    let own = Thread(env.free_slot());
    copy(image::slot::THREAD as Word, None, own.0, Rights::CALL, 1)?;
    let space = QUOTA.create_space(0, env.free_slot())?;
    space.show(WINDOW, server)?;
    map(space, ALIEN, ram, 2 * PAGE_SIZE, PAGE_SIZE, Rights(5))?;
    map(OWN, PLACE, ram, 0, PAGES * PAGE_SIZE, Rights(3))?;
    Ok(Spaces { server, space, own })
}

impl Spaces {
    /// The server executes this code for an alien that makes system calls, so many if the code
    /// counts, until it comes to the code's end. Returns what the clock has counted meanwhile.
    fn serve(&self, slots: [Word; 2], code: &[u8], count: u64) -> Result<u64> {
        let (thread, _) = QUOTA.create_thread(self.server, slots[0], None)?;
        thread.set_handler(Some(self.own))?;
        let (alien, bound) = QUOTA.create_thread(self.space, slots[1], Some(self.server))?;
        alien.set_handler(Some(thread))?;
        let tag = Word::from(Tag::new(Op::Run, 0, 0).0);
        let orders = [bound.handle, bound.utcb, count, ALIEN, tag].map(Word::to_le_bytes).concat();
        for (page, bytes) in (0..).zip([code, &orders, code::counts_calls()]) {
            start::fill(PLACE + page * PAGE_SIZE, PAGE_SIZE, bytes);
        }
        let before = counter();
        thread.start(CODE, DATA + PAGE_SIZE, 0)?;
        let received = receive(None)?;
        let ticks = counter() - before;
        assert!(
            received.words[0] == vector::INVALID_OPCODE,
            "it did not go through: {:x?}",
            received.words
        );
        delete(thread.0)?;
        delete(alien.0)?;
        Ok(ticks)
    }
}

fn crossings(env: &mut Env) -> Result<()> {
    let spaces = spaces(env)?;
    let once = [marker(BEGIN), code::runs_again().to_vec(), marker(END)].concat();
    let serves = [code::serves_once(), &once.repeat(REPETITIONS), code::invalid()].concat();
    spaces.serve([env.free_slot(), env.free_slot()], &serves, 0).map(|_| ())
}

/// The median, of pairs, of how long an alien's system call takes to its server at ring 1 and back,
/// in percent of a system call of this component's that does nothing.
fn by_the_clock(env: &mut Env) -> Result<()> {
    let spaces = spaces(env)?;
    let slots = [env.free_slot(), env.free_slot()];
    let mut ratios = Vec::new();
    for _ in 0..PAIRS {
        let before = counter();
        for _ in 0..CALLS {
            // There is nothing to receive.
            let _ = poll();
        }
        let own = (counter() - before).max(1);
        ratios.push(spaces.serve(slots, code::serves(), CALLS)? * 100 / own);
    }
    ratios.sort_unstable();
    let [least, .., most] = ratios[..] else { return Ok(()) };
    result!("# in percent of a native system call: {least} to {most}");
    result!("ratio {}", ratios[PAIRS / 2]);
    Ok(())
}

fn run(mut env: Env) {
    let is_clock = env.start.arguments.iter().any(|argument| argument == "clock");
    let measured = if is_clock { by_the_clock(&mut env) } else { crossings(&mut env) };
    if let Err(error) = measured {
        panic!("no crossings: {}", error.text());
    }
    result!("done");
}
