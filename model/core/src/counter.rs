// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a stream of instructions to intervals.
//!
//! There is no event for a kernel entry in the stream; it shows as a kernel
//! instruction where a user instruction was due. That is nearly "the one before
//! was a user instruction", but the kernel may also return to user mode and be
//! entered again before a single user instruction begins: by an interrupt that
//! waited, or when that instruction cannot be fetched. So the instructions that
//! leave the kernel are watched as well.

use crate::interval::{Interval, Repetition};
use crate::{Class, Fault, Marker, Privilege, Report, Site};
use std::collections::BTreeMap;

/// The instrument. One processor; see the crate's head for the units.
pub struct Counter {
    open: Vec<(u16, Repetition)>,
    intervals: BTreeMap<u16, Interval>,
    faults: BTreeMap<Fault, u64>,
    /// Privilege of the instruction that is due if nothing intervenes.
    due: Privilege,
    /// Words popped by the far return in progress, if there is one.
    popped: Option<u32>,
}

impl Default for Counter {
    fn default() -> Self {
        Self { open: Vec::new(), intervals: BTreeMap::new(), faults: BTreeMap::new(), due: Privilege::User, popped: None }
    }
}

impl Counter {
    /// Whether an interval is open: otherwise [`execute`](Self::execute) and
    /// [`access`](Self::access) need not be called.
    #[must_use]
    pub fn is_counting(&self) -> bool {
        !self.open.is_empty()
    }

    /// A marker is executed. Markers themselves count as no instruction.
    pub fn mark(&mut self, marker: Marker, privilege: Privilege) {
        if privilege == Privilege::Kernel {
            let (Marker::Begin(id) | Marker::End(id) | Marker::Unknown(_, id)) = marker;
            return self.fault(Fault::InKernel(id));
        }
        self.due = Privilege::User;
        match marker {
            Marker::Begin(id) => {
                if self.close(id).is_some() {
                    self.fault(Fault::BeginWhileOpen(id));
                }
                self.open.push((id, Repetition::default()));
            }
            Marker::End(id) => match self.close(id) {
                Some(repetition) => self.intervals.entry(id).or_default().add(&repetition),
                None => self.fault(Fault::EndWithoutBegin(id)),
            },
            Marker::Unknown(kind, id) => self.fault(Fault::UnknownKind(kind, id)),
        }
    }

    /// The instruction `site` of the block at linear address `block` begins.
    /// (The address matters in kernel mode only.)
    pub fn execute(&mut self, site: Site, block: u32) {
        let enters = site.privilege == Privilege::Kernel && self.due == Privilege::User;
        let address = block.wrapping_add(u32::from(site.offset));
        for (_, repetition) in &mut self.open {
            if enters {
                repetition.enter_kernel();
            }
            repetition.execute(site, address);
        }
        self.due = if site.class == Class::Sysexit { Privilege::User } else { site.privilege };
        self.popped = (site.class == Class::FarReturn).then_some(0);
    }

    /// The kernel instruction in progress has read or written `bytes` at linear
    /// address `address`; `value` is what it read or wrote.
    pub fn access(&mut self, address: u32, bytes: u32, value: u32) {
        // A far return reads EIP first and CS second.
        if let Some(popped) = &mut self.popped {
            *popped += 1;
            if *popped == 2 && value & 3 != 0 {
                self.due = Privilege::User;
            }
        }
        for (_, repetition) in &mut self.open {
            repetition.access(address, bytes);
        }
    }

    /// The report as of now; what is still open is an error in it.
    #[must_use]
    pub fn report(&self) -> Report {
        let mut faults = self.faults.clone();
        for (id, _) in &self.open {
            *faults.entry(Fault::OpenAtExit(*id)).or_insert(0) += 1;
        }
        let text = |(fault, &times): (&Fault, &u64)| if times == 1 { fault.to_string() } else { format!("{fault} ({times} times)") };
        Report {
            intervals: self.intervals.iter().map(|(&id, interval)| (id, interval.report())).collect(),
            errors: faults.iter().map(text).collect(),
        }
    }

    fn close(&mut self, id: u16) -> Option<Repetition> {
        let position = self.open.iter().position(|(open, _)| *open == id)?;
        Some(self.open.remove(position).1)
    }

    fn fault(&mut self, fault: Fault) {
        *self.faults.entry(fault).or_insert(0) += 1;
    }
}
