// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all ports do with what the boot loader left: check the boot image, find the kernel's
//! symbols in it, and choose a place for the pool.

use crate::loader::{LAST_PAGE, is_low};
use crate::platform::{Platform, refuse, say};
use crate::{shared, words};
use abi::boot::Refusal;
use abi::{PAGE_SIZE, PhysAddr, Word};
use core::ops;
use kcore::boot::{Machine, Range, thread_table};
use kcore::ram::Ram;
use pool::Pool;

/// How a port maps physical memory while it boots, and how much room it has for each part.
pub trait Mapping: Platform + Sized {
    /// Bytes of the pages with which it maps: a power of two. The pool's size is a multiple.
    const PAGE: u32;
    /// The smallest and the largest size of the pool, in bytes.
    const POOL: ops::RangeInclusive<u32>;
    /// Where the boot image is mapped while it is checked.
    const IMAGE: ops::Range<u32>;
    /// Where the kernel's symbols are mapped. They stay mapped.
    const SYMBOLS: ops::Range<u32>;

    /// Maps a range, which is not empty, for the kernel only, at `address`, where there is room for
    /// it. Returns the address at which the range begins. If a port maps all RAM anyway, it returns
    /// the range's address there. [`map_pages`] does it page by page.
    fn map(address: u32, range: Range) -> u32;

    /// Unmaps what was mapped there.
    fn unmap(address: u32, range: Range);

    /// Finds a place for the pool in these ranges of RAM, if there is one.
    ///
    /// By default it is as high as possible below 4 GiB, because the pool's physical addresses have
    /// 32 bits ([`place`](crate::place)).
    #[must_use]
    fn place_pool(ram: &[Range]) -> Option<Range> {
        let bytes = pool_bytes::<Self>(ram) as Word;
        let base = |r: &Range| {
            r.end()
                .align_down(Self::PAGE as Word)
                .0
                .checked_sub(bytes)
                .map(PhysAddr)
                .filter(|base| *base >= r.base)
        };
        let low = ram.iter().filter(|range| is_low(range));
        low.filter_map(base).max().map(|base| Range { base, bytes })
    }
}

/// What the boot loader left, as far as a port found it.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// RAM.
    pub ram: Ram,
    /// The kernel's own memory, and other RAM that is not free.
    pub kernel: Range,
    /// The boot image, and what follows it in the same file.
    pub image: Range,
    /// The kernel's symbols. If they have no range of their own, they follow the boot image.
    pub symbols: Option<Range>,
}

/// What the kernel starts with.
pub struct Boot {
    /// Where the pool is.
    pub pool: Range,
    /// Where the boot image is.
    pub image: PhysAddr,
    /// Its checked header.
    pub header: abi::boot::Header,
    /// Free RAM.
    pub ram: Ram,
    /// End of RAM below 4 GiB.
    pub ram_end: PhysAddr,
}

impl Boot {
    /// The pool, with room for the thread table reserved.
    ///
    /// # Safety
    /// The port mapped it at `pool::BASE`, and no other code refers to it.
    #[must_use]
    pub unsafe fn new_pool(&self) -> Pool {
        let (_, reserved) = thread_table(self.pool.bytes as u32);
        // SAFETY: the caller's, and `Boot` has it from RAM that is free.
        unsafe { Pool::new(shared::at(pool::BASE), self.pool.bytes as u32, reserved) }
    }

    /// The machine, as far as it is known here: no legacy devices, no I/O ports, no windows, no
    /// tables of the firmware. Devices have the addresses after RAM, up to the last page of 4 GiB.
    /// RAM above 4 GiB does not change that.
    #[must_use]
    pub fn machine<'a>(&'a self, irq_lines: &'a [u32]) -> Machine<'a> {
        Machine {
            ram: self.ram.ranges(),
            devices: [
                Range { base: self.ram_end, bytes: LAST_PAGE - self.ram_end },
                Range::default(),
            ],
            special: Range::default(),
            windows: Range::default(),
            tables: Range::default(),
            list: PhysAddr::default(),
            image: self.image,
            header: self.header,
            irq_lines,
        }
    }
}

/// The pages in which a range lies: their first address, and their number of bytes.
#[must_use]
pub fn pages<M: Mapping>(range: Range) -> (u32, u32) {
    let (base, mask) = (range.base.0 as u32, !(M::PAGE - 1));
    let first = base & mask;
    (first, ((base + (range.bytes as u32 - 1)) & mask) - first + M::PAGE)
}

/// Maps a range page by page: `map_page` gets the address and the physical address of each. Returns
/// where the range begins.
pub fn map_pages<M: Mapping>(address: u32, range: Range, map_page: impl Fn(u32, u32)) -> u32 {
    let (first, bytes) = pages::<M>(range);
    for offset in (0..bytes).step_by(M::PAGE as usize) {
        map_page(address + offset, first + offset);
    }
    address + (range.base.0 as u32 - first)
}

/// Whether a range is not empty, and fits into this room, wherever in a page it begins.
#[must_use]
pub fn fits<M: Mapping>(range: Range, room: &ops::Range<u32>) -> bool {
    range.bytes != 0 && range.bytes as u32 <= room.end - room.start - M::PAGE
}

/// Checks the boot image, which must start at a page.
fn check_image<M: Mapping>(image: Range) -> abi::boot::Header {
    if !fits::<M>(image, &M::IMAGE) {
        refuse::<M>(format_args!("boot image refused: {}", Refusal::TooLarge.text()));
    }
    let address = M::map(M::IMAGE.start, image);
    // SAFETY: mapped just now; it is RAM, and nobody writes it (`look`).
    let bytes = unsafe { core::slice::from_raw_parts(shared::at(address), image.bytes as usize) };
    let checked = abi::boot::check(bytes);
    M::unmap(M::IMAGE.start, image);
    match checked {
        Ok(_) if !image.base.is_aligned(PAGE_SIZE) => {
            refuse::<M>("the boot loader did not align the boot image to a page")
        }
        Ok(header) => header,
        Err(refusal) => refuse::<M>(format_args!("boot image refused: {}", refusal.text())),
    }
}

/// Bytes of the pool: an eighth of RAM, whole pages of the mapping, between its bounds.
#[must_use]
pub fn pool_bytes<M: Mapping>(ram: &[Range]) -> u32 {
    let total: u64 = ram.iter().map(|r| u64::from(r.bytes)).sum();
    let eighth = u32::try_from(total / 8).unwrap_or(u32::MAX).min(*M::POOL.end());
    eighth.next_multiple_of(M::PAGE).clamp(*M::POOL.start(), *M::POOL.end())
}

/// Whether a range lies completely in one of these.
#[must_use]
pub fn is_free(ram: &[Range], range: Range) -> bool {
    ram.iter().any(|free| free.base <= range.base && range.end() <= free.end())
}

/// The pool of a port that has a constant address for it, if that is free RAM.
#[must_use]
pub fn pool_at<M: Mapping>(base: u32, ram: &[Range]) -> Option<Range> {
    let bytes = pool_bytes::<M>(ram) as Word;
    let pool = Range { base: PhysAddr(base as Word), bytes };
    is_free(ram, pool).then_some(pool)
}

/// Makes what the kernel starts with from what the boot loader left. If something is wrong, it
/// prints a message, and ends the machine.
///
/// # Safety
/// At boot. What is found is RAM, and is not written any more.
pub unsafe fn look<M: Mapping>(found: Found) -> Boot {
    let mut ram = found.ram;
    let low = ram.ranges().iter().filter(|range| is_low(range));
    let ram_end = low.map(Range::end).max().unwrap_or_default();
    let header = check_image::<M>(found.image);
    ram.exclude(found.kernel);
    ram.exclude(found.image);
    let total = header.total as Word;
    let after = Range { base: found.image.base + total, bytes: found.image.bytes - total };
    let symbols = found.symbols.unwrap_or(after);
    if fits::<M>(symbols, &M::SYMBOLS) {
        ram.exclude(symbols);
        // SAFETY: mapped for good, and taken out of RAM.
        unsafe { words::set_symbols(M::map(M::SYMBOLS.start, symbols), symbols.bytes as u32) };
    }
    let Some(pool) = M::place_pool(ram.ranges()) else {
        refuse::<M>(format_args!(
            "too little memory: no free {} MiB for the kernel",
            pool_bytes::<M>(ram.ranges()) >> 20
        ))
    };
    ram.exclude(pool);
    if ram.left_out() != 0 {
        say::<M>(format_args!(
            "{} KiB of RAM are not used: it is in more pieces than can be told of",
            ram.left_out() >> 10
        ));
    }
    Boot { pool, image: found.image.base, header, ram, ram_end }
}

/// As [`look`], where no firmware runs: RAM from 0 to `ram_end` with the kernel up to `kernel_end`,
/// and the boot image and the symbols, so many bytes at `image`. They are moved to the end of the RAM
/// that the port maps, so that free RAM is in one piece.
///
/// # Safety
/// At boot. All this is RAM, which the port maps up to the end of `M::IMAGE`; after the image nothing
/// is in use.
pub unsafe fn look_at<M: Mapping>(ram_end: u32, kernel_end: u32, image: u32, bytes: u32) -> Boot {
    let page = PAGE_SIZE as u32;
    let base = ram_end.min(M::IMAGE.end).saturating_sub(bytes) / page * page;
    if base < image {
        refuse::<M>(format_args!("too little memory: the boot image has {bytes} bytes"));
    }
    let mut ram = Ram::default();
    ram.add(PhysAddr(0), PhysAddr(ram_end as Word));
    let kernel = Range { base: PhysAddr(0), bytes: kernel_end as Word };
    let range = |base| Range { base: PhysAddr(base as Word), bytes: bytes as Word };
    let [old, new] = [image, base].map(|base| shared::at::<u8>(M::map(0, range(base))));
    // SAFETY: the caller; both are RAM, and they may overlap. Afterwards nobody writes the image.
    unsafe {
        old.copy_to(new, bytes as usize);
        look::<M>(Found { ram, kernel, image: range(base), symbols: None })
    }
}
