// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time-outs that do not depend on what else the machine does.
//!
//! A process's *own time* passes while it runs and while it sleeps, but not while it waits for a
//! processor: Linux says how long each thread did each (`/proc/PID/task/TID/schedstat`). A limit in
//! own time is extended by the factor by which a processor of this machine is slower than usual. If
//! Linux does not say it, own time is that of the wall clock.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Between two looks at the processes, at least.
const LOOK: Duration = Duration::from_millis(50);

/// The own time of a process, since this was made. What this process waits counts as little: it
/// hears of the other's deeds only when it runs.
pub struct OwnTime {
    process: u32,
    spent: Duration,
    looked: Instant,
    threads: Threads,
}

/// What all threads have done together.
#[derive(Clone, Copy, Default)]
struct Threads {
    ran: Duration,
    waited: Duration,
}

impl Threads {
    fn of(process: u32) -> Self {
        let read = |task: std::io::Result<std::fs::DirEntry>| {
            let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            let mut numbers = text
                .split_whitespace()
                .map_while(|word| word.parse().ok().map(Duration::from_nanos));
            Some(Self { ran: numbers.next()?, waited: numbers.next()? })
        };
        let tasks = std::fs::read_dir(Path::new("/proc").join(process.to_string()).join("task"));
        tasks.into_iter().flatten().filter_map(read).fold(Self::default(), Self::and)
    }

    fn and(self, other: Self) -> Self {
        Self { ran: self.ran + other.ran, waited: self.waited + other.waited }
    }
}

/// How much of `elapsed` is own time. Threads that wait at once count more than once, so what they
/// ran is the least.
fn own(elapsed: Duration, ran: Duration, waited: Duration) -> Duration {
    elapsed.saturating_sub(waited).max(ran.min(elapsed))
}

impl OwnTime {
    /// Begins now.
    pub fn new(process: u32) -> Self {
        Self {
            process,
            spent: Duration::ZERO,
            looked: Instant::now(),
            threads: Self::threads(process),
        }
    }

    fn threads(process: u32) -> Threads {
        Threads::of(process).and(Threads { ran: Duration::ZERO, ..Threads::of(std::process::id()) })
    }

    /// How much has passed.
    pub fn now(&mut self) -> Duration {
        let elapsed = self.looked.elapsed();
        self.looked += elapsed;
        let before = std::mem::replace(&mut self.threads, Self::threads(self.process));
        let since = |now: Duration, before| now.saturating_sub(before);
        self.spent += own(
            elapsed,
            since(self.threads.ran, before.ran),
            since(self.threads.waited, before.waited),
        );
        self.spent
    }

    /// How much had passed not long ago: costs less.
    pub fn recent(&mut self) -> Duration {
        if self.looked.elapsed() < LOOK { self.spent } else { self.now() }
    }
}

/// The longest that something may take.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// By the clock on the wall, as a user means it.
    Wall(Duration),
    /// In the emulator's own time, stretched for a slow machine.
    Own(Duration),
}

/// When a [`Limit`] is over.
pub struct Deadline {
    limit: Limit,
    begun: Instant,
    time: OwnTime,
}

impl Deadline {
    /// For this process, from now on.
    pub fn new(process: u32, limit: Limit) -> Self {
        Self { limit, begun: Instant::now(), time: OwnTime::new(process) }
    }

    /// Whether it is over.
    pub fn is_over(&mut self) -> bool {
        match self.limit {
            Limit::Wall(limit) => self.begun.elapsed() >= limit,
            Limit::Own(limit) => self.time.recent() >= stretched(limit),
        }
    }

    /// How long one may wait for something else before looking again.
    pub fn pause(&self) -> Duration {
        match self.limit {
            Limit::Wall(limit) => limit.saturating_sub(self.begun.elapsed()),
            Limit::Own(_) => LOOK,
        }
    }
}

/// A limit in own time for this machine.
pub fn stretched(limit: Duration) -> Duration {
    limit.mul_f64(*SLOWNESS.get_or_init(slowness))
}

static SLOWNESS: OnceLock<f64> = OnceLock::new();
/// Steps of the computation that measures a processor.
const STEPS: u32 = 5_000_000;
/// How long it takes on the machine for which the limits were chosen.
const USUAL: Duration = Duration::from_millis(85);

/// What this thread has used.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Processor time of this process and of all that it started and that have ended.
pub fn spent() -> Duration {
    /// What Linux counts it in (`USER_HZ`).
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which is in brackets, come the state and ten more; then user and system time,
    // own and of children.
    let words = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    TICK * words.skip(11).take(4).filter_map(|word| word.parse::<u32>().ok()).sum::<u32>()
}

/// How many times as long as usual a processor takes, from 1 to 16.
fn slowness() -> f64 {
    let before = processor_time();
    let state = (0..STEPS).fold(1u32, |state, _| {
        std::hint::black_box(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223))
    });
    std::hint::black_box(state);
    let took = processor_time().saturating_sub(before);
    took.div_duration_f64(USUAL).clamp(1.0, 16.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_does_not_count() {
        let ms = Duration::from_millis;
        // Slept; ran; waited for a processor most of the time; two threads that waited at once.
        for (elapsed, ran, waited, expected) in
            [(100, 0, 0, 100), (100, 100, 0, 100), (100, 20, 80, 20), (100, 30, 130, 30)]
        {
            assert_eq!(own(ms(elapsed), ms(ran), ms(waited)), ms(expected));
        }
        // Two threads that ran at once have not spent more than there was.
        assert_eq!(own(ms(100), ms(200), ms(0)), ms(100));
    }

    #[test]
    fn this_process_has_threads() {
        let mut time = OwnTime::new(std::process::id());
        std::hint::black_box((0..STEPS).fold(0u32, |sum, step| std::hint::black_box(sum ^ step)));
        assert!(time.now() > Duration::ZERO && spent() > Duration::ZERO);
    }
}
