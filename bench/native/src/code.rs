// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code that is made at run time, to fill caches and TLBs.

use core::arch::asm;
use macadamia::map::{Window, own};
use macadamia::{Env, Result, Rights};

const NOP: u8 = 0x90;
const RET: u8 = 0xc3;
const JUMP: u8 = 0xe9;
/// Bytes of a `jmp` with a 32-bit displacement.
const JUMP_BYTES: u32 = 5;

/// `nop`s and jumps that end with a return.
pub struct Code {
    /// Its address: the first that a component maps itself.
    place: u32,
    window: Window,
    bytes: u32,
}

impl Code {
    /// Code in the Memory `code`, with `bytes` bytes; at first it is only a return.
    pub fn open(env: &Env, bytes: u32) -> Result<Self> {
        let rights = Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE);
        let place = own().start;
        let code = Self {
            place,
            window: Window::open(place, env.memory("code"), 0, bytes, rights)?,
            bytes,
        };
        code.put(0, &[RET]);
        Ok(code)
    }

    /// Makes it `count` instructions without an effect, of a byte each.
    pub fn nops(&self, count: u32) {
        (0..count).for_each(|at| self.put(at, &[NOP]));
        self.put(count, &[RET]);
    }

    /// Makes it `count` jumps, each `stride` bytes from the one before.
    pub fn jumps(&self, count: u32, stride: u32) {
        let [a, b, c, d] = (stride - JUMP_BYTES).to_le_bytes();
        (0..count).for_each(|i| self.put(i * stride, &[JUMP, a, b, c, d]));
        self.put(count * stride, &[RET]);
    }

    fn put(&self, at: u32, bytes: &[u8]) {
        assert!(
            at + bytes.len() as u32 <= self.bytes,
            "code at {at:#x} in {:#x} bytes",
            self.bytes
        );
        for (at, byte) in (at..).zip(bytes) {
            let shift = at % 4 * 8;
            let word = self.window.read(at & !3) & !(0xff << shift);
            self.window.write(at & !3, word | u32::from(*byte) << shift);
        }
    }

    /// Executes it.
    #[inline(always)]
    pub fn run(&self) {
        // SAFETY: only this module writes there, within the window: instructions that change
        // nothing, each followed by another or by a return.
        unsafe { asm!("call {}", in(reg) self.place, options(preserves_flags)) };
    }
}
