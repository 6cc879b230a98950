// SPDX-License-Identifier: MIT OR Apache-2.0
//! An interval while it is open, and what is kept of all its repetitions.

use crate::lines::Lines;
use crate::report::{IntervalReport, VisitReport};
use crate::stats::Histogram;
use crate::{Class, Privilege, Site};
use std::collections::BTreeMap;

/// Counts of one stay in the kernel, from entry to the next.
#[derive(Default)]
struct Visit {
    instructions: u64,
    code_lines: u64,
    data_lines: u64,
    cr3_writes: u64,
}

/// One repetition of an interval that has begun and not ended.
#[derive(Default)]
pub struct Repetition {
    user_instructions: u64,
    server_instructions: u64,
    invlpg: u64,
    code: Lines,
    data: Lines,
    visits: Vec<Visit>,
}

impl Repetition {
    /// The kernel is entered from user mode.
    pub fn enter_kernel(&mut self) {
        self.visits.push(Visit::default());
    }

    /// An instruction is executed.
    pub fn execute(&mut self, site: Site, address: u32) {
        if site.privilege == Privilege::User {
            self.user_instructions += 1;
            self.server_instructions += u64::from(site.server);
            return;
        }
        let index = self.visits.len() as u32;
        // Intervals begin in user mode, so an entry came before.
        let Some(visit) = self.visits.last_mut() else { return };
        visit.instructions += 1;
        visit.code_lines += self.code.touch(address, u32::from(site.bytes), index);
        match site.class {
            Class::WriteCr3 => visit.cr3_writes += 1,
            Class::Invlpg => self.invlpg += 1,
            Class::Plain | Class::FarReturn | Class::Sysexit => {}
        }
    }

    /// The kernel reads or writes memory.
    pub fn access(&mut self, address: u32, bytes: u32) {
        let index = self.visits.len() as u32;
        let Some(visit) = self.visits.last_mut() else { return };
        visit.data_lines += self.data.touch(address, bytes, index);
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
    shapes: BTreeMap<usize, Shape>,
}

impl Interval {
    /// Adds a repetition that has ended.
    pub fn add(&mut self, repetition: &Repetition) {
        let visits = &repetition.visits;
        self.repetitions += 1;
        self.kernel_instructions.add(visits.iter().map(|visit| visit.instructions).sum());
        self.user_instructions.add(repetition.user_instructions);
        self.server_instructions.add(repetition.server_instructions);
        self.kernel_entries.add(visits.len() as u64);
        self.cr3_writes.add(visits.iter().map(|visit| visit.cr3_writes).sum());
        self.invlpg.add(repetition.invlpg);
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
            disturbed: self.repetitions - usual.map_or(0, |shape| shape.repetitions),
            visits: usual.map_or_else(Vec::new, |shape| shape.visits.iter().map(VisitStats::report).collect()),
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
