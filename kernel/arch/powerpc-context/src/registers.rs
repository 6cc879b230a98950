// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implements the port contract's `Registers` on this layout.

use crate::saved::{hw, lazy, msr, vector, word};
use abi::frame::{self, GENERAL, USER_FLAGS};
use abi::{Frame, UserAddr};
use kcore::Thread;
use kcore::port::{CONTEXT_WORDS, Context, Registers};
use kcore::space::HW_WORDS;

// `entry.S`: the general registers end the context.
const _: () = assert!(word::GPR + GENERAL == CONTEXT_WORDS && hw::SERVER + 1 == HW_WORDS);

/// The first register of a system call.
const FIRST: usize = word::GPR + 3;
/// Words of a message in the registers that follow the tag and `a0`.
const NEAR: usize = 6;
/// Where the other words are: r14.
const FAR: usize = word::GPR + 14;

/// The layout of a thread's registers.
#[derive(Clone, Copy, Debug)]
pub struct PowerPc;

/// Where a word of a message is.
const fn place(index: usize) -> usize {
    if index < NEAR { FIRST + 2 + index } else { FAR + index - NEAR }
}

impl Registers for PowerPc {
    fn argument(context: &Context, index: usize) -> u32 {
        context[FIRST + index]
    }

    fn set_result(context: &mut Context, index: usize, value: u32) {
        context[FIRST + index] = value;
    }

    fn word(context: &Context, index: usize) -> u32 {
        context[place(index)]
    }

    fn set_word(context: &mut Context, index: usize, value: u32) {
        context[place(index)] = value;
    }

    fn frame(thread: &Thread) -> Frame {
        let c = &thread.context;
        let has_address =
            matches!(c[word::VECTOR], frame::vector::PAGE_FAULT | frame::vector::ALIGNMENT);
        Frame {
            gpr: core::array::from_fn(|index| c[word::GPR + index]),
            lr: c[word::LR],
            ctr: c[word::CTR],
            xer: c[word::XER],
            cr: c[word::CR],
            pc: c[word::PC],
            msr: c[word::MSR],
            vector: c[word::VECTOR],
            error: c[word::ERROR],
            address: if has_address { thread.fault_address.0 } else { 0 },
            changed: 0,
        }
    }

    fn load_frame(thread: &mut Thread, frame: &Frame) {
        let c = &mut thread.context;
        c[word::GPR..].copy_from_slice(&frame.gpr);
        for (index, value) in [
            (word::LR, frame.lr),
            (word::CTR, frame.ctr),
            (word::XER, frame.xer),
            (word::CR, frame.cr),
            // The processor ignores the two lowest bits.
            (word::PC, frame.pc & !3),
            (word::MSR, frame.msr & USER_FLAGS | msr::RUNNING),
            (word::VECTOR, frame.vector),
            (word::ERROR, frame.error),
        ] {
            c[index] = value;
        }
        let has_flags = thread.context[word::MSR] != msr::RUNNING;
        thread.lazy = thread.lazy & !lazy::STATE | if has_flags { lazy::STATE } else { 0 };
    }

    fn start(
        context: &mut Context,
        entry: UserAddr,
        stack: UserAddr,
        utcb: UserAddr,
        argument: u32,
    ) {
        *context = [0; CONTEXT_WORDS];
        for (index, value) in [
            (FIRST, utcb.0),
            (FIRST + 1, argument),
            (word::GPR + frame::STACK, stack.0),
            (word::PC, entry.0 & !3),
            (word::MSR, msr::RUNNING),
            (word::VECTOR, frame::vector::CREATED),
        ] {
            context[index] = value;
        }
    }
    // It keeps r1 and r2, and what a `sc` did not come with.
    fn resumes_fast(thread: &Thread) -> bool {
        thread.context[word::VECTOR] == vector::SYSTEM_CALL
            && thread.lazy == 0
            && !thread.is_alien()
    }
}
