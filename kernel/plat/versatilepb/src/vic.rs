// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interrupt controllers: a PL190 (DDI 0181) with lines 0 to 31, and a second one of the
//! board's own (DUI 0225D, section 4.10) at its line 31, whose lines are 32 to 63 here.

use crate::registers::{at, read, write};

/// How many lines there are.
pub const LINES: usize = 64;
/// The line of the first that the second is connected to.
pub const CASCADE: u32 = 31;

const STATUS: u32 = at(0x1014_0000);
const SELECT: u32 = at(0x1014_000c);
const ENABLE: u32 = at(0x1014_0010);
const DISABLE: u32 = at(0x1014_0014);
const SECOND_STATUS: u32 = at(0x1000_3000);
const SECOND_ENABLE: u32 = at(0x1000_3008);
const SECOND_DISABLE: u32 = at(0x1000_300c);
/// Lines of the second that are led to the first one's of the same number.
const SECOND_PASS: u32 = at(0x1000_3020);
const SECOND_PASS_NOT: u32 = at(0x1000_3024);
/// Those of PCI: lines 27 to 30 of the first.
const PCI: u32 = 0x7800_0000;

/// Every line closed but the cascade; none is a fast interrupt.
pub fn init() {
    write(DISABLE, u32::MAX);
    write(SELECT, 0);
    write(SECOND_DISABLE, u32::MAX);
    write(SECOND_PASS_NOT, u32::MAX);
    write(SECOND_PASS, PCI);
    write(ENABLE, 1 << CASCADE);
}

/// Lets a line through, or not.
pub fn set_enabled(line: u32, enabled: bool) {
    let register = match (line < 32, enabled) {
        (true, true) => ENABLE,
        (true, false) => DISABLE,
        (false, true) => SECOND_ENABLE,
        (false, false) => SECOND_DISABLE,
    };
    write(register, 1 << (line % 32));
}

/// The lines that interrupt now, a bit each.
pub fn pending() -> u64 {
    let first = read(STATUS);
    let second = if first & 1 << CASCADE != 0 { read(SECOND_STATUS) } else { 0 };
    u64::from(first & !(1 << CASCADE)) | u64::from(second) << 32
}
