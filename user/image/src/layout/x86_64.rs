// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64: the kernel's area is below 8 MiB. Components without a window have what they have below 4
//! GiB, as what they are told of addresses has 32 bits.

use super::{Layout, Windows, ia32};
use crate::Places;

/// End of the users' addresses (`abi`).
const USER_END: u64 = (1 << 47) - (1 << 39);
/// What an entry of the highest table spans. A window is one of them, the last of the users', so
/// that a space shows it by one entry. What lies there has its distances from the start.
const WINDOW: u64 = 1 << 39;
/// The end of what is used of it: distances have 32 bits.
const WINDOW_END: u32 = 7 << 29;

/// Where components find what.
pub const LAYOUT: Layout = Layout {
    places: Places { image: 0x0080_0000, ..ia32::LAYOUT.places },
    windows: Windows {
        base: USER_END - WINDOW,
        users_end: USER_END,
        end: WINDOW_END,
        most: WINDOW_END,
        kernel_bytes: 8 << 20,
        start_block: WINDOW_END - (32 << 20),
        have_grants: true,
    },
};
