// SPDX-License-Identifier: MIT OR Apache-2.0
//! What depends on the processor: a module for each, with the same names in all of them.
//!
//! | module or name | what it is for |
//! |---|---|
//! | `Word` | a user register |
//! | `Processor` | by what name other crates say what depends on it |
//! | `frame` | the registers of a thread, as its handler sees them |
//! | `state` | what `set_state` sets |
//! | `layout` | user addresses: where they end, and where the kernel's part of them is |
//! | `message` | how much of a message travels in registers |
//! | `REGISTERS` | where the words of a system call are, for the manual |
//! | `DMA_IS_COHERENT` | whether devices see the data caches |
//!
//! A module may have more: `kip` has what the kernel information page tells of this processor, and
//! `marker` the instructions that the machine model recognises. `REGISTERS` is in those that there
//! is a port to.
//!
//! The rest of this crate names the words of a system call by their role: arguments `a0` to `a3`,
//! results `r0` to `r4`; [`Registers`] says where these are.

/// Where a processor has the words of a system call: the manual's tables are made of it.
#[derive(Debug)]
pub struct Registers {
    /// The processor.
    pub processor: &'static str,
    /// How a system call is made.
    pub instruction: &'static str,
    /// The tag.
    pub tag: &'static str,
    /// `a0` to `a3`.
    pub arguments: [&'static str; 4],
    /// `r0` to `r4`.
    pub results: [&'static str; 5],
    /// Words of a message from 3 on.
    pub words: &'static str,
    /// What else there is: roles, and the registers that have them.
    pub others: &'static [(&'static str, &'static str)],
}

/// Those of all ports.
pub const REGISTERS: [Registers; 6] = [
    ia32::REGISTERS,
    armv5::REGISTERS,
    powerpc::REGISTERS,
    x86_64::REGISTERS,
    mips::REGISTERS,
    alpha::REGISTERS,
];

pub mod alpha;
pub mod armv5;
pub mod ia32;
pub mod mips;
pub mod powerpc;
pub mod riscv64;
pub mod x86_64;

// What is compiled to WebAssembly is to be translated to Alpha, for which there is no compiler.
#[cfg(any(target_arch = "wasm32", all(target_arch = "x86_64", feature = "alpha")))]
pub use alpha as current;
#[cfg(any(target_arch = "arm", all(target_arch = "x86_64", feature = "arm")))]
pub use armv5 as current;
#[cfg(any(target_arch = "mips64", all(target_arch = "x86_64", feature = "mips")))]
pub use mips as current;
#[cfg(any(target_arch = "powerpc", all(target_arch = "x86_64", feature = "powerpc")))]
pub use powerpc as current;
#[cfg(target_arch = "riscv64")]
pub use riscv64 as current;
#[cfg(all(target_arch = "x86_64", any(target_os = "none", feature = "wide")))]
pub use x86_64 as current;
// Programs of the host are about IA-32, and tests of the portable crates have its word, if no
// feature says otherwise.
#[cfg(any(
    target_arch = "x86",
    not(any(
        target_os = "none",
        target_arch = "arm",
        target_arch = "mips64",
        target_arch = "powerpc",
        target_arch = "riscv64",
        all(
            target_arch = "x86_64",
            any(
                feature = "alpha",
                feature = "arm",
                feature = "mips",
                feature = "powerpc",
                feature = "wide"
            )
        )
    ))
))]
pub use ia32 as current;

#[cfg(all(
    target_os = "none",
    not(any(
        target_arch = "arm",
        target_arch = "mips64",
        target_arch = "powerpc",
        target_arch = "riscv64",
        target_arch = "wasm32",
        target_arch = "x86",
        target_arch = "x86_64"
    ))
))]
compile_error!("there is no contract for this processor: it is a folder of abi/src/arch");

impl current::frame::Frame {
    /// Its words.
    pub fn words_mut(&mut self) -> &mut [current::Word; current::frame::WORDS as usize] {
        bytemuck::cast_mut(self)
    }
}
