// SPDX-License-Identifier: MIT OR Apache-2.0
//! MIPS with 64 bits: its facts.

use super::facts::Facts;
use abi::arch::mips::layout::{AREAS, MOST_POOL};
use image::layout::mips::LAYOUT;

/// All of it.
pub static FACTS: Facts = Facts {
    name: "mips",
    contract: Some(&["--no-default-features", "--features", "mips"]),
    // What kseg0 reaches below the devices.
    most_mib: 256,
    most_pool: MOST_POOL,
    layout: LAYOUT,
    areas: AREAS,
    relocation_slots: 0,
    locked_ranges: 0,
    has_virtual_caches: false,
    has_servers: false,
    has_area: false,
    asks_for_servers: false,
    has_homes: false,
    has_debugger: false,
    has_samples: false,
    checks_alone: false,
    page: 4096,
    table_span: abi::TABLE_SPAN,
    native: None,
    u_boot: 6,
    linux: None,
};
