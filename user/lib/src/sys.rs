// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system call itself.

use abi::call::SystemCall;
use abi::{Error, Op, Tag, Word};

pub use crate::arch::raw;

/// Registers of a system call, in and out: the tag and `a0` to `a3`, then `r0` to `r4`.
pub type Registers = [Word; 2 + abi::tag::REGISTER_WORDS as usize];

/// These registers, and zeros in those that only a message has.
#[must_use]
pub fn registers(words: [Word; 5]) -> Registers {
    core::array::from_fn(|i| words.get(i).copied().unwrap_or_default())
}

/// The registers of a system call with this tag.
#[inline(always)]
pub(crate) fn with<C: SystemCall>(tag: Tag, call: C) -> Registers {
    let [a, b, c, d] = call.words();
    registers([tag.0 as Word, a, b, c, d])
}

/// A system call that returns a status; its results `r1` to `r3`.
///
/// # Errors
/// What the kernel says.
pub fn call<C: SystemCall>(call: C) -> crate::Result<[Word; 3]> {
    call_with(C::OP, call.words())
}

/// The same, whatever the words are: for tests of arguments that make no sense.
///
/// # Errors
/// What the kernel says.
pub fn call_with(op: Op, words: [Word; 4]) -> crate::Result<[Word; 3]> {
    let [a, b, c, d] = words;
    let mut registers = registers([Tag::new(op, 0, 0).0 as Word, a, b, c, d]);
    raw(&mut registers);
    let [status, a, b, c, ..] = registers;
    match status {
        0 => Ok([a, b, c]),
        code => Err(error(code)),
    }
}

/// The error with this code.
pub(crate) fn error(code: Word) -> Error {
    u32::try_from(code).ok().and_then(Error::from_code).unwrap_or(Error::BadOperation)
}
