// SPDX-License-Identifier: MIT OR Apache-2.0
//! The watch-dog: a thread of the highest priority, which checks the heartbeats of the components
//! that have to send them.
//!
//! It counts its own ticks without a heartbeat, not time: on a machine that was stopped for a
//! while, no component could have sent one. It tells the root server's first thread about a
//! component that hangs, and gives that thread a higher priority than any thread that computes
//! without end.

use crate::resources::Resources;
use abi::boot::slot;
use core::sync::atomic::{AtomicU32, Ordering};
use image::{Resource, System};
use macadamia::cap::copy;
use macadamia::ipc::wait;
use macadamia::thread::spawn_handled;
use macadamia::{Result, Rights, Thread, Word, time};

/// Notification bit of the first thread that says that something hangs.
pub const HANG: u32 = 1;
/// Notification bit of the alarm, above all badges.
const TICK: u32 = 1 << 31;
const MILLISECOND: u64 = 1_000_000;
const PRIORITIES: Word = abi::PRIORITIES as Word;
/// Most components with a heartbeat.
const MOST: usize = Resource::MOST_HEARTBEATS;

/// Components that live, a bit each, as [`bit`] numbers them.
static LIVES: AtomicU32 = AtomicU32::new(0);
/// Of these the ones that have begun since the last tick.
static FRESH: AtomicU32 = AtomicU32::new(0);
/// Those that hang.
static HUNG: AtomicU32 = AtomicU32::new(0);
/// Of each component how long it may be silent, in milliseconds.
static PATIENCE: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];
/// Slot of the capability to notify the first thread with.
static FIRST_THREAD: AtomicU32 = AtomicU32::new(0);

/// Indices of components with a heartbeat, in the order of their bits.
fn watched(system: &System) -> impl Iterator<Item = (usize, u32)> {
    system
        .components
        .iter()
        .enumerate()
        .filter_map(|(index, component)| Some((index, component.heartbeat_ms()?)))
}

/// The bit of a component; 0 if it has no heartbeat.
pub fn bit(system: &System, index: usize) -> u32 {
    watched(system).position(|(watched, _)| watched == index).map_or(0, |position| 1 << position)
}

/// Starts the watch-dog, if a component has a heartbeat.
pub fn start(resources: &mut Resources, system: &System) -> Result<Option<Thread>> {
    for ((_, ms), patience) in watched(system).zip(&PATIENCE) {
        patience.store(ms, Ordering::Relaxed);
    }
    if watched(system).next().is_none() {
        return Ok(None);
    }
    let bell = resources.slot()?;
    copy(slot::THREAD as Word, None, bell, Rights::NOTIFY, HANG as Word)?;
    FIRST_THREAD.store(bell as u32, Ordering::Relaxed);
    let thread = spawn_handled(run, 0, resources.slot()?, None)?;
    thread.set_priority(PRIORITIES - 1, PRIORITIES - 1)?;
    Ok(Some(thread))
}

/// A component begins a life.
pub fn begins(bit: u32) {
    FRESH.fetch_or(bit, Ordering::Relaxed);
    LIVES.fetch_or(bit, Ordering::Relaxed);
}

/// A component's life is over.
pub fn ends(bit: u32) {
    LIVES.fetch_and(!bit, Ordering::Relaxed);
    HUNG.fetch_and(!bit, Ordering::Relaxed);
}

/// Indices of the components that hang.
pub fn hung(system: &System) -> impl Iterator<Item = usize> {
    let hung = HUNG.swap(0, Ordering::Relaxed);
    watched(system)
        .enumerate()
        .filter(move |(position, _)| hung >> position & 1 != 0)
        .map(|(_, (index, _))| index)
}

extern "C" fn run(_: Word) -> ! {
    let patience = PATIENCE.each_ref().map(|ms| ms.load(Ordering::Relaxed));
    // A component is silent for so long at least, and half as long again at most, before it is
    // noticed.
    let tick =
        patience.into_iter().filter(|ms| *ms > 0).min().unwrap_or(Resource::MOST_HEARTBEAT_MS) / 2;
    let mut silent = [0_u32; MOST];
    let mut at = time::now();
    loop {
        // After a tick that came late the next one is no earlier: a component that could not run
        // has time to.
        at = time::now().max(at) + u64::from(tick) * MILLISECOND;
        // An error is none that waiting could change.
        let _ = time::alarm(at, TICK as Word);
        loop {
            let bits = wait(u32::MAX).unwrap_or(0);
            (0..MOST).filter(|k| bits >> k & 1 != 0).for_each(|k| silent[k] = 0);
            if bits & TICK != 0 {
                break;
            }
        }
        let fresh = FRESH.swap(0, Ordering::Relaxed);
        let lives = LIVES.load(Ordering::Relaxed);
        let mut hung = 0;
        for k in 0..MOST {
            silent[k] = if fresh >> k & 1 != 0 { 0 } else { silent[k] + 1 };
            if lives >> k & 1 != 0 && silent[k] > patience[k].div_ceil(tick) {
                hung |= 1 << k;
                silent[k] = 0;
            }
        }
        if hung != 0 {
            HUNG.fetch_or(hung, Ordering::Relaxed);
            let first = Thread(slot::THREAD as Word).set_priority(PRIORITIES - 2, PRIORITIES - 1);
            let bell = FIRST_THREAD.load(Ordering::Relaxed) as Word;
            let _ = first.and_then(|()| Thread(bell).notify());
        }
    }
}
