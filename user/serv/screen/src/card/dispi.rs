// SPDX-License-Identifier: MIT OR Apache-2.0
//! The VGA of QEMU and of Bochs, by the registers that Bochs has defined (QEMU,
//! docs/specs/standard-vga.rst). Base address register 0 has the pixels, and 2 the registers, if
//! there are any in memory; Bochs 2.7 has them only at ports. The card causes no interrupt, and
//! reads no memory but its own.

use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::port::{read16, write16};
use macadamia::region::{Little, Region, Shared};
use macadamia::{Env, pci};
use surface::Mode;

const GRANT: &str = "card";
/// QEMU's number for it, at Bochs' number for a maker.
const IDENTITY: u32 = 0x1111_1234;
const PIXELS: usize = 0;
const REGISTERS: usize = 2;
/// The ports of them: the number of one, and its value.
const PORTS: &str = "dispi";
/// Offset of the registers in memory, 16 bits each.
const DISPI: u32 = 0x500;
/// Pairs of them by the number of the first, which is in the lower half: identity and width; height
/// and bits of a pixel; what is on, and the bank.
const WIDTH: u16 = 0;
const HEIGHT: u16 = 2;
const ENABLE: u16 = 4;
/// The identity that has 32 bits for a pixel.
const VERSION: u32 = 0xb0c5;
const BITS: u32 = 32;
/// On; all pixels side by side; they stay what they are.
const ON: u32 = 1 | 1 << 6 | 1 << 7;
/// Off, and size and bits read as the most that the card shows.
const MOST: u32 = 1 << 1;

/// Where the registers are.
enum Registers {
    Memory(Little<Region>),
    Ports(u16),
}

impl Registers {
    fn read(&self, pair: u16) -> u32 {
        match self {
            Self::Memory(memory) => memory.read(DISPI + u32::from(pair) * 2),
            Self::Ports(first) => [pair + 1, pair].into_iter().fold(0, |halves, number| {
                write16(*first, number);
                halves << 16 | u32::from(read16(*first + 1))
            }),
        }
    }

    fn write(&self, pair: u16, value: u32) {
        match self {
            Self::Memory(memory) => memory.write(DISPI + u32::from(pair) * 2, value),
            Self::Ports(first) => {
                for (number, half) in [(pair, value as u16), (pair + 1, (value >> 16) as u16)] {
                    write16(*first, number);
                    write16(*first + 1, half);
                }
            }
        }
    }
}

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
    let registers = match pci::registers(env, GRANT, REGISTERS) {
        Some(memory) => Registers::Memory(memory),
        None if env.given(PORTS).is_some() => Registers::Ports(env.ports(PORTS)),
        None => {
            return Err(format!(
                "the card has registers at ports only, and nobody grants `{PORTS}`"
            ));
        }
    };
    if u64::from(width) * u64::from(height) * 4 > u64::from(pixels.bytes()) {
        return Err(format!("the card has no memory for {width}x{height}"));
    }
    // Bochs ends if it has no window for what is set.
    registers.write(ENABLE, MOST);
    let most = registers.read(HEIGHT);
    let most = Mode { size: [registers.read(WIDTH) >> 16, most & 0xffff], bits: most >> 16 };
    most.shows(&Mode { size: [width, height], bits: BITS })?;
    registers.write(ENABLE, 0);
    registers.write(WIDTH, VERSION | width << 16);
    registers.write(HEIGHT, height | BITS << 16);
    registers.write(ENABLE, ON);
    if registers.read(WIDTH) >> 16 != width || registers.read(HEIGHT) != height | BITS << 16 {
        return Err(format!("the card does not show {width}x{height}"));
    }
    Ok(pixels)
}
