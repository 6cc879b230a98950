// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5TE: its facts.

use super::facts::{Configuration, Debian, Expected, Facts, Header, Linux, Plan};
use abi::arch::armv5::layout::{AREAS, LOCKED_RANGES, MOST_POOL, RELOCATION_SLOTS};
use image::layout::armv5::LAYOUT;

/// All of it.
pub static FACTS: Facts = Facts {
    name: "armv5",
    contract: Some(&["--no-default-features", "--features", "arm"]),
    layout: LAYOUT,
    areas: AREAS,
    most_mib: 3 << 10,
    most_pool: MOST_POOL,
    relocation_slots: RELOCATION_SLOTS,
    locked_ranges: LOCKED_RANGES,
    has_virtual_caches: true,
    has_servers: false,
    has_area: false,
    asks_for_servers: false,
    has_homes: false,
    has_debugger: false,
    has_samples: false,
    checks_alone: true,
    page: 4096,
    table_span: abi::TABLE_SPAN,
    native: None,
    u_boot: 2,
    linux: Some(LINUX),
};

const LINUX: Linux = Linux {
    ours: &[
        ("linux/arm", "arch/arm/um"),
        ("linux/arm/Makefile.um", "arch/arm"),
        ("linux/arm/asm", "arch/arm/um/asm"),
        ("linux/arm/sysdep", "arch/arm/um/shared/sysdep"),
        ("linux/arm/os-L4", "arch/arm/um/os-L4"),
    ],
    patches: None,
    header: abi_header::armv5,
    configuration: "",
    servers: &SERVERS,
    expected: Expected {
        // It has no instruction that divides.
        crashes: &[("invalid", &["BUG: undefined instruction", "At crash_invalid+"])],
        register: "r7 : ",
        // It has no ports, but a coprocessor; what a program does with its status is ignored.
        attacks: ["`ports` died: invalid instruction", "`interrupts` ended with code 7"],
        // A page of the microkernel has four tables.
        reclaims: ("1448K", 4),
        debian: Some(Debian {
            has_breakpoints: false,
            pointer: 4,
            shown: ["1[56][0-9]", "armv5tel", "thumb( .*)? edsp"],
            has_podman: false,
            jimtcl: Some(5355),
        }),
    },
};

const SERVERS: [Plan; 3] = [
    USUAL,
    USUAL.full(&["linux/config.screen"]),
    Plan { package: "linux-tests", family: "linux-tests", tests: true, ..USUAL },
];

const USUAL: Plan = Plan {
    package: "linux",
    family: "linux",
    configuration: Configuration::Lean,
    besides: &[],
    folder: "source",
    layout: Header {
        file: "linux/arm/os-L4/layout.h",
        text: include_str!("../../../../linux/arm/os-L4/layout.h"),
    },
    start: None,
    tests: false,
};
