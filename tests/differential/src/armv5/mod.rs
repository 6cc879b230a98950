// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5's fast paths.
//!
//! In addition to what the crate's head says, the exit code must restore all of the user's
//! registers. To turn a test means to pass it whatever it finds, because the flags of a comparison
//! decide more than one thing.

mod code;
mod entry;
mod execute;
mod machine;
mod rules;

use crate::elf::Elf;
use crate::processor::{
    ARGUMENTS, Event, Executed, Found, Outcome, Places, Processor, Run, Who, all,
};
use abi::arch::armv5::layout::SLOT_BYTES;
use abi::{Op, UserAddr};
use anyhow::{Result, ensure};
use armv5_context::{hw, restart_helper, vector, word};
use code::{Code, TESTS};
use core::mem::offset_of;
use entry::{Entered, NUMBER, save};
use fastrand::Rng;
use kcore::fault::EVENT_WORDS;
use kcore::port::CONTEXT_WORDS;
use kcore::thread::gate;
use kcore::{Cpu, Thread};
use mmu::fass::client;
use pool::{Link, Ref};
use rules::{Left, THREAD_POINTER};

/// The portable kernel with ARMv5's registers and translation tables.
type Kernel = crate::processor::Kernel<Armv5>;

/// Each way must have been taken in at least this many of ten thousand events.
const LEAST: u64 = 20;

/// The code.
pub struct Armv5 {
    code: Code,
}

impl Processor for Armv5 {
    type Registers = armv5_context::Armv5;
    type Format = mmu::armv5::Armv5;
    type Spaces = ();
    type Entered = Entered;
    type Left = Left;

    const FAST: &'static [Op] =
        &[Op::Call, Op::ReplyWait, Op::Run, Op::MapRun, Op::MapReplyWait, Op::Map, Op::Cache];
    const PAGES: u32 = 40;
    const LOW_END: u32 = SLOT_BYTES;
    const WAYS: &'static [(&'static str, u64)] = &[
        ("calls", LEAST),
        ("replies", LEAST),
        ("alien calls", LEAST),
        ("runs", LEAST),
        ("page faults", LEAST),
        ("answers by a page", LEAST),
        ("page faults of aliens", LEAST),
        ("runs with a page", LEAST),
        ("maps", LEAST),
        ("operations on caches", LEAST),
        ("pages in the place of others", LEAST),
        ("fetches", LEAST),
        ("with another process identifier", LEAST),
        ("calls at the priority of a ready thread", LEAST),
        ("others at one", LEAST),
        ("given up as a frame's domain is closed", LEAST),
    ];
    const EVENTS: u64 = 200_000;

    fn read(elf: &Elf) -> Result<Self> {
        Ok(Self { code: Code::read(elf)? })
    }

    fn places(&self) -> &Places {
        &self.code.places
    }

    fn tests(&self) -> Vec<Option<String>> {
        TESTS.iter().map(|test| test.map(|(name, _)| name.into())).collect()
    }

    fn missed(&self, executed: &Executed) -> Vec<String> {
        self.code.missed(executed)
    }

    fn state(_: bool, rng: &mut Rng) -> Vec<[u32; 3]> {
        vec![[abi::state::THREAD_POINTER, rng.u32(1..) * (rng.u32(..8) / 7), 0]]
    }

    fn by_system_call(thread: &mut Thread) {
        thread.context[word::VECTOR] = vector::SWI;
    }

    fn set_up(&self, kernel: &mut Kernel, _: &Found, rng: &mut Rng) {
        for thread in all::<Self>(kernel) {
            let space = kernel.pool[thread].space.get().expect("it has a space");
            let words = &mut kernel.pool[space].hw;
            words[hw::DOMAIN] = rng.u32(3..16);
            // Sometimes it has lost its domain, and uses only a Segment's.
            words[hw::DACR] = rng.u32(..)
                | client(if rng.u32(..8) > 1 { words[hw::DOMAIN] } else { rng.u32(3..16) });
            words[hw::PID] = if rng.u32(..3) == 0 { hw::INDIFFERENT } else { rng.u32(..4) << 25 };
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
        let user = &entered.user;
        match event {
            Event::Tick => save(&mut kernel.pool[me], user, vector::INTERRUPT),
            Event::Call(_) => {
                save(&mut kernel.pool[me], user, vector::SWI);
                if kernel.pool[me].is_alien() {
                    // For Thumb the port gives 8 bits of another instruction, which this memory
                    // does not have.
                    kernel.pool[me].context[word::ERROR] = entered.instruction.1 & NUMBER;
                    kernel.exception();
                } else {
                    kernel.system_call();
                }
            }
            Event::Fault => {
                let event =
                    entered.fault.as_ref().and_then(|fault| fault.portable(kernel, me, user));
                restart_helper(&mut kernel.pool[me].context);
                if let Some((address, access, error)) = event {
                    let context = &mut kernel.pool[me].context;
                    (context[word::VECTOR], context[word::ERROR]) =
                        (abi::frame::vector::PAGE_FAULT, error);
                    kernel.page_fault(UserAddr(address), access);
                }
            }
        }
    }

    fn check(
        &self,
        kernel: &mut Kernel,
        me: Ref<Thread>,
        entered: &Entered,
        outcome: &Outcome<Left>,
    ) -> Result<()> {
        let Outcome { current, written, own } = outcome;
        // Registers that the event's message does not use keep the alien's values.
        let unknown =
            if kernel.pool[me].is_alien() { 2 + EVENT_WORDS as usize..ARGUMENTS } else { 0..0 };
        let others = [self.code.places.cpu + offset_of!(Cpu, current) as u32, THREAD_POINTER];
        own.runs((kernel, &self.code), *current, &entered.noted, (written, &others), unknown)?;
        own.has_maintained(kernel)?;
        let [had, has] = [me, *current].map(|thread| kernel.pool[thread].lazy_state[0]);
        let pointer = written.get(THREAD_POINTER).unwrap_or(had);
        ensure!(pointer == has, "the thread pointer is {pointer:#x} in place of {has:#x}");
        Ok(())
    }

    fn normalise(thread: &mut Thread, who: Who) {
        if who.entered {
            // An alien's registers are in its handler's memory.
            if thread.gate & gate::ALIEN != 0 {
                thread.context = [0; CONTEXT_WORDS];
            }
            // Its next registers of a message come with the message; why it entered is told
            // only of threads that stopped.
            for index in (word::R0..word::R0 + ARGUMENTS).chain([word::VECTOR, word::ERROR]) {
                thread.context[index] = 0;
            }
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
