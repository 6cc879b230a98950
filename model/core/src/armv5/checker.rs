// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds uses of TLB entries and cache lines that are wrong: what `translations` and `lines` find,
//! together.

use super::dma::Devices;
use super::instruction::Operation;
use super::lines::{LINE, Lines, Part, Way};
use super::translations::{Translations, Verdict};
use super::walk::{Access, Controls, Mapping};
use crate::lines::lines;
use crate::memory::Physical;
use crate::violation::Rule;

/// The checker.
pub struct Checker {
    translations: Translations,
    lines: Lines,
    devices: Devices,
    /// The table entries that the present walk has read.
    walked: Vec<u32>,
}

/// A rule that was broken, the address, and the instruction that caused it.
pub type Finding = (Rule, u32, Option<u32>);

impl Checker {
    /// A checker for a processor on which a write that misses makes a line, or does not.
    #[must_use]
    pub fn new(write_allocate: bool) -> Self {
        Self {
            translations: Translations::default(),
            lines: Lines::new(write_allocate),
            devices: Devices::default(),
            walked: Vec::new(),
        }
    }

    /// This many bytes are accessed by the instruction at `instruction`. `found` is told of rules
    /// that were broken. False if the tables cannot be read.
    pub fn access(
        &mut self,
        access: Access,
        bytes: u32,
        controls: Controls,
        instruction: u32,
        memory: &mut impl Physical,
        mut found: impl FnMut(Finding),
    ) -> bool {
        let first = access.address;
        for address in lines(first, bytes, LINE) {
            let access = Access { address, ..access };
            let Ok(mapping) = self.translate(access, controls, memory, &mut found) else {
                return false;
            };
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
        let verdict =
            self.translations.access(access, controls, memory, |entry| walked.push(entry));
        let (mapping, stale) = match verdict {
            // Whatever a processor that walks now reads, a dirty entry or the one before, it is the
            // same.
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

    /// The instruction at `instruction` carries out an operation, of lines and entries on the
    /// modified virtual address `operand`.
    pub fn operate(
        &mut self,
        operation: Operation,
        operand: u32,
        instruction: u32,
        mut found: impl FnMut(Finding),
    ) {
        match operation {
            Operation::WriteRoot => self.translations.switch(instruction),
            Operation::FlushTlb(which) => self.translations.flush(which),
            Operation::FlushEntry(which) => self.translations.flush_entry(which, operand),
            _ => self.lines.operate(operation, operand, |address, writer| {
                found((Rule::DroppedWrite, address, Some(writer)))
            }),
        }
    }

    /// This many bytes were written to a device's register at this physical address.
    pub fn register_written(&mut self, address: u32, bytes: u32, value: u32) {
        self.devices.register_written(address, bytes, value);
    }

    /// Whether it needs the values that are written to the page of a physical address.
    #[must_use]
    pub fn reads(&self, physical: u32) -> bool {
        self.devices.has_queue(physical)
    }

    /// The instruction at `instruction` wrote this many bytes of memory. If that is a request to a
    /// device, the checker acts as if the device carried it out at once, past the caches. Returns
    /// false if the request cannot be read.
    pub fn memory_written(
        &mut self,
        physical: u32,
        written: (u32, u32),
        instruction: u32,
        memory: &mut impl Physical,
        mut found: impl FnMut(Finding),
    ) -> bool {
        let Some(transfers) = self.devices.memory_written(physical, written, memory) else {
            return false;
        };
        for (start, bytes, write) in transfers {
            for address in lines(start, bytes, LINE) {
                let part = Part::new(address, address, bytes - address.wrapping_sub(start));
                let way = Way { write, cached: false, back: false };
                self.lines.access(part, way, instruction, |(rule, cause)| {
                    found((rule, address, Some(cause)))
                });
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFER: u32 = 0x7000;

    /// A checker that knows a queue whose only descriptor is for this transfer.
    struct Case(Checker, [u32; 4]);

    impl Physical for Case {
        fn read(&mut self, address: u32) -> Option<u32> {
            Some(if (0x4000..0x4010).contains(&address) {
                self.1[(address as usize & 15) / 4]
            } else {
                0
            })
        }
    }

    impl Case {
        fn new(write: bool) -> Self {
            let mut checker = Checker::new(false);
            for (offset, bytes, value) in
                [(0x16, 2, 0), (0x18, 2, 1), (0x20, 4, 0x4000), (0x28, 4, 0x4800), (0x1c, 2, 1)]
            {
                checker.register_written(0x5100_4000 + offset, bytes, value);
            }
            Self(checker, [BUFFER, 0, 64, if write { 2 } else { 0 }])
        }

        /// The processor accesses the buffer by another address, by the cache.
        fn access(&mut self, write: bool) -> Vec<Rule> {
            let mut found = Vec::new();
            let part = Part::new(0x8000_7000, BUFFER, 4);
            self.0.lines.access(part, Way { write, cached: true, back: true }, 1, |(rule, _)| {
                found.push(rule)
            });
            found
        }

        /// The driver makes the request.
        fn request(&mut self) -> Vec<Rule> {
            let (mut found, mut checker) =
                (Vec::new(), std::mem::replace(&mut self.0, Checker::new(false)));
            assert!(checker.memory_written(0x4802, (2, 1), 2, self, |(rule, ..)| found.push(rule)));
            self.0 = checker;
            found
        }

        fn operate(&mut self, operation: Operation) {
            self.0.operate(operation, 0x8000_7000, 3, |_| ());
        }
    }

    #[test]
    fn a_device_reads_what_is_clean() {
        let mut case = Case::new(false);
        assert_eq!(case.access(false), []);
        assert_eq!(case.access(true), []);
        case.operate(Operation::CleanLine(false));
        assert_eq!(case.request(), []);
        let mut case = Case::new(false);
        (_, _) = (case.access(false), case.access(true));
        assert_eq!(case.request(), [Rule::DirtyElsewhere]);
    }

    #[test]
    fn a_device_writes_what_no_cache_has() {
        let mut case = Case::new(true);
        (_, _) = (case.access(false), case.access(true));
        case.operate(Operation::CleanLine(true));
        assert_eq!((case.request(), case.access(false)), (vec![], vec![]));
        let mut case = Case::new(true);
        (_, _) = (case.access(false), case.access(true));
        assert_eq!(case.request(), [Rule::LateWriteBack]);
        let mut case = Case::new(true);
        assert_eq!(case.access(false), []);
        assert_eq!((case.request(), case.access(false)), (vec![], vec![Rule::OldLine]));
    }
}
