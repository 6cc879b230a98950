// SPDX-License-Identifier: MIT OR Apache-2.0
//! What depends on the processor: a module for each, with the same names in all of them.
//!
//! `raw` makes a system call, `raise` an exception. `stack_pointer` and `STACK_FLAGS` are for the
//! last word of a stack (`utcb.rs`), `thread_entry` is where threads begin, `counter` the clock's
//! counter. `named_counts` is what the kernel has counted. `count_message` is for `ipc.rs`. `mark`
//! and `case` are markers for the machine model, of the kinds `BEGIN`, `BEGIN_FREE` and `END`.
//! `SERVERS` is the bit of the information page that says whether there are servers, if there can be
//! any. `board` is what is known of the board.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod debug;

#[cfg(target_arch = "wasm32")]
mod alpha;
#[cfg(target_arch = "wasm32")]
pub use alpha::*;

#[cfg(target_arch = "x86")]
mod ia32;
#[cfg(target_arch = "x86")]
pub use ia32::*;

#[cfg(target_arch = "arm")]
mod armv5;
#[cfg(target_arch = "arm")]
pub use armv5::*;

#[cfg(target_arch = "powerpc")]
mod powerpc;
#[cfg(target_arch = "powerpc")]
pub use powerpc::*;

#[cfg(target_arch = "mips64")]
mod mips;
#[cfg(target_arch = "mips64")]
pub use mips::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(target_arch = "riscv64")]
mod none;
#[cfg(target_arch = "riscv64")]
pub use none::*;
