// SPDX-License-Identifier: MIT OR Apache-2.0
//! I/O ports: a bitmap for each Space that was ever given a port, in the format of IA-32.
//!
//! On IA-32 the processor reads the bitmap itself, so a change has effect at once; a thread may use
//! the bitmap from its first use of a port on. On PowerPC and MIPS the kernel reads it, and makes
//! the access for the thread. This crate owns the bitmap, and does not know what is at a port.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use bytemuck::{Pod, Zeroable};
use kcore::port::Special;
use pool::Object;

/// I/O ports of a space, a bit each, which is set if the space may not use the port.
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct PortMap(pub [u32; 2048]);
impl Object for PortMap {}

impl Special for PortMap {
    fn close_all(&mut self) {
        self.0.fill(u32::MAX);
    }

    fn set(&mut self, first: u32, count: u32, open: bool) {
        let last = first + (count - 1);
        let words =
            self.0.get_mut((first / 32) as usize..=(last / 32) as usize).unwrap_or_default();
        let (low, high) = (u32::MAX << (first % 32), u32::MAX >> (31 - last % 32));
        let change = |word: &mut u32, bits: u32| if open { *word &= !bits } else { *word |= bits };
        match words {
            [] => {}
            [word] => change(word, low & high),
            [head, whole @ .., tail] => {
                change(head, low);
                whole.fill(if open { 0 } else { u32::MAX });
                change(tail, high);
            }
        }
    }
}

impl PortMap {
    /// Whether a space may use all of `count` ports from `first` on: at least one, and at most
    /// four.
    #[must_use]
    pub fn is_open(&self, first: u32, count: u32) -> bool {
        (first..first + count).all(|port| {
            self.0.get((port / 32) as usize).is_some_and(|word| word & 1 << (port % 32) == 0)
        })
    }
}
