// SPDX-License-Identifier: MIT OR Apache-2.0
//! An entry into the kernel: how, with which registers, and with which state of the processor.

use super::{Kernel, lazy};
use crate::clock::Clock;
use crate::processor::{ARGUMENTS, Event};
use abi::UserAddr;
use abi::frame::{GENERAL, USER_FLAGS, vector};
use abi::{Rights, USER_END};
use fastrand::Rng;
use kcore::port::Processor as _;
use kcore::{Space, Thread};
use pool::Ref;
use x86_64_context::loaded::FLAGS;
use x86_64_context::{FIXED_FLAGS, selector, word};

/// The words of a context that have the tag, `a0`, and the words of a message.
pub const CALL: [usize; ARGUMENTS] = [
    word::RAX,
    word::RDI,
    word::RSI,
    word::RDX,
    word::R8,
    word::R8 + 1,
    word::R8 + 2,
    word::R8 + 4,
    word::R8 + 5,
    word::R8 + 6,
];

/// The processor's number of each general register of a frame.
pub const NUMBERS: [usize; GENERAL] = [0, 3, 1, 2, 6, 7, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// The flag of single steps.
const STEP: u64 = 1 << 8;
/// Selectors that a user can load.
const LOADABLE: [u16; 4] = [1, 3, selector::USER_DATA, selector::USER_DATA - 1];

/// The user's registers at an entry.
#[derive(Clone, Debug)]
pub struct User {
    /// General registers in a frame's order.
    pub r: [u64; GENERAL],
    /// The others.
    pub rsp: u64,
    /// See `rsp`.
    pub rip: u64,
    /// See `rsp`.
    pub rflags: u64,
}

impl User {
    /// Saves the registers as the entry code does.
    fn save(&self, thread: &mut Thread, vector: u64) {
        let c = &mut thread.context;
        c[word::GENERAL..word::VECTOR].copy_from_slice(&self.r);
        for (index, value) in [
            (word::VECTOR, vector),
            (word::ERROR, 0),
            (word::RIP, self.rip),
            (word::CS, selector::USER_CODE.into()),
            (word::RFLAGS, self.rflags & USER_FLAGS | FIXED_FLAGS),
            (word::RSP, self.rsp),
            (word::SS, selector::USER_DATA.into()),
        ] {
            c[index] = value;
        }
    }
}

/// How the kernel is entered.
#[derive(Clone, Copy, PartialEq)]
pub enum Entry {
    /// By `syscall`.
    Call,
    /// By a page fault.
    Fault {
        /// The error code.
        error: u64,
        /// The address.
        address: u64,
    },
    /// By an event without a fast path.
    Other,
}

/// How a thread entered, and the processor's state.
pub struct Entered {
    /// The thread's registers.
    pub user: User,
    /// ES, CS, SS, DS, FS, GS.
    pub segments: [u16; 6],
    /// How it entered.
    pub entry: Entry,
    /// Its space.
    pub space: Ref<Space>,
    /// `Cpu::loaded`.
    pub loaded: u32,
    /// The clock.
    pub clock: Clock,
}

impl Entered {
    /// An entry by this event, with random registers.
    pub fn random(kernel: &mut Kernel, me: Ref<Thread>, event: &Event, rng: &mut Rng) -> Self {
        let loaded = lazy::load(kernel, me, rng);
        kernel.port.cpu().loaded = loaded;
        let is_simple = loaded & !FLAGS != me.address();
        let mut r = [(); GENERAL].map(|()| rng.u64(..));
        let entry = match event {
            Event::Call(_) => Entry::Call,
            Event::Fault => Entry::Fault { error: rng.u64(..32), address: rng.u64(..) },
            Event::Tick => Entry::Other,
        };
        let (rsp, mut rip) = (rng.u64(..), rng.u64(..=USER_END));
        if matches!(event, Event::Fault) && rng.u32(..8) == 0 {
            // Nothing can be executed at these addresses: a fault of the fetch.
            rip = rng.u64(USER_END..);
        }
        // A system call loses flags. Single steps of a thread are recorded before.
        let step = if is_simple || rng.u32(..4) > 0 { 0 } else { STEP };
        let mut rflags = rng.u64(..) & USER_FLAGS & !STEP | step | FIXED_FLAGS;
        if matches!(event, Event::Fault) && rng.u32(..8) == 0 {
            // QEMU lets users set more flags.
            rflags |= rng.u64(..) & 0xffff;
            rflags = rflags & !STEP | step;
        }
        if let Event::Call(arguments) = event {
            CALL.iter().zip(arguments).for_each(|(at, value)| r[at - word::GENERAL] = *value);
            (r[word::RCX - word::GENERAL], r[word::R11 - word::GENERAL]) = (rip, rflags);
        }
        let mut segments = [0, selector::USER_CODE, selector::USER_DATA, 0, 0, 0];
        if rng.u32(..12) == 0 {
            segments[[0, 3, 4, 5][rng.usize(..4)]] = LOADABLE[rng.usize(..LOADABLE.len())];
        }
        // Mostly less time passes than a slice has.
        let passes = if rng.u32(..8) == 0 { 8_000_000 } else { 20_000 };
        let clock = Clock::random(kernel.port.now + rng.u64(..passes), rng);
        kernel.port.now = clock.now();
        let space = kernel.pool[me].space.get().expect("who runs has a space");
        Self { user: User { r, rsp, rip, rflags }, segments, entry, space, loaded, clock }
    }

    /// The words that the processor pushes at a fault, the last one first.
    pub fn pushed(&self) -> Vec<u64> {
        let Entry::Fault { error, .. } = self.entry else { return Vec::new() };
        let User { rsp, rip, rflags, .. } = self.user;
        vec![error, rip, selector::USER_CODE.into(), rflags, rsp, selector::USER_DATA.into()]
    }

    /// Handles the event in the portable kernel.
    pub fn portable(&self, kernel: &mut Kernel, me: Ref<Thread>, event: &Event) {
        match event {
            Event::Tick => self.user.save(&mut kernel.pool[me], 0x20),
            Event::Fault => {
                self.user.save(&mut kernel.pool[me], vector::PAGE_FAULT);
                let Entry::Fault { error, address } = self.entry else { return };
                kernel.pool[me].context[word::ERROR] = error;
                kernel.page_fault(UserAddr(address), Rights::READ);
            }
            Event::Call(_) => {
                self.user.save(&mut kernel.pool[me], vector::SYSTEM_CALL);
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
