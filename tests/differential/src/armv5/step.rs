// SPDX-License-Identifier: MIT OR Apache-2.0
//! One event, by the assembly and by the portable kernel.

use super::code::{Code, Executed, TESTS};
use super::compare::{Before, Noted, Outcome, THREAD_POINTER, compare};
use super::machine::{CPSR, Exit, Machine, REGISTERS};
use super::scenario::{Access, Event, Fault, Host, MISSING, all};
use crate::run::settle;
use abi::arch::armv5::layout::SLOT_BYTES;
use abi::frame::{USER_FLAGS, fault as named_fault, vector as named};
use abi::utcb::SLOT_USED;
use abi::{Op, Rights, Tag, USER_END, UserAddr};
use anyhow::{Context, Result, ensure};
use arch_host::POOL_BASE;
use armv5_context::{THUMB, USER_MODE, abort, hw, restart_helper, vector, word};
use fastrand::Rng;
use kcore::port::{Processor, Translation};
use kcore::thread::ANCHOR;
use kcore::{Cpu, Kernel, Space, Table, Thread};
use mmu::Format;
use mmu::armv5::Armv5;
use mmu::fass::client;
use pool::{Link, Ref};
use std::collections::BTreeMap;
use std::ops::Range;

/// The domain access register while the kernel runs: all are open.
const ALL: u32 = 0x5555_5555;
/// ARM's `swi`, and its number.
const SWI: u32 = 0xef00_0000;
/// See [`SWI`].
const NUMBER: u32 = 0xff_ffff;

/// Where the helpers of programs are that begin again, 16 bytes at most.
const HELPERS: [u32; 2] = [0xffff_0f6c, 0xffff_0fc0];

/// How often each was taken.
#[derive(Default)]
pub struct Tally {
    /// Events.
    pub events: u64,
    /// Calls by the fast path.
    pub calls: u64,
    /// `reply_wait` by the fast path.
    pub replies: u64,
    /// `run` by the fast path.
    pub runs: u64,
    /// System calls of aliens by the fast path.
    pub alien_calls: u64,
    /// `map_reply_wait` by the fast path.
    pub map_replies: u64,
    /// `map_run` by the fast path.
    pub map_runs: u64,
    /// `map` by the fast path.
    pub maps: u64,
    /// `cache` by the fast path.
    pub caches: u64,
    /// Pages that took the place of another one, or got another right, by the fast path.
    pub replaced: u64,
    /// Fetches by the fast path.
    pub fetches: u64,
    /// Page faults of native threads by the fast path.
    pub faults: u64,
    /// Page faults of aliens by the fast path.
    pub alien_faults: u64,
    /// Those with which the process identifier was written.
    pub pids: u64,
    /// Calls to a thread that is as urgent as one in a ready queue.
    pub equal_calls: u64,
    /// Replies to such a one.
    pub equal_replies: u64,
    /// What was left to the portable kernel.
    pub given_up: u64,
    /// Of that, as the domain of an alien's frame was closed.
    pub closed: u64,
    /// By test: events that were given up, and without this one test would have gone through with a wrong result, and those that would
    /// have gone through with the right one.
    pub without: BTreeMap<usize, [u64; 2]>,
    /// How often each instruction was executed with its condition met, and how often not.
    pub executed: Executed,
}

impl Tally {
    fn note(&mut self, machine: &Machine) {
        self.closed += u64::from(machine.found_closed);
        machine.steps.iter().for_each(|(at, is_met)| self.executed.entry(*at).or_default()[usize::from(!is_met)] += 1);
    }
}

/// What the entry code finds beside the pool.
struct Entered<'a> {
    kernel: &'a Kernel<Host>,
    cpu: Cpu,
    noted: Noted,
    /// The address of the instruction that entered, and its word.
    instruction: (u32, u32),
    /// What failed, its status and address, if it is a fault: of an exception all registers are saved already.
    fault: Option<(Access, [u32; 2])>,
}

impl Entered<'_> {
    fn word(&self, code: &Code, address: u32) -> Option<u32> {
        let pool = &self.kernel.pool;
        if address.wrapping_sub(POOL_BASE) < pool.bytes() {
            return pool.bytes_at(address, 4).try_into().map(u32::from_ne_bytes).ok();
        }
        let at = |start: u32| address.wrapping_sub(start);
        let (start, bytes) = code.places.directory;
        let cpu = [self.cpu.loaded, self.cpu.top, self.cpu.port, self.cpu.current.value()];
        let (instruction, word) = self.instruction;
        match address {
            _ if address == instruction => Some(word),
            _ if at(code.places.cpu) < size_of::<Cpu>() as u32 => cpu.get(at(code.places.cpu) as usize / 4).copied(),
            _ if at(start) < bytes => Some(self.noted.dirty),
            _ if address == code.places.index_mask => Some(self.kernel.threads.count - 1),
            _ if address == code.places.pool_offset => Some((self.kernel.port.physical(POOL_BASE).0 as u32).wrapping_sub(POOL_BASE)),
            _ if address == code.places.copies => Some(self.noted.copies),
            // Nobody reads it.
            THREAD_POINTER => Some(0),
            _ => code.word(address),
        }
    }
}

/// The registers of a user: random ones with these in r0 and so on.
fn random_user(first: &[u32], rng: &mut Rng) -> [u32; REGISTERS] {
    let mut user = std::array::from_fn(|_| rng.u32(..));
    user[..first.len()].copy_from_slice(first);
    user[CPSR] = user[CPSR] & USER_FLAGS | USER_MODE;
    let aligned = if user[CPSR] & THUMB != 0 { !1 } else { !3 };
    user[15] = (user[15] % USER_END) & aligned;
    user
}

/// As the entry code saves them for the portable kernel.
fn save(thread: &mut Thread, user: &[u32; REGISTERS], vector: u32) {
    let context = &mut thread.context;
    context[word::R0..word::R0 + 15].copy_from_slice(&user[..15]);
    (context[word::PC], context[word::CPSR]) = (user[15], user[CPSR]);
    (context[word::VECTOR], context[word::ERROR]) = (vector, 0);
}

/// Lets the thread that runs do this.
pub fn step(kernel: &mut Kernel<Host>, event: &Event, code: &Code, rng: &mut Rng, tally: &mut Tally) -> Result<()> {
    let me = kernel.current().context("nobody runs")?;
    tally.events += 1;
    kernel.port.now += rng.u64(..20_000);
    match event {
        Event::Swi(arguments) => {
            let user = random_user(arguments, rng);
            let noted = noted(kernel, rng);
            swi(kernel, me, &user, code, noted, (rng, tally))?;
        }
        Event::Abort(fault) => {
            let mut user = random_user(&[], rng);
            if matches!(fault.access, Access::Fetch) {
                user[15] = fault.address & if user[CPSR] & THUMB != 0 { !1 } else { !3 };
            } else if rng.u32(..12) == 0 {
                // In one of the helpers, or close to one.
                user[15] = HELPERS[rng.usize(..2)] + rng.u32(..5) * 4;
            }
            let noted = noted(kernel, rng);
            page_fault(kernel, me, &user, fault, code, noted, (rng, tally))?;
        }
        Event::Tick => {
            save(&mut kernel.pool[me], &random_user(&[], rng), vector::INTERRUPT);
            kernel.port.now += rng.u64(..12_000_000);
            kernel.tick();
        }
    }
    settle(kernel);
    let noted = Noted { entered: Link::NULL, pid: rng.u32(..4) << 25, ..noted(kernel, rng) };
    leave(kernel, &random_user(&[], rng), code, noted, tally)
}

/// What the processor has beside the registers of the user who runs: the process identifier, and the domains that were open.
fn noted(kernel: &mut Kernel<Host>, rng: &mut Rng) -> Noted {
    let space = kernel.current().and_then(|me| kernel.pool[me].space.get());
    let own = space.map_or(hw::INDIFFERENT, |space| kernel.pool[space].hw[hw::PID]);
    let pid = if own & hw::INDIFFERENT != 0 { rng.u32(..4) << 25 } else { own };
    Noted {
        entered: kernel.current().map_or(Link::NULL, Ref::link),
        pid,
        dirty: rng.u32(..) & rng.u32(..),
        copies: u32::from(rng.u32(..16) == 0),
    }
}

/// A system call, by the assembly first.
fn swi(
    kernel: &mut Kernel<Host>,
    me: Ref<Thread>,
    user: &[u32; REGISTERS],
    code: &Code,
    noted: Noted,
    (rng, tally): (&mut Rng, &mut Tally),
) -> Result<()> {
    let before = Before::new(kernel);
    let cpu = *kernel.port.cpu();
    let swi = SWI | if rng.bool() { 0 } else { rng.u32(..) & NUMBER };
    let entered = Entered { kernel, cpu, noted, instruction: (user[15].wrapping_sub(4), swi), fault: None };
    let (outcome, without) = assembly(&entered, me, user, code, tally)?;
    let timer = kernel.port.timer.take();
    kernel.port.invalidated.clear();
    kernel.port.announced.clear();
    kernel.port.cached.clear();
    save(&mut kernel.pool[me], user, vector::SWI);
    let by_alien = kernel.pool[me].is_alien();
    if by_alien {
        // Of Thumb the port gives 8 bits of another instruction, which is not in this memory.
        kernel.pool[me].context[word::ERROR] = swi & NUMBER;
        kernel.exception();
    } else {
        kernel.system_call();
    }
    let op = Op::from_code(user[0] >> Tag::OP_SHIFT);
    if let Some(outcome) = &outcome {
        compare(kernel, &before, me, outcome, code).with_context(|| format!("{op:?}, by an alien: {by_alien}"))?;
        tally.pids += u64::from(outcome.changed_pid());
        tally.replaced += u64::from(!kernel.port.announced.is_empty());
        let is_call = op == Some(Op::Call);
        *match op {
            _ if by_alien => &mut tally.alien_calls,
            Some(Op::Call) => &mut tally.calls,
            Some(Op::Run) => &mut tally.runs,
            Some(Op::MapReplyWait) => &mut tally.map_replies,
            Some(Op::MapRun) => &mut tally.map_runs,
            Some(Op::Map) => &mut tally.maps,
            Some(Op::Cache) => &mut tally.caches,
            _ => &mut tally.replies,
        } += 1;
        let priority = outcome.current.get().map(|current| kernel.pool[current].priority);
        *if is_call { &mut tally.equal_calls } else { &mut tally.equal_replies } += u64::from(priority == Some(cpu.top));
    } else {
        tally.given_up += 1;
    }
    judge(kernel, &before, me, without, code, tally);
    kernel.port.timer = kernel.port.timer.or(timer);
    Ok(())
}

/// Counts what would have become of an event without single tests.
fn judge(kernel: &mut Kernel<Host>, before: &Before, me: Ref<Thread>, without: Without, code: &Code, tally: &mut Tally) {
    for (test, outcome) in without {
        let is_right = outcome.is_some_and(|outcome| compare(kernel, before, me, &outcome, code).is_ok());
        tally.without.entry(test).or_default()[usize::from(is_right)] += 1;
    }
}

/// What a fault on data is to the port (`trap.rs` of the port): the address as the thread used it, what it wanted, and the error; nothing if
/// the page is there, or comes into the directory.
fn portable(
    kernel: &Kernel<Host>,
    me: Ref<Thread>,
    user: &[u32; REGISTERS],
    (fault, instruction): (&Fault, u32),
) -> Option<(u32, Rights, u32)> {
    let space = kernel.pool[me].space.get()?;
    let domain = fault.status >> 4 & 0xf;
    let Space { hw, segments, .. } = kernel.pool[space];
    let is_open = hw[hw::DACR] & client(domain) != 0;
    let is_copy = domain == hw[hw::DOMAIN] && !segments.is_null();
    let protection = match fault.status & 0xf {
        MISSING if is_open && !is_copy => 0,
        0xd | 0xf => named_fault::PROTECTION,
        _ => return None,
    };
    let writes = match user[CPSR] & THUMB {
        0 => abort::writes(instruction),
        _ => abort::writes_thumb((instruction >> (8 * (user[15] & 2))) as u16),
    };
    let (access, error) = if writes { (Rights::WRITE, named_fault::WRITE) } else { (Rights::READ, 0) };
    let is_relocated = fault.address & !(SLOT_BYTES - 1) == hw[hw::PID];
    Some((if is_relocated { fault.address & (SLOT_BYTES - 1) } else { fault.address }, access, error | protection))
}

/// What a fetch that failed is to the port; nothing if the page is there: then it comes into the directory, or is a breakpoint.
fn fetched(kernel: &Kernel<Host>, me: Ref<Thread>, pc: u32) -> Option<(u32, Rights, u32)> {
    let space = kernel.pool[me].space.get()?;
    let top = kernel.pool[space].region.top.get()?;
    let entry = kernel.pool[top].entries::<Armv5>()[Armv5::table_index(UserAddr(pc))];
    let rights = match Armv5::decode_table(entry) {
        Some((table, _)) => {
            let table: Ref<Table> = Ref::new(kernel.port.pool_address(table));
            Armv5::decode(kernel.pool[table].entries::<Armv5>()[Armv5::leaf_index(UserAddr(pc))]).map(|leaf| leaf.rights)
        }
        None => Armv5::decode_large(entry).map(|(leaf, _)| leaf.rights),
    };
    rights.is_none_or(|rights| rights == Rights::NONE).then_some((pc, Rights::EXECUTE, named_fault::FETCH))
}

/// A fault, by the assembly first.
fn page_fault(
    kernel: &mut Kernel<Host>,
    me: Ref<Thread>,
    user: &[u32; REGISTERS],
    fault: &Fault,
    code: &Code,
    noted: Noted,
    (rng, tally): (&mut Rng, &mut Tally),
) -> Result<()> {
    // The entry code has saved all registers, and some have other values since.
    save(&mut kernel.pool[me], user, vector::SWI);
    let mut entered_with = *user;
    let number = fault.access.number();
    entered_with[..5].copy_from_slice(&[number, rng.u32(..), rng.u32(..), rng.u32(..), rng.u32(..)]);
    let before = Before::new(kernel);
    let cpu = *kernel.port.cpu();
    let (status, address) = (fault.status, fault.address);
    let instruction = if let Access::Data(instruction) = fault.access { instruction } else { 0 };
    let entered = Entered { kernel, cpu, noted, instruction: (user[15] & !3, instruction), fault: Some((fault.access, [status, address])) };
    let (outcome, without) = assembly(&entered, me, &entered_with, code, tally)?;
    let timer = kernel.port.timer.take();
    kernel.port.invalidated.clear();
    kernel.port.announced.clear();
    kernel.port.cached.clear();
    let event = match &fault.access {
        Access::Data(instruction) => portable(kernel, me, user, (fault, *instruction)),
        Access::Fetch => fetched(kernel, me, user[15]),
    };
    restart_helper(&mut kernel.pool[me].context);
    if let Some((address, access, error)) = event {
        (kernel.pool[me].context[word::VECTOR], kernel.pool[me].context[word::ERROR]) = (named::PAGE_FAULT, error);
        kernel.page_fault(UserAddr(address), access);
    }
    if let Some(outcome) = &outcome {
        compare(kernel, &before, me, outcome, code).with_context(|| format!("a fault, {event:x?}, of {:#x}", fault.status))?;
        tally.pids += u64::from(outcome.changed_pid());
        *match fault.access {
            Access::Fetch => &mut tally.fetches,
            Access::Data(_) if kernel.pool[me].is_alien() => &mut tally.alien_faults,
            Access::Data(_) => &mut tally.faults,
        } += 1;
    } else {
        tally.given_up += 1;
    }
    judge(kernel, &before, me, without, code, tally);
    kernel.port.timer = kernel.port.timer.or(timer);
    Ok(())
}

/// The slots of UTCBs, and the domain of each: that of the space where it lies.
fn frames(kernel: &Kernel<Host>) -> Vec<(Range<u32>, u32)> {
    let threads = all(kernel).into_iter().map(|thread| &kernel.pool[thread]).filter(|thread| thread.utcb != 0);
    let home = |thread: &Thread| if thread.home.is_null() { thread.space } else { thread.home };
    threads.map(|thread| (thread.utcb..thread.utcb + SLOT_USED, of_space(kernel, home(thread), hw::DOMAIN))).collect()
}

/// A word that the port keeps of a space.
fn of_space(kernel: &Kernel<Host>, space: Link<Space>, word: usize) -> u32 {
    space.get().map_or(0, |space| kernel.pool[space].hw[word])
}

/// An outcome without a test, by the test's number; none if it went where nothing is.
type Without = Vec<(usize, Option<Outcome>)>;

/// What the entry code makes of it; if it gives up, what it would have without one of its tests, where the others let it through.
fn assembly(
    entered: &Entered,
    me: Ref<Thread>,
    user: &[u32; REGISTERS],
    code: &Code,
    tally: &mut Tally,
) -> Result<(Option<Outcome>, Without)> {
    let entry = code.symbol(match entered.fault {
        None => "swi_entry",
        Some((Access::Data(_), _)) => "data_fault",
        Some((Access::Fetch, _)) => "fetch_fault",
    })?;
    let slow = code.symbol("trap5enter")?;
    let memory = |address: u32| entered.word(code, address);
    let (frames, open) = (frames(entered.kernel), of_space(entered.kernel, entered.kernel.pool[me].space, hw::DACR));
    let new = || {
        let mut machine = Machine::new(&memory, user, entered.noted.pid, me.address()).with_domains(&frames, open);
        machine.fault = entered.fault.map_or([0; 2], |(_, words)| words);
        machine
    };
    let mut machine = new();
    let exit = machine.run(code, entry, None)?;
    tally.note(&machine);
    if exit == Exit::User {
        return Ok((Some(Outcome::new(&machine, code, entered.noted)?), Vec::new()));
    }
    ensure!(exit == Exit::Left(slow), "the code went to {exit:x?}");
    given_up(&machine, me, user, entered.fault.map(|(access, _)| access.number()))?;
    let mut without = Vec::new();
    for test in machine.tests.iter().copied().filter(|test| TESTS[*test].is_some()) {
        let mut machine = new();
        match machine.run(code, entry, Some(test)) {
            Ok(Exit::User) => without.push((test, Some(Outcome::new(&machine, code, entered.noted)?))),
            Ok(Exit::Left(_)) => {}
            Err(_) => without.push((test, None)),
        }
    }
    Ok((None, without))
}

/// On the way to the portable kernel all registers are saved as the user had them, and nothing else is changed.
fn given_up(machine: &Machine, me: Ref<Thread>, had: &[u32; REGISTERS], fault: Option<u32>) -> Result<()> {
    let at = |index: usize| me.address() - ANCHOR + index as u32 * 4;
    let mut saved: BTreeMap<u32, u32> = BTreeMap::new();
    if let Some(number) = fault {
        saved.extend([(at(word::VECTOR), number)]);
    } else {
        saved.extend((word::R0..word::R0 + 15).map(at).zip(had.iter().copied()));
        saved.extend([(at(word::PC), had[15]), (at(word::CPSR), had[CPSR]), (at(word::VECTOR), vector::SWI)]);
    }
    ensure!(*machine.written() == saved, "saved was {:x?} of {had:x?}", machine.written());
    ensure!(machine.dacr == Some(ALL), "the domains are {:x?}", machine.dacr);
    ensure!(machine.pid_writes == 0, "the process identifier was written");
    Ok(())
}

/// The way out restores all registers of the thread that runs, whatever is in the processor.
fn leave(kernel: &mut Kernel<Host>, left: &[u32; REGISTERS], code: &Code, noted: Noted, tally: &mut Tally) -> Result<()> {
    let Some(current) = kernel.current() else { return Ok(()) };
    let cpu = *kernel.port.cpu();
    let entered = Entered { kernel, cpu, noted, instruction: (0, 0), fault: None };
    let memory = |address: u32| entered.word(code, address);
    let mut machine = Machine::new(&memory, left, noted.pid, 0);
    let exit = machine.run(code, code.symbol("leave_kernel")?, None)?;
    tally.note(&machine);
    ensure!(exit == Exit::User, "the way out went to {exit:x?}");
    let (outcome, word) = (Outcome::new(&machine, code, noted)?, machine.word(THREAD_POINTER));
    outcome.runs(kernel, code, &[THREAD_POINTER], 0..0).context("on the way out")?;
    let pointer = kernel.pool[current].lazy_state[0];
    ensure!(word == Some(pointer), "the thread pointer is {word:x?} in place of {pointer:#x}");
    Ok(())
}
