// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting and stopping threads, and everything that one thread may set of another one.

use crate::fault::FRAME_OFFSET;
use crate::port::{Port, Registers};
use crate::thread::{self, flag, gate};
use crate::{Kernel, NOTHING, Result, Slot, Space, Thread};
use abi::frame::{Frame, vector};
use abi::{Error, Kind, PRIORITIES, Rights, Selector, ThreadState, Word, call};
use core::mem::offset_of;
use pool::Ref;

impl<P: Port> Kernel<P> {
    fn thread(&self, space: Ref<Space>, selector: Selector) -> Result<Ref<Thread>> {
        self.object(space, selector, Kind::Thread, Rights::CONTROL)
    }

    /// `start`.
    pub(crate) fn start(&mut self, space: Ref<Space>, call: call::Start) -> Result<[Word; 3]> {
        let thread = self.thread(space, call.thread)?;
        let t = &self.pool[thread];
        let runs_in = t.space.get().ok_or(Error::BadState)?;
        if t.is_alien() || !matches!(t.state(), gate::STOPPED | gate::HALTED) {
            return Err(Error::BadState);
        }
        let end = self.pool[runs_in].region.end;
        let call::Start { entry, stack, argument, .. } = call;
        if entry >= end || stack > end {
            return Err(Error::BadAddress);
        }
        self.port.unload(&mut self.pool, thread, false);
        self.clear_registers(thread);
        let t = &mut self.pool[thread];
        P::Registers::start(&mut t.context, entry, stack, t.utcb_address, argument);
        self.wake(thread);
        Ok(NOTHING)
    }

    /// `stop`. An alien that runs raises an event; a native thread's own IPC fails.
    pub(crate) fn stop(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        call: call::Stop,
    ) -> Result<[Word; 3]> {
        let thread = self.thread(space, call.thread)?;
        if self.pool[thread].space.is_null() {
            return Err(Error::BadState);
        }
        if self.pool[thread].is_alien() {
            if self.pool[thread].state() == gate::READY {
                let stopped = Frame {
                    vector: vector::STOPPED,
                    error: 0,
                    ..P::Registers::frame(&self.pool[thread])
                };
                P::Registers::load_frame(&mut self.pool[thread], &stopped);
                self.raise(thread);
            }
            return Ok(NOTHING);
        }
        match self.pool[thread].state() {
            // What it finds if its registers are set and it goes on: not the tag of a call that it
            // was in the middle of.
            gate::READY if self.pool[thread].flags & flag::AGAIN != 0 => {
                self.fail_call(thread, Error::Interrupted)
            }
            gate::READY | gate::STOPPED | gate::HALTED => {}
            _ => {
                self.write_failure(thread, Error::Interrupted);
            }
        }
        self.forget_handle(thread);
        self.leave_queues(thread);
        if thread != me {
            // What it was ending is left with the urgency of who stops it.
            self.pass_work(thread, me);
        }
        self.forget_steps(thread);
        if thread == me {
            self.set_status(me, Ok(NOTHING));
        }
        self.pool[thread].gate = gate::STOPPED;
        Ok(NOTHING)
    }

    /// A system call that a thread was in the middle of is not carried on. What it was ending ends
    /// all the same.
    pub(crate) fn forget_steps(&mut self, thread: Ref<Thread>) {
        self.pool[thread].flags &= !thread::flag::AGAIN;
        self.pool[thread].progress = 0;
        self.leave_work(thread);
    }

    /// `set_priority`.
    pub(crate) fn set_priority(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        call: call::SetPriority,
    ) -> Result<[Word; 3]> {
        let thread = self.thread(space, call.thread)?;
        let limit = self.pool[me].max_priority;
        let (priority, most) = (crate::narrow(call.priority)?, crate::narrow(call.most)?);
        if priority >= PRIORITIES || most >= PRIORITIES {
            return Err(Error::BadArgument);
        }
        if priority > limit || most > limit {
            return Err(Error::BadPriority);
        }
        self.reprioritise(thread, priority);
        self.pool[thread].max_priority = most;
        Ok(NOTHING)
    }

    /// `set_handler`.
    pub(crate) fn set_handler(
        &mut self,
        space: Ref<Space>,
        call: call::SetHandler,
    ) -> Result<[Word; 3]> {
        let thread = self.thread(space, call.thread)?;
        let source = match call.handler.given() {
            None => None,
            Some(selector) => Some(self.slot_of(space, selector, Kind::Thread, Rights::CALL)?),
        };
        if let Some((at, _)) = source {
            self.may_derive(at)?;
        }
        let slot = Ref::<Slot>::new(
            thread.address() + (offset_of!(Thread, handler) as u32 - thread::ANCHOR),
        );
        if !self.pool[slot].is_empty() {
            self.clear_slot(slot);
        }
        if self.pool[thread].state() != gate::REPLY {
            // The old handler may be waiting for it.
            self.pool[thread].flags |= flag::WATCHED;
        }
        if let Some((at, cap)) = source {
            self.copy(at, slot, Rights::CALL, 0)?;
            // An alien that has not run yet waits for its handler.
            if self.pool[thread].is_alien() && self.pool[thread].state() == gate::REPLY {
                let to: Ref<Thread> = cap.object();
                if self.pool[thread]
                    .partner
                    .get()
                    .is_some_and(|from| self.pool[from].space != self.pool[to].space)
                {
                    self.pool[thread].flags |= flag::PASSED_ON;
                }
                self.pool[thread].partner = to.link();
                self.pool[to].flags |= flag::WATCHED;
            }
        }
        Ok(NOTHING)
    }

    /// `set_state`.
    pub(crate) fn set_state(
        &mut self,
        space: Ref<Space>,
        call: call::SetState,
    ) -> Result<[Word; 3]> {
        let thread = self.thread(space, call.thread)?;
        if self.pool[thread].space.is_null() {
            return Err(Error::BadState);
        }
        self.port.unload(&mut self.pool, thread, true);
        let t = &mut self.pool[thread];
        let result = P::Registers::set_state(t, call.part, call.values)?;
        // A waiting thread that has any is not the fast path's.
        if t.lazy != 0 && !t.is_alien() {
            t.gate |= gate::SLOW;
        }
        Ok([result, 0, 0])
    }

    /// `get_registers`.
    pub(crate) fn get_registers(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        call: call::GetRegisters,
    ) -> Result<[Word; 3]> {
        let thread = self.thread(space, call.thread)?;
        if self.pool[thread].space.is_null() || self.pool[thread].state() == gate::READY {
            return Err(Error::BadState);
        }
        self.port.unload(&mut self.pool, thread, true);
        let frame: Frame = if self.pool[thread].gate & gate::ALIEN == 0 {
            P::Registers::frame(&self.pool[thread])
        } else {
            // What its handler has is the truth; the fast path writes nothing else.
            bytemuck::pod_read_unaligned(
                self.pool.bytes_at(self.pool[thread].utcb, size_of::<Frame>() as u32),
            )
        };
        let at = self.pool[me].utcb + FRAME_OFFSET;
        self.pool
            .bytes_mut(at, size_of::<Frame>() as u32)
            .copy_from_slice(bytemuck::bytes_of(&frame));
        Ok(NOTHING)
    }

    /// `set_registers`.
    pub(crate) fn set_registers(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        call: call::SetRegisters,
    ) -> Result<[Word; 3]> {
        let thread = self.thread(space, call.thread)?;
        let stopped = matches!(self.pool[thread].state(), gate::STOPPED | gate::HALTED);
        if self.pool[thread].space.is_null() || self.pool[thread].is_alien() || !stopped {
            return Err(Error::BadState);
        }
        if call.runs > 1 {
            return Err(Error::BadArgument);
        }
        self.port.unload(&mut self.pool, thread, true);
        let at = self.pool[me].utcb + FRAME_OFFSET;
        let frame: Frame =
            bytemuck::pod_read_unaligned(self.pool.bytes_at(at, size_of::<Frame>() as u32));
        P::Registers::load_frame(&mut self.pool[thread], &frame);
        if call.runs == 1 {
            self.wake(thread);
        }
        Ok(NOTHING)
    }

    /// `fpu_sync`.
    pub(crate) fn fpu_sync(&mut self, space: Ref<Space>, call: call::FpuSync) -> Result<[Word; 3]> {
        let thread = self.thread(space, call.thread)?;
        if self.pool[thread].space.is_null() {
            return Err(Error::BadState);
        }
        self.port.unload(&mut self.pool, thread, true);
        Ok(NOTHING)
    }

    /// `thread_info`.
    pub(crate) fn thread_info(
        &self,
        space: Ref<Space>,
        call: call::ThreadInfo,
    ) -> Result<[Word; 3]> {
        let thread = self.thread(space, call.thread)?;
        let state = match self.pool[thread].state() {
            gate::STOPPED => ThreadState::Stopped,
            gate::READY => ThreadState::Ready,
            gate::SENDING => ThreadState::Sending,
            gate::REPLY => ThreadState::Calling,
            gate::HALTED => ThreadState::Halted,
            _ => ThreadState::Receiving,
        };
        Ok([state as Word, 0, 0])
    }
}
