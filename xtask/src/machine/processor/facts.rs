// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tool has to know about a processor: the form of the table that each processor's file
//! fills in.

use image::layout::Layout;
use serde::{Deserialize, Serialize};

/// All of it.
pub struct Facts {
    /// As `abi` names it.
    pub name: &'static str,
    /// With which arguments cargo has its contract on the host, for tests of its saved registers
    /// and of its fast paths: an empty list for the one that the host has by itself, and nothing if
    /// there are no such tests.
    pub contract: Option<&'static [&'static str]>,
    /// Where a component finds what.
    pub layout: Layout,
    /// How many native spaces there can be; 0: as many as threads.
    pub areas: u32,
    /// The most RAM of a machine that the kernel uses, in MiB.
    pub most_mib: u32,
    /// Bytes of the kernel's memory, at most.
    pub most_pool: u32,
    /// Slots that spaces can be relocated to.
    pub relocation_slots: u32,
    /// Ranges of lines of a cache that can be locked.
    pub locked_ranges: u32,
    /// Whether its caches are virtual: what components share has one address in all of them.
    pub has_virtual_caches: bool,
    /// Whether components can be servers that other spaces show.
    pub has_servers: bool,
    /// Whether servers see of its kernel an entry area only (docs/entry-area.md).
    pub has_area: bool,
    /// Whether its kernel has them only if its command line asks for them.
    pub asks_for_servers: bool,
    /// Whether they can be small, several in one home.
    pub has_homes: bool,
    /// Whether there is a kernel debugger for it.
    pub has_debugger: bool,
    /// Whether the machine model can take samples of it.
    pub has_samples: bool,
    /// Whether the machine model's checker knows Linux alone.
    pub checks_alone: bool,
    /// Bytes of a page: parts of a boot image begin at a multiple.
    pub page: u32,
    /// At a multiple of this begin devices, files and shared memory of a component.
    pub table_span: u32,
    /// How programs are compiled, if Rust has no back end for it.
    pub native: Option<Native>,
    /// Its number in images of U-Boot.
    pub u_boot: u8,
    /// What Linux needs to know of it, if there is one.
    pub linux: Option<Linux>,
}

/// How WebAssembly becomes a program of the processor, by way of C.
pub struct Native {
    /// The C compiler, with its assembler and linker.
    pub compiler: &'static str,
    /// What it is told.
    pub arguments: &'static [&'static str],
    /// What the kernel is linked with.
    pub kernel: Runtime,
    /// What components are linked with.
    pub component: Runtime,
}

/// What a program is linked with.
pub struct Runtime {
    /// Where the program sees the first byte of WebAssembly's memory.
    pub base: u64,
    /// The linker's script.
    pub script: &'static str,
    /// Files of assembly, which are one for the assembler.
    pub assembly: &'static [&'static str],
}

/// What a Linux needs to know of a processor.
pub struct Linux {
    /// Folders and files of ours, and where they go in the source.
    pub ours: &'static [(&'static str, &'static str)],
    /// The folder of patches that only its servers have, if there is one.
    pub patches: Option<&'static str>,
    /// The microkernel's contract as a C header.
    pub header: fn() -> String,
    /// Lines of its configuration that it has besides.
    pub configuration: &'static str,
    /// The servers that are built.
    pub servers: &'static [Plan],
    /// What its tests expect.
    pub expected: Expected,
}

/// How a Linux server is built.
pub struct Plan {
    /// What a description calls it.
    pub package: &'static str,
    /// What a description may call it together with its configuration and its window's size.
    pub family: &'static str,
    /// What a description calls what it is built with.
    pub configuration: Configuration,
    /// The files of choices that it is built with besides `linux/config` and the processor's own.
    pub besides: &'static [&'static str],
    /// Its source, unpacked, under `target/linux`.
    pub folder: &'static str,
    /// The header that places it.
    pub layout: Header,
    /// Where its window begins, instead of where the header says.
    pub start: Option<u32>,
    /// Whether `linux/tests` is in it.
    pub tests: bool,
}

impl Plan {
    /// The same with the configuration `full`: these files of choices besides.
    pub const fn full(self, besides: &'static [&'static str]) -> Self {
        Self {
            package: "linux-full",
            configuration: Configuration::Full,
            besides,
            folder: "full",
            ..self
        }
    }
}

/// What Linux is built with.
#[derive(Deserialize, Serialize, Clone, Copy, Default, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Configuration {
    /// `linux/config`: what figures are taken with.
    #[default]
    Lean,
    /// More besides, where there is such a server: a screen, on the PC all that an administrator reaches for.
    Full,
}

/// A header that places a server.
#[derive(Clone, Copy)]
pub struct Header {
    /// Where it is.
    pub file: &'static str,
    /// What it says.
    pub text: &'static str,
}

/// What tests of Linux expect of a processor.
pub struct Expected {
    /// Faults of the server that only it has: how the crash test makes them, and what is printed.
    pub crashes: &'static [(&'static str, &'static [&'static str])],
    /// How a register is printed.
    pub register: &'static str,
    /// How the attacks on I/O ports, or on what it has in place of them, and on the interrupt flag
    /// end.
    pub attacks: [&'static str; 2],
    /// The quota of a server with more page tables than memory for them, and how often it has to
    /// reclaim some, at least: tables span more or less, and a page has more or fewer of them.
    pub reclaims: (&'static str, u64),
    /// What tests of Debian expect, if there is one.
    pub debian: Option<Debian>,
}

/// What tests of Debian expect of a processor.
pub struct Debian {
    /// Whether gdb can stop a program by the processor's breakpoints.
    pub has_breakpoints: bool,
    /// Bytes of a pointer.
    pub pointer: u32,
    /// MiB of memory that `top` shows of the board, the architecture and the flags that `lscpu`
    /// does: as `grep -E` takes them.
    pub shown: [&'static str; 3],
    /// Whether `podman` is on the disk.
    pub has_podman: bool,
    /// Of the tests of Jim Tcl 0.81 those that pass, if they ran there once.
    pub jimtcl: Option<u32>,
}
