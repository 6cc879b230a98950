// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be the same after both have handled an event.

use crate::processor::{Kernel, Outcome, Processor, Who, is_pool};
use anyhow::{Context, Result, bail, ensure};
use arch_host::POOL_BASE;
use core::mem::offset_of;
use kcore::port::Processor as _;
use kcore::thread::{ANCHOR, BYTES, flag, gate};
use kcore::{Cpu, Scheduler, Thread};
use pool::Ref;

/// The pool is compared in blocks of this many bytes: an event changes few of them.
const BLOCK: usize = 1024;

/// Copies of the pool. They are kept from event to event, because the pool is large.
#[derive(Default)]
pub struct Before {
    pool: Vec<u8>,
    /// For each block, whether the portable kernel has changed it; empty until it is needed.
    changed: Vec<bool>,
    sched: Scheduler,
    top: u32,
}

impl Before {
    /// Records the present contents.
    pub fn note<P: Processor>(&mut self, kernel: &mut Kernel<P>) {
        self.pool.clear();
        self.pool.extend_from_slice(kernel.pool.bytes_at(POOL_BASE, kernel.pool.bytes()));
        self.changed.clear();
        (self.sched, self.top) = (kernel.sched, kernel.port.cpu().top);
    }

    /// For each block, whether one of the two has written to it: the portable kernel, after which
    /// the pool is `now`, or the assembly, which wrote these words.
    fn touched(&mut self, now: &[u8], words: &[(usize, [u8; 4])]) -> Vec<bool> {
        if self.changed.is_empty() {
            let blocks = self.pool.chunks(BLOCK).zip(now.chunks(BLOCK));
            self.changed.extend(blocks.map(|(before, now)| before != now));
        }
        let mut touched = self.changed.clone();
        words.iter().for_each(|(offset, _)| touched[offset / BLOCK] = true);
        touched
    }

    /// Exchanges these words with those of the pool.
    fn exchange(&mut self, words: &mut [(usize, [u8; 4])]) {
        for (offset, word) in words {
            self.pool[*offset..*offset + 4].swap_with_slice(word);
        }
    }
}

/// Compares the portable kernel's result of an event of `me` with the entry code's. Returns the
/// threads that the entry code put into a ready queue: the next event may take them from there.
pub fn compare<P: Processor>(
    paths: &P,
    kernel: &mut Kernel<P>,
    (before, entered): (&mut Before, &P::Entered),
    me: Ref<Thread>,
    outcome: &Outcome<P::Left>,
) -> Result<Vec<Ref<Thread>>> {
    let current = kernel.current().context("nobody runs")?;
    ensure!(outcome.current == current, "{current:?} runs, by the assembly {:?}", outcome.current);
    paths.check(kernel, me, entered, outcome)?;
    let places = paths.places();
    let mut sched = before.sched;
    let words: &mut [u32] = bytemuck::cast_slice_mut(bytemuck::bytes_of_mut(&mut sched));
    for (address, value) in
        outcome.written.range(places.scheduler..places.scheduler + words.len() as u32 * 4)
    {
        words[(address - places.scheduler) as usize / 4] = value;
    }
    ensure!(
        kernel.sched == sched,
        "the ready queues or the slice are {:?}, by the assembly {sched:?}",
        kernel.sched
    );
    let top = outcome.written.get(places.cpu + offset_of!(Cpu, top) as u32).unwrap_or(before.top);
    ensure!(
        kernel.port.cpu().top == top,
        "a wrong priority is said to be the highest that is ready"
    );
    ensure!(kernel.port.timer.is_none(), "the portable kernel programmed the timer");
    let written = outcome.written.iter().filter(|(at, _)| is_pool::<P>(kernel, *at));
    let mut written: Vec<_> =
        written.map(|(at, word)| ((at - POOL_BASE) as usize, word.to_ne_bytes())).collect();
    let now = kernel.pool.bytes_at(POOL_BASE, kernel.pool.bytes());
    let touched = before.touched(now, &written);
    before.exchange(&mut written);
    let result = same_pool(paths, kernel, (&before.pool, &touched), (me, current));
    before.exchange(&mut written);
    result
}

/// Checks that the assembly's pool is the same as the present one, as far as words have a meaning.
/// Only blocks that were `touched` can differ.
fn same_pool<P: Processor>(
    paths: &P,
    kernel: &Kernel<P>,
    (assembly, touched): (&[u8], &[bool]),
    (me, current): (Ref<Thread>, Ref<Thread>),
) -> Result<Vec<Ref<Thread>>> {
    let portable = kernel.pool.bytes_at(POOL_BASE, kernel.pool.bytes());
    let mut starts: Vec<(usize, Ref<Thread>)> = (0..kernel.threads.count)
        .filter_map(|index| kernel.threads.get(index))
        .map(|thread| ((thread.address() - ANCHOR - POOL_BASE) as usize, thread))
        .collect();
    starts.sort_unstable_by_key(|(start, _)| *start);
    let (mut done, mut brief) = (0, Vec::new());
    for (start, thread) in starts {
        same([assembly, portable], touched, done..start)?;
        done = start + BYTES as usize;
        let [a, p] = [&assembly[start..done], &portable[start..done]]
            .map(bytemuck::pod_read_unaligned::<Thread>);
        let is_brief = a.flags & flag::BRIEF != 0;
        if is_brief {
            brief.push(thread);
        }
        same_thread(
            paths,
            kernel,
            [a, p],
            Who { entered: thread == me, runs: thread == current, is_brief },
        )
        .with_context(|| format!("thread at {:#x}", thread.address()))?;
    }
    same([assembly, portable], touched, done..portable.len())?;
    Ok(brief)
}

/// Compares a part of the pool that is no thread's.
fn same(
    [assembly, portable]: [&[u8]; 2],
    touched: &[bool],
    range: std::ops::Range<usize>,
) -> Result<()> {
    for block in (range.start / BLOCK..range.end.div_ceil(BLOCK)).filter(|block| touched[*block]) {
        let start = range.start.max(block * BLOCK);
        let part = start..range.end.min((block + 1) * BLOCK);
        let (a, p) = (&assembly[part.clone()], &portable[part]);
        if a == p {
            continue;
        }
        let at = a.iter().zip(p).position(|(a, p)| a != p).unwrap_or_default();
        bail!(
            "memory at {:#x} differs: {:#x}, by the assembly {:#x}",
            POOL_BASE as usize + start + at,
            p[at],
            a[at]
        )
    }
    Ok(())
}

/// Compares a thread after the assembly, and after the portable kernel.
fn same_thread<P: Processor>(
    paths: &P,
    kernel: &Kernel<P>,
    [mut a, mut p]: [Thread; 2],
    who: Who,
) -> Result<()> {
    paths.check_thread(kernel, &a)?;
    // One that got other registers meanwhile is also `SLOW`: what is to be loaded for it the way
    // out looks at.
    let waits_its_turn = a.state() == gate::READY && !a.next.is_null();
    ensure!(!who.is_brief || waits_its_turn, "is in no ready queue, and said to be by a fast path");
    ensure!(who.is_brief || p.flags & flag::BRIEF == 0, "is to go on by a fast path still");
    if who.is_brief {
        p.flags |= flag::BRIEF;
    }
    [&mut a, &mut p].into_iter().for_each(|thread| P::normalise(thread, who));
    ensure!(
        p.gate == a.gate
            && p.partner == a.partner
            && p.handle == a.handle
            && p.context == a.context,
        "gate {:#x}, partner {:?}, handle {:#x}; by the assembly {:#x}, {:?}, {:#x}; registers\n{:x?}\n{:x?}",
        p.gate,
        p.partner,
        p.handle,
        a.gate,
        a.partner,
        a.handle,
        p.context,
        a.context
    );
    let [a, p] = [&a, &p].map(|thread| bytemuck::cast_slice::<u8, u32>(bytemuck::bytes_of(thread)));
    let differ = a.iter().zip(p).position(|(a, p)| a != p);
    ensure!(
        differ.is_none(),
        "differs in word {differ:?}: {:x?}, by the assembly {:x?}",
        differ.map(|at| p[at]),
        differ.map(|at| a[at])
    );
    Ok(())
}
