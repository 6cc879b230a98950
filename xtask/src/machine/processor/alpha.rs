// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alpha: its facts.

use super::facts::{Facts, Native, Runtime};
use abi::arch::alpha::layout::{AREAS, MOST_POOL, PAGE_SIZE, TABLE_SPAN};
use image::layout::alpha::LAYOUT;
use translator::OPTIONS;

/// All of it.
pub static FACTS: Facts = Facts {
    name: "alpha",
    // The test `alpha.differential` is about its fast path.
    contract: None,
    // What the kernel sees as addresses of 32 bits whose sign is none.
    most_mib: 1024,
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
    page: PAGE_SIZE as u32,
    table_span: TABLE_SPAN as u32,
    native: Some(NATIVE),
    u_boot: 1,
    linux: None,
};

/// How it is compiled and linked.
const NATIVE: Native = Native {
    compiler: "alpha-linux-gnu-gcc",
    arguments: &OPTIONS,
    kernel: Runtime {
        base: 0xffff_fc00_0000_0000,
        script: "kernel/arch/alpha/kernel.ld",
        assembly: &[
            "kernel/arch/alpha/src/start.S",
            "kernel/arch/alpha/src/fast/ipc.S",
            "kernel/arch/alpha/src/entry.S",
            "kernel/arch/alpha/src/divide.S",
        ],
    },
    component: Runtime {
        base: 0,
        script: "user/lib/src/arch/alpha/component.ld",
        assembly: &["user/lib/src/arch/alpha/start.S", "kernel/arch/alpha/src/divide.S"],
    },
};
