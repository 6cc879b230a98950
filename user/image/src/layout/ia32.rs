// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32: the kernel's area is below 4 MiB.

use super::{Layout, STACK_BYTES, Windows};
use crate::Places;

const START_BLOCK: u32 = 0x3f00_0000;
const HEAP: u32 = 0x4000_0000;
const GRANTS: u32 = 0x5000_0000;
const GRANTS_END: u32 = 0x8000_0000;
const STACK_END: u32 = 0xb000_0000;

const WINDOW_END: u32 = 0xe000_0000;

/// Where components find what. A window is a server's, which other spaces show: all that it maps is
/// there.
pub const LAYOUT: Layout = Layout {
    places: PLACES,
    windows: Windows {
        base: 0,
        users_end: WINDOW_END as u64,
        end: WINDOW_END,
        most: 2 << 30,
        kernel_bytes: 4 << 20,
        start_block: WINDOW_END - (32 << 20),
        have_grants: true,
    },
};

const PLACES: Places = Places {
    image: 0x0040_0000,
    image_end: START_BLOCK,
    start_block: START_BLOCK,
    heap: HEAP,
    heap_most: GRANTS - HEAP,
    stack_end: STACK_END,
    grants: GRANTS,
    grants_end: GRANTS_END,
    files: GRANTS,
    files_end: GRANTS_END,
    own: GRANTS_END,
    own_end: STACK_END - STACK_BYTES,
};
