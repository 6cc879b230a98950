// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alpha: the kernel's area is below 8 MiB. Components have what they have below 4 GiB, as what they
//! are told of addresses has 32 bits, and so have WebAssembly's. There are no windows: where they
//! would be is said as on IA-32.

use super::{Layout, ia32};
use crate::Places;

/// The end of the kernel's area (`abi`): images begin there, with WebAssembly's memory.
const IMAGE: u32 = 0x0080_0000;

/// Where components find what.
pub const LAYOUT: Layout =
    Layout { places: Places { image: IMAGE, ..ia32::LAYOUT.places }, ..ia32::LAYOUT };
