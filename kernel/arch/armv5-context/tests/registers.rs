// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which values the kernel accepts in a frame that a user wrote, and where each register is. These
//! tests use ARMv5's contract on the host (feature `arm`).
#![cfg(feature = "arm")]

use abi::frame::{USER_FLAGS, vector as named};
use abi::state::THREAD_POINTER;
use abi::{Error, Frame, UserAddr};
use armv5_context::{Armv5, THUMB, USER_MODE, vector, word};
use bytemuck::Zeroable;
use kcore::Thread;
use kcore::port::Registers;
use kcore::thread::flag;
use proptest::prelude::*;

/// Bits of a status that are no flags: mode, and masks of interrupts.
const CONTROL: u32 = 0x1f | 0xc0;

fn frame(words: [u32; 21]) -> Frame {
    bytemuck::cast(words)
}

proptest! {
    /// Whatever a handler writes: the thread goes on in user mode, interrupts open, at an address
    /// that the processor takes.
    #[test]
    fn a_hostile_frame_keeps_user_mode(words: [u32; 21]) {
        let (hostile, mut thread) = (frame(words), Thread::zeroed());
        Armv5::load_frame(&mut thread, &hostile);
        let (status, pc) = (thread.context[word::CPSR], thread.context[word::PC]);
        prop_assert_eq!(status & CONTROL, USER_MODE);
        prop_assert_eq!(status & !USER_FLAGS, USER_MODE, "a bit that is not the user's");
        prop_assert_eq!(status & USER_FLAGS, hostile.cpsr & USER_FLAGS, "one that is");
        let bytes = if status & THUMB != 0 { 2 } else { 4 };
        prop_assert_eq!(pc, hostile.pc / bytes * bytes);
    }

    /// What is no control of the processor comes back as it was written.
    #[test]
    fn a_frame_comes_back(words: [u32; 21]) {
        let (written, mut thread) = (frame(words), Thread::zeroed());
        thread.fault_address = UserAddr(written.address);
        Armv5::load_frame(&mut thread, &written);
        let read = Armv5::frame(&thread);
        let has_address = [named::PAGE_FAULT, named::ALIGNMENT, named::BUS].contains(&written.vector);
        let address = if has_address { written.address } else { 0 };
        let (pc, cpsr) = (thread.context[word::PC], thread.context[word::CPSR]);
        prop_assert_eq!(read, Frame { pc, cpsr, address, changed: 0, ..written });
    }

    /// A thread begins in the state that bit 0 of its entry says, with nothing in its registers but
    /// what the contract names.
    #[test]
    fn a_thread_starts(entry: u32, stack: u32, utcb: u32, argument: u32) {
        let mut thread = Thread { context: [!0; kcore::port::CONTEXT_WORDS], ..Thread::zeroed() };
        Armv5::start(&mut thread.context, UserAddr(entry), UserAddr(stack), UserAddr(utcb), argument);
        let is_thumb = entry & 1 != 0;
        let mut expected = Frame { sp: stack, pc: if is_thumb { entry - 1 } else { entry / 4 * 4 }, vector: named::CREATED, ..Frame::default() };
        (expected.r[0], expected.r[1]) = (utcb, argument);
        expected.cpsr = USER_MODE | if is_thumb { THUMB } else { 0 };
        prop_assert_eq!(Armv5::frame(&thread), expected);
    }
}

#[test]
fn arguments_and_results_are_r0_to_r9() {
    let mut thread = Thread::zeroed();
    for index in 0..10 {
        Armv5::set_result(&mut thread.context, index, 100 + index as u32);
        assert_eq!(Armv5::argument(&thread.context, index), 100 + index as u32);
    }
    let read = Armv5::frame(&thread);
    assert_eq!(read.r, [100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 0, 0, 0]);
    assert_eq!((read.sp, read.lr, read.pc, read.cpsr), (0, 0, 0, 0));
}

#[test]
fn only_a_plain_system_call_is_resumed_fast() {
    let mut thread = Thread::zeroed();
    for (cause, fast) in [
        (vector::SWI, true),
        (vector::INTERRUPT, false),
        (named::PAGE_FAULT, false),
        (named::CREATED, false),
    ] {
        thread.context[word::VECTOR] = cause;
        assert_eq!(Armv5::resumes_fast(&thread), fast, "{cause:#x}");
    }
    thread.context[word::VECTOR] = vector::SWI;
    assert_eq!(Armv5::set_state(&mut thread, THREAD_POINTER, [7, 0]), Ok(0));
    assert!(!Armv5::resumes_fast(&thread), "its thread pointer is to be loaded");
    assert_eq!(Armv5::set_state(&mut thread, THREAD_POINTER, [0, 0]), Ok(7));
    assert!(Armv5::resumes_fast(&thread));
    assert_eq!(Armv5::set_state(&mut thread, THREAD_POINTER + 1, [1, 0]), Err(Error::BadArgument));
    assert!(Armv5::resumes_fast(&thread), "a part that does not exist changed something");
    thread.flags |= flag::ALIEN;
    assert!(!Armv5::resumes_fast(&thread));
}
