// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the way from a process to its server at ring 1 and back costs (docs/entry-area.md), by the
//! machine model: an alien's system calls, each in an interval.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use abi::arch::x86_64::marker::{BEGIN, END, OPCODE, immediate};
use abi::frame::vector;
use abi::{Op, PAGE_SIZE, Rights, TABLE_SPAN, Tag, USER_END, Word};
use macadamia::alloc::vec::Vec;
use macadamia::cap::copy;
use macadamia::ipc::receive;
use macadamia::map::map;
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
const CODE: Word = WINDOW + 2 * TABLE_SPAN;
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

fn crossings(env: &mut Env) -> Result<()> {
    let (ram, window) = (env.memory("ram"), env.memory("window"));
    let server = QUOTA.create_space_at(16, env.free_slot(), WINDOW)?;
    server.serve(window, false)?;
    map(server, CODE, ram, 0, 2 * PAGE_SIZE, Rights::RWX)?;
    let (thread, _) = QUOTA.create_thread(server, env.free_slot(), None)?;
    let own = Thread(env.free_slot());
    copy(image::slot::THREAD as Word, None, own.0, Rights::CALL, 1)?;
    thread.set_handler(Some(own))?;
    let space = QUOTA.create_space(0, env.free_slot())?;
    space.show(WINDOW, server)?;
    map(space, ALIEN, ram, 2 * PAGE_SIZE, PAGE_SIZE, Rights(5))?;
    let (alien, bound) = QUOTA.create_thread(space, env.free_slot(), Some(server))?;
    alien.set_handler(Some(thread))?;
    let once = [marker(BEGIN), code::runs_again().to_vec(), marker(END)].concat();
    let serves = [code::serves_once(), &once.repeat(REPETITIONS), code::invalid()].concat();
    let tag = Word::from(Tag::new(Op::Run, 0, 0).0);
    let orders = [bound.handle, bound.utcb, 0, ALIEN, tag].map(Word::to_le_bytes).concat();
    map(OWN, PLACE, ram, 0, PAGES * PAGE_SIZE, Rights(3))?;
    for (page, bytes) in (0..).zip([&serves[..], &orders, code::counts_calls()]) {
        start::fill(PLACE + page * PAGE_SIZE, PAGE_SIZE, bytes);
    }
    thread.start(CODE, DATA + PAGE_SIZE, 0)?;
    let received = receive(None)?;
    assert!(
        received.words[0] == vector::INVALID_OPCODE,
        "it did not go through: {:x?}",
        received.words
    );
    Ok(())
}

fn run(mut env: Env) {
    if let Err(error) = crossings(&mut env) {
        panic!("no crossings: {}", error.text());
    }
    result!("done");
}
