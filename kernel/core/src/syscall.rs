// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoding system calls: raw registers become the operation's structure, and a function gets that
//! structure, and checks everything before it acts.

use crate::port::{Port, Registers};
use crate::thread::{flag, gate};
use crate::{Kernel, NOTHING, Outcome, Progress, Result, Space, Thread};
use abi::call::{self, SystemCall};
use abi::{Error, Kind, MessageKind, Op, Rights, Tag, Word};
use pool::Ref;

impl<P: Port> Kernel<P> {
    /// The current thread, native, made the system call that is in its registers. Returns whether
    /// it just goes on: neither who runs nor the rest of a system call in steps is to be looked at.
    pub fn system_call(&mut self) -> bool {
        let finished = self.current().is_some_and(|me| self.dispatch(me));
        self.schedule() && finished
    }

    /// Carries on the system call that the current thread was interrupted in, if
    /// any, or what the reaper has to do. A port calls this before it leaves to user mode, until it
    /// returns false.
    pub fn carry_on(&mut self) -> bool {
        let Some(me) = self.current().filter(|me| self.pool[*me].flags & flag::AGAIN != 0) else {
            return false;
        };
        if me == self.threads.reaper() {
            self.reap();
        } else {
            self.dispatch(me);
        }
        self.schedule();
        true
    }

    /// Returns whether the system call has ended, well or badly.
    fn dispatch(&mut self, me: Ref<Thread>) -> bool {
        let t = &mut self.pool[me];
        t.flags &= !flag::AGAIN;
        let tag = Tag::of_word(P::Registers::argument(&t.context, 0));
        let Some(space) = t.space.get() else { return false };
        let outcome = match Op::from_code(tag.op()) {
            _ if tag.0 & Tag::RESERVED != 0 => Err(Error::BadOperation),
            Some(op) => self.execute(me, space, op, tag),
            None => Err(Error::BadOperation),
        };
        let again = matches!(outcome, Ok(Outcome::Again));
        match outcome {
            Ok(Outcome::Done(results)) => self.set_status(me, Ok(results)),
            Ok(Outcome::Handled) => {}
            Ok(Outcome::Again) => self.pool[me].flags |= flag::AGAIN,
            Err(error) => self.fail_call(me, error),
        }
        let t = &mut self.pool[me];
        if t.state() == gate::READY {
            t.forget_sending();
        }
        if !again && t.flags & flag::WORKS != 0 {
            self.leave_work(me);
        }
        !again
    }

    /// Writes an error as the result of the system call that is in a thread's registers.
    pub(crate) fn fail_call(&mut self, thread: Ref<Thread>, error: Error) {
        let tag = Tag::of_word(P::Registers::argument(&self.pool[thread].context, 0));
        if Op::from_code(tag.op()).is_some_and(Op::returns_delivery) {
            self.set_failed(thread, error);
        } else {
            self.set_status(thread, Err(error));
        }
    }

    /// Writes the status and results of a system call that is no receive.
    pub(crate) fn set_status(&mut self, thread: Ref<Thread>, status: Result<[Word; 3]>) {
        let (code, results) = match status {
            Ok(results) => (0, results),
            Err(error) => (error as Word, NOTHING),
        };
        let context = &mut self.pool[thread].context;
        P::Registers::set_result(context, 0, code);
        for (i, result) in results.into_iter().enumerate() {
            P::Registers::set_result(context, 1 + i, result);
        }
    }

    fn execute(&mut self, me: Ref<Thread>, space: Ref<Space>, op: Op, tag: Tag) -> Result<Outcome> {
        let words = [1, 2, 3, 4].map(|i| P::Registers::argument(&self.pool[me].context, i));
        if self.has_emptied()
            && is_charged(op)
            && self.end_some_emptied(op == Op::QuotaInfo) == Progress::Interrupted
        {
            return Ok(Outcome::Again);
        }
        let results = match op {
            Op::Call => {
                return self.send(
                    me,
                    space,
                    tag,
                    call::Call::of(words).receiver,
                    MessageKind::Call,
                );
            }
            Op::Send => {
                return self.send(
                    me,
                    space,
                    tag,
                    call::Send::of(words).receiver,
                    MessageKind::Send,
                );
            }
            Op::ReplyWait => {
                return self.reply_wait(me, space, tag, call::ReplyWait::of(words).handle);
            }
            Op::MapReplyWait => {
                return self.map_reply_wait(me, space, tag, call::MapReplyWait::of(words));
            }
            Op::MapRun => return self.map_run(me, space, tag, call::MapRun::of(words)),
            Op::Receive => return self.receive_call(me, space, tag, call::Receive::of(words)),
            Op::Run => return self.run(me, space, tag, call::Run::of(words).handle),
            Op::Delete => return self.delete(me, space, call::Delete::of(words)),
            Op::Revoke => return self.revoke(me, space, call::Revoke::of(words)),
            Op::Reset => return self.reset(me, space, call::Reset::of(words)),
            Op::Map => return self.map_batch(me, space, call::Map::of(words)),
            Op::Reply => {
                self.reply(me, space, tag, call::Reply::of(words).handle).map(|()| NOTHING)?
            }
            Op::Notify => self.notify_call(space, call::Notify::of(words))?,
            Op::Yield => self.yield_call(me),
            Op::CreateQuota => self.create_quota(space, call::CreateQuota::of(words))?,
            Op::CreateSpace => return self.create_space(me, space, call::CreateSpace::of(words)),
            Op::CreateSegment => self.create_segment(space, call::CreateSegment::of(words))?,
            Op::CreateThread => self.create_thread(me, space, call::CreateThread::of(words))?,
            Op::DeriveMemory => self.derive_memory(me, space, call::DeriveMemory::of(words))?,
            Op::Copy => self.copy_cap(space, call::Copy::of(words))?,
            Op::Identify => self.identify(space, call::Identify::of(words))?,
            Op::Start => self.start(space, call::Start::of(words))?,
            Op::Stop => self.stop(me, space, call::Stop::of(words))?,
            Op::SetPriority => self.set_priority(me, space, call::SetPriority::of(words))?,
            Op::SetHandler => self.set_handler(space, call::SetHandler::of(words))?,
            Op::GetRegisters => self.get_registers(me, space, call::GetRegisters::of(words))?,
            Op::SetRegisters => self.set_registers(me, space, call::SetRegisters::of(words))?,
            Op::SetState => self.set_state(space, call::SetState::of(words))?,
            Op::FpuSync => self.fpu_sync(space, call::FpuSync::of(words))?,
            Op::Attach => return self.attach(me, space, call::Attach::of(words)),
            Op::Detach => self.detach(space, call::Detach::of(words))?,
            Op::Cache => self.cache(space, call::Cache::of(words))?,
            Op::Lookup => self.lookup(space, call::Lookup::of(words))?,
            Op::Serve => self.serve(space, call::Serve::of(words))?,
            Op::BindIrq => self.bind_irq(space, call::BindIrq::of(words))?,
            Op::AckIrq => self.ack_irq(space, call::AckIrq::of(words))?,
            Op::Alarm => self.alarm(me, words)?,
            Op::QuotaInfo => self.quota_info(space, call::QuotaInfo::of(words))?,
            Op::ThreadInfo => self.thread_info(space, call::ThreadInfo::of(words))?,
        };
        Ok(Outcome::Done(results))
    }

    fn notify_call(&mut self, space: Ref<Space>, call: call::Notify) -> Result<[Word; 3]> {
        let (_, slot) = self.slot_of(space, call.thread, Kind::Thread, Rights::NOTIFY)?;
        let target: Ref<Thread> = slot.object();
        if self.pool[target].space.is_null() {
            return Err(Error::PeerGone);
        }
        self.notify(target, slot.badge());
        Ok(NOTHING)
    }

    fn yield_call(&mut self, me: Ref<Thread>) -> [Word; 3] {
        if self.pool[me].state() == gate::READY {
            self.rotate(me);
        }
        NOTHING
    }
}

/// Whether an operation charges, or tells what is charged.
const fn is_charged(op: Op) -> bool {
    matches!(
        op,
        Op::CreateQuota
            | Op::CreateSpace
            | Op::CreateSegment
            | Op::CreateThread
            | Op::Reset
            | Op::DeriveMemory
            | Op::Map
            | Op::MapReplyWait
            | Op::MapRun
            | Op::Attach
            | Op::QuotaInfo
    )
}
