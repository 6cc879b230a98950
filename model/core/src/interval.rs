// SPDX-License-Identifier: MIT OR Apache-2.0
//! An interval while it is open, and what is kept of all its repetitions.

use crate::events::{ByOwner, Events};
use crate::lines::Lines;
use crate::report::{IntervalReport, VisitReport};
use crate::stats::Histogram;
use std::collections::BTreeMap;

/// Counts of one visit to the kernel, from its entry to the next one.
#[derive(Default)]
struct Visit {
    instructions: u64,
    code_lines: u64,
    data_lines: u64,
    cr3_writes: u64,
}

/// One repetition of an interval that has begun and not ended.
pub struct Repetition {
    /// The counts before it began.
    before: ByOwner<Events>,
    /// Whether it was declared free of flushes.
    free: bool,
    /// The counts of the function that is counted apart.
    apart: Events,
    code: Lines,
    data: Lines,
    visits: Vec<Visit>,
}

impl Repetition {
    /// It begins, after these counts.
    pub fn begin(before: &ByOwner<Events>, free: bool) -> Self {
        Self {
            before: *before,
            free,
            apart: Events::default(),
            code: Lines::default(),
            data: Lines::default(),
            visits: Vec::new(),
        }
    }

    /// Whether it was declared free of switches of spaces and of flushes.
    pub fn is_free(&self) -> bool {
        self.free
    }

    /// The kernel is entered from user mode.
    pub fn enter_kernel(&mut self) {
        self.visits.push(Visit::default());
    }

    /// This many kernel instructions were executed. (Intervals begin in user mode, so an entry came
    /// before.)
    pub fn execute(&mut self, count: u64) {
        if let Some(visit) = self.visits.last_mut() {
            visit.instructions += count;
        }
    }

    /// The kernel executes code.
    pub fn fetch(&mut self, address: impl Into<u64>, bytes: u32) {
        let index = self.visits.len() as u32;
        let Some(visit) = self.visits.last_mut() else { return };
        visit.code_lines += self.code.touch(address, bytes, index);
    }

    /// The kernel reads or writes memory.
    pub fn access(&mut self, address: impl Into<u64>, bytes: u32) {
        let index = self.visits.len() as u32;
        let Some(visit) = self.visits.last_mut() else { return };
        visit.data_lines += self.data.touch(address, bytes, index);
    }

    /// The function that is counted apart has ended, with these counts.
    pub fn add_apart(&mut self, events: &Events) {
        self.apart.zip(events, |all, one| *all += one);
    }

    /// The kernel writes CR3.
    pub fn write_cr3(&mut self) {
        if let Some(visit) = self.visits.last_mut() {
            visit.cr3_writes += 1;
        }
    }
}

/// Distributions of a visit's counts over repetitions.
#[derive(Default)]
struct VisitStats {
    instructions: Histogram,
    code_lines: Histogram,
    data_lines: Histogram,
    cr3_writes: Histogram,
}

/// Repetitions with the same number of visits.
#[derive(Default)]
struct Shape {
    repetitions: u64,
    visits: Vec<VisitStats>,
}

/// All repetitions of an interval.
#[derive(Default)]
pub struct Interval {
    repetitions: u64,
    kernel_instructions: Histogram,
    user_instructions: Histogram,
    server_instructions: Histogram,
    kernel_entries: Histogram,
    cr3_writes: Histogram,
    invlpg: Histogram,
    code_lines: Histogram,
    data_lines: Histogram,
    events: ByOwner<Events<Histogram>>,
    apart: Events<Histogram>,
    shapes: BTreeMap<usize, Shape>,
}

impl Interval {
    /// Adds a repetition that ends at these counts.
    pub fn add(&mut self, repetition: &Repetition, now: &ByOwner<Events>) {
        let mut events = *now;
        events.zip(&repetition.before, |now, before| now.zip(before, |now, before| *now -= before));
        self.events.zip(&events, |all, one| all.zip(one, |all, &one| all.add(one)));
        self.apart.zip(&repetition.apart, |all, &one| all.add(one));
        let [kernel, server, components, user] = events.parts().map(|part| part.instructions);
        let visits = &repetition.visits;
        self.repetitions += 1;
        self.kernel_instructions.add(kernel);
        self.user_instructions.add(server + components + user);
        self.server_instructions.add(server);
        self.kernel_entries.add(visits.len() as u64);
        self.cr3_writes.add(visits.iter().map(|visit| visit.cr3_writes).sum());
        self.invlpg.add(events.kernel.page_flushes);
        self.code_lines.add(repetition.code.distinct());
        self.data_lines.add(repetition.data.distinct());
        let shape = self.shapes.entry(visits.len()).or_default();
        shape.repetitions += 1;
        shape.visits.resize_with(visits.len(), VisitStats::default);
        for (stats, visit) in shape.visits.iter_mut().zip(visits) {
            stats.instructions.add(visit.instructions);
            stats.code_lines.add(visit.code_lines);
            stats.data_lines.add(visit.data_lines);
            stats.cr3_writes.add(visit.cr3_writes);
        }
    }

    /// What to print.
    pub fn report(&self) -> IntervalReport {
        // Of equally common shapes the one with fewer visits: disturbances add some.
        let usual = self.shapes.values().rev().max_by_key(|shape| shape.repetitions);
        let apart = self.apart.map(Histogram::spread);
        IntervalReport {
            repetitions: self.repetitions,
            kernel_instructions: self.kernel_instructions.spread(),
            user_instructions: self.user_instructions.spread(),
            server_instructions: self.server_instructions.spread(),
            kernel_entries: self.kernel_entries.spread(),
            cr3_writes: self.cr3_writes.spread(),
            invlpg: self.invlpg.spread(),
            kernel_code_lines_32: self.code_lines.spread(),
            kernel_data_lines_32: self.data_lines.spread(),
            events: self.events.map(|part| part.map(Histogram::spread)),
            apart: (apart.instructions.max > 0).then_some(apart),
            disturbed: self.repetitions - usual.map_or(0, |shape| shape.repetitions),
            visits: usual.map_or_else(Vec::new, |shape| {
                shape.visits.iter().map(VisitStats::report).collect()
            }),
        }
    }
}

impl VisitStats {
    fn report(&self) -> VisitReport {
        VisitReport {
            kernel_instructions: self.instructions.median(),
            kernel_code_lines_32: self.code_lines.median(),
            kernel_data_lines_32: self.data_lines.median(),
            cr3_writes: self.cr3_writes.median(),
        }
    }
}
