// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pager in user mode.
//!
//! It makes a space with one thread that writes to page after page of a range and
//! owns none of it. Each write is a page fault, and each fault a message to the pager,
//! which maps the page, lets the thread go on and waits for the next fault in one system
//! call. When all are there it takes them back, by `unmap` and by `revoke` in turn, and looks
//! whether the thread's writes arrived.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use abi::MapRecord;
use abi::frame::{fault, vector};
use macadamia::cap::{self, copy};
use macadamia::map::{Window, map, unmap};
use macadamia::{
    Env, Memory, MessageKind, Quota, Received, Result, Rights, Space, Thread, Word, ipc, println,
    result, slot, time,
};

#[cfg(target_arch = "wasm32")]
#[path = "program/alpha.rs"]
mod program;
#[cfg(target_arch = "arm")]
#[path = "program/armv5.rs"]
mod program;
#[cfg(target_arch = "mips64")]
#[path = "program/mips.rs"]
mod program;
#[cfg(target_arch = "powerpc")]
#[path = "program/powerpc.rs"]
mod program;
#[cfg(target_arch = "x86")]
#[path = "program/ia32.rs"]
mod program;
#[cfg(target_arch = "x86_64")]
#[path = "program/x86_64.rs"]
mod program;

use program::PROGRAM;

macadamia::main!(run);

const PAGE: Word = abi::PAGE_SIZE;
/// The thread's code in the space that is made.
const CODE: Word = 0x0100_0000;
/// Bytes of the range that it walks: a power of two.
const BYTES: Word = 64 * PAGE;
const PAGES: u64 = (BYTES / PAGE) as u64;
const SECOND: u64 = 1_000_000_000;
const BADGE: Word = 7;
/// Where the range is, and where the pager itself sees the memory.
const RANGE: Word = program::RANGE as Word;
const VIEW: Word = program::VIEW as Word;
const SLOTS: Word = 16;
const RW: Rights = Rights::READ.union(Rights::WRITE);

/// The space with the thread, and what it is given.
struct Ward {
    space: Space,
    /// What is mapped: derived from `all`, so that it can be revoked.
    lent: Memory,
    view: Window,
}

fn run(mut env: Env) {
    if let Err(error) = page(&mut env) {
        panic!("{}", error.text());
    }
}

/// Makes the space, and serves its faults for a second.
fn page(env: &mut Env) -> Result<()> {
    let (quota, all) = (Quota(slot::QUOTA as Word), env.memory("frames"));
    let lent = all.derive(0, BYTES, env.free_slot(), quota)?;
    let code = all.derive(BYTES, PAGE, env.free_slot(), quota)?;
    let space = quota.create_space(SLOTS, env.free_slot())?;
    let ward = Ward { space, lent, view: Window::open(VIEW, all, 0, BYTES, Rights::READ)? };
    write_program(code)?;
    map(space, CODE, code, 0, PAGE, Rights::READ.union(Rights::EXECUTE))?;

    let (thread, _) = quota.create_thread(space, env.free_slot(), None)?;
    let handler = Thread(env.free_slot());
    copy(slot::THREAD as Word, None, handler.0, Rights::CALL, BADGE)?;
    thread.set_handler(Some(handler))?;
    thread.start(CODE, 0, RANGE)?;

    let (mut faults, mut rounds, mut lost) = (0u64, 0u64, 0u64);
    let end = time::now() + SECOND;
    while time::now() < end {
        lost += ward.round(faults)?;
        faults += PAGES;
        rounds += 1;
    }
    thread.stop()?;
    println!(
        "{faults} faults a second: {rounds} times {PAGES} pages given and taken back, {lost} writes lost"
    );
    let verdict = if lost == 0 && rounds > 1 {
        "ok pager.pages"
    } else {
        "not ok pager.pages: writes were lost"
    };
    result!("{verdict}");
    result!("done");
    Ok(())
}

fn write_program(code: Memory) -> Result<()> {
    let window = Window::open(VIEW + BYTES, code, 0, PAGE, RW)?;
    for (offset, word) in (0..).step_by(4).zip(PROGRAM) {
        window.write(offset, word);
    }
    Ok(())
}

impl Ward {
    /// Gives every page of the range, one a fault, and takes all back. `count` is what
    /// the thread writes first; returns how many of its writes are not in the memory.
    fn round(&self, count: u64) -> Result<u64> {
        // The thread's write to the last page is done when its next one faults: that fault
        // is left unanswered until the pages are taken back.
        let mut waiting = fault(ipc::receive(None)?, RANGE);
        for address in (RANGE..RANGE + BYTES).step_by(PAGE as usize) {
            if address + PAGE == RANGE + BYTES {
                unmap(self.space, RANGE, PAGE)?;
            }
            let page = MapRecord::new(
                MapRecord::MAP,
                self.space.0,
                address,
                self.lent.0,
                address - RANGE,
                PAGE,
                RW,
            );
            let next = RANGE + (address + PAGE - RANGE) % BYTES;
            waiting = fault(ipc::map_reply_wait(waiting, &page)?, next);
        }
        let lost = (0..PAGES)
            .filter(|page| self.view.read(*page as Word * PAGE) != (count + page) as u32)
            .count() as u64;
        if (count / PAGES).is_multiple_of(2) {
            unmap(self.space, RANGE, BYTES)?;
        } else {
            cap::revoke(self.lent.0)?;
        }
        // The same write is tried again, and faults again: nothing is mapped.
        ipc::reply(waiting, ipc::Message::default())?;
        Ok(lost)
    }
}

/// The handle of a message, which has to be the write fault at `address`.
fn fault(received: Received, address: Word) -> Word {
    let [vector, at, error] = received.words;
    let expected = received.kind == MessageKind::Exception
        && received.badge == BADGE as u32
        && (vector, at) == (vector::PAGE_FAULT, address)
        && error & fault::WRITE != 0;
    assert!(expected, "not the fault at {address:#x}: {:?} {vector} at {at:#x}", received.kind);
    received.handle
}
