// SPDX-License-Identifier: MIT OR Apache-2.0
//! What depends on the processor: a module for each, with the same names in all of them.
//!
//! | module or name | what it is for |
//! |---|---|
//! | `frame` | the registers of a thread, as its handler sees them |
//! | `state` | what `set_state` sets |
//! | `marker` | instructions that the machine model recognises |
//! | `layout` | user addresses: where they end, and where the kernel's part of them is |
//! | `kip` | features and clock of the kernel information page |
//! | `message` | how much of a message travels in registers |
//!
//! The rest of this crate names the words of a system call by their role: arguments `a0` to `a3`, results
//! `r0` to `r4`.

pub mod ia32;

pub use ia32 as current;
