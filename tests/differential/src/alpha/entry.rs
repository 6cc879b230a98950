// SPDX-License-Identifier: MIT OR Apache-2.0
//! An entry into the kernel: how, and with which registers.

use super::Kernel;
use crate::processor::Event;
use abi::frame::vector;
use abi::{Rights, USER_END, UserAddr};
use alpha_context::{CALL, word};
use fastrand::Rng;
use kcore::port::Processor as _;
use kcore::{Space, Thread};
use pool::Ref;

/// Numbers that a port might give exceptions: that of PALcode's entry 0x280, and the clock's.
const MEMORY_FAULT: u64 = 0x28;
/// See above.
const CLOCK: u64 = 0x18;

/// How a thread entered.
pub struct Entered {
    /// The user's registers; the last one is zero.
    pub registers: [u64; 32],
    /// The program counter.
    pub pc: u64,
    /// By CALL_PAL; the other entries have no fast path.
    pub by_call: bool,
    /// Its space.
    pub space: Ref<Space>,
}

impl Entered {
    /// An entry by this event, with random registers.
    pub fn random(kernel: &mut Kernel, me: Ref<Thread>, event: &Event, rng: &mut Rng) -> Self {
        // The way out to the thread has recorded this; the FPU may be the thread's.
        let t = &kernel.pool[me];
        let is_simple = t.lazy == 0 && !t.is_alien() && rng.u32(..16) > 0;
        kernel.port.cpu().loaded = if is_simple { 0 } else { me.address() };
        let mut registers = [(); 32].map(|()| rng.u64(..));
        registers[31] = 0;
        if let Event::Call(arguments) = event {
            CALL.iter().zip(arguments).for_each(|(at, value)| registers[*at] = *value);
        }
        let pc = rng.u64(..USER_END) & !3;
        kernel.port.now += rng.u64(..20_000);
        let space = kernel.pool[me].space.get().expect("who runs has a space");
        Self { registers, pc, by_call: matches!(event, Event::Call(_)), space }
    }

    /// Saves the registers as an entry would do.
    fn save(&self, thread: &mut Thread, vector: u64) {
        let c = &mut thread.context;
        c[..30].copy_from_slice(&self.registers[..30]);
        let others = [
            (word::VECTOR, vector),
            (word::ERROR, 0),
            (word::SP, self.registers[30]),
            (word::PC, self.pc),
        ];
        others.into_iter().for_each(|(index, value)| c[index] = value);
    }

    /// Handles the event in the portable kernel.
    pub fn portable(&self, kernel: &mut Kernel, me: Ref<Thread>, event: &Event) {
        match event {
            Event::Tick => self.save(&mut kernel.pool[me], CLOCK),
            Event::Fault => {
                self.save(&mut kernel.pool[me], MEMORY_FAULT);
                kernel.page_fault(UserAddr(self.registers[0] & (USER_END - 1)), Rights::READ);
            }
            Event::Call(_) => {
                self.save(&mut kernel.pool[me], vector::SYSTEM_CALL);
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
