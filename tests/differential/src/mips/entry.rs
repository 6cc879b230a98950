// SPDX-License-Identifier: MIT OR Apache-2.0
//! An entry into the kernel: why, with which registers, and with which state of the processor.

use super::Kernel;
use super::machine::System;
use crate::processor::{ARGUMENTS, Event, Found};
use abi::frame::{DELAY_SLOT, vector};
use abi::{Op, Rights, Tag, USER_END, UserAddr};
use fastrand::Rng;
use kcore::port::Processor as _;
use kcore::{Space, Thread};
use mips_context::cause::{self, code};
use mips_context::{hw, word};
use pool::Ref;

/// Registers of the tag, of `a0`, and of the words of a message.
pub const CALL: [usize; ARGUMENTS] = [2, 4, 5, 6, 7, 8, 9, 10, 11, 12];
/// The stack pointer.
pub const STACK: usize = abi::frame::STACK;
/// The kernel's registers.
pub const KERNELS: [usize; 2] = [26, 27];

/// How a thread entered, and the processor's state.
pub struct Entered {
    /// The thread's general registers.
    pub r: [u64; 32],
    /// The program counter.
    pub pc: u64,
    /// The processor's own registers.
    pub system: System,
    /// Its space.
    pub space: Ref<Space>,
    /// The address of the space's tables.
    pub tables: u32,
}

impl Entered {
    /// An entry by this event, with random registers.
    pub fn random(
        kernel: &mut Kernel,
        found: &Found,
        me: Ref<Thread>,
        event: &Event,
        rng: &mut Rng,
    ) -> Self {
        // The way out to the thread has recorded this (`trap::leave`).
        let is_alien = kernel.pool[me].is_alien();
        kernel.port.cpu().loaded = if is_alien { me.address() } else { 0 };
        let space = kernel.pool[me].space.get().expect("who runs has a space");
        let hw = &mut kernel.pool[space].hw;
        if hw[hw::ASID] == 0 {
            hw[hw::ASID] = rng.u32(1..=255);
        }
        let (asid, tables) = (hw[hw::ASID], hw[hw::TABLE]);
        let mut r = [(); 32].map(|()| rng.u64(..));
        (r[0], r[KERNELS[0]], r[KERNELS[1]]) = (0, 0, 0);
        let number = match event {
            Event::Call(_) => code::SYSTEM_CALL,
            Event::Tick => code::INTERRUPT,
            Event::Fault => [code::MODIFIED, code::LOAD, code::STORE][rng.usize(..3)],
        };
        if let Event::Call(arguments) = event {
            CALL.iter().zip(arguments).for_each(|(at, value)| r[*at] = *value);
        } else if rng.bool() {
            // As if it were about to call.
            let threads = &found.threads;
            r[CALL[0]] = Tag::new(Op::Call, 0, 0).0.into();
            r[CALL[1]] = threads[rng.usize(..threads.len())].into();
        }
        let delayed = if rng.u32(..8) == 0 { cause::DELAY_SLOT } else { 0 };
        let lines = rng.u32(..) & (cause::TIMER | cause::LINES);
        let pc = rng.u64(..USER_END) & !3;
        let system = System {
            cause: number << cause::CODE_SHIFT | delayed | lines,
            epc: pc,
            entry_hi: (rng.u64(..) & 0xff_ffff_e000) | u64::from(asid),
            ..System::default()
        };
        Self { r, pc, system, space, tables }
    }

    /// Whether it is in a delay slot.
    pub const fn is_delayed(&self) -> bool {
        self.system.cause & cause::DELAY_SLOT != 0
    }

    /// Saves the registers as the entry code does.
    fn save(&self, thread: &mut Thread, why: u64, pc: u64) {
        let c = &mut thread.context;
        c[word::GPR..word::PC].copy_from_slice(&self.r);
        (c[word::VECTOR], c[word::PC]) = (why, pc);
        c[word::ERROR] = if self.is_delayed() { DELAY_SLOT } else { 0 };
    }

    /// Handles the event in the portable kernel.
    pub fn portable(&self, kernel: &mut Kernel, me: Ref<Thread>, event: &Event) {
        match event {
            Event::Tick => self.save(&mut kernel.pool[me], code::INTERRUPT.into(), self.pc),
            Event::Fault => {
                self.save(&mut kernel.pool[me], vector::PAGE_FAULT, self.pc);
                kernel.page_fault(UserAddr(self.r[1] & (USER_END - 1)), Rights::READ);
            }
            Event::Call(_) if self.is_delayed() => {
                self.save(&mut kernel.pool[me], vector::DELAYED_CALL, self.pc);
                kernel.exception();
            }
            Event::Call(_) => {
                self.save(&mut kernel.pool[me], vector::SYSTEM_CALL, self.pc + 4);
                if kernel.pool[me].is_alien() {
                    kernel.exception();
                } else {
                    kernel.system_call();
                    while kernel.carry_on() {}
                }
            }
        }
    }
}
