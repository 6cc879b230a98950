// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64: the kernel's area is below 4 MiB. Components have what they have below 4 GiB, as what
//! they are told of addresses has 32 bits.

use super::{Layout, Windows, ia32};

/// Code finds all of a window by 31 bits.
const WINDOW_END: u32 = 0x8000_0000;

/// Where components find what. A window is in a space that no other space shows.
pub const LAYOUT: Layout = Layout {
    places: ia32::LAYOUT.places,
    windows: Windows {
        end: WINDOW_END,
        most: 1 << 30,
        kernel_bytes: 4 << 20,
        start_block: WINDOW_END - (32 << 20),
        have_grants: true,
    },
};
