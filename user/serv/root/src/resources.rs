// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel left to the root server: slots, RAM, devices.

use abi::boot::{Info, RAM_RANGES, slot};
use abi::{PAGE_SIZE, TABLE_SPAN, Word};
use core::sync::atomic::{AtomicUsize, Ordering};
use free_ram::{Free, Place, Range, parts};
use image::{Colours, Load};
use macadamia::alloc::vec::Vec;
use macadamia::cap::{delete, identify};
use macadamia::{Error, Memory, Quota, Result, Rights, Space, Thread};

/// Slots of the space in which threads wait for their restart: none is used.
const LIMBO_SLOTS: Word = 1;
/// The last page of the first 4 GiB is never used, so that ends of ranges fit into a word.
const DEVICES_END: Word = 0xffff_f000;
/// The display's and the firmware's part of the first MiB.
const LEGACY: Word = 0xa_0000;
const LEGACY_END: Word = 0x10_0000;

/// Read and write.
pub const RW: Rights = Rights::READ.union(Rights::WRITE);

/// Where the firmware's tables begin that have a Memory of their own, and where the list of its
/// tables is, as the kernel was told; 0: it was not told.
static TABLES: AtomicUsize = AtomicUsize::new(0);
static LIST: AtomicUsize = AtomicUsize::new(0);

/// Physical address of the list of the firmware's tables, if it is known.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub fn list() -> Option<u64> {
    Some(LIST.load(Ordering::Relaxed) as u64).filter(|list| *list != 0)
}

/// The firmware's tables, if this physical address is in their Memory, and where.
fn tables(base: Word) -> Option<(Memory, Word)> {
    let [_, _, bytes] = identify(slot::TABLES as Word).ok()?;
    let offset = base.checked_sub(TABLES.load(Ordering::Relaxed) as Word)?;
    (offset < bytes).then_some((Memory(slot::TABLES as Word), offset))
}

/// The first physical address of devices beyond RAM.
pub fn devices() -> Result<Word> {
    identify(slot::DEVICES as Word).map(|[_, _, size]| DEVICES_END - size)
}

/// The Memory of devices, or of the firmware's tables, in which physical address `base` is, and where.
pub fn registers(base: Word) -> Result<(Memory, Word)> {
    if let Some(found) = tables(base) {
        return Ok(found);
    }
    let (from, first) = if (LEGACY..LEGACY_END).contains(&base) {
        (slot::LEGACY as Word, LEGACY)
    } else {
        (slot::DEVICES as Word, devices()?)
    };
    base.checked_sub(first).map(|offset| (Memory(from), offset)).ok_or(Error::BadArgument)
}

/// A piece of RAM with a Memory of its own.
pub struct Piece {
    /// Its Memory.
    pub memory: Memory,
    /// Its first physical address.
    pub physical: Word,
    range: Range,
}

/// Memory in pieces of one size, of which the last may be smaller.
pub struct Pieces {
    /// Bytes of one, more than 0.
    piece: u32,
    all: Vec<Piece>,
}

impl Pieces {
    /// The one piece that it is.
    ///
    /// # Errors
    /// `BadArgument` if it is several.
    pub fn only(&self) -> Result<&Piece> {
        if let [piece] = &self.all[..] { Ok(piece) } else { Err(Error::BadArgument) }
    }

    /// The parts of a range: each with its Memory, and offset and bytes there.
    pub fn parts(&self, offset: u32, bytes: u32) -> impl Iterator<Item = (Memory, u32, u32)> {
        parts(offset.into(), bytes.into(), self.piece.into()).filter_map(
            |(number, offset, bytes)| {
                let piece = self.all.get(number as usize)?;
                Some((piece.memory, offset as u32, bytes as u32))
            },
        )
    }
}

/// What there is to give, and what was given back.
pub struct Resources {
    /// The root server's own space.
    pub space: Space,
    /// Everything it pays with.
    pub quota: Quota,
    /// Where threads are bound between death and restart: they exist, but do not run.
    pub limbo: Space,
    next_slot: Word,
    slots: Word,
    free_slots: Vec<Word>,
    /// By physical addresses; an area is a RAM capability, counted from 0.
    free_ram: Free,
    /// Physical address of each RAM capability.
    ram: [Word; RAM_RANGES],
    /// Interrupt lines that no component was given.
    free_lines: Vec<u32>,
    /// The homes of groups, by their index in the description; none where the kernel has no small
    /// spaces.
    pub homes: Vec<Space>,
    /// What no component may write of an image, once for all that have it, for good: what it is,
    /// and where.
    pub texts: Vec<(Load, Memory)>,
    /// Where heartbeats go, if a component sends any.
    pub watchdog: Option<Thread>,
}

impl Resources {
    /// What the kernel reports.
    pub fn new(info: &Info) -> Result<Self> {
        TABLES.store(info.tables.0 as usize, Ordering::Relaxed);
        LIST.store(info.list.0 as usize, Ordering::Relaxed);
        let (space, quota) = (Space(slot::SPACE as Word), Quota(slot::QUOTA as Word));
        let first = (slot::IRQ + info.irq_count) as Word;
        let limbo = quota.create_space(LIMBO_SLOTS, first)?;
        let mut free_ram = Free::new();
        for (area, base) in (0..info.ram_count).zip(info.ram) {
            let [_, _, bytes] = identify((slot::RAM + area) as Word)?;
            free_ram.give(Range { area, start: base.0.into(), bytes: bytes.into() });
        }
        Ok(Self {
            space,
            quota,
            limbo,
            next_slot: first + 1,
            slots: info.slots as Word,
            free_slots: Vec::new(),
            homes: Vec::new(),
            texts: Vec::new(),
            watchdog: None,
            free_ram,
            ram: info.ram.map(|at| at.0),
            free_lines: (0..info.irq_count)
                .filter(|line| identify((slot::IRQ + line) as Word).is_ok())
                .collect(),
        })
    }

    /// An empty slot.
    pub fn slot(&mut self) -> Result<Word> {
        if let Some(slot) = self.free_slots.pop() {
            return Ok(slot);
        }
        if self.next_slot == self.slots {
            return Err(Error::BadSlot);
        }
        self.next_slot += 1;
        Ok(self.next_slot - 1)
    }

    /// How many slots there are, in use or not.
    pub const fn slots(&self) -> Word {
        self.slots
    }

    /// Deletes what is in a slot; the slot can be used again.
    pub fn discard(&mut self, slot: Word) -> Result<()> {
        delete(slot)?;
        self.free_slots.push(slot);
        Ok(())
    }

    /// A piece of RAM. One that has room for large pages begins with one, if there is such a place.
    pub fn ram(&mut self, bytes: Word) -> Result<Piece> {
        let mut take =
            |multiple: Word| self.free_ram.take(bytes.into(), Place::multiple(multiple.into()));
        let large = if bytes >= TABLE_SPAN { take(TABLE_SPAN) } else { None };
        let range = large.or_else(|| take(PAGE_SIZE)).ok_or(Error::QuotaExceeded)?;
        self.piece(range)
    }

    /// RAM for a component's own memory: one piece, or in frames of these colours.
    pub fn pieces(&mut self, bytes: u32, colours: Option<Colours>) -> Result<Pieces> {
        let Some(colours) = colours else {
            return Ok(Pieces { piece: bytes, all: Vec::from([self.ram(bytes as Word)?]) });
        };
        let place = Place { period: colours.period().into(), phase: colours.phase().into() };
        let piece = colours.piece();
        let ranges = self.free_ram.take_pieces(bytes.into(), piece.into(), place);
        let ranges = ranges.ok_or(Error::QuotaExceeded)?;
        let all = ranges.into_iter().map(|range| self.piece(range));
        Ok(Pieces { piece, all: all.collect::<Result<_>>()? })
    }

    /// A Memory of a range that was taken.
    fn piece(&mut self, range: Range) -> Result<Piece> {
        let physical = range.start as Word;
        let base = self.ram.get(range.area as usize).copied().unwrap_or_default();
        let memory = Memory((slot::RAM + range.area) as Word);
        let derived = self
            .slot()
            .and_then(|to| memory.derive(physical - base, range.bytes as Word, to, self.quota));
        match derived {
            Ok(memory) => Ok(Piece { memory, physical, range }),
            Err(error) => {
                self.free_ram.give(range);
                Err(error)
            }
        }
    }

    /// A part of a piece, as a Memory of its own.
    pub fn part(&mut self, piece: &Piece, offset: Word, bytes: Word) -> Result<Memory> {
        let to = self.slot()?;
        piece.memory.derive(offset, bytes, to, self.quota)
    }

    /// Takes a piece back, with every mapping of it.
    pub fn give_back(&mut self, piece: Piece) -> Result<()> {
        self.discard(piece.memory.0)?;
        self.free_ram.give(piece.range);
        Ok(())
    }

    /// The same of all pieces of a memory.
    pub fn give_back_all(&mut self, pieces: Pieces) -> Result<()> {
        pieces.all.into_iter().try_for_each(|piece| self.give_back(piece))
    }

    /// Device registers as a Memory of their own.
    pub fn device(&mut self, base: Word, bytes: Word) -> Result<Memory> {
        let to = self.slot()?;
        let (memory, offset) = registers(base)?;
        memory.derive(offset, bytes, to, self.quota)
    }

    /// The capability of an interrupt line, which no other component was given.
    pub fn line(&mut self, line: u32) -> Result<Word> {
        let index = self.free_lines.iter().position(|free| *free == line).ok_or(Error::Occupied)?;
        self.free_lines.swap_remove(index);
        Ok((slot::IRQ + line) as Word)
    }

    /// Whether no component has a line.
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    pub fn is_spare(&self, line: u32) -> bool {
        self.free_lines.contains(&line)
    }

    /// The addresses of a window as a Memory of their own.
    pub fn window(&mut self, bytes: Word) -> Result<Memory> {
        let [_, _, all] = identify(slot::WINDOWS as Word)?;
        let offset = all.checked_sub(bytes).ok_or(Error::BadArgument)?;
        let to = self.slot()?;
        Memory(slot::WINDOWS as Word).derive(offset, bytes, to, self.quota)
    }

    /// I/O ports as a Memory of their own.
    pub fn ports(&mut self, base: Word, count: Word) -> Result<Memory> {
        let to = self.slot()?;
        Memory(slot::PORTS as Word).derive(base, count, to, self.quota)
    }
}
