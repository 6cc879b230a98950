// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions of the kernel that boot changes: the address of the hashed table, and jumps to the
//! code that boot words select (`words.S`).

use crate::cache::{Lines, on_lines};
use core::ptr::from_ref;

/// `b`, to this many bytes from itself.
const JUMP: u32 = 18 << 26;
const REACH: u32 = 0x03ff_fffc;

unsafe extern "C" {
    static search_jumps: u32;
    static uncached_jumps: u32;
    static uncached_insert_jumps: u32;
    static preload_jumps: u32;
    static block_jumps: u32;
    static slow_jumps: u32;
}

/// Groups of places that a boot word changes together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Jumps {
    /// A 603's misses search the hashed table.
    Search,
    /// They read tables past the cache.
    Uncached,
    /// The code that inserts entries into the hashed table reads tables past the cache.
    UncachedInsert,
    /// Lines are prefetched before they are needed.
    Preload,
    /// A window opens and shuts with a block of the server's memory.
    Block,
    /// The hashed table's misses go to the portable kernel.
    Slow,
}

/// Writes an instruction of the kernel's.
///
/// # Safety
/// The instruction is not executed meanwhile, and the kernel is correct with the new one.
pub unsafe fn write_code(at: *const u32, instruction: u32) {
    // SAFETY: the caller's; the kernel's image is RAM.
    unsafe { at.cast_mut().write_volatile(instruction) };
    on_lines(at as u32, 4, Lines::Code);
}

/// Writes jumps.
///
/// # Safety
/// No user runs yet. The jumps are for this kind of processor.
pub unsafe fn jump(jumps: Jumps) {
    // SAFETY: a table of `words.S`: pairs of addresses in the kernel's image, the last one followed
    // by 0. Only what users cause, and the way to them, executes what is there.
    unsafe {
        let mut at = from_ref(match jumps {
            Jumps::Search => &search_jumps,
            Jumps::Uncached => &uncached_jumps,
            Jumps::UncachedInsert => &uncached_insert_jumps,
            Jumps::Preload => &preload_jumps,
            Jumps::Block => &block_jumps,
            Jumps::Slow => &slow_jumps,
        });
        while at.read() != 0 {
            let [from, to] = at.cast::<[u32; 2]>().read();
            write_code(from as *const u32, JUMP | to.wrapping_sub(from) & REACH);
            at = at.add(2);
        }
    }
}
