// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making threads, and binding them to spaces.

use crate::port::{Port, Registers};
use crate::thread::{SEQUENCE, flag, gate};
use crate::work::Work;
use crate::{Charge, Kernel, Outcome, Progress, Quota, Result, Slot, Space, Thread};
use abi::frame::{Frame, vector};
use abi::utcb::{FPU_OFFSET, FPU_SIZE, Utcb};
use abi::{Error, Kind, MessageKind, Rights, Selector, UserAddr, Word, call};
use bytemuck::Zeroable;
use core::mem::offset_of;
use pool::Ref;

/// The Spaces that count a thread: the one that it runs in, and another one that its UTCB slot is
/// in.
pub(crate) fn bound_to(runs_in: Ref<Space>, home: Ref<Space>) -> impl Iterator<Item = Ref<Space>> {
    [Some(runs_in), Some(home).filter(|home| *home != runs_in)].into_iter().flatten()
}

impl<P: Port> Kernel<P> {
    /// `create_thread`.
    pub(crate) fn create_thread(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        call: call::CreateThread,
    ) -> Result<[Word; 3]> {
        let quota: Ref<Quota> = self.object(space, call.quota, Kind::Quota, Rights::CONTROL)?;
        let (runs_in, home) = self.binding(space, call.space, call.home)?;
        let slot = self.empty_slot(space, call.destination)?;
        let made = self.new_thread(quota, slot, self.pool[me].priority)?;
        if let Err(error) = self.bind(made, runs_in, home) {
            self.free_thread(made);
            return Err(error);
        }
        self.put_original(slot, Kind::Thread, made.address());
        Ok(self.bound(me, made))
    }

    /// The space a thread is to run in and the one its UTCB slot goes to.
    fn binding(
        &self,
        space: Ref<Space>,
        runs_in: Selector,
        home: Selector,
    ) -> Result<(Ref<Space>, Ref<Space>)> {
        let runs_in: Ref<Space> = self.object(space, runs_in, Kind::Space, Rights::CONTROL)?;
        let alien = self.pool[runs_in].slots == 0;
        let home = match home.given() {
            None => runs_in,
            Some(home) => self.object(space, home, Kind::Space, Rights::CONTROL)?,
        };
        if self.pool[runs_in].is_home() {
            return Err(Error::BadArgument);
        }
        if self.pool[runs_in].region.header.is_dying() || self.pool[home].region.header.is_dying() {
            return Err(Error::BadState);
        }
        if alien == (home == runs_in) || self.pool[home].slots == 0 {
            Err(Error::BadArgument)
        } else {
            Ok((runs_in, home))
        }
    }

    /// A thread without a space.
    pub(crate) fn new_thread(
        &mut self,
        quota: Ref<Quota>,
        original: Ref<Slot>,
        priority: u32,
    ) -> Result<Ref<Thread>> {
        self.charge(quota, Charge::threads(1))?;
        let Some(made) = self.threads.free.get() else {
            self.uncharge(quota.link(), Charge::threads(1));
            return Err(Error::PoolExhausted);
        };
        self.threads.free = self.pool[made].next;
        let Thread { handle, epochs, .. } = self.pool[made];
        let handle = handle.wrapping_add(SEQUENCE);
        // The Quota that wore it out is gone, with all that was charged to it.
        let epochs = if self.threads.is_worn(epochs) { 0 } else { epochs };
        self.pool[made] = Thread {
            handle,
            epochs,
            priority,
            max_priority: priority,
            gate: gate::STOPPED,
            ..Thread::zeroed()
        };
        self.pool[made].header = Self::new_header(quota, original);
        Ok(made)
    }

    /// Gives a thread's entry back.
    pub(crate) fn free_thread(&mut self, thread: Ref<Thread>) {
        let Thread { header, handle, epochs, .. } = self.pool[thread];
        self.pool[thread] = Thread { handle, epochs, next: self.threads.free, ..Thread::zeroed() };
        if let Some(quota) = header.quota.get().filter(|_| self.threads.is_worn(epochs)) {
            // Servers may still have handles: nobody else gets this entry, and who wore it out goes
            // on paying for it.
            self.keep_worn(quota, thread);
        } else {
            self.threads.free = thread.link();
            self.uncharge(header.quota, Charge::threads(1));
        }
    }

    /// Binds a thread that has no space: gives it a UTCB slot and puts it into
    /// its first state.
    pub(crate) fn bind(
        &mut self,
        thread: Ref<Thread>,
        runs_in: Ref<Space>,
        home: Ref<Space>,
    ) -> Result<()> {
        let (address, utcb) = self.take_utcb_slot(home)?;
        let slots = self.pool[runs_in].slots;
        let t = &mut self.pool[thread];
        t.space = runs_in.link();
        t.home = home.link();
        t.cap_limit = slots;
        t.utcb = utcb;
        t.utcb_address = address;
        t.signals = 0;
        t.flags = t.flags & flag::LISTED | if slots == 0 { flag::ALIEN } else { 0 };
        t.gate = gate::STOPPED;
        for space in bound_to(runs_in, home) {
            self.pool[space].threads += 1;
        }
        self.clear_registers(thread);
        if slots != 0 {
            let at = utcb + offset_of!(Utcb, address) as u32;
            self.pool
                .bytes_mut(at, size_of::<UserAddr>() as u32)
                .copy_from_slice(bytemuck::bytes_of(&address));
        }
        Ok(())
    }

    /// Gives a thread that is not loaded the registers of one that never ran.
    pub(crate) fn clear_registers(&mut self, thread: Ref<Thread>) {
        let t = &mut self.pool[thread];
        t.context = [0; crate::port::CONTEXT_WORDS];
        t.lazy_state = [0; crate::port::STATE_WORDS];
        t.lazy = 0;
        P::Registers::start(&mut t.context, UserAddr(0), UserAddr(0), UserAddr(0), 0);
        let fpu = t.utcb + FPU_OFFSET;
        P::clear_fpu(self.pool.bytes_mut(fpu, FPU_SIZE));
        self.set_utcb_word(thread, offset_of!(Utcb, fpu), abi::utcb::fpu::INITIAL);
    }

    /// The results of `create_thread` and `reset`. A new alien waits for a reply, as
    /// if it had raised an exception that its handler (the creator, if it has none) got.
    fn bound(&mut self, me: Ref<Thread>, thread: Ref<Thread>) -> [Word; 3] {
        let address = self.pool[thread].utcb_address;
        if !self.pool[thread].is_alien() {
            return [address.0, 0, 0];
        }
        let handler = self.pool[thread].handler;
        let frame = Frame { vector: vector::CREATED, ..P::Registers::frame(&self.pool[thread]) };
        let at = self.pool[thread].utcb;
        self.pool
            .bytes_mut(at, size_of::<Frame>() as u32)
            .copy_from_slice(bytemuck::bytes_of(&frame));
        let t = &mut self.pool[thread];
        t.handle = t.handle.wrapping_add(SEQUENCE);
        t.sending = MessageKind::Alien as u32;
        t.gate = gate::REPLY | gate::ALIEN;
        t.partner = if handler.is_empty() { me.link() } else { handler.object::<Thread>().link() };
        if let Some(partner) = t.partner.get() {
            self.pool[partner].flags |= flag::WATCHED;
        }
        let t = &self.pool[thread];
        [address.0, t.handle as Word, 0]
    }

    /// `reset`: in steps, as everybody who waits for the thread has to be found.
    pub(crate) fn reset(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        call: call::Reset,
    ) -> Result<Outcome> {
        let target: Ref<Thread> = self.object(space, call.thread, Kind::Thread, Rights::CONTROL)?;
        let (runs_in, home) = self.binding(space, call.space, call.home)?;
        if target == me {
            return Err(Error::BadArgument);
        }
        if !self.pool[target].space.is_null() {
            if self.pool[target].flags & flag::LISTED == 0 {
                self.push_work(me, Work::thread(target));
            }
            self.take_out(target, Error::PeerRestarted, me);
        }
        while self.fail_waiters(target) == Progress::Interrupted {
            if self.port.interrupt_pending() {
                return Ok(Outcome::Again);
            }
        }
        if self.pool[me].work.is_first(Work::thread(target)) {
            self.pop_work(me);
        }
        self.bind(target, runs_in, home)?;
        Ok(Outcome::Done(self.bound(me, target)))
    }
}
