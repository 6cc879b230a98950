// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implements the port contract's `Registers` on this layout.

use crate::saved::{THUMB, USER_MODE, hw, vector, word};
use abi::frame::{self, USER_FLAGS};
use abi::state::THREAD_POINTER;
use abi::{Error, Frame, UserAddr};
use kcore::Thread;
use kcore::port::{CONTEXT_WORDS, Context, Registers};
use kcore::space::HW_WORDS;

// `entry.S`: the general registers end the context.
const _: () = assert!(word::LR + 1 == CONTEXT_WORDS && hw::AREA + 1 == HW_WORDS);

/// The layout of a thread's registers.
#[derive(Clone, Copy, Debug)]
pub struct Armv5;

/// A program counter as the processor accepts it with this status.
const fn aligned(pc: u32, status: u32) -> u32 {
    if status & THUMB != 0 { pc & !1 } else { pc & !3 }
}

impl Registers for Armv5 {
    fn argument(context: &Context, index: usize) -> u32 {
        context[word::R0..word::SP][index]
    }

    fn set_result(context: &mut Context, index: usize, value: u32) {
        context[word::R0..word::SP][index] = value;
    }

    fn frame(thread: &Thread) -> Frame {
        let c = &thread.context;
        let has_address = matches!(
            c[word::VECTOR],
            frame::vector::PAGE_FAULT | frame::vector::ALIGNMENT | frame::vector::BUS
        );
        Frame {
            r: core::array::from_fn(|index| c[word::R0 + index]),
            sp: c[word::SP],
            lr: c[word::LR],
            pc: c[word::PC],
            cpsr: c[word::CPSR],
            vector: c[word::VECTOR],
            error: c[word::ERROR],
            address: if has_address { thread.fault_address.0 } else { 0 },
            changed: 0,
        }
    }

    fn load_frame(thread: &mut Thread, frame: &Frame) {
        let c = &mut thread.context;
        c[word::R0..word::SP].copy_from_slice(&frame.r);
        let status = frame.cpsr & USER_FLAGS | USER_MODE;
        for (index, value) in [
            (word::SP, frame.sp),
            (word::LR, frame.lr),
            (word::PC, aligned(frame.pc, status)),
            (word::CPSR, status),
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
        argument: u32,
    ) {
        *context = [0; CONTEXT_WORDS];
        let status = USER_MODE | if entry.0 & 1 != 0 { THUMB } else { 0 };
        for (index, value) in [
            (word::R0, utcb.0),
            (word::R0 + 1, argument),
            (word::SP, stack.0),
            (word::PC, aligned(entry.0, status)),
            (word::CPSR, status),
            (word::VECTOR, frame::vector::CREATED),
        ] {
            context[index] = value;
        }
    }

    // It keeps none of r10 to r12 and what a `swi` did not come with.
    fn resumes_fast(thread: &Thread) -> bool {
        thread.context[word::VECTOR] == vector::SWI && thread.lazy == 0 && !thread.is_alien()
    }

    fn set_state(thread: &mut Thread, item: u32, values: [u32; 2]) -> Result<u32, Error> {
        if item != THREAD_POINTER {
            return Err(Error::BadArgument);
        }
        let before = core::mem::replace(&mut thread.lazy_state[0], values[0]);
        thread.lazy = u32::from(values[0] != 0);
        Ok(before)
    }
}
