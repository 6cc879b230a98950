// SPDX-License-Identifier: MIT OR Apache-2.0
//! The serial line and the system's registers.

use crate::resources::{RW, registers};
use abi::PAGE_SIZE;
use image::Places;
use macadamia::board::{system, uart};
use macadamia::map::Window;
use macadamia::{Result, Space};

/// Where the serial line's registers are seen, and the system's: below where the root server looks
/// at components.
const LINE: u32 = Places::LOW.own_end - 2 * PAGE_SIZE;
pub(super) const SYSTEM: u32 = Places::LOW.own_end - 3 * PAGE_SIZE;

/// A page of registers, seen at `address`.
pub(super) fn window(address: u32, base: u32) -> Result<Window> {
    let (memory, offset) = registers(base)?;
    Window::open(address, memory, offset, PAGE_SIZE, RW)
}

/// The first serial line, polled.
pub struct Line(Window);

impl Line {
    /// Maps its registers.
    pub fn open() -> Result<Self> {
        window(LINE, uart::FIRST).map(Self)
    }

    /// Sends a byte.
    pub fn put(&self, byte: u8) {
        while self.0.read(uart::FLAGS) & uart::FULL != 0 {}
        self.0.write(uart::DATA, u32::from(byte));
    }
}

/// Nothing has to be opened.
pub const fn open(_: Space) -> Result<()> {
    Ok(())
}

/// Ends the machine, if a reset does, as in QEMU.
pub fn power_off() {
    if let Ok(registers) = window(SYSTEM, system::REGISTERS) {
        registers.write(system::LOCK, system::KEY);
        registers.write(system::RESET, system::RESET_ALL);
    }
}
