// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alpha: how long the kernel does not check for interrupts, and nothing else.
//!
//! The kernel sees physical memory where the upper half of an address is negative; PALcode is
//! executed at physical addresses, the first of memory. So the lower half of an address says which
//! code of the kernel it is, in either way. QEMU reports no register of this processor, only
//! instructions and the address and value of each access. Sources: *Alpha AXP Architecture
//! Reference Manual*, second edition, appendix C (encodings); QEMU, target/alpha (the places of
//! PALcode's entries, and its instructions).
//!
//! It owns what only Alpha has; what all processors share is at the crate's root. It does not know
//! QEMU.

mod instruction;

pub use instruction::{SAVES_TAG, is_case, may_look, returns, word};

use crate::counter::Processor;
use crate::latency::Latency;
use abi::arch::alpha::call_pal::SYSTEM_CALL;
use std::convert::Infallible;
use std::ops::Range;

/// The instrument.
pub type Counter = crate::Counter<Alpha>;
/// What to count of Alpha.
pub type Setup = crate::counter::Setup<Infallible, Infallible>;

/// PALcode. A user that executes its information page or a UTCB, which are at such addresses, is
/// taken for it.
const PALCODE: Range<u64> = 0..0x8000;
/// Where exceptions enter it, and the bytes from each to the next.
const EXCEPTIONS: Range<u32> = 0x80..0x500;
const EXCEPTION: u32 = 0x80;
/// Where `CALL_PAL` enters that users may execute, whose numbers begin at 0x80; and the bytes from
/// each to the next.
const CALLS: u32 = 0x2000;
const FIRST_CALL: u32 = 0x80;
const CALL: u32 = 64;
/// A system call's entry, which is the last one.
pub const SYSTEM_CALLS: u32 = CALLS + (SYSTEM_CALL - FIRST_CALL) * CALL;
/// Where the kernel sees memory. QEMU lets users have other negative addresses.
const KERNELS: Range<u64> = 0xffff_fc00_0000_0000..0xffff_fe00_0000_0000;

/// What measures how long the kernel does not check for interrupts: the tag of a system call it is
/// told later ([`Latency::asked`]).
#[must_use]
pub fn latency() -> Latency {
    Latency::of(Vec::new())
}

/// Whether code at this address is a user's.
#[must_use]
pub fn is_user(address: u64) -> bool {
    !KERNELS.contains(&address) && !PALCODE.contains(&address)
}

/// Whether a block of PALcode at this address is the first one of an entry that users can cause.
#[must_use]
pub fn is_entry(address: u32) -> bool {
    EXCEPTIONS.contains(&address) && address.is_multiple_of(EXCEPTION)
        || (CALLS..=SYSTEM_CALLS).contains(&address) && address.is_multiple_of(CALL)
}

/// What is known of the processor: nothing.
#[derive(Debug)]
pub struct Alpha;

impl Processor for Alpha {
    type Machine = Infallible;
    type Checker = Infallible;
    type Linear = u32;

    fn new(_: &Setup) -> Self {
        Self
    }

    fn marked(&mut self) {}

    fn modified(&self, address: u32) -> u32 {
        address
    }

    fn errors(&self, _: &mut Vec<String>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_where_palcode_has_them() {
        let of = [0x80, 0x100, 0x480, 0x2000, 0x2f40, 0x2fc0].map(is_entry);
        assert_eq!(of, [true; 6]);
        // Reset; the second instruction of an exception's; `CALL_PAL` of the kernel; the fast path.
        let of = [0, 0x84, 0x500, 0x10c0, 0x2004, 0x3000].map(is_entry);
        assert_eq!(of, [false; 6]);
    }

    #[test]
    fn users_are_between_palcode_and_the_kernel() {
        assert_eq!([0x8000, 0x80_0000, 1 << 41].map(is_user), [true; 3]);
        assert_eq!([0x80, 0x7ffc, 0xffff_fc00_0000_8000].map(is_user), [false; 3]);
        // QEMU has a user's page at this address, too.
        assert!(is_user(0xffff_f800_0080_0000));
    }
}
