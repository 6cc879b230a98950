// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC's fast paths.
//!
//! In addition to what the crate's head says, the exit code must restore all of the user's
//! registers, and both entry and exit must end any reservation. To turn a test means to pass it
//! whatever it finds.
//!
//! No path here depends on the kind of processor: only a 603 executes the handlers of TLB misses,
//! and these are not tested here.

mod code;
mod entry;
mod execute;
mod machine;
mod spaces;

use crate::elf::Elf;
use crate::processor::{Event, Executed, Found, Outcome, Places, Processor, Run, Who, all};
use abi::Op;
use anyhow::{Result, ensure};
use code::{Code, TESTS};
use core::mem::offset_of;
use entry::{Entered, user};
use execute::Left;
use fastrand::Rng;
use kcore::port::{CONTEXT_WORDS, Processor as _};
use kcore::sched::SLICE;
use kcore::thread::gate;
use kcore::{Cpu, Scheduler, Thread};
use pool::{Link, Ref};
use powerpc_context::{lazy, msr, vector, word};

/// The portable kernel with PowerPC's registers and translation tables.
type Kernel = crate::processor::Kernel<PowerPc>;

/// Each way must have been taken in at least this many of ten thousand events.
const LEAST: u64 = 20;

/// Where a context has the words of a message: the tag, the handle, and those that follow.
const WORDS: [usize; 10] = {
    let r = word::GPR;
    [r + 3, r + 4, r + 5, r + 6, r + 7, r + 8, r + 9, r + 10, r + 14, r + 15]
};

/// The code.
pub struct PowerPc {
    code: Code,
}

impl Processor for PowerPc {
    type Registers = powerpc_context::PowerPc;
    type Format = mmu::powerpc::PowerPc;
    type Spaces = ();
    type Entered = Entered;
    type Left = Left;

    const FAST: &'static [Op] = &[
        Op::Call,
        Op::ReplyWait,
        Op::Run,
        Op::MapRun,
        Op::MapReplyWait,
        Op::Map,
        Op::Notify,
        Op::Receive,
    ];
    const PAGES: u32 = 40;
    const LOW_END: u32 = 1 << 28;
    const WAYS: &'static [(&'static str, u64)] = &[
        ("calls", LEAST),
        ("replies", LEAST),
        ("alien calls", LEAST),
        ("runs", LEAST),
        ("answers by a page", LEAST / 2),
        ("runs with a page", LEAST),
        ("maps", LEAST),
        ("of several pages", LEAST / 2),
        ("page faults", LEAST),
        ("page faults of aliens", LEAST),
        ("faults of stores to what can be read", LEAST / 2),
        ("to another space", LEAST),
        ("to another space that shows the server", LEAST / 4),
        ("notifications", LEAST),
        ("notifications of waiting threads", LEAST),
        ("notifications of more urgent threads", LEAST),
        ("receives of notifications", LEAST),
        ("receives of nothing", LEAST),
        ("receives that wait", LEAST),
        ("windows opened", LEAST),
        ("windows shut", LEAST),
        ("runs with the FPU", LEAST),
        ("calls at the priority of a ready thread", LEAST),
        ("others at one", LEAST),
        ("with a reservation", LEAST),
    ];
    const EVENTS: u64 = 600_000;

    fn read(elf: &Elf) -> Result<Self> {
        Ok(Self { code: Code::read(elf)? })
    }

    fn places(&self) -> &Places {
        &self.code.places
    }

    fn tests(&self) -> Vec<Option<String>> {
        TESTS.iter().map(|test| test.map(Into::into)).collect()
    }

    fn missed(&self, executed: &Executed) -> Vec<String> {
        self.code.missed(executed)
    }

    fn by_system_call(thread: &mut Thread) {
        thread.context[word::VECTOR] = vector::SYSTEM_CALL;
    }

    fn set_up(&self, kernel: &mut Kernel, found: &Found, rng: &mut Rng) {
        spaces::set_up(kernel, found, rng);
        for thread in all::<Self>(kernel) {
            // Half of the aliens have used the FPU, and some natives.
            let is_rare = !kernel.pool[thread].is_alien();
            kernel.pool[thread].lazy =
                if rng.u32(..if is_rare { 8 } else { 2 }) == 0 { lazy::FPU } else { 0 };
        }
    }

    fn meanwhile(
        &self,
        kernel: &mut Kernel,
        _: &Found,
        (): &mut (),
        me: Ref<Thread>,
        rng: &mut Rng,
    ) {
        spaces::meanwhile(kernel, me, rng);
        let mut others = all::<Self>(kernel);
        others.retain(|thread| {
            matches!(kernel.pool[*thread].gate, gate::RUN | gate::OPEN)
                || kernel.pool[*thread].gate == gate::REPLY | gate::ALIEN
        });
        if let Some(other) =
            others.get(rng.usize(..others.len().max(1))).filter(|_| rng.u32(..8) == 0)
        {
            kernel.pool[*other].priority = [50, 60, 70][rng.usize(..3)];
        }
        let mut natives = all::<Self>(kernel);
        natives.retain(|thread| *thread != me && !kernel.pool[*thread].is_alien());
        if let Some(other) = natives.get(rng.usize(..natives.len().max(1))) {
            let other = &mut kernel.pool[*other];
            match rng.u32(..64) {
                // It was interrupted before.
                0..8 if matches!(other.gate, gate::OPEN | gate::NOTIFIED) => {
                    other.slice_left = rng.u32(..2 * SLICE);
                }
                // Another thread gave it registers of the FPU.
                8..12 if other.state() == gate::READY => other.lazy = lazy::FPU,
                _ => {}
            }
        }
    }

    fn enter(
        &self,
        kernel: &mut Kernel,
        found: &Found,
        me: Ref<Thread>,
        event: &Event,
        rng: &mut Rng,
    ) -> Entered {
        Entered::random(kernel, found, me, event, rng)
    }

    fn run(
        &self,
        kernel: &mut Kernel,
        me: Ref<Thread>,
        entered: &Entered,
        turned: Option<usize>,
    ) -> Result<Run<Left>> {
        execute::enter(&self.code, kernel, me, entered, turned)
    }

    fn portable(&self, kernel: &mut Kernel, me: Ref<Thread>, event: &Event, entered: &Entered) {
        entered.portable(kernel, me, event);
    }

    fn check(
        &self,
        kernel: &mut Kernel,
        me: Ref<Thread>,
        entered: &Entered,
        outcome: &Outcome<Left>,
    ) -> Result<()> {
        let Outcome { current, written, own } = outcome;
        let mut saved = user(&kernel.pool[*current].context);
        if kernel.port.cpu().loaded == current.address() {
            saved.msr |= msr::FPU;
        }
        let is_alien = kernel.pool[me].is_alien();
        if is_alien || entered.fault.is_some() {
            entered.unknown(is_alien, &mut saved, &own.user)?;
        }
        ensure!(
            own.user == saved,
            "its registers are\n{saved:x?}, by the assembly\n{:x?}",
            own.user
        );
        ensure!(
            kernel.port.invalidated.is_empty() && kernel.port.announced.is_empty(),
            "a translation is to be dropped"
        );
        ensure!(!own.system.reserved, "what was reserved still is");
        ensure!(
            own.system.sprg[1] == current.address(),
            "the thread is said to be {:#x}",
            own.system.sprg[1]
        );
        let queues =
            self.code.places.scheduler..self.code.places.scheduler + size_of::<Scheduler>() as u32;
        let is_hot = |at: u32| {
            [offset_of!(Cpu, current), offset_of!(Cpu, top)]
                .contains(&(at.wrapping_sub(self.code.places.cpu) as usize))
        };
        let is_known = |at: u32| {
            crate::processor::is_pool::<Self>(kernel, at) || is_hot(at) || queues.contains(&at)
        };
        ensure!(written.keys().all(is_known), "words were written: {written:x?}");
        spaces::check(
            kernel,
            *current,
            (&entered.spaces, own.shown),
            [&entered.system, &own.system],
        )
    }

    fn normalise(thread: &mut Thread, who: Who) {
        if thread.is_alien() {
            // Its flags are in its frame, and are read whenever it is resumed.
            thread.lazy &= !lazy::STATE;
        }
        if who.entered && thread.gate & gate::ALIEN != 0 {
            // An alien's registers are in its handler's memory.
            thread.context = [0; CONTEXT_WORDS];
        }
        if who.is_brief || who.entered && thread.gate & gate::EXCEPTION == 0 {
            // After a system call it keeps these; the words of a message come with it or are here;
            // all others are lost.
            let kept = [word::GPR + 1, word::GPR + 2, word::PC, word::MSR];
            let is_kept =
                |index: &usize| kept.contains(index) || who.is_brief && WORDS.contains(index);
            (0..CONTEXT_WORDS)
                .filter(|index| !is_kept(index))
                .for_each(|index| thread.context[index] = 0);
        }
        if who.entered {
            // The badge of a call that was delivered.
            thread.badge = 0;
            // It waits for anybody.
            if thread.gate == gate::OPEN {
                thread.partner = Link::NULL;
            }
        }
        if who.runs {
            // They are in the processor.
            thread.context = [0; CONTEXT_WORDS];
        }
    }

    fn leave(&self, kernel: &mut Kernel, rng: &mut Rng) -> Result<Option<Run<Left>>> {
        execute::leave(&self.code, kernel, rng)
    }
}
