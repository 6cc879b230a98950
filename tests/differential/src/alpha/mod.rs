// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alpha's fast path (`bench/alpha`). What the path leaves to a slow path is not tested here.

mod code;
mod entry;
mod machine;
mod rules;

use crate::elf::Elf;
use crate::processor::{Event, Executed, Found, Outcome, Places, Processor, Run, all};
use abi::Op;
use abi::frame::vector;
use alpha_context::{hw, tag, word};
use anyhow::Result;
use code::Code;
use entry::Entered;
use fastrand::Rng;
use kcore::{Space, Thread};
use pool::Ref;
use rules::Left;

/// The portable kernel with Alpha's registers.
type Kernel = crate::processor::Kernel<Alpha>;

/// The code.
pub struct Alpha {
    code: Code,
}

/// Bit of `Thread::lazy`: it uses the FPU.
const FPU: u32 = 1;

impl Processor for Alpha {
    type Registers = alpha_context::Alpha;
    type Format = mmu::alpha::Alpha;
    type Spaces = ();
    type Entered = Entered;
    type Left = Left;

    const FAST: &'static [Op] = &[Op::Call, Op::ReplyWait];
    const PAGES: u32 = 8;
    const LOW_END: u32 = 1 << 28;
    const HIGH_RANGE: u32 = 0x3010_0000;
    const WAYS: &'static [(&'static str, u64)] =
        &[("calls", 25), ("replies", 25), ("to another space", 25)];
    const EVENTS: u64 = 120_000;
    const KEPT: &'static [usize] = &[word::SP, word::PC];

    fn read(elf: &Elf) -> Result<Self> {
        Ok(Self { code: Code::read(elf)? })
    }

    fn places(&self) -> &Places {
        // `Cpu` is in registers of PALmode, and the fast path does not use the scheduler.
        &Places { cpu: 0, scheduler: 0 }
    }

    fn tests(&self) -> Vec<Option<String>> {
        self.code.tests.iter().cloned().map(Some).collect()
    }

    fn missed(&self, executed: &Executed) -> Vec<String> {
        self.code.missed(executed)
    }

    fn by_system_call(thread: &mut Thread) {
        thread.context[word::VECTOR] = vector::SYSTEM_CALL;
    }

    fn set_up(&self, kernel: &mut Kernel, found: &Found, rng: &mut Rng) {
        for (number, selector) in (1..).zip(found.natives.iter().chain(&found.aliens)) {
            let space: Ref<Space> = kernel.pool[Space::slot(found.root, *selector)].object();
            // Some spaces have lost their tag.
            let tag = if rng.u32(..8) == 0 { 0 } else { tag(number) };
            let words = &mut kernel.pool[space].hw;
            words[hw::TABLE] = (number as u32) << 13;
            (words[hw::TAG], words[hw::TAG + 1]) = (tag as u32, (tag >> 32) as u32);
        }
        for thread in all::<Self>(kernel) {
            kernel.pool[thread].lazy = if rng.u32(..8) == 0 { FPU } else { 0 };
        }
    }

    fn enter(
        &self,
        kernel: &mut Kernel,
        _: &Found,
        me: Ref<Thread>,
        event: &Event,
        rng: &mut Rng,
    ) -> Entered {
        Entered::random(kernel, me, event, rng)
    }

    fn run(
        &self,
        kernel: &mut Kernel,
        me: Ref<Thread>,
        entered: &Entered,
        turned: Option<usize>,
    ) -> Result<Run<Left>> {
        rules::run(&self.code, kernel, me, entered, turned)
    }

    fn portable(&self, kernel: &mut Kernel, me: Ref<Thread>, event: &Event, entered: &Entered) {
        entered.portable(kernel, me, event);
    }

    fn check(
        &self,
        kernel: &mut Kernel,
        _: Ref<Thread>,
        entered: &Entered,
        outcome: &Outcome<Left>,
    ) -> Result<()> {
        rules::check(kernel, entered, outcome)
    }
}
