// SPDX-License-Identifier: MIT OR Apache-2.0
//! The VGA of QEMU, by the registers that Bochs has defined (QEMU, docs/specs/standard-vga.rst):
//! base address register 0 has the pixels, 2 the registers. No interrupt, and it reads no memory
//! but its own.

use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::region::{Region, Shared};
use macadamia::{Env, pci};

const GRANT: &str = "card";
/// QEMU's number for it, at Bochs' number for a maker.
const IDENTITY: u32 = 0x1111_1234;
const PIXELS: usize = 0;
const REGISTERS: usize = 2;
/// Offset of the registers, 16 bits each.
const DISPI: u32 = 0x500;
/// Pairs of them, the first in the lower half: identity and width; height and bits of a pixel; what
/// is on, and the bank.
const WIDTH: u32 = DISPI;
const HEIGHT: u32 = DISPI + 4;
const ENABLE: u32 = DISPI + 8;
/// The identity that has 32 bits for a pixel.
const VERSION: u32 = 0xb0c5;
const BITS: u32 = 32;
/// On; all pixels side by side; they stay what they are.
const ON: u32 = 1 | 1 << 6 | 1 << 7;

/// Sets the size, and returns the pixels.
///
/// # Errors
/// A sentence that says what is wrong with the card.
pub fn open(env: &Env, [width, height]: [u32; 2]) -> Result<Region, String> {
    match pci::identity(env, GRANT) {
        None => return Err("the machine has no card".into()),
        Some(IDENTITY) => {}
        Some(other) => return Err(format!("there is no driver of the card {other:#010x}")),
    }
    let pixels = pci::memory(env, GRANT, PIXELS).ok_or("the card has no pixels in memory")?;
    let registers =
        pci::registers(env, GRANT, REGISTERS).ok_or("the card has no registers in memory")?;
    if u64::from(width) * u64::from(height) * 4 > u64::from(pixels.bytes()) {
        return Err(format!("the card has no memory for {width}x{height}"));
    }
    registers.write(ENABLE, 0);
    registers.write(WIDTH, VERSION | width << 16);
    registers.write(HEIGHT, height | BITS << 16);
    registers.write(ENABLE, ON);
    if registers.read(WIDTH) >> 16 != width || registers.read(HEIGHT) != height | BITS << 16 {
        return Err(format!("the card does not show {width}x{height}"));
    }
    Ok(pixels)
}
