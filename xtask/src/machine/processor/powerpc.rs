// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC, 32 bits.

use super::facts::Facts;
use abi::arch::powerpc::layout::AREAS;
use image::layout::powerpc::LAYOUT;

/// All of it.
pub static FACTS: Facts = Facts {
    name: "powerpc",
    contract: None,
    layout: LAYOUT,
    areas: AREAS,
    relocation_slots: 0,
    locked_ranges: 0,
    has_virtual_caches: false,
    has_servers: true,
    has_homes: false,
    has_debugger: false,
    has_samples: false,
    u_boot: 7,
    linux: None,
};
