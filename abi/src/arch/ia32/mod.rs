// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32.

pub mod frame;
pub mod kip;
pub mod layout;
pub mod marker;
pub mod message;
pub mod state;

/// The processor, by which other crates say what depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Processor;

/// The registers of a system call.
pub const REGISTERS: super::Registers = super::Registers {
    processor: "IA-32",
    instruction: "`sysenter`; `int 0x30` if the kernel information page lacks `FEATURE_SYSENTER`",
    tag: "`eax`",
    arguments: ["`ebx`", "`esi`", "`edi`", "`ebp`"],
    results: ["`eax`", "`ebx`", "`esi`", "`edi`", "`ebp`"],
    words: "in the UTCB",
    others: &[
        ("stack pointer, for `sysenter`", "`ecx`"),
        ("return address, for `sysenter`", "`edx`"),
        ("undefined afterwards", "`ecx`, `edx`, flags"),
        ("flat afterwards", "`ds`, `es`"),
        ("kept", "`esp`, `fs`, `gs`"),
    ],
};

/// A user register.
pub type Word = u32;

/// Whether a device that reads and writes memory sees what is in the data caches.
pub const DMA_IS_COHERENT: bool = true;
