// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds uses of wrong entries of TLBs and of the hashed table, wrong lines of caches, segments
//! that are open to the wrong space, and reservations of other threads.

use super::instruction::{Operation, special};
use super::lines::{LINE, Lines};
use super::machine::{Access, DROP_CODE};
use super::spaces::{Left, Spaces};
use super::translations::Translations;
use super::vsid::Function;
use super::walk::{Controls, Mapping, Way, walk};
use crate::lines::lines;
use crate::memory::{NoMapping, Physical};
use crate::violation::Rule;

/// The checker.
#[derive(Default)]
pub struct Checker {
    translations: Translations,
    spaces: Spaces,
    lines: Lines,
    /// The thread that reserved a word, and the instruction.
    reserved: Option<(u32, u32)>,
}

/// A rule that was broken, the address, and the instruction that caused it.
pub type Finding = (Rule, u32, Option<u32>);

/// Sets of a TLB: of the 603, and of the 604, which has a hashed table.
const fn sets(controls: &Controls) -> u32 {
    if controls.hash == 0 { 32 } else { 64 }
}

/// Whether the tables have what a block shows at an address, and allow the access.
fn is_as(now: Option<Mapping>, block: Mapping, address: u32, write: bool) -> bool {
    now.is_some_and(|now| {
        now.physical(address) == block.physical(address)
            && now.is_cached() == block.is_cached()
            && now.permits(write, false)
    })
}

impl Checker {
    /// A checker for a kernel that makes its VSIDs by this function.
    #[must_use]
    pub fn new(function: Function) -> Self {
        Self { spaces: Spaces::new(function), ..Self::default() }
    }

    /// User mode continues at an address, in this thread.
    pub fn enter_user(
        &mut self,
        at: u32,
        thread: u32,
        controls: &Controls,
        memory: &mut impl Physical,
        mut found: impl FnMut(Finding),
    ) {
        self.translations.enter_user();
        let translations = &self.translations;
        let left = Left { is_held: |vsid, but| translations.has(vsid, but), memory };
        self.spaces.enter_user(at, controls, left, |rule, address, writer| {
            found((rule, address, Some(writer)))
        });
        if let Some((_, instruction)) = self.reserved.take_if(|(owner, _)| *owner != thread) {
            found((Rule::KeptReservation, thread, Some(instruction)));
        }
    }

    /// A word is reserved.
    pub fn reserve(&mut self, thread: u32, instruction: u32) {
        self.reserved = Some((thread, instruction));
    }

    /// The reservation ends.
    pub fn release(&mut self) {
        self.reserved = None;
    }

    /// Bytes are accessed. Returns false if the tables cannot be read.
    pub fn access(
        &mut self,
        access: Access,
        controls: &Controls,
        instruction: u32,
        memory: &mut impl Physical,
        mut found: impl FnMut(Finding),
    ) -> bool {
        let mut known = true;
        for address in lines(access.address, access.bytes, LINE) {
            let mapping = match controls.way(address, access.user, access.fetch) {
                Way::Block(mapping) => {
                    // Of what users see by a BAT the tables have the same.
                    if access.user {
                        match walk(memory, controls, address, |_| ()) {
                            Err(NoMapping::Unreachable) => known = false,
                            now if is_as(now.ok(), mapping, address, access.write) => {}
                            _ => found((Rule::StaleTranslation, address, None)),
                        }
                    }
                    Some(mapping)
                }
                Way::Page(_) => {
                    let verdict = self.translations.access(address, access.write, controls, memory);
                    known &= verdict.known;
                    verdict.broken.into_iter().for_each(|rule| found((rule, address, None)));
                    verdict.mapping
                }
            };
            if let Some(mapping) = mapping {
                let bytes = access.bytes - address.wrapping_sub(access.address);
                self.line(mapping, address, Access { bytes, ..access }, instruction, &mut found);
            }
        }
        known
    }

    fn line(
        &mut self,
        mapping: Mapping,
        address: u32,
        access: Access,
        instruction: u32,
        found: &mut impl FnMut(Finding),
    ) {
        let physical = mapping.physical(address);
        if access.fetch {
            if let Some((rule, writer)) = self.lines.fetch(physical, access.bytes) {
                found((rule, address, Some(writer)));
            }
        } else if access.write {
            self.lines.write(physical, access.bytes, mapping.is_written_back(), instruction);
        } else {
            self.lines.read(physical);
        }
    }

    /// A segment register is written.
    pub fn write_segment(&mut self, segment: usize, instruction: u32) {
        self.spaces.write(segment, instruction);
    }

    /// A special register is written.
    pub fn write(&mut self, register: u16, value: u32) {
        if register == special::HID0 && value & DROP_CODE != 0 {
            self.lines.drop_all_code();
        }
    }

    /// Software fills a TLB for an address.
    pub fn load(&mut self, address: u32, controls: &Controls) {
        self.translations.load(address, controls);
    }

    /// The set of an address is flushed, or all is.
    pub fn flush(&mut self, address: Option<u32>, controls: &Controls) {
        match address {
            Some(address) => self.translations.flush(address, sets(controls)),
            None => self.translations.flush_all(),
        }
    }

    /// An operation on the line of a physical address.
    pub fn operate(
        &mut self,
        operation: Operation,
        physical: u32,
        instruction: u32,
        mut found: impl FnMut(Finding),
    ) {
        match operation {
            Operation::CleanLine | Operation::FlushLine => self.lines.clean(physical),
            Operation::AllocateLine => self.lines.write(physical & !31, 32, true, instruction),
            Operation::DropCodeLine => self.lines.drop_code(physical),
            Operation::InvalidateLine => {
                if let Some(writer) = self.lines.drop_data(physical) {
                    found((Rule::DroppedWrite, physical, Some(writer)));
                }
            }
            _ => {}
        }
    }
}
