// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where each saved register of a thread is on Alpha, and each word that is kept for a space.
//!
//! It owns these layouts, which the assembly of `kernel/arch/alpha` uses. It executes nothing of the
//! processor.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use abi::frame::{GENERAL, vector};
use abi::tag::REGISTER_WORDS;
use abi::{Frame, UserAddr};
use kcore::Thread;
use kcore::port::{CONTEXT_WORDS, Context, Registers};

/// The words of a context, by their indices. $0 to $29 are the first.
pub mod word {
    /// Why the thread entered: an exception's number, or one of `Frame::vector`.
    pub const VECTOR: usize = 36;
    /// The processor's error code for a fault, or 0.
    pub const ERROR: usize = 37;
    /// The stack pointer, $30, next to the program counter: both are in one cache line.
    pub const SP: usize = 38;
    /// The program counter.
    pub const PC: usize = 39;
}

/// The port's words of a space, `Space::hw`, by their indices. Each is half of a quadword.
pub mod hw {
    /// The physical address of the table of the highest level.
    pub const TABLE: usize = 0;
    /// The tag, at the bits where both registers need it; 0: the space has none.
    pub const TAG: usize = 2;
}

/// A tag in both places: bits 4 to 10 for ITB_ASN, 57 to 63 for DTB_ASN (DEC's `ev5_defs`). It is
/// assumed that each register ignores the other bits.
#[must_use]
pub const fn tag(number: u64) -> u64 {
    number << 57 | number << 4
}

/// Where the words of a system call are: the tag, `a0`, and the words of a message.
pub const CALL: [usize; 10] = [0, 16, 17, 18, 19, 20, 21, 1, 2, 3];

const _: () = assert!(CALL.len() == 2 + REGISTER_WORDS as usize && word::PC + 1 == CONTEXT_WORDS);

/// The layout of a thread's registers.
#[derive(Clone, Copy, Debug)]
pub struct Alpha;

impl Registers for Alpha {
    fn argument(context: &Context, index: usize) -> u64 {
        context[CALL[index]]
    }

    fn set_result(context: &mut Context, index: usize, value: u64) {
        context[CALL[index]] = value;
    }

    fn frame(thread: &Thread) -> Frame {
        let c = &thread.context;
        let mut frame = Frame {
            pc: c[word::PC],
            vector: c[word::VECTOR],
            error: c[word::ERROR],
            address: thread.fault_address.0,
            ..Frame::default()
        };
        frame.r[..GENERAL - 1].copy_from_slice(&c[..GENERAL - 1]);
        frame.r[GENERAL - 1] = c[word::SP];
        frame
    }

    fn load_frame(thread: &mut Thread, frame: &Frame) {
        let c = &mut thread.context;
        c[..GENERAL - 1].copy_from_slice(&frame.r[..GENERAL - 1]);
        let others = [
            (word::SP, frame.r[GENERAL - 1]),
            // Bit 0 would be PALmode.
            (word::PC, frame.pc & !3),
            (word::VECTOR, frame.vector),
            (word::ERROR, frame.error),
        ];
        others.into_iter().for_each(|(word, value)| c[word] = value);
    }

    fn start(
        context: &mut Context,
        entry: UserAddr,
        stack: UserAddr,
        utcb: UserAddr,
        argument: u64,
    ) {
        *context = [0; CONTEXT_WORDS];
        let words = [
            (word::PC, entry.0 & !3),
            (word::SP, stack.0),
            (CALL[1], utcb.0),
            (CALL[2], argument),
            (word::VECTOR, vector::CREATED),
        ];
        words.into_iter().for_each(|(word, value)| context[word] = value);
    }

    fn resumes_fast(thread: &Thread) -> bool {
        thread.context[word::VECTOR] == vector::SYSTEM_CALL
            && thread.lazy == 0
            && !thread.is_alien()
    }
}
