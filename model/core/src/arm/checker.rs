// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds uses of what TLBs and caches with virtual addresses may hold wrongly.

use super::instruction::Operation;
use super::lines::{Lines, Part, Way};
use super::translations::{Translations, Verdict};
use super::walk::{Access, Controls, Mapping};
use crate::machine::lines;
use crate::violation::Rule;
use crate::walk::Physical;

/// The checker.
pub struct Checker {
    translations: Translations,
    lines: Lines,
    /// What the walk in progress has read.
    walked: Vec<u32>,
}

/// A rule that was broken, the address, and the instruction that was the reason.
pub type Finding = (Rule, u32, Option<u32>);

impl Checker {
    /// Of a processor whose writes that miss make lines, or do not.
    #[must_use]
    pub fn new(write_allocate: bool) -> Self {
        Self { translations: Translations::default(), lines: Lines::new(write_allocate), walked: Vec::new() }
    }

    /// So many bytes are accessed by the instruction at `instruction`. `found` is told of rules that were broken. False if the
    /// tables cannot be read.
    pub fn access(
        &mut self,
        access: Access,
        bytes: u32,
        controls: Controls,
        instruction: u32,
        memory: &mut impl Physical,
        mut found: impl FnMut(Finding),
    ) -> bool {
        const LINE: u32 = 5;
        let first = access.address;
        for address in lines(first, bytes, LINE) {
            let access = Access { address, ..access };
            let Ok(mapping) = self.translate(access, controls, memory, &mut found) else { return false };
            let Some(mapping) = mapping else { continue };
            let physical = mapping.physical(address);
            let part = Part::new(address, physical, bytes - address.wrapping_sub(first));
            let mut found = |(rule, cause)| found((rule, address, Some(cause)));
            if access.fetch {
                if mapping.cached && controls.caches_code() {
                    self.lines.fetch(part, &mut found);
                }
                continue;
            }
            let cached = mapping.cached && controls.caches_data();
            let way = Way { write: access.write, cached, back: cached && mapping.buffered };
            self.lines.access(part, way, instruction, &mut found);
            if access.write {
                self.translations.stored(physical, instruction);
            }
        }
        true
    }

    /// The mapping that the tables have for an access. An error if they cannot be read.
    fn translate(
        &mut self,
        access: Access,
        controls: Controls,
        memory: &mut impl Physical,
        found: &mut impl FnMut(Finding),
    ) -> Result<Option<Mapping>, ()> {
        if !controls.translates() {
            return Ok(Some(Mapping::identity(access.address)));
        }
        let walked = &mut self.walked;
        walked.clear();
        let verdict = self.translations.access(access, controls, memory, |entry| walked.push(entry));
        let (mapping, stale) = match verdict {
            // Whatever a processor that walks now reads, a dirty entry or the one before, it is the same.
            Verdict::Held(mapping) => return Ok(Some(mapping)),
            Verdict::Unknown => return Err(()),
            Verdict::Good(mapping) => (Some(mapping), None),
            Verdict::Stale(cause, now) => (now, Some(cause)),
        };
        for &entry in &self.walked {
            self.lines.walk(entry, |(rule, cause)| found((rule, access.address, Some(cause))));
        }
        if let Some(cause) = stale {
            found((Rule::StaleTranslation, access.address, Some(cause)));
        }
        Ok(mapping)
    }

    /// The instruction at `instruction` carries out an operation, of lines and entries on the modified virtual address `operand`.
    pub fn operate(&mut self, operation: Operation, operand: u32, instruction: u32, mut found: impl FnMut(Finding)) {
        match operation {
            Operation::WriteRoot => self.translations.switch(instruction),
            Operation::FlushTlb(which) => self.translations.flush(which),
            Operation::FlushEntry(which) => self.translations.flush_entry(which, operand),
            _ => self.lines.operate(operation, operand, |address, writer| found((Rule::DroppedWrite, address, Some(writer)))),
        }
    }
}
