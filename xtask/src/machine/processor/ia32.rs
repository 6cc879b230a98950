// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32: its facts.

use super::facts::{Configuration, Debian, Expected, Facts, Header, Linux, Plan};
use abi::arch::ia32::layout::{AREAS, MOST_POOL};
use image::layout::ia32::LAYOUT;

/// All of it.
pub static FACTS: Facts = Facts {
    name: "ia32",
    contract: Some(&[]),
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
    has_homes: true,
    has_debugger: true,
    has_samples: true,
    checks_alone: true,
    page: 4096,
    table_span: abi::TABLE_SPAN,
    native: None,
    u_boot: 3,
    linux: Some(LINUX),
};

const LINUX: Linux = Linux {
    ours: &[
        ("linux/x86/os-L4", "arch/x86/um/os-L4"),
        ("linux/x86/asm/vdso", "arch/x86/um/asm/vdso"),
    ],
    patches: None,
    header: abi_header::ia32,
    configuration: "CONFIG_M686=y\n",
    servers: &SERVERS,
    expected: Expected {
        crashes: &[
            ("divide", &["BUG: divide error: exception 0, error code 0000", "At crash_divide+"]),
            (
                "invalid",
                &["BUG: invalid opcode: exception 6, error code 0000", "At crash_invalid+"],
            ),
        ],
        register: "EAX: ",
        attacks: [
            "`ports` died: privileged instruction",
            "`interrupts` died: privileged instruction",
        ],
        reclaims: ("1448K", 10),
        debian: Some(Debian {
            has_breakpoints: true,
            pointer: 4,
            shown: ["3[0-9][0-9]", "i686", "fpu( .*)? cmov"],
            has_podman: false,
            // On a Debian for i386 of its own five more do, which ask for IPv6; the others ask for
            // something that is not configured.
            jimtcl: Some(5350),
        }),
    },
};

const SERVERS: [Plan; 6] = [
    USUAL,
    USUAL.full(&["linux/config.full", "linux/config.screen"]),
    Plan {
        package: "linux-1g",
        family: "linux",
        folder: "window-1g",
        start: Some(LAYOUT.windows.end - (1 << 30)),
        ..USUAL
    },
    Plan {
        package: "linux-2g",
        family: "linux",
        folder: "window-2g",
        start: Some(LAYOUT.windows.end - (2 << 30)),
        ..USUAL
    },
    Plan { package: "linux-tests", family: "linux-tests", tests: true, ..USUAL },
    Plan { package: "linux-small", family: "linux-small", folder: "small", layout: SMALL, ..USUAL },
];

const USUAL: Plan = Plan {
    package: "linux",
    family: "linux",
    configuration: Configuration::Lean,
    besides: &[],
    folder: "source",
    layout: Header {
        file: "linux/x86/os-L4/layout.h",
        text: include_str!("../../../../linux/x86/os-L4/layout.h"),
    },
    start: None,
    tests: false,
};

const SMALL: Header = Header {
    file: "tests/linux/small-layout.h",
    text: include_str!("../../../../tests/linux/small-layout.h"),
};
