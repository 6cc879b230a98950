// SPDX-License-Identifier: MIT OR Apache-2.0
//! What depends on the processor: a module for each, with the same names in all of them.
//!
//! `raw` makes a system call, `raise` an exception. `stack_pointer` and `STACK_FLAGS` are for the last word of a
//! stack (`utcb.rs`), `thread_entry` is where threads begin, `counter` the clock's counter. `count_message` is
//! for `ipc.rs`. `mark` and `case`, which
//! IA-32 alone has, are markers for the machine model.

#[cfg(target_arch = "x86")]
mod ia32;
#[cfg(target_arch = "x86")]
pub use ia32::*;

#[cfg(not(target_arch = "x86"))]
mod none;
#[cfg(not(target_arch = "x86"))]
pub use none::*;
