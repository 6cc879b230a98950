// SPDX-License-Identifier: MIT OR Apache-2.0
//! The boot image, as the kernel checks it, and what the root server finds at start.
//!
//! ```text
//! 0        header (64 bytes), then up to the first page boundary zeros
//! root     the root server's memory image, page aligned: mapped at `root_address`
//! system   the system description for the root server (its format is not the kernel's business)
//! ```

use crate::{PhysAddr, USER_END, Word};
use bytemuck::{Pod, Zeroable};

/// First word: "MCDM" in memory order.
pub const MAGIC: u32 = u32::from_le_bytes(*b"MCDM");
/// Version of this layout.
pub const VERSION: u32 = 1;
/// Largest image the kernel takes.
pub const MAX_BYTES: u32 = 256 << 20;
/// Bytes of the header.
pub const HEADER_BYTES: u32 = 64;

/// Head of a boot image, a list of 32-bit words, low byte first on every processor: no bytes of an
/// image are one of these before [`Header::from_bytes`]. All offsets are from the image's start.
#[derive(Clone, Copy, Zeroable, Debug, PartialEq, Eq)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u32,
    /// [`VERSION`].
    pub version: u32,
    /// Bytes of the whole image, a multiple of a page.
    pub total: u32,
    /// CRC-32 (IEEE) of everything after the header.
    pub crc: u32,
    /// CRC-32 of the header with this field and `crc` zero.
    pub header_crc: u32,
    /// Offset of the root server's image, a multiple of a page.
    pub root_offset: u32,
    /// Bytes of the root server's image, a multiple of a page, zeros of its .bss included.
    pub root_bytes: u32,
    /// Address at which it is mapped (read, write and execute), a multiple of a page.
    pub root_address: u32,
    /// Entry point, inside the root server's image.
    pub root_entry: u32,
    /// Initial stack pointer, inside the root server's image or at its end.
    pub root_stack: u32,
    /// Offset of the system description, a multiple of a page.
    pub system_offset: u32,
    /// Bytes of the system description, up to `total` at most.
    pub system_bytes: u32,
    /// Zero.
    pub reserved: [u32; 4],
}

/// Why a boot image is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Shorter than a header.
    TooShort,
    /// The magic word is missing: not a boot image.
    NotAnImage,
    /// Made for another version of the kernel.
    Version,
    /// The header's checksum does not fit.
    HeaderDamaged,
    /// Longer than the file that holds it: truncated.
    Truncated,
    /// Larger than [`MAX_BYTES`].
    TooLarge,
    /// The length is not a multiple of a page or shorter than what it holds.
    Length,
    /// The contents' checksum does not fit.
    ContentsDamaged,
    /// The root server's image is misplaced in the file.
    RootPlacement,
    /// The root server's address is misaligned or outside the user area.
    RootAddress,
    /// The root server's entry or stack is outside its image.
    RootEntry,
    /// The system description is misplaced in the file.
    SystemPlacement,
    /// A reserved field is not zero.
    Reserved,
}

impl Refusal {
    /// What to tell a person.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::TooShort => "shorter than its header",
            Self::NotAnImage => "not a Macadamia boot image",
            Self::Version => "made for another version of the kernel",
            Self::HeaderDamaged => "header damaged (checksum)",
            Self::Truncated => "truncated",
            Self::TooLarge => "too large",
            Self::Length => "length impossible",
            Self::ContentsDamaged => "contents damaged (checksum)",
            Self::RootPlacement => "root server misplaced",
            Self::RootAddress => "root server's address impossible",
            Self::RootEntry => "root server's entry or stack outside its image",
            Self::SystemPlacement => "system description misplaced",
            Self::Reserved => "reserved field in use",
        }
    }
}

impl Header {
    /// The header as it stands in an image.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES as usize] {
        let Self {
            magic,
            version,
            total,
            crc,
            header_crc,
            root_offset,
            root_bytes,
            root_address,
            ..
        } = *self;
        let Self {
            root_entry,
            root_stack,
            system_offset,
            system_bytes,
            reserved: [a, b, c, d],
            ..
        } = *self;
        let first = [magic, version, total, crc, header_crc, root_offset, root_bytes, root_address];
        bytemuck::cast(
            [first, [root_entry, root_stack, system_offset, system_bytes, a, b, c, d]]
                .map(|half| half.map(u32::to_le_bytes)),
        )
    }

    /// The header that these bytes of an image are, unchecked.
    #[must_use]
    pub fn from_bytes(bytes: [u8; HEADER_BYTES as usize]) -> Self {
        let words: [[u8; 4]; HEADER_BYTES as usize / 4] = bytemuck::cast(bytes);
        let [
            magic,
            version,
            total,
            crc,
            header_crc,
            root_offset,
            root_bytes,
            root_address,
            rest @ ..,
        ] = words.map(u32::from_le_bytes);
        let [root_entry, root_stack, system_offset, system_bytes, reserved @ ..] = rest;
        Self {
            magic,
            version,
            total,
            crc,
            header_crc,
            root_offset,
            root_bytes,
            root_address,
            root_entry,
            root_stack,
            system_offset,
            system_bytes,
            reserved,
        }
    }
}

/// Checksum for `Header::header_crc`.
#[must_use]
pub fn header_crc(header: &Header) -> u32 {
    crc32fast::hash(&Header { crc: 0, header_crc: 0, ..*header }.to_bytes())
}

/// Checks everything about an image that is in a file of `image.len()` bytes.
///
/// # Errors
/// The first thing found wrong.
pub fn check(image: &[u8]) -> Result<Header, Refusal> {
    let (head, _) = image.split_first_chunk().ok_or(Refusal::TooShort)?;
    let header = Header::from_bytes(*head);
    let page = crate::PAGE_SIZE as u32;
    let aligned = |x: u32| x.is_multiple_of(page);
    if header.magic != MAGIC {
        return Err(Refusal::NotAnImage);
    }
    if header.version != VERSION {
        return Err(Refusal::Version);
    }
    if header.header_crc != header_crc(&header) {
        return Err(Refusal::HeaderDamaged);
    }
    if header.total > MAX_BYTES {
        return Err(Refusal::TooLarge);
    }
    if header.reserved != [0; 4] {
        return Err(Refusal::Reserved);
    }
    if header.total < page || !aligned(header.total) {
        return Err(Refusal::Length);
    }
    let body = image.get(HEADER_BYTES as usize..header.total as usize).ok_or(Refusal::Truncated)?;
    let within = |offset: u32, bytes: u32| {
        offset >= page
            && aligned(offset)
            && offset.checked_add(bytes).is_some_and(|end| end <= header.total)
    };
    if !within(header.root_offset, header.root_bytes)
        || header.root_bytes == 0
        || !aligned(header.root_bytes)
    {
        return Err(Refusal::RootPlacement);
    }
    let root_end =
        header.root_address.checked_add(header.root_bytes).ok_or(Refusal::RootAddress)?;
    let area = crate::utcb::AREA_START..crate::utcb::AREA_END;
    let [start, end] = [header.root_address, root_end].map(|at| at as Word);
    let apart = start >= area.end || end <= area.start;
    if !aligned(header.root_address) || !apart || end > USER_END {
        return Err(Refusal::RootAddress);
    }
    let inside = |x: u32| x >= header.root_address && x <= root_end;
    if !inside(header.root_entry)
        || header.root_entry == root_end
        || !inside(header.root_stack)
        || !header.root_stack.is_multiple_of(4)
    {
        return Err(Refusal::RootEntry);
    }
    if !within(header.system_offset, header.system_bytes) {
        return Err(Refusal::SystemPlacement);
    }
    if header.crc != crc32fast::hash(body) {
        return Err(Refusal::ContentsDamaged);
    }
    Ok(header)
}

/// Selectors in the root server's table when it starts.
pub mod slot {
    /// Its Quota: the whole kernel pool.
    pub const QUOTA: u32 = 1;
    /// Its own Space.
    pub const SPACE: u32 = 2;
    /// Its own Thread, every right.
    pub const THREAD: u32 = 3;
    /// Device memory: the physical addresses from the end of RAM to the end of the first 4 GiB.
    pub const DEVICES: u32 = 4;
    /// All I/O ports.
    pub const PORTS: u32 = 5;
    /// The boot image, system description included, read-only.
    pub const IMAGE: u32 = 6;
    /// Device memory: the display's and the firmware's part of the first MiB.
    pub const LEGACY: u32 = 7;
    /// The addresses at which servers may have their windows ([`Op::Serve`](crate::Op::Serve)),
    /// where the processor can have any.
    pub const WINDOWS: u32 = 8;
    /// The firmware's tables, read-only, if it keeps them in RAM that is not free.
    pub const TABLES: u32 = 9;
    /// First of the free RAM ranges; see [`super::Info`].
    pub const RAM: u32 = 16;
    /// Interrupt line 0; line n is at `IRQ + n`. How many there are is the board's
    /// ([`super::Info::irq_count`]).
    pub const IRQ: u32 = RAM + super::RAM_RANGES as u32;
}

/// Most ranges of free RAM.
pub const RAM_RANGES: usize = 16;

/// Most interrupt lines of a board: so many have room in the root server's table beside what it
/// makes.
pub const MAX_IRQS: usize = 1024;

/// Slots of the root server's table (at least).
pub const ROOT_SLOTS: u32 = 4096;

/// Words that align [`Info::ram`].
const PADDING: usize = size_of::<Word>() / 4 - 1;

/// What the argument of the first thread points to when the root server starts: in its UTCB slot's
/// words. (The pointer is the UTCB's own address.)
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub struct Info {
    /// Number of RAM capabilities from [`slot::RAM`] on; ask `Identify` for sizes.
    pub ram_count: u32,
    /// Number of interrupt lines from [`slot::IRQ`] on. The slots after them are empty, and those
    /// of lines that components may not have.
    pub irq_count: u32,
    /// Offset of the system description in the image Memory.
    pub system_offset: u32,
    /// Bytes of it.
    pub system_bytes: u32,
    /// Slots in the root server's capability table.
    pub slots: u32,
    /// Aligns what follows to a word.
    pub unused: [u32; PADDING],
    /// Physical address of each RAM capability's first byte: devices that reach memory want it.
    pub ram: [PhysAddr; RAM_RANGES],
    /// Physical address of the first byte of [`slot::TABLES`].
    pub tables: PhysAddr,
    /// Physical address of the list of the firmware's tables (ACPI's XSDT, or its RSDT), in that
    /// Memory or in one of devices; 0 if the boot loader named none.
    pub list: PhysAddr,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_the_low_byte_of_each_word_first() {
        let bytes: [u8; HEADER_BYTES as usize] = core::array::from_fn(|at| at as u8);
        let header = Header::from_bytes(bytes);
        assert_eq!(
            [header.magic, header.total, header.root_address],
            [0x0302_0100, 0x0b0a_0908, 0x1f1e_1d1c]
        );
        assert_eq!((header.system_bytes, header.reserved[3]), (0x2f2e_2d2c, 0x3f3e_3d3c));
        assert_eq!(header.to_bytes(), bytes);
    }
}
