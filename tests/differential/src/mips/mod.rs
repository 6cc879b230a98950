// SPDX-License-Identifier: MIT OR Apache-2.0
//! MIPS's fast paths.

mod code;
mod entry;
mod machine;
mod refill;
mod rules;

use crate::elf::Elf;
use crate::processor::{Event, Executed, Found, Outcome, Places, Processor, Run};
use abi::Op;
use abi::frame::vector;
use anyhow::Result;
use code::{Code, TESTS};
use entry::{CALL, Entered, STACK};
use fastrand::Rng;
use kcore::{Space, Thread};
use mips_context::{hw, word};
use pool::Ref;
use rules::Left;

/// The portable kernel with MIPS's registers and translation tables.
type Kernel = crate::processor::Kernel<Mips>;

/// The code.
pub struct Mips {
    code: Code,
}

impl Processor for Mips {
    type Registers = mips_context::Mips;
    type Format = mmu::mips::Mips;
    type Spaces = ();
    type Entered = Entered;
    type Left = Left;

    const FAST: &'static [Op] = &[Op::Call, Op::ReplyWait, Op::Notify, Op::Receive];
    const PAGES: u32 = 8;
    const LOW_END: u32 = 1 << 28;
    const HIGH_RANGE: u32 = 0x3010_0000;
    const WAYS: &'static [(&'static str, u64)] = &[
        ("calls", 25),
        ("replies", 25),
        ("to another space", 25),
        ("notifies", 10),
        ("receives", 5),
    ];
    const EVENTS: u64 = 150_000;
    const KEPT: &'static [usize] = &[word::GPR + STACK, word::PC];

    fn read(elf: &Elf) -> Result<Self> {
        Ok(Self { code: Code::read(elf)? })
    }

    fn places(&self) -> &Places {
        &self.code.places
    }

    fn tests(&self) -> Vec<Option<String>> {
        TESTS.iter().map(|name| Some((*name).into())).collect()
    }

    fn missed(&self, executed: &Executed) -> Vec<String> {
        self.code.missed(executed)
    }

    fn check_more(&self, rng: &mut Rng) -> Result<()> {
        refill::check(&self.code, rng)
    }

    fn by_system_call(thread: &mut Thread) {
        thread.context[word::VECTOR] = vector::SYSTEM_CALL;
    }

    // Each space has its own tables, and most have an ASID.
    fn set_up(&self, kernel: &mut Kernel, found: &Found, rng: &mut Rng) {
        for (number, selector) in (1..).zip(found.natives.iter().chain(&found.aliens)) {
            let space: Ref<Space> = kernel.pool[Space::slot(found.root, *selector)].object();
            let hw = &mut kernel.pool[space].hw;
            hw[hw::TABLE] = 0x8000_0000 | number << 12;
            hw[hw::ASID] = if rng.u32(..8) == 0 { 0 } else { number };
        }
    }

    // Sometimes a space loses its ASID to another one.
    fn meanwhile(
        &self,
        kernel: &mut Kernel,
        found: &Found,
        (): &mut (),
        _: Ref<Thread>,
        rng: &mut Rng,
    ) {
        if rng.u32(..16) == 0 {
            let selector = found.natives[rng.usize(..found.natives.len())];
            let space: Ref<Space> = kernel.pool[Space::slot(found.root, selector)].object();
            kernel.pool[space].hw[hw::ASID] = 0;
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
        rules::check(&self.code, kernel, entered, outcome)
    }
}

/// Words of a message, a handle and a tag.
const _: () = assert!(CALL.len() == 10);
