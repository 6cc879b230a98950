// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text on the screen as a PC's firmware leaves it: 25 rows of 80 characters (IBM Personal System/2
//! Hardware Interface Technical Reference, *Video Subsystem*). Where the next character goes is in
//! the card, so that the kernel and the root server go on where the other one was.

use isa::io::{read8, write8};

/// Physical address of the characters: a byte each, and one for its colours.
pub const PHYSICAL: u32 = 0xb_8000;
/// Bytes of them.
pub const BYTES: u32 = CELLS * 2;

const COLUMNS: u32 = 80;
const CELLS: u32 = COLUMNS * 25;
/// Grey on black, and nothing.
const COLOURS: u32 = 0x700;
const BLANK: u32 = COLOURS | b' ' as u32;
/// The controller's registers by their number, and two of them: where the cursor is.
const INDEX: u16 = 0x3d4;
const VALUE: u16 = 0x3d5;
const CURSOR: [u8; 2] = [0xe, 0xf];

/// The characters' memory, by offsets that are multiples of 4.
pub trait Words {
    /// Reads a word.
    fn read(&self, offset: u32) -> u32;
    /// Writes one.
    fn write(&self, offset: u32, value: u32);
}

fn cursor() -> u32 {
    CURSOR.into_iter().fold(0, |at, register| {
        write8(INDEX, register);
        at << 8 | u32::from(read8(VALUE))
    })
}

fn set_cursor(at: u32) {
    let [_, _, high, low] = at.to_be_bytes();
    for (register, value) in CURSOR.into_iter().zip([high, low]) {
        write8(INDEX, register);
        write8(VALUE, value);
    }
}

fn set(memory: &impl Words, cell: u32, byte: u8) {
    let (offset, shift) = (cell / 2 * 4, cell % 2 * 16);
    let other = memory.read(offset) & !(0xffff << shift);
    memory.write(offset, other | (COLOURS | u32::from(byte)) << shift);
}

/// Nothing is shown any more.
pub fn clear(memory: &impl Words) {
    (0..BYTES).step_by(4).for_each(|offset| memory.write(offset, BLANK << 16 | BLANK));
    set_cursor(0);
}

/// Shows a character. Nothing happens on a machine without a card.
pub fn put(memory: &impl Words, byte: u8) {
    let at = cursor();
    // Where no card is all bits are 1.
    if at >= CELLS {
        return;
    }
    let next = match byte {
        b'\n' => (at / COLUMNS + 1) * COLUMNS,
        b'\r' => at - at % COLUMNS,
        8 => at.saturating_sub(1),
        _ => {
            set(memory, at, if (b' '..=b'~').contains(&byte) { byte } else { b'?' });
            at + 1
        }
    };
    if next < CELLS {
        return set_cursor(next);
    }
    let row = COLUMNS * 2;
    for offset in (0..BYTES - row).step_by(4) {
        memory.write(offset, memory.read(offset + row));
    }
    (BYTES - row..BYTES).step_by(4).for_each(|offset| memory.write(offset, BLANK << 16 | BLANK));
    set_cursor(next - COLUMNS);
}
