// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's stacks: one for all entries, and one for panics.

use crate::shared::{self, Page, Shared};

/// Bytes of the kernel's stack.
pub const STACK_BYTES: usize = 16384;

/// Bytes of the stack for messages about a bug.
pub const PANIC_BYTES: usize = 4096;

/// The kernel's stack: there is one.
pub static KERNEL_STACK: Shared<Page<[u8; STACK_BYTES]>> = Shared::new(Page([0; STACK_BYTES]));
/// The stack on which the kernel prints what it knows of a bug.
pub static PANIC_STACK: Shared<Page<[u8; PANIC_BYTES]>> = Shared::new(Page([0; PANIC_BYTES]));

/// The lower 32 bits of the two words at an address of the kernel's stack; nothing if it is not
/// such an address.
pub fn words(address: u32) -> Option<[u32; 2]> {
    const BYTES: u32 = size_of::<[usize; 2]>() as u32;
    let start = KERNEL_STACK.address();
    let inside = address >= start
        && address.checked_add(BYTES)? <= start + STACK_BYTES as u32
        && address.is_multiple_of(BYTES / 2);
    // SAFETY: inside the stack and aligned.
    let read = || unsafe { shared::at::<[usize; 2]>(address).read() };
    inside.then(read).map(|words| words.map(|word| word as u32))
}
