// SPDX-License-Identifier: MIT OR Apache-2.0
//! The screen, for the kernel's own words: text as the firmware leaves it. A component that shows
//! pixels there later is not asked: at a panic the card is set to text again by stores of the
//! kernel's own, which need nothing but a card that is VGA's (IBM Personal System/2 Hardware
//! Interface Technical Reference, *Video Subsystem*; the values are those of its mode 3).

use core::fmt::{self, Write};
use isa::io::{read8, read16, write8, write16};
use pc::text::{self, PHYSICAL, Words};
use plat_isa::uart;

/// Where the port maps the first MiB of physical memory, in every space.
pub const WINDOW: u32 = 0xe000_0000;

/// Bochs' registers by their number, which cards of emulators have besides those of VGA: identity,
/// and whether pixels are shown.
const DISPI: u16 = 0x1ce;
const IDENTITY: u16 = 0;
const ENABLE: u16 = 4;
const IS_DISPI: u16 = 0xb0c;

/// Ports: clock and polarity; registers by their number of the sequencer, the controller, the
/// graphics part; the attributes, whose number and value go to one port in turns that a read of the
/// status begins.
const MISCELLANEOUS: u16 = 0x3c2;
const SEQUENCER: u16 = 0x3c4;
const CONTROLLER: u16 = 0x3d4;
const GRAPHICS: u16 = 0x3ce;
const ATTRIBUTE: u16 = 0x3c0;
const STATUS: u16 = 0x3da;

/// Their values in mode 3.
const MODE: u8 = 0x67;
const SEQUENCES: [u8; 5] = [3, 0, 3, 0, 2];
const TIMES: [u8; 25] = [
    0x5f, 0x4f, 0x50, 0x82, 0x55, 0x81, 0xbf, 0x1f, 0, 0x4f, 0x0d, 0x0e, 0, 0, 0, 0, 0x9c, 0x8e,
    0x8f, 0x28, 0x1f, 0x96, 0xb9, 0xa3, 0xff,
];
const PLANES: [u8; 9] = [0, 0, 0, 0, 0, 0x10, 0x0e, 0, 0xff];
const COLOURS: [u8; 21] =
    [0, 1, 2, 3, 4, 5, 0x14, 7, 56, 57, 58, 59, 60, 61, 62, 63, 0x0c, 0, 0x0f, 8, 0];
/// The register of the controller that protects the first ones, and without that.
const PROTECTION: (u8, u8) = (0x11, 0x0e);
/// Writes go to the plane of the font, byte by byte: registers of the sequencer and of the graphics
/// part.
const TO_FONT: [(u16, u8, u8); 4] =
    [(SEQUENCER, 2, 4), (SEQUENCER, 4, 6), (GRAPHICS, 5, 0), (GRAPHICS, 6, 4)];

/// Where that plane is; bytes between two characters, of which a font has so many of 16 rows.
const FONT: u32 = 0xa_0000;
const STEP: u32 = 32;
const CHARACTERS: u32 = 256;
const ROWS: u32 = 16;
/// The interrupt vector that is the address of the firmware's font (segment and offset), and where
/// the card's firmware is.
const VECTOR: u32 = 0x43 * 4;
const FIRMWARE: core::ops::Range<u32> = 0xc_0000..0x10_0000 - CHARACTERS * ROWS;

/// Where a physical address of the first MiB is. With 64 bits the port has it in the last 4 GiB.
const fn at<T>(physical: u32) -> *mut T {
    const ONES: usize = !(u32::MAX as usize);
    core::ptr::with_exposed_provenance_mut(ONES | (WINDOW + physical) as usize)
}

/// Reads from the first MiB.
fn load<T: Copy>(physical: u32) -> T {
    // SAFETY: the port maps it first of all and for good; what is asked for are integers of the
    // firmware's and the card's memory, where no Rust object lies.
    unsafe { at::<T>(physical).read_volatile() }
}

/// Writes to the card's memory.
fn store<T: Copy>(physical: u32, value: T) {
    // SAFETY: as `load`.
    unsafe { at::<T>(physical).write_volatile(value) };
}

struct Text;

impl Words for Text {
    fn read(&self, offset: u32) -> u32 {
        load(PHYSICAL + offset)
    }

    fn write(&self, offset: u32, value: u32) {
        store(PHYSICAL + offset, value);
    }
}

fn set(port: u16, register: u8, value: u8) {
    write8(port, register);
    write8(port + 1, value);
}

fn set_all(port: u16, values: &[u8]) {
    (0..).zip(values).for_each(|(register, value)| set(port, register, *value));
}

/// The firmware's font goes to where the card wants it: pixels have lain there.
fn set_font() {
    let vector: u32 = load(VECTOR);
    let font = (vector >> 16 << 4) + (vector & 0xffff);
    if !FIRMWARE.contains(&font) {
        return;
    }
    TO_FONT.into_iter().for_each(|(port, register, value)| set(port, register, value));
    for character in 0..CHARACTERS {
        for row in 0..ROWS {
            store(FONT + character * STEP + row, load::<u8>(font + character * ROWS + row));
        }
    }
}

/// Sets the card to text, whatever it shows, and clears that.
pub fn set_mode() {
    write16(DISPI, IDENTITY);
    if read16(DISPI + 1) >> 4 == IS_DISPI {
        write16(DISPI, ENABLE);
        write16(DISPI + 1, 0);
    }
    write8(MISCELLANEOUS, MODE);
    set_font();
    set_all(SEQUENCER, &SEQUENCES);
    set(CONTROLLER, PROTECTION.0, PROTECTION.1);
    set_all(CONTROLLER, &TIMES);
    set_all(GRAPHICS, &PLANES);
    let _ = read8(STATUS);
    for (register, value) in (0..).zip(COLOURS) {
        write8(ATTRIBUTE, register);
        write8(ATTRIBUTE, value);
    }
    // The colours are the card's again.
    write8(ATTRIBUTE, 0x20);
    text::clear(&Text);
}

/// The serial line and the screen as a place to write to.
#[derive(Default)]
pub struct Console(uart::Console);

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(text)?;
        text.bytes().for_each(|byte| text::put(&Text, byte));
        Ok(())
    }
}
