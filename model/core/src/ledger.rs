// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted, for each owner and each open interval. This is the part of a counter that no
//! processor changes.

use crate::events::{ByOwner, Events, Owner};
use crate::interval::{Interval, Repetition};
use crate::report::Report;
use crate::symbols::Symbols;
use crate::violation::{Rule, Violation, Violations};
use crate::{Fault, Marker, Privilege};
use std::collections::BTreeMap;

/// Counts, by owner and by interval.
pub struct Ledger {
    armed: bool,
    open: Vec<(u16, Repetition)>,
    intervals: BTreeMap<u16, Interval>,
    faults: BTreeMap<Fault, u64>,
    violations: Violations,
    totals: ByOwner<Events>,
    /// Instructions executed that are in `totals` already.
    settled: u64,
    /// Instructions in `totals` when the last marker was executed.
    modelled: u64,
    /// The owner of the code that is executed.
    owner: Owner,
    /// While the function runs that is counted apart: the kernel's counts when it began.
    apart: Option<Events>,
}

impl Ledger {
    /// An empty ledger; one violation of any of these rules will be enough.
    pub fn until(rules: Vec<Rule>) -> Self {
        Self {
            armed: false,
            open: Vec::new(),
            intervals: BTreeMap::new(),
            faults: BTreeMap::new(),
            violations: Violations::until(rules),
            totals: ByOwner::default(),
            settled: 0,
            modelled: 0,
            owner: Owner::Kernel,
            apart: None,
        }
    }
}

impl Ledger {
    pub fn is_armed(&self) -> bool {
        self.armed
    }

    /// The owner of the code that is executed.
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// The counts of the owner whose code is executed.
    pub fn events(&mut self) -> &mut Events {
        self.totals.of(self.owner)
    }

    /// Begins to count, after `executed` instructions.
    pub fn arm(&mut self, executed: u64) {
        self.armed = true;
        self.settled = executed;
    }

    /// Whether a marker begins or ends an interval. In kernel mode a marker is a fault; the marker
    /// of a case is for `Latency`, which gets its name.
    pub fn accepts(&mut self, marker: Marker, privilege: Privilege) -> bool {
        if privilege == Privilege::Kernel {
            let id = match marker {
                Marker::Begin(id)
                | Marker::BeginFree(id)
                | Marker::End(id)
                | Marker::Unknown(_, id) => id,
                Marker::Case => 0,
            };
            self.fault(Fault::InKernel(id));
            return false;
        }
        marker != Marker::Case
    }

    /// User code, whose owner may not be known yet, has executed a marker after `executed`
    /// instructions. `arms` if this has armed the counter.
    pub fn mark(&mut self, marker: Marker, executed: u64, arms: bool) {
        if arms {
            self.owner = Owner::User;
        }
        self.settle(executed);
        self.modelled = self.totals.total().instructions;
        match marker {
            Marker::Begin(id) | Marker::BeginFree(id) => {
                if self.close(id).is_some() {
                    self.fault(Fault::BeginWhileOpen(id));
                }
                self.open.push((
                    id,
                    Repetition::begin(&self.totals, matches!(marker, Marker::BeginFree(_))),
                ));
            }
            Marker::End(id) => match self.close(id) {
                Some(repetition) => {
                    self.intervals.entry(id).or_default().add(&repetition, &self.totals)
                }
                None => self.fault(Fault::EndWithoutBegin(id)),
            },
            Marker::Case => {}
            Marker::Unknown(kind, id) => self.fault(Fault::UnknownKind(kind, id)),
        }
    }

    /// From here on, after `executed` instructions, `owner`'s code is executed; `entered` if the
    /// kernel has just been.
    pub fn pass(&mut self, owner: Owner, entered: bool, executed: u64) {
        if entered || owner != self.owner {
            self.settle(executed);
            self.owner = owner;
        }
    }

    /// The kernel's function that is counted apart begins, after `executed` instructions.
    pub fn begin_apart(&mut self, executed: u64) {
        self.settle(executed);
        self.apart = Some(self.totals.kernel);
    }

    /// It has ended.
    pub fn end_apart(&mut self, executed: u64) {
        self.settle(executed);
        let Some(before) = self.apart.take() else { return };
        let mut events = self.totals.kernel;
        events.zip(&before, |now, before| *now -= before);
        self.each(|repetition| repetition.add_apart(&events));
    }

    /// The instructions since the last change, up to the total `executed`, count for no owner.
    pub fn skip(&mut self, executed: u64) {
        self.settled = executed;
    }

    /// Calls a function for the repetitions of intervals that are open.
    pub fn each(&mut self, act: impl FnMut(&mut Repetition)) {
        self.open.iter_mut().map(|(_, repetition)| repetition).for_each(act);
    }

    /// The open interval that was declared free of flushes.
    pub fn free(&self) -> Option<u16> {
        self.open.iter().find(|(_, repetition)| repetition.is_free()).map(|(id, _)| *id)
    }

    /// The owner whose code is executed breaks a rule.
    pub fn violate(
        &mut self,
        rule: Rule,
        instruction: impl Into<u64>,
        address: impl Into<u64>,
        cause: Option<u32>,
    ) {
        let (instruction, address) = (instruction.into(), address.into());
        self.add(Violation { rule, instruction, address, owner: self.owner, segment: None, cause });
    }

    pub fn add(&mut self, violation: Violation) {
        self.violations.add(violation);
    }

    /// Whether a violation was found that is enough.
    pub fn is_enough(&self) -> bool {
        self.violations.is_enough()
    }

    /// The report; an interval that is still open is an error in it.
    pub fn report(&self, symbols: &Symbols) -> Report {
        let mut faults = self.faults.clone();
        for (id, _) in &self.open {
            *faults.entry(Fault::OpenAtExit(*id)).or_insert(0) += 1;
        }
        let text = |(fault, &times): (&Fault, &u64)| {
            if times == 1 { fault.to_string() } else { format!("{fault} ({times} times)") }
        };
        Report {
            intervals: self
                .intervals
                .iter()
                .map(|(&id, interval)| (id, interval.report()))
                .collect(),
            errors: faults.iter().map(text).collect(),
            violations: self.violations.report(symbols),
            further_violations: self.violations.more(),
            instructions: self.modelled,
            checked: None,
            latency: None,
        }
    }

    /// Attributes the instructions up to now to the owner that executed them.
    fn settle(&mut self, executed: u64) {
        let count = executed - self.settled;
        self.settled = executed;
        self.events().instructions += count;
        if self.owner == Owner::Kernel {
            self.each(|repetition| repetition.execute(count));
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
