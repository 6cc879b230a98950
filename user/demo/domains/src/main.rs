// SPDX-License-Identifier: MIT OR Apache-2.0
//! Protection domains in one layout of addresses. One makes lists in ranges; others get the ranges,
//! and follow the lists' pointers as they are. A further one is *external*: it has memory of its
//! own at the same addresses.
//!
//! The argument says which one this is: `maker`, `reader` or `external`.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod external;
mod maker;
mod reader;

use macadamia::ranges::Range;
use macadamia::{Env, Result, Word};

macadamia::main!(run);

/// Bytes from a node of a list to the next: a value, and a pointer to the next node or 0.
const STRIDE: Word = 0x404;

/// What the maker asks of others, in word 0 of a call.
mod ask {
    use macadamia::Word;

    /// Take the range that comes along: words 1 and 2 are its addresses.
    pub const JOIN: Word = 1;
    /// Add the values of the list at a pointer (word 1), and add a number (word 2) to each.
    pub const WALK: Word = 2;
    /// Access a word: word 1 is its address, with bit 0 set to write it.
    pub const TOUCH: Word = 3;
    /// Look whether the memory at an address (word 1) is the own one, unchanged.
    pub const CHECK: Word = 4;
    /// Make a range, and end it.
    pub const MAKE: Word = 5;
}

/// The sum of a list's values, each of which is then increased by a number.
fn walk(range: &Range, head: Word, more: u32) -> Result<u32> {
    let (mut sum, mut at) = (0u32, head);
    while at != 0 {
        let value = range.read(at)?;
        sum = sum.wrapping_add(value);
        if more != 0 {
            range.write(at, value.wrapping_add(more))?;
        }
        at = range.read(at + 4)? as Word;
    }
    Ok(sum)
}

fn run(env: Env) {
    let is = |role: &str| env.start.arguments.iter().any(|argument| argument == role);
    if is("maker") {
        maker::run(env);
    } else if is("reader") {
        reader::run(env);
    } else {
        external::run(&env);
    }
}
