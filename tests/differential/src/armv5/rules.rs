// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be true of the processor after the entry code has returned to user mode: registers,
//! domains, process identifier, caches, TLB.

use super::Kernel;
use super::code::Code;
use super::entry::Noted;
use super::machine::{Machine, Maintained, Maintenance, REGISTERS};
use crate::memory::Written;
use crate::processor::is_pool;
use abi::arch::armv5::layout::SLOT_BYTES;
use abi::{CacheOp, PAGE_SIZE, Rights};
use anyhow::{Context, Result, bail, ensure};
use armv5_context::{hw, word};
use core::ops::Range;
use kcore::port::Change;
use kcore::{Space, Thread};
use pool::Ref;
use std::collections::{BTreeMap, BTreeSet};

/// The word that the helper of programs returns as the thread pointer (docs/arm.md, *Virtual
/// memory*).
pub const THREAD_POINTER: u32 = 0xffff_0ff0;

/// What the assembly left besides memory.
pub struct Left {
    registers: [u32; REGISTERS],
    dacr: Option<u32>,
    pid: u32,
    pid_writes: u32,
    maintained: Vec<Maintained>,
    /// Addresses of the words that were written, in the order of the writes.
    order: Vec<u32>,
}

impl Left {
    /// The state of a machine that has returned to user mode.
    pub fn new(machine: &Machine) -> Self {
        Self {
            registers: machine.user(),
            dacr: machine.dacr,
            pid: machine.pid,
            pid_writes: machine.pid_writes,
            maintained: machine.maintained.clone(),
            order: machine.words().order.clone(),
        }
    }

    /// Whether the process identifier has changed.
    pub const fn changed_pid(&self) -> bool {
        self.pid_writes != 0
    }

    /// Whether a translation was dropped, because another one replaced it.
    pub fn replaced(&self) -> bool {
        self.maintained.iter().any(|done| done.what == Maintenance::Flush)
    }

    /// Checks that caches and TLB were maintained for all changes that the portable kernel has
    /// announced, and for entries that were written, in an order in which nothing is lost.
    pub fn has_maintained(&self, kernel: &Kernel) -> Result<()> {
        let of = |what: Maintenance| self.maintained.iter().filter(move |done| done.what == what);
        let entries: Vec<usize> = (0..self.order.len())
            .filter(|at| kernel.port.walker.contains_key(&page_of(self.order[*at])))
            .collect();
        let (first, last) =
            (entries.first().copied().unwrap_or(usize::MAX), entries.last().copied().unwrap_or(0));
        // Pages that change, and what is done with their lines.
        let mut pages = BTreeMap::new();
        for (part, change) in &kernel.port.announced {
            let (space, range) = part.as_ref().context("the portable kernel announced all")?;
            let needs: &[Maintenance] = match change {
                Change::Remove | Change::Replace => {
                    &[Maintenance::Clean, Maintenance::Drop, Maintenance::DropCode]
                }
                Change::Protect(rights) if rights.contains(Rights::WRITE) => &[],
                Change::Protect(_) => &[Maintenance::Clean],
            };
            pages.insert(relocated(kernel, *space, range.start.0), needs);
        }
        for (page, needs) in &pages {
            for line in (*page..page + PAGE_SIZE).step_by(LINE as usize) {
                let is_done = |what: &Maintenance| {
                    of(*what).any(|done| done.address == line && done.writes <= first)
                };
                ensure!(needs.iter().all(is_done), "line {line:#x} has not gone: {needs:?}");
            }
            ensure!(
                needs.len() < 2 || of(Maintenance::DropBranches).any(|done| done.writes <= first),
                "branches are predicted by {page:#x}"
            );
            ensure!(
                of(Maintenance::Drain).any(|done| done.writes == first),
                "lines of {page:#x} are not in memory before the entry is"
            );
        }
        let mut asked = BTreeSet::new();
        for ((space, range), what) in
            kernel.port.cached.iter().filter(|((_, range), _)| !range.is_empty())
        {
            let needs: &[Maintenance] = match what {
                CacheOp::Clean => &[Maintenance::Clean],
                CacheOp::CleanAndInvalidate => &[Maintenance::Clean, Maintenance::Drop],
                CacheOp::SyncCode => &[Maintenance::Clean, Maintenance::DropCode],
                CacheOp::Lock | CacheOp::Unlock | CacheOp::Clear => {
                    bail!("lines are locked, or pages cleared, which no machine of this port can")
                }
            };
            for line in (line_of(range.start.0)..range.end.0).step_by(LINE as usize) {
                let address = relocated(kernel, *space, line);
                let done: Vec<Maintenance> = self
                    .maintained
                    .iter()
                    .filter(|done| done.address == address)
                    .map(|done| done.what)
                    .collect();
                ensure!(done == needs, "{done:?} of {address:#x} in place of {needs:?}");
                asked.insert(address);
            }
            ensure!(
                self.maintained.last().is_some_and(|last| last.what == Maintenance::Drain),
                "nobody waits until lines are in memory"
            );
        }
        let lines =
            [Maintenance::Clean, Maintenance::Drop, Maintenance::DropCode].into_iter().flat_map(of);
        for done in lines.filter(|done| {
            !pages.contains_key(&page_of(done.address)) && !asked.contains(&done.address)
        }) {
            let is_entry =
                entries.iter().any(|at| line_of(self.order[*at]) == line_of(done.address));
            ensure!(
                is_entry && done.what == Maintenance::Clean && done.writes > last,
                "a line of {:#x} went",
                done.address
            );
        }
        for at in &entries {
            let is_done = |done: &Maintained| {
                line_of(done.address) == line_of(self.order[*at]) && done.writes > last
            };
            ensure!(of(Maintenance::Clean).any(is_done), "the entry of a table is not in memory");
        }
        ensure!(
            entries.is_empty() || of(Maintenance::Drain).any(|done| done.writes > last),
            "nobody waits until entries are in memory"
        );
        let invalid: BTreeSet<u32> = kernel
            .port
            .invalidated
            .iter()
            .map(|(space, range)| relocated(kernel, *space, range.start.0))
            .collect();
        for what in [Maintenance::Flush, Maintenance::FlushCode] {
            let flushed: BTreeSet<u32> =
                of(what).filter(|done| done.writes > last).map(|done| done.address).collect();
            ensure!(
                flushed == invalid && of(what).count() == invalid.len(),
                "{what:?} of {flushed:x?} in place of {invalid:x?}"
            );
        }
        Ok(())
    }

    /// Checks that the processor runs this thread with its registers, in its space, and that
    /// nothing was `written` except memory of the pool, words that are in `others`, and the word
    /// that records the domains. The registers in `unknown` may have any values.
    pub fn runs(
        &self,
        (kernel, code): (&Kernel, &Code),
        current: Ref<Thread>,
        had: &Noted,
        (written, others): (&Written, &[u32]),
        unknown: Range<usize>,
    ) -> Result<()> {
        let thread = &kernel.pool[current];
        let mut saved = user(thread);
        saved[unknown.clone()].copy_from_slice(&self.registers[unknown]);
        ensure!(
            self.registers == saved,
            "its registers are\n{saved:x?}, by the assembly\n{:x?}",
            self.registers
        );
        let words = kernel.pool[thread.space.get().context("it has no space")?].hw;
        // A thread that simply continues has its domains already.
        let goes_on = self.dacr.is_none() && had.entered.is(current);
        ensure!(
            goes_on || self.dacr == Some(words[hw::DACR]),
            "its domains are {:#x}, by the assembly {:x?}",
            words[hw::DACR],
            self.dacr
        );
        let pid = if words[hw::PID] & hw::INDIFFERENT != 0 { had.pid } else { words[hw::PID] };
        ensure!(
            self.pid == pid,
            "the process identifier is {pid:#x}, by the assembly {:#x}",
            self.pid
        );
        ensure!(
            self.pid_writes == u32::from(pid != had.pid),
            "the process identifier was written {} times",
            self.pid_writes
        );
        let is_known = |at: u32| is_pool::<super::Armv5>(kernel, at) || others.contains(&at);
        let elsewhere: Vec<_> = written.iter().filter(|(at, _)| !is_known(*at)).collect();
        let (start, bytes) = code.symbols.directory;
        if goes_on {
            ensure!(elsewhere.is_empty(), "words were written at {elsewhere:x?}");
            return Ok(());
        }
        let [(at, dirty)] = elsewhere[..] else { bail!("words were written at {elsewhere:x?}") };
        ensure!(at.wrapping_sub(start) < bytes, "{at:#x} was written");
        ensure!(
            dirty == had.dirty | words[hw::DACR],
            "the domains that were open are said to be {dirty:#x}"
        );
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

/// The address by which caches and TLB find a space's.
fn relocated(kernel: &Kernel, space: u32, address: u32) -> u32 {
    let pid = kernel.pool[Ref::<Space>::new(space)].hw[hw::PID];
    if address < SLOT_BYTES && pid & hw::INDIFFERENT == 0 { address | pid } else { address }
}

/// A thread's registers in the order of a user's.
fn user(thread: &Thread) -> [u32; REGISTERS] {
    let c = &thread.context;
    std::array::from_fn(|index| match index {
        15 => c[word::PC],
        16 => c[word::CPSR],
        _ => c[word::R0 + index],
    })
}
