// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debug registers of IA-32 and x86-64, as users may set them (Intel SDM volume 3, section 17.2).

use abi::{Error, USER_END, Word};

/// Registers 0 to 3, 6 and 7 of a thread.
pub type Registers = [Word; 6];

/// Where the status register is in [`Registers`], and the control register.
const STATUS: usize = 4;
const CONTROL: usize = 5;

/// Of the control register: local enables, conditions and lengths; not general detect, not global
/// enables.
const KEPT: Word = 0xffff_0055;
/// Further bits that a user may set in it, without effect: global enables, and exactness.
const IGNORED: Word = 0x3ff;

/// Sets register `index`, 0 to 3 or 7, and returns and clears the status register. A breakpoint
/// that is not aligned covers the aligned bytes around its address, and none of these bytes is the
/// kernel's.
///
/// # Errors
/// `BadArgument`: there is no such register to be set, an address is no user's, or a bit is the
/// kernel's. Breakpoints at I/O ports need CR4.DE, which no thread needs, so they are refused, too.
pub fn set(registers: &mut Registers, index: Word, value: Word) -> Result<Word, Error> {
    let is_at_port = |breakpoint: usize| value >> (16 + 4 * breakpoint) & 3 == 2;
    let (register, value) = match index {
        0..=3 if value < USER_END => (index as usize, value),
        7 if value & !(KEPT | IGNORED) == 0 && !(0..4).any(is_at_port) => (CONTROL, value & KEPT),
        _ => return Err(Error::BadArgument),
    };
    registers[register] = value;
    Ok(core::mem::take(&mut registers[STATUS]))
}

/// Whether a breakpoint is on.
#[must_use]
pub const fn are_used(registers: &Registers) -> bool {
    registers[CONTROL] != 0
}
