// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64.

use super::facts::Facts;
use abi::arch::x86_64::layout::AREAS;
use image::layout::x86_64::LAYOUT;

/// All of it.
pub static FACTS: Facts = Facts {
    name: "x86_64",
    contract: Some(&["--no-default-features", "--features", "wide"]),
    layout: LAYOUT,
    areas: AREAS,
    // What has 40 bits of physical addresses, as QEMU's usual models, has room for twice of it.
    most_mib: 512 << 10,
    relocation_slots: 0,
    locked_ranges: 0,
    has_virtual_caches: false,
    has_servers: false,
    has_homes: false,
    has_debugger: true,
    has_samples: false,
    checks_alone: false,
    u_boot: 24,
    linux: None,
};
