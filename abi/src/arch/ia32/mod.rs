// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32.
//!
//! A system call takes the tag in EAX, the arguments `a0` to `a3` in EBX, ESI, EDI and EBP, the stack
//! pointer in ECX and the return address in EDX. It is made by `sysenter`, or by `int 0x30` if the
//! kernel information page says so. The results `r0` to `r4` are in EAX, EBX, ESI, EDI and EBP. ECX, EDX
//! and the flags are undefined afterwards; DS and ES are flat; FS and GS are kept.

pub mod frame;
pub mod kip;
pub mod layout;
pub mod marker;
pub mod message;
pub mod state;
