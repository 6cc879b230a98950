// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel debugger shows of the portable state (feature `kdb`). Reads only.

use crate::attach::{self, attachment};
use crate::port::Port;
use crate::thread::gate;
use crate::{Attachment, Kernel, Owner, Quota, Space, Thread};
use abi::{Kind, PRIORITIES, UserAddr};
use core::fmt::{Result, Write};
use mmu::Format;
use pool::Ref;

const STATES: [&str; 9] =
    ["stopped", "ready", "open", "closed", "reply", "run", "sending", "halted", "notified"];

impl<P: Port> Kernel<P> {
    fn bound_threads(&self) -> impl Iterator<Item = (u32, Ref<Thread>)> {
        (0..self.threads.count)
            .filter_map(|i| Some((i, self.threads.get(i)?)))
            .filter(|(_, t)| !self.pool[*t].space.is_null())
    }

    /// One line for each thread that has a space.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn show_threads(&mut self, out: &mut dyn Write) -> Result {
        let current = self.current();
        writeln!(out, "  index  address   space     prio state     partner   signals   handle")?;
        for (index, thread) in self.bound_threads() {
            let t = &self.pool[thread];
            let state = STATES.get(t.state() as usize).unwrap_or(&"?");
            let shown = |flag, name| if t.gate & flag == 0 { ' ' } else { name };
            let kind =
                if t.is_alien() { shown(gate::ALIEN, 'a') } else { shown(gate::EXCEPTION, 'e') };
            writeln!(
                out,
                "{}{}{index:5}  {:08x}  {:08x}  {:4} {state:8}{}{} {:08x}  {:08x}  {:08x}",
                if current == Some(thread) { '*' } else { ' ' },
                if t.is_alien() { 'a' } else { ' ' },
                thread.address(),
                t.space.value(),
                t.priority,
                shown(gate::SLOW, 's'),
                kind,
                t.partner.value(),
                t.signals,
                t.handle
            )?;
        }
        Ok(())
    }

    /// Each space that a thread runs in: tables, capabilities, who pays, and what is attached to
    /// it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn show_spaces(&self, out: &mut dyn Write) -> Result {
        for (index, thread) in self.bound_threads() {
            let Some(space) = self.pool[thread].space.get() else { continue };
            // Once each: with the first of its threads.
            if self.bound_threads().any(|(other, t)| other < index && self.pool[t].space.is(space))
            {
                continue;
            }
            let s = &self.pool[space];
            let used =
                (0..s.slots).filter(|i| !self.pool[Space::slot(space, *i)].is_empty()).count();
            write!(
                out,
                "space {:08x}: tables {:08x}, {used} of {} capabilities",
                space.address(),
                s.region.top.value(),
                s.slots
            )?;
            match (s.window, self.smallness(Owner::Space(space))) {
                (UserAddr(0), None) => writeln!(out)?,
                (UserAddr(0), Some(at)) => {
                    let Attachment { owner, index, .. } = self.pool[at];
                    let (start, bytes) = (P::Format::table_start(index as usize).0, s.region.end.0);
                    writeln!(out, ", small: {bytes:x} bytes at {start:08x} of home {owner:08x}")?;
                }
                (window, _) => {
                    writeln!(out, ", a server, window {:08x} to {:08x}", window.0, s.region.end.0)?
                }
            }
            if let Some(quota) = s.region.header.quota.get() {
                let Quota { used, limit, .. } = self.pool[quota];
                let address = quota.address();
                writeln!(
                    out,
                    "  quota {address:08x}: {} of {} bytes, {} of {} threads, {} of {} slots, {} of {} locks",
                    used.bytes,
                    limit.bytes,
                    used.threads,
                    limit.threads,
                    used.slots,
                    limit.slots,
                    used.locks,
                    limit.locks
                )?;
            }
            for root in [s.region.attached, s.segments] {
                let mut result = Ok(());
                attach::for_each(&self.pool, root, &mut |at| {
                    let Attachment { kind, source, index, .. } = self.pool[at];
                    let start = P::Format::table_start(index as usize).0;
                    result = result.and_then(|()| match kind {
                        attachment::SEGMENT_IN_SPACE => {
                            writeln!(out, "  segment {source:08x} at {start:08x}")
                        }
                        attachment::SERVER_IN_SPACE => {
                            writeln!(out, "  server {source:08x} from {start:08x} on")
                        }
                        attachment::SMALL_IN_HOME => {
                            writeln!(out, "  small space {source:08x} at {start:08x}")
                        }
                        _ => writeln!(out, "  memory {source:08x}"),
                    });
                });
                result?;
            }
        }
        Ok(())
    }

    /// The capabilities of a space.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn show_capabilities(&self, space: u32, out: &mut dyn Write) -> Result {
        let Some((_, thread)) =
            self.bound_threads().find(|(_, t)| self.pool[*t].space.value() == space)
        else {
            return writeln!(out, "no thread runs in a space {space:08x}");
        };
        let Some(space) = self.pool[thread].space.get() else { return Ok(()) };
        for (index, slot) in (0..self.pool[space].slots)
            .map(|i| (i, &self.pool[Space::slot(space, i)]))
            .filter(|(_, s)| !s.is_empty())
        {
            let kind: Kind = slot.kind();
            writeln!(
                out,
                "  {index:5}  {kind:?} {:08x}  rights {:06b}  badge {:05x}",
                slot.address(),
                slot.rights().0,
                slot.badge()
            )?;
        }
        Ok(())
    }

    /// The ready queues, most urgent first.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn show_queues(&self, out: &mut dyn Write) -> Result {
        for priority in (0..PRIORITIES).rev() {
            let Some(first) = self.sched.first(priority) else { continue };
            write!(out, "{priority:4}:")?;
            let mut at = first;
            loop {
                write!(out, " {}", self.threads.index(at))?;
                match self.pool[at].next.get() {
                    Some(next) if next != first => at = next,
                    _ => break,
                }
            }
            writeln!(out)?;
        }
        writeln!(out, "top {}", self.sched.top().map_or(-1, |top| top as i32))
    }
}
