// SPDX-License-Identifier: MIT OR Apache-2.0
//! The firmware's pointer to its tables (*Advanced Configuration and Power Interface Specification*
//! 6.5, 5.2.5.3), which boot loaders pass on. The kernel reads only the address of the list of
//! tables: the root server reads the tables.

/// What it begins with.
const SIGNATURE: [u32; 2] = [u32::from_le_bytes(*b"RSD "), u32::from_le_bytes(*b"PTR ")];
/// Offsets: the word whose highest byte is its revision; the list with addresses of 32 bits; and the
/// one with 64, which is there from the second revision on.
const REVISION: u32 = 12;
const LIST: u32 = 16;
const WIDE_LIST: u32 = 24;
const WIDE: u32 = 2;
/// Its bytes, of which a copy as of the first revision has the first 20.
pub const BYTES: u32 = 36;
const FIRST_BYTES: u32 = 20;

/// The address of the list of tables, from the pointer at this physical address, of which so many
/// bytes are there; nothing if there is no pointer. The list with 64-bit addresses is preferred.
/// `peek` reads a word of physical memory.
pub fn list(peek: &impl Fn(u32) -> u32, pointer: u32, bytes: u32) -> Option<u64> {
    pointer.checked_add(BYTES)?;
    if bytes < FIRST_BYTES {
        return None;
    }
    let word = |offset| peek(pointer + offset);
    if [word(0), word(4)] != SIGNATURE {
        return None;
    }
    let wide = if word(REVISION) >> 24 < WIDE || bytes < BYTES {
        0
    } else {
        u64::from(word(WIDE_LIST + 4)) << 32 | u64::from(word(WIDE_LIST))
    };
    Some(if wide == 0 { word(LIST).into() } else { wide }).filter(|list| *list != 0)
}
