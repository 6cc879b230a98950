// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments at addresses where spaces can share their translations, and where they cannot. Whatever
//! is mapped, attached and removed, each space reads what was written last, and nothing to which it
//! has no right.

use crate::alien::CODE;
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, bytes, check, fill, good};
use abi::frame::{fault, vector};
use abi::{Frame, MessageKind, Rights, SHARED_SPAN, TABLE_SPAN};
use macadamia::alien::Alien;
use macadamia::alloc::format;
use macadamia::alloc::vec::Vec;
use macadamia::cap::{copy, delete};
use macadamia::ipc::run;
use macadamia::map::{map, protect, unmap};
use macadamia::{Segment, Space, Thread, counts, time};
use processor::code;

pub const CASES: &[Case] = &[
    ("a_pages_rights_are_each_spaces_own", rights),
    ("what_is_unmapped_is_gone_for_all", unmapped),
    ("private_memory_beside_a_segment", beside),
    ("what_changed_while_nobody_had_it", nobody_had_it),
    ("who_changes_it_sees_that_at_once", at_once),
    ("spaces_share_translations", shared),
    ("random_changes_are_seen_by_all", random_changes),
];

const RW: Rights = Rights(3);
/// The start of the processor's segments that the spaces use, and their number.
const FIRST: u32 = 4 * SHARED_SPAN;
const SEGMENTS: u32 = 3;
/// More pages than the kernel removes one by one, and fewer than a table has, which would be
/// removed with them.
const MANY: u32 = 50 * PAGE;
/// Idle nanoseconds, in which the kernel goes through all of the hashed table.
const IDLE: u64 = 20_000_000;
/// How often the case waits for that, at most: a busy host may give the idle loop no time, and a
/// processor without a hashed table never has anything to remove.
const MOST_WAITS: u32 = 50;
/// The page of RAM with the code of all threads; those after it are data.
const DATA_PAGES: u32 = 8;

/// A space with a thread that reads and writes at given addresses.
struct Reader {
    space: Space,
    alien: Alien,
    handle: u32,
}

/// The result of an access: the word, or the error of a fault.
type Outcome = Result<u32, u32>;

const MISSING: Outcome = Err(0);
const REFUSED: Outcome = Err(fault::WRITE | fault::PROTECTION);

impl Reader {
    fn new(bed: &mut Bed) -> Result<Self, Why> {
        let (space, thread, handler) = (bed.slot(), bed.slot(), bed.slot());
        let space = good(QUOTA.create_space(0, space))?;
        good(map(space, CODE, bed.ram, 0, PAGE, Rights(5)))?;
        good(copy(SELF.0, None, handler, Rights::CALL, 7))?;
        let (alien, handle) = good(Alien::create(QUOTA, space, thread, Thread(handler)))?;
        Ok(Self { space, alien, handle })
    }

    /// Continues at an instruction of the code, with these in r4 and r5.
    fn access(&mut self, instruction: u32, address: u32, value: u32) -> Result<Outcome, Why> {
        let mut frame = Frame { pc: CODE + 4 * instruction, ..Frame::default() };
        frame.gpr[4..6].copy_from_slice(&[address, value]);
        self.alien.set_frame(&frame);
        let r = good(run(self.handle))?;
        self.handle = r.handle;
        check("an event of its", r.kind == MessageKind::Alien)?;
        match r.words {
            [vector::SYSTEM_CALL, ..] => Ok(Ok(self.alien.frame().gpr[5])),
            [vector::PAGE_FAULT, at, error] if at == address => Ok(Err(error)),
            other => Err(format!("{other:x?} came of an access to {address:#x}")),
        }
    }

    fn read(&mut self, address: u32) -> Result<Outcome, Why> {
        self.access(0, address, 0)
    }

    fn write(&mut self, address: u32, value: u32) -> Result<Outcome, Why> {
        self.access(2, address, value)
    }
}

/// Readers, whose code is in the first page of RAM; the others have their numbers, times 100.
fn readers(bed: &mut Bed, count: u32) -> Result<Vec<Reader>, Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, (1 + DATA_PAGES) * PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code::reads_and_writes());
    (1..=DATA_PAGES).for_each(|page| fill(ADDRESS + page * PAGE, 4, &(100 * page).to_be_bytes()));
    (0..count).map(|_| Reader::new(bed)).collect()
}

/// A Segment of this many bytes: its capability, as a Segment and as the target of `map`.
fn segment(bed: &mut Bed, bytes: u32) -> Result<(Segment, Space), Why> {
    let segment = good(QUOTA.create_segment(bytes, bed.slot()))?;
    Ok((segment, Space(segment.0)))
}

/// Three spaces share a page, one of them read-only: in whatever order they use it, only that one
/// is refused.
fn rights(bed: &mut Bed) -> Result<(), Why> {
    let mut readers = readers(bed, 3)?;
    let (segment, inside) = segment(bed, TABLE_SPAN)?;
    good(map(inside, 0, bed.ram, PAGE, PAGE, RW))?;
    good(map(inside, PAGE, bed.ram, 2 * PAGE, PAGE, Rights::READ))?;
    for (reader, rights) in readers.iter().zip([RW, Rights::READ, RW]) {
        good(reader.space.attach(FIRST, segment, rights))?;
    }
    for value in 0..6 {
        for (number, reader) in readers.iter_mut().enumerate() {
            let wanted = if number == 1 { REFUSED } else { Ok(value) };
            check("a write", reader.write(FIRST, value)? == wanted)?;
            check("it is read", reader.read(FIRST)? == Ok(value))?;
            check("of a page that nobody may write", reader.write(FIRST + PAGE, 1)? == REFUSED)?;
            check("its word", reader.read(FIRST + PAGE)? == Ok(200))?;
        }
    }
    check("there", bytes(ADDRESS + PAGE, 4) == 5u32.to_be_bytes())
}

fn unmapped(bed: &mut Bed) -> Result<(), Why> {
    let mut readers = readers(bed, 3)?;
    let (segment, inside) = segment(bed, TABLE_SPAN)?;
    for reader in &readers {
        good(reader.space.attach(FIRST, segment, RW))?;
    }
    for gone in [PAGE, MANY, TABLE_SPAN] {
        good(map(inside, 0, bed.ram, PAGE, 4 * PAGE, RW))?;
        for page in 0..4 {
            for reader in &mut readers {
                check("it is there", reader.read(FIRST + page * PAGE)? == Ok(100 * (1 + page)))?;
            }
        }
        good(unmap(inside, 0, gone))?;
        for reader in &mut readers {
            check("it is gone", reader.read(FIRST)? == MISSING)?;
        }
        good(map(inside, 0, bed.ram, 5 * PAGE, PAGE, RW))?;
        for reader in &mut readers {
            check("another one is there", reader.read(FIRST)? == Ok(500))?;
        }
        good(unmap(inside, 0, TABLE_SPAN))?;
    }
    Ok(())
}

/// A space has only a Segment, then also its own memory next to it, then no longer; it sees all
/// changes meanwhile.
fn beside(bed: &mut Bed) -> Result<(), Why> {
    let mut readers = readers(bed, 2)?;
    let (segment, inside) = segment(bed, TABLE_SPAN)?;
    let own = FIRST + TABLE_SPAN;
    for round in 0..4 {
        good(map(inside, 0, bed.ram, PAGE, PAGE, RW))?;
        if round % 2 == 1 {
            good(map(readers[0].space, own, bed.ram, 2 * PAGE, PAGE, RW))?;
        }
        for reader in &readers {
            good(reader.space.attach(FIRST, segment, RW))?;
        }
        for reader in &mut readers {
            check("the Segment's", reader.read(FIRST)? == Ok(100))?;
        }
        if round % 2 == 0 {
            good(map(readers[0].space, own, bed.ram, 2 * PAGE, PAGE, RW))?;
        }
        check("its own", readers[0].read(own)? == Ok(200))?;
        check("only that", readers[1].read(own)? == MISSING)?;
        good(map(inside, 0, bed.ram, 3 * PAGE, PAGE, RW))?;
        for reader in &mut readers {
            check("what is mapped now", reader.read(FIRST)? == Ok(300))?;
        }
        good(unmap(readers[0].space, own, PAGE))?;
        check("its own is gone", readers[0].read(own)? == MISSING)?;
        good(unmap(inside, 0, PAGE))?;
        for reader in &mut readers {
            check("and the other", reader.read(FIRST)? == MISSING)?;
            good(reader.space.detach(FIRST))?;
        }
    }
    Ok(())
}

fn nobody_had_it(bed: &mut Bed) -> Result<(), Why> {
    let mut readers = readers(bed, 2)?;
    let (segment, inside) = segment(bed, TABLE_SPAN)?;
    for page in 1..=DATA_PAGES {
        good(map(inside, 0, bed.ram, page * PAGE, PAGE, RW))?;
        let reader = &mut readers[page as usize % 2];
        good(reader.space.attach(FIRST, segment, RW))?;
        check("the page of now", reader.read(FIRST)? == Ok(100 * page))?;
        good(reader.space.detach(FIRST))?;
        check("it is gone", reader.read(FIRST)? == MISSING)?;
        good(unmap(inside, 0, PAGE))?;
    }
    Ok(())
}

/// This component has attached a Segment itself, and continues after each change.
fn at_once(bed: &mut Bed) -> Result<(), Why> {
    readers(bed, 0)?;
    let (segment, inside) = segment(bed, TABLE_SPAN)?;
    good(SPACE.attach(FIRST, segment, RW))?;
    for page in 1..=DATA_PAGES {
        good(map(inside, 0, bed.ram, page * PAGE, PAGE, RW))?;
        check("the page of now", bytes(FIRST, 4) == (100 * page).to_be_bytes())?;
        good(unmap(inside, 0, [PAGE, MANY, TABLE_SPAN][page as usize % 3]))?;
    }
    good(SPACE.detach(FIRST))
}

/// How many entries the hashed table has got. The kernel counts them when it has been idle, and has
/// searched for old entries of spaces.
fn reloads(bed: &mut Bed) -> Result<u32, Why> {
    let mut last = Reader::new(bed)?;
    check("it has nothing", last.read(FIRST)? == MISSING)?;
    let before = counts().swept;
    good(delete(last.space.0))?;
    for _ in 0..MOST_WAITS {
        good(time::alarm(time::now() + IDLE, 1))?;
        good(macadamia::ipc::wait(1))?;
        if counts().swept != before {
            break;
        }
    }
    Ok(counts().reloads)
}

/// If a Segment begins with one of the processor's segments, entries that one space has made serve
/// the others; elsewhere each of them makes its own. (A 603 has no hashed table, so nothing can be
/// counted there.)
fn shared(bed: &mut Bed) -> Result<(), Why> {
    const COUNT: u32 = 64;
    let mut readers = readers(bed, 4)?;
    let (segment, inside) = segment(bed, TABLE_SPAN)?;
    good(map(inside, 0, bed.large, 0, COUNT * PAGE, RW))?;
    if reloads(bed)? == 0 {
        return Ok(());
    }
    for (at, least, most) in
        [(FIRST, COUNT, COUNT + 40), (FIRST + TABLE_SPAN, 4 * COUNT, 4 * COUNT + 40)]
    {
        for reader in &readers {
            good(reader.space.attach(at, segment, RW))?;
        }
        let before = reloads(bed)?;
        for reader in &mut readers {
            (0..COUNT)
                .try_for_each(|page| check("it reads", reader.read(at + page * PAGE)?.is_ok()))?;
        }
        let made = reloads(bed)? - before;
        if !(least..=most).contains(&made) {
            return Err(format!("{made} entries were made for {COUNT} pages at {at:#x}"));
        }
        for reader in &readers {
            good(reader.space.detach(at))?;
        }
    }
    Ok(())
}

/// xorshift32 (Marsaglia 2003).
struct Random(u32);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % end
    }
}

/// A page of RAM, and whether it may be written.
type Page = (u32, bool);
const SPACES: usize = 5;
/// The pages of a Segment, and of a space's own memory, that are used: the first of each table.
const PAGES: u32 = 2;
/// Addresses in each of the processor's segments: its start, and 4 MiB after that.
const PLACES: u32 = 2;
const EVENTS: u32 = 4000;

/// The expected state, in the simplest form.
#[derive(Default)]
struct Model {
    /// The pages of each Segment.
    segments: [[Option<Page>; PAGES as usize]; 2],
    /// For each space and each address, the Segment there, and whether it may be written.
    attached: [[Option<(usize, bool)>; (SEGMENTS * PLACES) as usize]; SPACES],
    /// For each space and each address, its own pages.
    own: [[[Option<Page>; PAGES as usize]; (SEGMENTS * PLACES) as usize]; SPACES],
    /// The word of each page of RAM.
    words: [u32; 1 + DATA_PAGES as usize],
}

impl Model {
    fn page(&self, space: usize, place: usize, page: usize) -> Option<Page> {
        match self.attached[space][place] {
            Some((segment, writable)) => {
                self.segments[segment][page].map(|(ram, may)| (ram, may && writable))
            }
            None => self.own[space][place][page],
        }
    }

    fn has_own(&self, space: usize, place: usize) -> bool {
        self.own[space][place].iter().any(Option::is_some)
    }
}

const fn address(place: u32, page: u32) -> u32 {
    FIRST + place / PLACES * SHARED_SPAN + place % PLACES * TABLE_SPAN + page * PAGE
}

/// Random steps: pages of Segments and of spaces are mapped, get other rights and are unmapped,
/// singly and all at once; Segments are attached and detached; and after each step a space reads
/// and writes somewhere.
fn random_changes(bed: &mut Bed) -> Result<(), Why> {
    let mut readers = readers(bed, SPACES as u32)?;
    let segments = [segment(bed, TABLE_SPAN)?, segment(bed, TABLE_SPAN)?];
    let mut model =
        Model { words: core::array::from_fn(|page| 100 * page as u32), ..Model::default() };
    let mut random = Random(0x1234_5678);
    let mut done = [0; 7];
    for event in 0..EVENTS {
        let (space, place, page) = (
            random.below(SPACES as u32) as usize,
            random.below(SEGMENTS * PLACES),
            random.below(PAGES),
        );
        let (which, writable) = (random.below(2) as usize, random.below(2) == 0);
        let rights = if writable { RW } else { Rights::READ };
        let ram = 1 + random.below(DATA_PAGES);
        let (segment, inside) = segments[which];
        let (own, at, index) = (readers[space].space, address(place, page), place as usize);
        let what = random.below(7) as usize;
        let is_done = match what {
            0 => {
                good(map(inside, page * PAGE, bed.ram, ram * PAGE, PAGE, rights))?;
                model.segments[which][page as usize] = Some((ram, writable));
                true
            }
            1 => {
                let (from, bytes) =
                    [(page * PAGE, PAGE), (page * PAGE, PAGE), (0, MANY), (0, TABLE_SPAN)]
                        [random.below(4) as usize];
                good(unmap(inside, from, bytes))?;
                let gone = if bytes == PAGE {
                    page as usize..page as usize + 1
                } else {
                    0..PAGES as usize
                };
                model.segments[which][gone].fill(None);
                true
            }
            2 => {
                good(protect(inside, page * PAGE, PAGE, Rights::READ))?;
                if let Some((_, may)) = &mut model.segments[which][page as usize] {
                    *may = false;
                }
                true
            }
            3 if model.attached[space][index].is_none() && !model.has_own(space, index) => {
                good(own.attach(address(place, 0), segment, rights))?;
                model.attached[space][index] = Some((which, writable));
                true
            }
            4 if model.attached[space][index].is_some() => {
                good(own.detach(address(place, 0)))?;
                model.attached[space][index] = None;
                true
            }
            5 if model.attached[space][index].is_none() => {
                good(map(own, at, bed.ram, ram * PAGE, PAGE, rights))?;
                model.own[space][index][page as usize] = Some((ram, writable));
                true
            }
            6 if model.has_own(space, index) => {
                good(unmap(own, address(place, 0), TABLE_SPAN))?;
                model.own[space][index].fill(None);
                true
            }
            _ => false,
        };
        done[what] += u32::from(is_done);
        for _ in 0..4 {
            let (space, place, page) = (
                random.below(SPACES as u32) as usize,
                random.below(SEGMENTS * PLACES),
                random.below(PAGES),
            );
            let wanted = model.page(space, place as usize, page as usize);
            let at = address(place, page);
            let (came, wanted) = if random.below(2) == 0 {
                (
                    readers[space].read(at)?,
                    wanted.map_or(MISSING, |(ram, _)| Ok(model.words[ram as usize])),
                )
            } else {
                let came = readers[space].write(at, event)?;
                let wanted = match wanted {
                    None => Err(fault::WRITE),
                    Some((_, false)) => REFUSED,
                    Some((ram, true)) => {
                        model.words[ram as usize] = event;
                        Ok(event)
                    }
                };
                (came, wanted)
            };
            if came != wanted {
                return Err(format!(
                    "step {event} ({what}): space {space} at {at:#x}: {came:x?}, not {wanted:x?}"
                ));
            }
        }
    }
    check("all steps were taken", done.iter().all(|count| *count > 50))
}
