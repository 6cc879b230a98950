// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64: its facts.

use super::facts::{Configuration, Debian, Expected, Facts, Header, Linux, Plan};
use abi::arch::x86_64::layout::{AREAS, MOST_POOL};
use image::layout::x86_64::LAYOUT;

/// All of it.
pub static FACTS: Facts = Facts {
    name: "x86_64",
    contract: Some(&["--no-default-features", "--features", "wide"]),
    layout: LAYOUT,
    areas: AREAS,
    // What has 40 bits of physical addresses, as QEMU's usual models, has room for twice of it.
    most_mib: 512 << 10,
    most_pool: MOST_POOL,
    relocation_slots: 0,
    locked_ranges: 0,
    has_virtual_caches: false,
    has_servers: true,
    has_area: true,
    asks_for_servers: true,
    has_homes: false,
    has_debugger: true,
    has_samples: false,
    checks_alone: false,
    page: 4096,
    table_span: abi::TABLE_SPAN,
    native: None,
    u_boot: 24,
    linux: Some(LINUX),
};

const LINUX: Linux = Linux {
    ours: &[
        ("linux/x86_64/os-L4", "arch/x86/um/os-L4"),
        // What both have of the processor.
        ("linux/x86/os-L4/breakpoints.c", "arch/x86/um/os-L4"),
        ("linux/x86/os-L4/cpuid.h", "arch/x86/um/os-L4"),
        ("linux/x86/os-L4/cpuinfo.c", "arch/x86/um/os-L4"),
        ("linux/x86/os-L4/debug.h", "arch/x86/um/os-L4"),
        ("linux/x86/os-L4/random.c", "arch/x86/um/os-L4"),
        ("linux/x86/os-L4/restart.h", "arch/x86/um/os-L4"),
        ("linux/x86/os-L4/server_thread.c", "arch/x86/um/os-L4"),
        ("linux/x86/os-L4/step.c", "arch/x86/um/os-L4"),
        ("linux/x86/os-L4/syscalls.c", "arch/x86/um/os-L4"),
        ("linux/x86/os-L4/vdso-image.S", "arch/x86/um/os-L4"),
        ("linux/x86/asm/vdso", "arch/x86/um/asm/vdso"),
    ],
    patches: Some("linux/x86_64/patches"),
    header: abi_header::x86_64,
    configuration: "CONFIG_GENERIC_CPU=y\n",
    servers: &SERVERS,
    expected: Expected {
        crashes: &[
            ("divide", &["BUG: divide error: exception 0, error code 0000", "At crash_divide+"]),
            (
                "invalid",
                &["BUG: invalid opcode: exception 6, error code 0000", "At crash_invalid+"],
            ),
        ],
        register: "RAX: ",
        attacks: [
            "`ports` died: privileged instruction",
            "`interrupts` died: privileged instruction",
        ],
        reclaims: ("2112K", 10),
        debian: Some(Debian {
            has_breakpoints: true,
            pointer: 8,
            shown: ["3[0-9][0-9]", "x86_64", "fpu( .*)? lm"],
            has_podman: true,
            jimtcl: None,
        }),
    },
};

const SERVERS: [Plan; 3] = [
    USUAL,
    USUAL.full(&["linux/config.full", "linux/config.screen"]),
    Plan { package: "linux-tests", family: "linux-tests", tests: true, ..USUAL },
];

const USUAL: Plan = Plan {
    package: "linux",
    family: "linux",
    configuration: Configuration::Lean,
    besides: &[],
    folder: "source",
    layout: Header {
        file: "linux/x86_64/os-L4/layout.h",
        text: include_str!("../../../../linux/x86_64/os-L4/layout.h"),
    },
    start: None,
    tests: false,
};
