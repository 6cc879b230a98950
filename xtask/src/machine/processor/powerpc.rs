// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC with 32 bits: its facts.

use super::facts::{Configuration, Expected, Facts, Header, Linux, Plan};
use abi::arch::powerpc::layout::{AREAS, MOST_POOL};
use image::layout::powerpc::LAYOUT;

/// All of it.
pub static FACTS: Facts = Facts {
    name: "powerpc",
    contract: Some(&["--no-default-features", "--features", "powerpc"]),
    layout: LAYOUT,
    areas: AREAS,
    most_mib: 3 << 10,
    most_pool: MOST_POOL,
    relocation_slots: 0,
    locked_ranges: 0,
    has_virtual_caches: false,
    has_servers: true,
    has_area: false,
    asks_for_servers: false,
    has_homes: false,
    has_debugger: true,
    has_samples: false,
    checks_alone: false,
    page: 4096,
    table_span: abi::TABLE_SPAN,
    native: None,
    u_boot: 7,
    linux: Some(LINUX),
};

const LINUX: Linux = Linux {
    ours: &[
        ("linux/powerpc", "arch/powerpc/um"),
        ("linux/powerpc/Makefile.um", "arch/powerpc"),
        ("linux/powerpc/asm", "arch/powerpc/um/asm"),
        ("linux/powerpc/asm/vdso", "arch/powerpc/um/asm/vdso"),
        ("linux/powerpc/sysdep", "arch/powerpc/um/shared/sysdep"),
        ("linux/powerpc/os-L4", "arch/powerpc/um/os-L4"),
    ],
    patches: None,
    header: abi_header::powerpc,
    configuration: "",
    servers: &SERVERS,
    expected: Expected {
        // It divides by 0 without an exception.
        crashes: &[("invalid", &["BUG: invalid instruction", "At crash_invalid+"])],
        register: "GPR00: ",
        // It has no ports, but a register that says where the hashed table is.
        attacks: [
            "`ports` died: invalid or privileged instruction",
            "`interrupts` died: invalid or privileged instruction",
        ],
        reclaims: ("1448K", 10),
        debian: None,
    },
};

const SERVERS: [Plan; 2] =
    [USUAL, Plan { package: "linux-tests", family: "linux-tests", tests: true, ..USUAL }];

const USUAL: Plan = Plan {
    package: "linux",
    family: "linux",
    configuration: Configuration::Lean,
    besides: &[],
    folder: "source",
    layout: Header {
        file: "linux/powerpc/os-L4/layout.h",
        text: include_str!("../../../../linux/powerpc/os-L4/layout.h"),
    },
    start: None,
    tests: false,
};
