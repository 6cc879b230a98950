// SPDX-License-Identifier: MIT OR Apache-2.0
//! MIPS: the kernel's area is below 4 MiB. Components have what they have below 4 GiB, as what they
//! are told of addresses has 32 bits. There are no windows: where they would be is said as on IA-32.

use super::{Layout, ia32};

/// Where components find what.
pub const LAYOUT: Layout = ia32::LAYOUT;
