// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implements the port contract's `Registers` on this layout.

use crate::saved::{hw, word};
use abi::frame::{self, GENERAL};
use abi::{Frame, UserAddr};
use kcore::Thread;
use kcore::port::{CONTEXT_WORDS, Context, Registers};
use kcore::space::HW_WORDS;

// Stack pointer and program counter are in one line, the last one of the context.
const _: () = assert!(
    word::GPR + GENERAL == word::PC
        && word::PC + 1 == CONTEXT_WORDS
        && word::GPR + frame::STACK >= CONTEXT_WORDS - LINE_WORDS
        && CONTEXT_WORDS.is_multiple_of(LINE_WORDS)
        && hw::ASID + 1 == HW_WORDS
);
/// Words of a cache line.
const LINE_WORDS: usize = 4;

/// The register of the tag, and of the status.
const TAG: usize = word::GPR + 2;
/// The register of `a0`; the others follow.
const FIRST: usize = word::GPR + 4;
/// Registers that no thread can use: the constant 0, and the two that the kernel's entry uses.
const NOBODYS: [usize; 3] = [word::GPR, word::GPR + 26, word::GPR + 27];

/// The layout of a thread's registers.
#[derive(Clone, Copy, Debug)]
pub struct Mips;

/// Where a word of a system call is: the tag or status, then `a0` and the words of a message.
const fn place(index: usize) -> usize {
    if index == 0 { TAG } else { FIRST + index - 1 }
}

impl Registers for Mips {
    fn argument(context: &Context, index: usize) -> u64 {
        context[place(index)]
    }

    fn set_result(context: &mut Context, index: usize, value: u64) {
        context[place(index)] = value;
    }

    fn frame(thread: &Thread) -> Frame {
        let c = &thread.context;
        let has_address =
            matches!(c[word::VECTOR], frame::vector::PAGE_FAULT | frame::vector::ADDRESS);
        Frame {
            r: core::array::from_fn(|index| c[word::GPR + index]),
            hi: c[word::HI],
            lo: c[word::LO],
            pc: c[word::PC],
            vector: c[word::VECTOR],
            error: c[word::ERROR],
            address: if has_address { thread.fault_address.0 } else { 0 },
            changed: 0,
        }
    }

    fn load_frame(thread: &mut Thread, frame: &Frame) {
        let c = &mut thread.context;
        c[word::GPR..word::PC].copy_from_slice(&frame.r);
        NOBODYS.into_iter().for_each(|index| c[index] = 0);
        for (index, value) in [
            (word::HI, frame.hi),
            (word::LO, frame.lo),
            (word::PC, frame.pc),
            (word::VECTOR, frame.vector),
            (word::ERROR, frame.error),
        ] {
            c[index] = value;
        }
    }

    fn start(
        context: &mut Context,
        entry: UserAddr,
        stack: UserAddr,
        utcb: UserAddr,
        argument: u64,
    ) {
        *context = [0; CONTEXT_WORDS];
        for (index, value) in [
            (FIRST, utcb.0),
            (FIRST + 1, argument),
            (word::GPR + frame::STACK, stack.0),
            (word::PC, entry.0),
            (word::VECTOR, frame::vector::CREATED),
        ] {
            context[index] = value;
        }
    }

    fn resumes_fast(thread: &Thread) -> bool {
        thread.context[word::VECTOR] == frame::vector::SYSTEM_CALL && !thread.is_alien()
    }
}
