// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server, and processes of which some show it, by random steps compared with a naive model
//! (PowerPC). Processes read and write their own pages, missing pages, and the server's; they load
//! and store FPU registers. The server runs for each of them in turn, and accesses the memory of
//! each. Meanwhile pages are mapped and unmapped, among them the server's large pages, singly or so
//! many at once that a space gets a new context; sometimes no thread runs for a while.

use crate::{QUOTA, Random};
use abi::frame::{INSTRUCTION, WORDS, fault, vector};
use abi::tag::REGISTER_WORDS;
use abi::{CacheOp, Frame, MessageKind, Op, PAGE_SIZE as PAGE, Rights, TABLE_SPAN, Tag, USER_END};
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::alloc::{format, vec};
use macadamia::cap::{Bound, copy, delete, frame, set_frame};
use macadamia::ipc::{Message, receive, reply_wait};
use macadamia::map::{map, protect, unmap};
use macadamia::{Env, Error, Memory, Received, Space, Thread, counts, result, start, time};
use processor::code;

/// Why it failed.
type Why = String;

const ROUNDS: u32 = 1000;
const PROCESSES: usize = 20;
/// Most events in a round.
const EVENTS: u32 = 8;
/// The start of the server's window; its code and its notes of events, after the kernel's part; and
/// a large page.
const START: u32 = USER_END - (512 << 20);
const PROGRAM: u32 = START + TABLE_SPAN;
const NOTES: u32 = PROGRAM + PAGE;
const LARGE: u32 = PROGRAM + TABLE_SPAN;
/// The words of it that are used: one for each memory that can be mapped there.
const USED: u32 = LARGE + 5 * PAGE;
/// The addresses of processes' code, and of their pages: in the same segment, and in another one.
const CODE: u32 = 0x0100_0000;
const PARTS: [u32; 2] = [CODE + TABLE_SPAN, 0x6000_0000];
const PLACES: u32 = 40;
/// More pages than the kernel removes one by one.
const MANY: u32 = 30;
/// Pages of RAM: the processes' code, the server's program and notes, then data.
const DATA: u32 = 3;
const DATA_PAGES: u32 = 48;
/// Pages after those that are cleared while no thread runs.
const CLEARED: u32 = 8;
const HERE: u32 = image::layout::GRANTS_END;
/// The server's notes of a process: its handle, and, after all handles, the result of each event:
/// the exception, its error, r5.
const HANDLES: u32 = NOTES;
const NOTED: u32 = NOTES + 4 * PROCESSES as u32;
/// Nanoseconds in which no thread runs.
const IDLE: u64 = 500_000;
const RW: Rights = Rights(3);
const OWN: Space = Space(image::slot::SPACE);
const WHOLE: Message = Message { words: [0; 3], count: REGISTER_WORDS + WORDS, caps: 0 };

/// What a process does, by the instruction of its code at which it continues.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Reads = 0,
    Writes = 2,
    LoadsFloat = 4,
    StoresFloat = 6,
}

impl What {
    const ALL: [Self; 4] = [Self::Reads, Self::Writes, Self::LoadsFloat, Self::StoresFloat];

    fn is_write(self) -> bool {
        matches!(self, Self::Writes | Self::StoresFloat)
    }
}

/// A page of the data, and whether it may be written.
type Page = Option<(u32, bool)>;

struct Process {
    space: Space,
    thread: Thread,
    utcb: u32,
    pages: [[Page; PLACES as usize]; PARTS.len()],
    is_shown: bool,
    float: [u32; 2],
}

impl Process {
    /// What the process has at an address.
    fn page(&self, address: u32) -> Page {
        let (part, start) = PARTS
            .iter()
            .enumerate()
            .find(|(_, start)| address.wrapping_sub(**start) < PLACES * PAGE)?;
        self.pages[part][((address - start) / PAGE) as usize]
    }
}

struct Bed {
    ram: Memory,
    large: Memory,
    server: Space,
    /// The half of the memory that the large page has, and whether it may be written.
    half: Page,
    processes: Vec<Process>,
    /// The first two words of each page of data, and the used word of each half.
    words: [[u32; 2]; DATA_PAGES as usize],
    halves: [u32; 2],
}

fn good<T>(what: Result<T, Error>) -> Result<T, Why> {
    what.map_err(|error| error.text().into())
}

fn check(is: bool, why: impl FnOnce() -> String) -> Result<(), Why> {
    if is { Ok(()) } else { Err(why()) }
}

/// `stw`, `lwz` of a register at an address; both use r12.
fn store(register: u32, at: u32) -> Vec<u8> {
    [code::load(12, at), (0x900c_0000 | register << 21).to_be_bytes().into()].concat()
}
fn fetch(register: u32, at: u32) -> Vec<u8> {
    [code::load(12, at), (0x800c_0000 | register << 21).to_be_bytes().into()].concat()
}
fn put(at: u32, value: u32) -> Vec<u8> {
    [code::load(6, value), store(6, at)].concat()
}

/// A word of RAM, as this component has it.
fn word(page: u32, index: u32) -> u32 {
    let bytes = start::bytes(HERE + page * PAGE + 4 * index, 4);
    bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// Fills a page of RAM.
fn fill(page: u32, with: &[u8]) -> Result<(), Why> {
    start::fill(HERE + page * PAGE, PAGE, with);
    good(OWN.cache(HERE + page * PAGE, PAGE, CacheOp::SyncCode))
}

impl Bed {
    fn new(env: &mut Env) -> Result<(Self, Thread), Why> {
        let (ram, large, window) = (env.memory("ram"), env.memory("large"), env.memory("window"));
        good(map(OWN, HERE, ram, 0, (DATA + DATA_PAGES + CLEARED) * PAGE, RW))?;
        let words = core::array::from_fn(|page| [100 * page as u32, !(page as u32)]);
        for (page, words) in (DATA..).zip(words) {
            fill(page, &words.map(u32::to_be_bytes).concat())?;
        }
        let instructions = [
            code::reads_and_writes(),
            code::loads_float(),
            code::system_call(),
            code::stores_float(),
            code::system_call(),
        ];
        fill(0, &instructions.concat())?;
        let server = good(QUOTA.create_space_at(16, env.free_slot(), START))?;
        good(server.serve(window, false))?;
        good(map(server, PROGRAM, ram, PAGE, PAGE, Rights(5)))?;
        good(map(server, NOTES, ram, 2 * PAGE, PAGE, RW))?;
        let (thread, _) = good(QUOTA.create_thread(server, env.free_slot(), None))?;
        let handler = Thread(env.free_slot());
        good(copy(image::slot::THREAD, None, handler.0, Rights::CALL, 1))?;
        good(thread.set_handler(Some(handler)))?;
        let mut handles = vec![];
        let mut process = || -> Result<Process, Why> {
            let space = good(QUOTA.create_space(0, env.free_slot()))?;
            good(map(space, CODE, ram, 0, PAGE, Rights(5)))?;
            let (alien, Bound { utcb, handle, .. }) =
                good(QUOTA.create_thread(space, env.free_slot(), Some(server)))?;
            good(alien.set_handler(Some(thread)))?;
            handles.push(handle);
            let pages = [[None; PLACES as usize]; PARTS.len()];
            Ok(Process { space, thread: alien, utcb, pages, is_shown: false, float: [0; 2] })
        };
        let processes = (0..PROCESSES).map(|_| process()).collect::<Result<_, _>>()?;
        fill(2, &handles.into_iter().flat_map(u32::to_be_bytes).collect::<Vec<_>>())?;
        let (half, halves) = (None, [0; 2]);
        Ok((Self { ram, large, server, half, processes, words, halves }, thread))
    }

    /// Maps or unmaps something; impossible changes must be refused.
    fn change(&mut self, random: &mut Random) -> Result<(), Why> {
        let which = random.below(PROCESSES as u32) as usize;
        let (part, many) = (random.below(2) as usize, random.below(4) == 0);
        let count = if many { MANY } else { 1 };
        let (first, ram) = (random.below(PLACES + 1 - count), random.below(DATA_PAGES + 1 - count));
        let process = &mut self.processes[which];
        let (space, at) = (process.space, PARTS[part] + first * PAGE);
        let pages = &mut process.pages[part][first as usize..(first + count) as usize];
        let (may, bytes) = (random.below(2) == 0, count * PAGE);
        let rights = if may { RW } else { Rights::READ };
        match random.below(8) {
            0 | 1 => {
                good(map(space, at, self.ram, (DATA + ram) * PAGE, bytes, rights))?;
                pages.iter_mut().zip(ram..).for_each(|(page, ram)| *page = Some((ram, may)));
            }
            2 => {
                good(unmap(space, at, bytes))?;
                pages.fill(None);
            }
            3 => {
                good(protect(space, at, bytes, Rights::READ))?;
                pages.iter_mut().flatten().for_each(|(_, may)| *may = false);
            }
            4 if process.is_shown => {
                good(space.detach(START))?;
                process.is_shown = false;
            }
            4 => {
                good(space.show(START, self.server))?;
                process.is_shown = true;
            }
            5 => {
                good(unmap(self.server, LARGE, TABLE_SPAN))?;
                self.half = None;
            }
            6 => {
                let half = random.below(2);
                good(unmap(self.server, LARGE, TABLE_SPAN))?;
                good(map(self.server, LARGE, self.large, half * TABLE_SPAN, TABLE_SPAN, rights))?;
                self.half = Some((half, may));
            }
            _ => {
                let anywhere = random.value();
                let refused = [
                    space.show(anywhere | PAGE, self.server).is_err(),
                    !process.is_shown || map(space, LARGE, self.ram, 0, PAGE, RW).is_err(),
                    map(self.server, at, self.ram, 0, PAGE, RW).is_err(),
                    space.show(START, space).is_err(),
                ];
                check(refused == [true; 4], || format!("not refused: {refused:?}"))?;
            }
        }
        Ok(())
    }

    /// An address of a process's page, of the server's, or of none.
    fn address(random: &mut Random) -> u32 {
        match random.below(8) {
            0 => [START, PROGRAM, NOTES, LARGE, USED, USER_END - PAGE][random.below(6) as usize],
            1 => PARTS[0] + TABLE_SPAN,
            other => PARTS[other as usize % 2] + random.below(PLACES) * PAGE,
        }
    }

    /// The expected result of an access: r5, or the error of a page fault.
    fn access(&mut self, process: usize, what: What, address: u32, value: u32) -> Result<u32, u32> {
        let process = &mut self.processes[process];
        let error = if what.is_write() { fault::WRITE } else { 0 };
        let (page, may) = process.page(address).ok_or(error)?;
        if what.is_write() && !may {
            return Err(error | fault::PROTECTION);
        }
        let words = &mut self.words[page as usize];
        match what {
            What::Reads => return Ok(words[0]),
            What::Writes => words[0] = value,
            What::LoadsFloat => process.float = *words,
            What::StoresFloat => *words = process.float,
        }
        Ok(value)
    }

    /// The expected result when the server finally adds 1 at an address, after it has run this
    /// process last.
    fn added(&mut self, process: usize, address: u32) -> Result<(), u32> {
        let process = &self.processes[process];
        let (page, word) = if address == USED {
            (self.half, self.half.map(|(half, _)| &mut self.halves[half as usize]))
        } else {
            let page = process.page(address).filter(|_| process.is_shown);
            (page, page.map(|(page, _)| &mut self.words[page as usize][0]))
        };
        let word = word.ok_or(0u32)?;
        if !page.is_some_and(|(_, may)| may) {
            return Err(fault::WRITE | fault::PROTECTION);
        }
        *word += 1;
        Ok(())
    }

    /// The server runs some processes in turn, and adds 1 somewhere.
    fn round(&mut self, random: &mut Random, thread: &Received) -> Result<Received, Why> {
        let mut program = vec![];
        let mut wanted = vec![];
        let mut last = 0;
        for event in 0..1 + random.below(EVENTS) {
            last = random.below(PROCESSES as u32) as usize;
            let what = What::ALL[random.below(4) as usize];
            let (address, value) = (Self::address(random), random.next());
            let (utcb, handle) = (self.processes[last].utcb, HANDLES + 4 * last as u32);
            let noted = NOTED + 12 * event;
            program.extend(
                [
                    put(utcb + 4 * INSTRUCTION as u32, CODE + 4 * what as u32),
                    put(utcb + 4 * 4, address),
                    put(utcb + 4 * 5, value),
                    fetch(4, handle),
                    code::load(3, Tag::new(Op::Run, 0, 0).0),
                    code::system_call().into(),
                    store(4, handle),
                    store(5, noted),
                    store(7, noted + 4),
                    fetch(8, utcb + 4 * 5),
                    store(8, noted + 8),
                ]
                .concat(),
            );
            wanted.push((last, address, self.access(last, what, address, value)));
        }
        let at = if random.below(2) == 0 {
            USED
        } else {
            PARTS[random.below(2) as usize] + random.below(PLACES) * PAGE
        };
        program
            .extend([code::load(12, at), code::adds_far().into(), code::invalid().into()].concat());
        fill(1, &program)?;
        set_frame(&Frame { pc: PROGRAM, ..Frame::default() });
        let thread = good(reply_wait(thread.handle, WHOLE))?;
        let frame = frame();
        for (event, (process, address, wanted)) in (0..).zip(wanted) {
            let first = (NOTED - NOTES) / 4 + 3 * event;
            let noted = [0, 1, 2].map(|index| word(2, first + index));
            let came = match noted {
                [vector::SYSTEM_CALL, _, value] => Ok(value),
                [vector::PAGE_FAULT, error, _] => Err(error),
                _ => return Err(format!("process {process} had {noted:x?}")),
            };
            check(came == wanted, || {
                format!("process {process} at {address:#x}: {came:x?}, not {wanted:x?}")
            })?;
        }
        let added = self.added(last, at);
        let came = match (frame.vector, frame.address) {
            (vector::PROGRAM, _) => Ok(()),
            (vector::PAGE_FAULT, address) if address == at => Err(frame.error),
            other => return Err(format!("the server had {other:x?}")),
        };
        check(came == added, || {
            format!("the server after process {last} at {at:#x}: {came:x?}, not {added:x?}")
        })?;
        Ok(thread)
    }

    /// Checks that all memory has what was written last.
    fn compare(&self) -> Result<(), Why> {
        let found = (DATA..)
            .zip(self.words)
            .find(|(page, words)| [word(*page, 0), word(*page, 1)] != *words);
        check(found.is_none(), || format!("page and words: {found:x?}"))
    }
}

/// No thread runs for a while, after the kernel was asked to clear pages of this component.
fn idle() -> Result<(), Why> {
    let at = HERE + (DATA + DATA_PAGES) * PAGE;
    (0..CLEARED).for_each(|page| start::fill(at + page * PAGE, PAGE, &[0xa5; PAGE as usize]));
    good(OWN.clear_later(at, CLEARED * PAGE))?;
    good(time::alarm(time::now() + IDLE, 1))?;
    good(macadamia::ipc::wait(1))?;
    let cleared = good(OWN.clear_later(0, 0))?;
    let is_clear = start::bytes(at, cleared * PAGE).iter().all(|byte| *byte == 0);
    check(is_clear, || format!("of {cleared} pages one is not clear"))
}

/// Makes random steps. Returns how many events of processes there were.
fn steps(env: &mut Env) -> Result<u32, Why> {
    let (mut bed, thread) = Bed::new(env)?;
    let mut random = Random(0x1234_5671);
    fill(1, code::invalid())?;
    good(thread.start(PROGRAM, NOTES, 0))?;
    let mut stopped = good(receive(None))?;
    for round in 0..ROUNDS {
        check(stopped.kind == MessageKind::Exception, || "it has not stopped".into())?;
        for _ in 0..random.below(4) {
            bed.change(&mut random)?;
        }
        if round % 32 == 0 {
            idle()?;
        }
        stopped =
            bed.round(&mut random, &stopped).map_err(|why| format!("round {round}: {why}"))?;
    }
    bed.compare()?;
    for process in &bed.processes {
        good(delete(process.thread.0))?;
        good(delete(process.space.0))?;
    }
    good(delete(thread.0))?;
    good(delete(bed.server.0))?;
    Ok(ROUNDS)
}

/// Makes the steps, and reports the result.
pub fn go(mut env: Env) {
    let Ok((before, _)) = QUOTA.info() else { panic!("no quota") };
    match steps(&mut env) {
        Ok(rounds) => result!("ok hostile.servers: {rounds} rounds, {} turns", counts().turns),
        Err(why) => result!("not ok hostile.servers: {why}"),
    }
    let Ok((after, _)) = QUOTA.info() else { panic!("no quota") };
    // Tables of this component's space stay.
    let grown = after.saturating_sub(before);
    result!(
        "{} hostile.servers.quota: {before} bytes before, {after} after",
        if grown <= 4 * PAGE { "ok" } else { "not ok" }
    );
    result!("done");
}
