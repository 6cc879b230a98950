// SPDX-License-Identifier: MIT OR Apache-2.0
//! A resource of the imaginary processor besides memory, like I/O ports: numbers, each of which a
//! space may use or not.

use bytemuck::{Pod, Zeroable};
use kcore::port::Special;
use pool::Object;

/// How many numbers there are.
pub const NUMBERS: u32 = 1 << 16;

/// The numbers of a space, a bit each, which is set if the space may use the number.
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Numbers([u8; NUMBERS as usize / 8]);
impl Object for Numbers {}

impl Numbers {
    /// Whether the space may use this number.
    #[must_use]
    pub const fn is_open(&self, number: u32) -> bool {
        self.0[number as usize / 8] >> (number % 8) & 1 != 0
    }
}

impl Special for Numbers {
    fn close_all(&mut self) {
        self.0.fill(0);
    }
    fn set(&mut self, first: u32, count: u32, open: bool) {
        for number in first..first + count {
            let bit = 1 << (number % 8);
            let byte = &mut self.0[number as usize / 8];
            *byte = *byte & !bit | if open { bit } else { 0 };
        }
    }
}
