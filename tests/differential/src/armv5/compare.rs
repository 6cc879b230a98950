// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be the same, and what nobody will ever read again.

use super::code::Code;
use super::machine::{Machine, Maintained, Maintenance, REGISTERS};
use super::scenario::{ARGUMENTS, Host};
use abi::arch::armv5::layout::SLOT_BYTES;
use abi::{CacheOp, PAGE_SIZE, Rights};
use anyhow::{Context, Result, bail, ensure};
use arch_host::POOL_BASE;
use armv5_context::{hw, word};
use core::mem::offset_of;
use core::ops::Range;
use kcore::fault::EVENT_WORDS;
use kcore::port::{CONTEXT_WORDS, Change};
use kcore::thread::{ANCHOR, BYTES, gate};
use kcore::{Cpu, Kernel, Scheduler, Space, Thread};
use pool::{Link, Ref};
use std::collections::{BTreeMap, BTreeSet};

/// What the portable kernel found, beside its registers.
pub struct Before {
    pool: Vec<u8>,
    sched: Scheduler,
}

impl Before {
    /// As it is now.
    pub fn new(kernel: &Kernel<Host>) -> Self {
        Self { pool: kernel.pool.bytes_at(POOL_BASE, kernel.pool.bytes()).to_vec(), sched: kernel.sched }
    }
}

/// The word that the helper of programs returns as the thread pointer (docs/arm.md, *Virtual memory*).
pub const THREAD_POINTER: u32 = 0xffff_0ff0;

/// What the processor and the kernel have beside the user's registers and the pool when the code begins.
#[derive(Clone, Copy)]
pub struct Noted {
    /// Who entered, with his domains; nobody: it is the way out of the portable kernel.
    pub entered: Link<Thread>,
    /// The process identifier.
    pub pid: u32,
    /// The domains that were open since the cache was last cleaned.
    pub dirty: u32,
    /// How many coarse tables have copies.
    pub copies: u32,
}

/// What the assembly left when it went back to user mode.
pub struct Outcome {
    /// Who runs.
    pub current: Link<Thread>,
    registers: [u32; REGISTERS],
    written: BTreeMap<u32, u32>,
    dacr: Option<u32>,
    pid: u32,
    pid_writes: u32,
    had: Noted,
    maintained: Vec<Maintained>,
    order: Vec<u32>,
}

impl Outcome {
    /// Of a machine that went there, and had this before.
    pub fn new(machine: &Machine, code: &Code, had: Noted) -> Result<Self> {
        let current = machine.word(code.places.cpu + offset_of!(Cpu, current) as u32).context("nobody runs")?;
        Ok(Self {
            current: Link::from_value(current),
            registers: machine.user(),
            written: machine.written().clone(),
            dacr: machine.dacr,
            pid: machine.pid,
            pid_writes: machine.pid_writes,
            had,
            maintained: machine.maintained.clone(),
            order: machine.order().to_vec(),
        })
    }

    /// Caches and TLB are told of all that the portable kernel has announced, and of entries that are written, in an order in which
    /// nothing is lost.
    fn has_maintained(&self, kernel: &Kernel<Host>) -> Result<()> {
        let of = |what: Maintenance| self.maintained.iter().filter(move |done| done.what == what);
        let entries: Vec<usize> = (0..self.order.len()).filter(|at| kernel.port.walker.contains_key(&page_of(self.order[*at]))).collect();
        let (first, last) = (entries.first().copied().unwrap_or(usize::MAX), entries.last().copied().unwrap_or(0));
        // Pages that change, and how their lines do.
        let mut pages = BTreeMap::new();
        for (part, change) in &kernel.port.announced {
            let (space, range) = part.as_ref().context("the portable kernel announced all")?;
            let needs: &[Maintenance] = match change {
                Change::Remove | Change::Replace => &[Maintenance::Clean, Maintenance::Drop, Maintenance::DropCode],
                Change::Protect(rights) if rights.contains(Rights::WRITE) => &[],
                Change::Protect(_) => &[Maintenance::Clean],
            };
            pages.insert(relocated(kernel, *space, range.start.0), needs);
        }
        for (page, needs) in &pages {
            for line in (*page..page + PAGE_SIZE).step_by(LINE as usize) {
                let is_done = |what: &Maintenance| of(*what).any(|done| done.address == line && done.writes <= first);
                ensure!(needs.iter().all(is_done), "line {line:#x} has not gone: {needs:?}");
            }
            ensure!(
                needs.len() < 2 || of(Maintenance::DropBranches).any(|done| done.writes <= first),
                "branches are predicted by {page:#x}"
            );
            ensure!(of(Maintenance::Drain).any(|done| done.writes == first), "lines of {page:#x} are not in memory before the entry is");
        }
        let mut asked = BTreeSet::new();
        for ((space, range), what) in kernel.port.cached.iter().filter(|((_, range), _)| !range.is_empty()) {
            let needs: &[Maintenance] = match what {
                CacheOp::Clean => &[Maintenance::Clean],
                CacheOp::CleanAndInvalidate => &[Maintenance::Clean, Maintenance::Drop],
                CacheOp::SyncCode => &[Maintenance::Clean, Maintenance::DropCode],
                CacheOp::Lock | CacheOp::Unlock => bail!("lines are locked, which no machine of this port can"),
            };
            for line in (line_of(range.start.0)..range.end.0).step_by(LINE as usize) {
                let address = relocated(kernel, *space, line);
                let done: Vec<Maintenance> = self.maintained.iter().filter(|done| done.address == address).map(|done| done.what).collect();
                ensure!(done == needs, "{done:?} of {address:#x} in place of {needs:?}");
                asked.insert(address);
            }
            ensure!(self.maintained.last().is_some_and(|last| last.what == Maintenance::Drain), "nobody waits until lines are in memory");
        }
        let lines = [Maintenance::Clean, Maintenance::Drop, Maintenance::DropCode].into_iter().flat_map(of);
        for done in lines.filter(|done| !pages.contains_key(&page_of(done.address)) && !asked.contains(&done.address)) {
            let is_entry = entries.iter().any(|at| line_of(self.order[*at]) == line_of(done.address));
            ensure!(is_entry && done.what == Maintenance::Clean && done.writes > last, "a line of {:#x} went", done.address);
        }
        for at in &entries {
            let is_done = |done: &Maintained| line_of(done.address) == line_of(self.order[*at]) && done.writes > last;
            ensure!(of(Maintenance::Clean).any(is_done), "the entry of a table is not in memory");
        }
        ensure!(entries.is_empty() || of(Maintenance::Drain).any(|done| done.writes > last), "nobody waits until entries are in memory");
        let invalid: BTreeSet<u32> =
            kernel.port.invalidated.iter().map(|(space, range)| relocated(kernel, *space, range.start.0)).collect();
        for what in [Maintenance::Flush, Maintenance::FlushCode] {
            let flushed: BTreeSet<u32> = of(what).filter(|done| done.writes > last).map(|done| done.address).collect();
            ensure!(flushed == invalid && of(what).count() == invalid.len(), "{what:?} of {flushed:x?} in place of {invalid:x?}");
        }
        Ok(())
    }

    /// Whether the process identifier is another one.
    pub const fn changed_pid(&self) -> bool {
        self.pid_writes != 0
    }

    /// The processor runs the thread in `current` with its registers, in its space. Nothing was written but memory of the pool, words that
    /// are in `others`, and the word that notes the domains. Its registers in `unknown` may be any.
    pub fn runs(&self, kernel: &mut Kernel<Host>, code: &Code, others: &[u32], unknown: Range<usize>) -> Result<()> {
        let current = kernel.current().context("nobody runs")?;
        ensure!(self.current.is(current), "{current:?} runs, by the assembly {:?}", self.current);
        let thread = &kernel.pool[current];
        let mut saved = user(thread);
        saved[unknown.clone()].copy_from_slice(&self.registers[unknown]);
        ensure!(self.registers == saved, "its registers are\n{saved:x?}, by the assembly\n{:x?}", self.registers);
        let words = kernel.pool[thread.space.get().context("it has no space")?].hw;
        // Who just goes on has its domains.
        let goes_on = self.dacr.is_none() && self.had.entered.is(current);
        ensure!(goes_on || self.dacr == Some(words[hw::DACR]), "its domains are {:#x}, by the assembly {:x?}", words[hw::DACR], self.dacr);
        let pid = if words[hw::PID] & hw::INDIFFERENT != 0 { self.had.pid } else { words[hw::PID] };
        ensure!(self.pid == pid, "the process identifier is {pid:#x}, by the assembly {:#x}", self.pid);
        ensure!(self.pid_writes == u32::from(pid != self.had.pid), "the process identifier was written {} times", self.pid_writes);
        let is_pool = |address: &u32| address.wrapping_sub(POOL_BASE) < kernel.pool.bytes();
        let elsewhere: Vec<_> = self.written.iter().filter(|(at, _)| !is_pool(at) && !others.contains(at)).collect();
        let (start, bytes) = code.places.directory;
        if goes_on {
            ensure!(elsewhere.is_empty(), "words were written at {elsewhere:x?}");
            return Ok(());
        }
        let [(at, dirty)] = elsewhere[..] else { anyhow::bail!("words were written at {elsewhere:x?}") };
        ensure!(at.wrapping_sub(start) < bytes, "{at:#x} was written");
        ensure!(*dirty == self.had.dirty | words[hw::DACR], "the domains that were open are said to be {dirty:#x}");
        Ok(())
    }
}

/// Bytes of a cache's line.
const LINE: u32 = 32;

const fn line_of(address: u32) -> u32 {
    address & !(LINE - 1)
}

const fn page_of(address: u32) -> u32 {
    address & !(PAGE_SIZE - 1)
}

/// The address that caches and TLB know a space's by.
fn relocated(kernel: &Kernel<Host>, space: u32, address: u32) -> u32 {
    let pid = kernel.pool[Ref::<Space>::new(space)].hw[hw::PID];
    if address < SLOT_BYTES && pid & hw::INDIFFERENT == 0 { address | pid } else { address }
}

/// A thread's registers in the order of a user's.
pub fn user(thread: &Thread) -> [u32; REGISTERS] {
    let c = &thread.context;
    std::array::from_fn(|index| match index {
        15 => c[word::PC],
        16 => c[word::CPSR],
        _ => c[word::R0 + index],
    })
}

/// Clears what has no meaning in the state that the thread who entered is in, and the fast path leaves as it was.
fn normalise(thread: &mut Thread) {
    // An alien's registers are in its handler's memory.
    if thread.gate & gate::ALIEN != 0 {
        thread.context = [0; CONTEXT_WORDS];
    }
    // Its next registers of a message come with the message; why it entered is told of threads that stopped alone.
    for index in (word::R0..word::R0 + ARGUMENTS).chain([word::VECTOR, word::ERROR]) {
        thread.context[index] = 0;
    }
    // The badge of a call that was delivered.
    thread.badge = 0;
    // It waits for anybody.
    if thread.gate == gate::OPEN {
        thread.partner = Link::NULL;
    }
}

/// Holds what the portable kernel made of an event of `me` against the assembly's.
pub fn compare(kernel: &mut Kernel<Host>, before: &Before, me: Ref<Thread>, outcome: &Outcome, code: &Code) -> Result<()> {
    // What the message of an event does not have is what the alien had there.
    let unknown = if kernel.pool[me].is_alien() { 2 + EVENT_WORDS as usize..ARGUMENTS } else { 0..0 };
    outcome.runs(kernel, code, &[code.places.cpu + offset_of!(Cpu, current) as u32, THREAD_POINTER], unknown)?;
    ensure!(kernel.sched == before.sched, "the ready queues or the slice are {:?}", kernel.sched);
    ensure!(kernel.port.timer.is_none(), "the portable kernel programmed the timer");
    outcome.has_maintained(kernel)?;
    let mut assembly = before.pool.clone();
    let mut portable = kernel.pool.bytes_at(POOL_BASE, kernel.pool.bytes()).to_vec();
    for (address, value) in outcome.written.iter().filter(|(at, _)| at.wrapping_sub(POOL_BASE) < kernel.pool.bytes()) {
        let offset = (address - POOL_BASE) as usize;
        assembly[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
    }
    let current = kernel.current().context("nobody runs")?;
    let [had, has] = [me, current].map(|thread| kernel.pool[thread].lazy_state[0]);
    let pointer = outcome.written.get(&THREAD_POINTER).copied().unwrap_or(had);
    ensure!(pointer == has, "the thread pointer is {pointer:#x} in place of {has:#x}");
    for index in 0..kernel.threads.count {
        let Some(thread) = kernel.threads.get(index) else { continue };
        let start = (thread.address() - ANCHOR - POOL_BASE) as usize;
        let range = start..start + BYTES as usize;
        let [a, p] = [&mut assembly, &mut portable].map(|pool| {
            let mut copy: Thread = bytemuck::pod_read_unaligned(&pool[range.clone()]);
            pool[range.clone()].fill(0);
            if thread == me {
                normalise(&mut copy);
            }
            if thread == current {
                // They are in the processor.
                copy.context = [0; CONTEXT_WORDS];
            }
            copy
        });
        ensure!(
            p.gate == a.gate && p.partner == a.partner && p.handle == a.handle && p.context == a.context,
            "thread {index}: gate {:#x}, partner {:?}, handle {:#x}, by the assembly {:#x}, {:?}, {:#x}; registers\n{:x?}\n{:x?}",
            p.gate,
            p.partner,
            p.handle,
            a.gate,
            a.partner,
            a.handle,
            p.context,
            a.context
        );
        let differ = bytemuck::bytes_of(&p).iter().zip(bytemuck::bytes_of(&a)).position(|(p, a)| p != a);
        ensure!(differ.is_none(), "thread {index} differs in a field that the fast path does not write, at byte {differ:?} of it");
    }
    if let Some(at) = assembly.iter().zip(&portable).position(|(a, p)| a != p) {
        anyhow::bail!("memory at {:#x} differs: {:#x}, by the assembly {:#x}", POOL_BASE + at as u32, portable[at], assembly[at]);
    }
    Ok(())
}
