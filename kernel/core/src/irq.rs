// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupt lines: which thread is notified when one fires.

use crate::port::Port;
use crate::{Header, Kernel, NOTHING, Result, Slot, Space};
use abi::{Error, Kind, Rights, Word, call};
use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;
use pool::{Link, Object, Ref};

/// An interrupt line.
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Irq {
    /// Who pays, original capability.
    pub header: Header,
    /// Who is notified, with the bits as badge.
    pub target: Slot,
    /// Its number.
    pub line: u32,
    /// Fills the block.
    pub unused: [u32; 3],
}
impl Object for Irq {}
const _: () = assert!(size_of::<Irq>() <= pool::MIN_BYTES as usize);

impl<P: Port> Kernel<P> {
    /// An interrupt line fired: masked until it is acknowledged.
    pub fn interrupt(&mut self, line: u32) {
        self.port.set_irq(line, false);
        let irq = self.irqs.as_ref().get(line as usize).and_then(|irq| irq.get());
        if let Some(target) =
            irq.map(|irq| self.pool[irq].target).filter(|target| !target.is_empty())
        {
            self.notify(target.object(), target.badge());
        }
        self.schedule();
    }

    /// The Irq object of a line.
    pub(crate) fn set_irq_object(&mut self, line: u32, irq: Link<Irq>) {
        if let Some(entry) = self.irqs.as_mut().get_mut(line as usize) {
            *entry = irq;
        }
    }

    /// `bind_irq`.
    pub(crate) fn bind_irq(&mut self, space: Ref<Space>, call: call::BindIrq) -> Result<[Word; 3]> {
        let irq: Ref<Irq> = self.object(space, call.irq, Kind::Irq, Rights::CONTROL)?;
        let slot = Ref::<Slot>::new(irq.address() + offset_of!(Irq, target) as u32);
        let source = match call.thread.given() {
            None => None,
            Some(selector) => Some(self.slot_of(space, selector, Kind::Thread, Rights::NOTIFY)?),
        };
        let bound = !self.pool[slot].is_empty();
        if source.is_some() && bound {
            return Err(Error::Occupied);
        }
        if let Some((at, _)) = source {
            self.copy(at, slot, Rights::NOTIFY, 0)?;
        } else if bound {
            self.clear_slot(slot);
        }
        self.port.set_irq(self.pool[irq].line, false);
        Ok(NOTHING)
    }

    /// `ack_irq`.
    pub(crate) fn ack_irq(&mut self, space: Ref<Space>, call: call::AckIrq) -> Result<[Word; 3]> {
        let irq: Ref<Irq> = self.object(space, call.irq, Kind::Irq, Rights::CONTROL)?;
        if self.pool[irq].target.is_empty() {
            return Err(Error::NotThere);
        }
        self.port.set_irq(self.pool[irq].line, true);
        Ok(NOTHING)
    }

    pub(crate) fn end_irq(&mut self, irq: Ref<Irq>) {
        let line = self.pool[irq].line;
        self.port.set_irq(line, false);
        self.set_irq_object(line, pool::Link::NULL);
        let target = Ref::<Slot>::new(irq.address() + core::mem::offset_of!(Irq, target) as u32);
        if !self.pool[target].is_empty() {
            self.clear_slot(target);
        }
        let quota = self.pool[irq].header.quota;
        self.release(quota, irq.address(), pool::MIN_BYTES);
    }
}
