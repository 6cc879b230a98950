// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC: all that every component has is in the first segment of 256 MiB, so that a switch
//! between two of them changes one segment register. Devices and shared memory are in the next
//! ones. The kernel's area is below 4 MiB.

use super::{Layout, STACK_BYTES, Windows};
use crate::Places;

const START_BLOCK: u32 = 0x0500_0000;
const HEAP: u32 = 0x0600_0000;
const STACK_END: u32 = 0x1000_0000;
const GRANTS: u32 = 0x1000_0000;
const GRANTS_END: u32 = 0x4000_0000;
const USER_END: u32 = 0xc000_0000;

/// Where components find what.
pub const LAYOUT: Layout = Layout {
    places: PLACES,
    windows: Windows {
        base: 0,
        users_end: USER_END as u64,
        end: USER_END,
        most: 1 << 30,
        kernel_bytes: 4 << 20,
        start_block: USER_END - (32 << 20),
        have_grants: true,
    },
};

const PLACES: Places = Places {
    image: 0x0040_0000,
    image_end: START_BLOCK,
    start_block: START_BLOCK,
    heap: HEAP,
    // A part that nobody has is below the stack.
    heap_most: STACK_END - (16 << 20) - HEAP,
    stack_end: STACK_END,
    grants: GRANTS,
    grants_end: GRANTS_END,
    files: GRANTS,
    files_end: GRANTS_END,
    own: GRANTS_END,
    own_end: USER_END - STACK_BYTES,
};
