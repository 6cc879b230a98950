// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marker instructions that the machine model recognises in user code: IA-32's, which are the same
//! instruction here. That of a case has the address of its name in RAX, and the bytes in RCX.

pub use crate::arch::ia32::marker::{BEGIN, BEGIN_FREE, CASE, END, OPCODE, immediate};
