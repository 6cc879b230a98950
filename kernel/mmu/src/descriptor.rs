// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32 segment descriptors (Intel SDM volume 3, section 3.4.5).

/// A data segment at ring 3 as a thread may ask for it with `set_state`: `limit` holds the
/// limit in bits 19 to 0 and the flags of [`abi::arch::ia32::state::tls`] above.
///
/// The result is always a present ring-3 data segment or, without the present
/// flag, the empty descriptor: no gate, no system or code segment can be made.
#[must_use]
pub const fn tls(base: u32, limit: u32) -> [u32; 2] {
    if limit & abi::arch::ia32::state::tls::PRESENT == 0 {
        return [0, 0];
    }
    let writable = if limit & abi::arch::ia32::state::tls::READ_ONLY == 0 { 1 << 9 } else { 0 };
    let pages = if limit & abi::arch::ia32::state::tls::PAGES != 0 { 1 << 23 } else { 0 };
    let wide = if limit & abi::arch::ia32::state::tls::SIXTEEN_BIT == 0 { 1 << 22 } else { 0 };
    // Accessed, so that the processor never writes to the table.
    let access = 1 << 15 | 3 << 13 | 1 << 12 | writable | 1 << 8;
    segment(base, limit & 0xf_ffff, access | pages | wide)
}

/// A data segment as [`tls`] makes it, cut off at `end`: shorter, or the empty descriptor if
/// nothing is left.
#[must_use]
pub const fn clipped(descriptor: [u32; 2], end: u32) -> [u32; 2] {
    const PAGES: u32 = 1 << 23;
    let [low, high] = descriptor;
    let base = base(descriptor);
    if high & 1 << 15 == 0 || base >= end {
        return [0, 0];
    }
    let limit = low & 0xffff | high & 0xf_0000;
    let (limit, most) =
        (if high & PAGES == 0 { limit } else { limit << 12 | 0xfff }, end - 1 - base);
    if limit <= most {
        return descriptor;
    }
    let flags = high & 0x00f0_ff00;
    // Whole pages, unless it is too short for that: it may end earlier than `end`.
    if most >= 1 << 20 {
        let pages = (most + 1) / 0x1000;
        segment(base, pages - 1, flags | PAGES)
    } else {
        segment(base, most, flags & !PAGES)
    }
}

/// The data segment of a small space that begins at `base` and has `bytes` bytes: both are
/// multiples of a page. The code segment differs only in [`CODE`].
#[must_use]
pub const fn region(base: u32, bytes: u32) -> [u32; 2] {
    // Pages, 32 bits, present, ring 3, writable, accessed.
    segment(
        base,
        (bytes >> 12) - 1,
        1 << 23 | 1 << 22 | 1 << 15 | 3 << 13 | 1 << 12 | 1 << 9 | 1 << 8,
    )
}

/// In the upper word: a segment of code, which can be read if it can be written as data.
pub const CODE: u32 = 1 << 11;

/// The address at which a segment begins.
#[must_use]
pub const fn base([low, high]: [u32; 2]) -> u32 {
    low >> 16 | (high & 0xff) << 16 | high & 0xff00_0000
}

/// The same segment, this many bytes higher; an empty descriptor stays empty.
#[must_use]
pub const fn moved(descriptor: [u32; 2], by: u32) -> [u32; 2] {
    let [low, high] = descriptor;
    if high & 1 << 15 == 0 {
        return [0, 0];
    }
    let base = base(descriptor).wrapping_add(by);
    [base << 16 | low & 0xffff, base & 0xff00_0000 | (base >> 16) & 0xff | high & 0x00ff_ff00]
}

/// A descriptor from its parts; `flags` are the bits of the upper word that are neither base nor
/// limit.
#[must_use]
pub const fn segment(base: u32, limit: u32, flags: u32) -> [u32; 2] {
    [
        base << 16 | limit & 0xffff,
        base & 0xff00_0000 | limit & 0xf_0000 | (base >> 16) & 0xff | flags,
    ]
}
