// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5TE: all that only one component has lies below 32 MiB, where a space can be relocated by
//! the processor, so that spaces do not meet. Caches are virtual, and what components share is at
//! one address in all of them, above the addresses of relocated spaces. The kernel's area is above
//! both.

use super::{Layout, STACK_BYTES, Windows};
use crate::Places;

const IMAGE: u32 = 0x0001_0000;
const START_BLOCK: u32 = 0x0080_0000;
/// After the start block, which a stack that overflows cannot write. Both and the heap's first MiB
/// have one translation table.
const STACK_END: u32 = START_BLOCK + 2 * STACK_BYTES;
const GRANTS: u32 = 0x8000_0000;
const GRANTS_END: u32 = 0xa000_0000;

/// End of what is relocated (`abi`).
const SLOT_END: u32 = 32 << 20;
/// End of the users' addresses (`abi`).
const USER_END: u32 = 0xc000_0000;

/// Where components find what. A window is above all that the processes of a Linux have, as caches
/// are virtual.
pub const LAYOUT: Layout = Layout {
    places: PLACES,
    windows: Windows {
        base: 0,
        users_end: USER_END as u64,
        end: USER_END,
        most: USER_END - GRANTS_END,
        kernel_bytes: 0,
        start_block: USER_END - (32 << 20),
        have_grants: false,
    },
};

const PLACES: Places = Places {
    image: IMAGE,
    image_end: START_BLOCK,
    start_block: START_BLOCK,
    heap: STACK_END,
    heap_most: SLOT_END - STACK_END,
    stack_end: STACK_END,
    grants: GRANTS,
    grants_end: GRANTS_END,
    files: GRANTS,
    files_end: GRANTS_END,
    own: GRANTS_END,
    own_end: USER_END,
};
