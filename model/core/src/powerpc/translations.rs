// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds uses of translations that a processor might still have, and that the kernel's tables no
//! longer have.
//!
//! A TLB without limits holds each translation that was used or loaded until `tlbie` removes it. If
//! it does not hold a translation, it looks it up in the hashed table, if there is one. Each is
//! compared with the kernel's tables when it is used, once after each return to user mode, because
//! nothing changes while user mode runs.

use super::walk::{Controls, Mapping, page, search, walk};
use crate::memory::{NoMapping, Physical};
use crate::violation::Rule;
use rustc_hash::FxHashMap;

/// A translation that may be held.
#[derive(Clone, Copy)]
struct Held {
    mapping: Mapping,
    /// The stretch of user mode in which it was compared.
    compared: u32,
}

/// The result of an access.
pub struct Verdict {
    /// The translation by which it was carried out; nothing if the tables do not have it either, or
    /// cannot be read.
    pub mapping: Option<Mapping>,
    /// The rule that this breaks.
    pub broken: Option<Rule>,
    /// Whether the tables could be read.
    pub known: bool,
}

/// What TLBs might hold.
#[derive(Default)]
pub struct Translations {
    /// By VSID and page.
    held: FxHashMap<(u32, u32), Held>,
    /// Counts stretches of user mode.
    stretch: u32,
}

impl Translations {
    /// User mode continues: the kernel may have changed anything.
    pub fn enter_user(&mut self) {
        self.stretch = self.stretch.wrapping_add(1);
    }

    /// Whether an entry with a VSID may be held, other than that of one page.
    pub fn has(&self, vsid: u32, but: Option<u32>) -> bool {
        self.held.keys().any(|(held, page)| *held == vsid && but != Some(*page))
    }

    /// Software has filled a TLB (603).
    pub fn load(&mut self, address: u32, controls: &Controls) {
        let held =
            Held { mapping: Mapping(controls.loaded), compared: self.stretch.wrapping_sub(1) };
        self.held.insert((controls.vsid(address), page(address)), held);
    }

    /// User mode has read, written or fetched at an address.
    pub fn access(
        &mut self,
        address: u32,
        write: bool,
        controls: &Controls,
        memory: &mut impl Physical,
    ) -> Verdict {
        let vsid = controls.vsid(address);
        let (key, is_keyed) = ((vsid, page(address)), controls.key(address));
        let held = self.held.get(&key).copied();
        if let Some(held) = held.filter(|held| {
            held.compared == self.stretch
                && held.mapping.permits(write, is_keyed)
                && (!write || held.mapping.is_changed())
        }) {
            return Verdict { mapping: Some(held.mapping), broken: None, known: true };
        }
        let now = match walk(memory, controls, address, |_| ()) {
            Err(NoMapping::Unreachable) => {
                return Verdict { mapping: None, broken: None, known: false };
            }
            found => found.ok(),
        };
        let hashed = if controls.hash == 0 {
            None
        } else {
            search(memory, controls.hash, vsid, address, |_| ()).ok()
        };
        // If an entry of the TLB forbids the access, the processor looks again, and uses what the
        // table has.
        let used = held
            .map(|held| held.mapping)
            .filter(|held| held.permits(write, is_keyed))
            .or(hashed)
            .or(now);
        let is_right = |mapping: Mapping| {
            now.is_some_and(|now| now == mapping && now.permits(write, is_keyed))
        };
        let broken = match used {
            Some(used) if !is_right(used) => Some(Rule::StaleTranslation),
            None => Some(Rule::StaleTranslation),
            // The TLB has the right one, but loses it some day, and then the other is used.
            Some(_) if hashed.is_some_and(|hashed| Some(hashed) != now) => Some(Rule::StaleHash),
            Some(used) if write && !used.is_changed() => Some(Rule::Unchanged),
            Some(_) => None,
        };
        // Reported once for each change.
        match now {
            Some(mapping) => self.held.insert(key, Held { mapping, compared: self.stretch }),
            None => self.held.remove(&key),
        };
        Verdict { mapping: now.or(used), broken, known: true }
    }

    /// `tlbie` of an address: drops all pages, whatever their VSID, whose numbers have the same
    /// lowest bits, namely those that select a set.
    pub fn flush(&mut self, address: u32, sets: u32) {
        self.held.retain(|(_, held), _| (held ^ page(address)) & (sets - 1) != 0);
    }

    /// Everything is flushed.
    pub fn flush_all(&mut self) {
        self.held.clear();
    }
}
