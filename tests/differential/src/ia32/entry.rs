// SPDX-License-Identifier: MIT OR Apache-2.0
//! An entry into the kernel: how, with which registers, and when.

use super::code::Symbols;
use super::spaces::{directory_of, is_small, select};
use super::{Kernel, lazy};
use crate::clock::Clock;
use crate::processor::{ARGUMENTS, Event};
use abi::frame::{USER_FLAGS, vector};
use fastrand::Rng;
use ia32_context::selector::{SMALL_CODE, SMALL_DATA, TLS, USER_DATA};
use ia32_context::{FIXED_FLAGS, translated, word};
use kcore::{Space, Thread};
use pool::Ref;

/// RF: no thread has it while it runs.
const RESUME_FLAG: u32 = 1 << 16;

/// Selectors that some user can load (`gdt.rs` of the port), outside of small spaces and in them.
const LOADABLE: [&[u16]; 2] = [
    &[0, 0x18, 0x20, 0x30, 0x38, 0x40, 0x50, 0x58, 0x60, 0x68],
    &[0, 0x30, 0x38, 0x40, 0x60, 0x68],
];

/// How the kernel is entered.
#[derive(Clone, Copy, PartialEq)]
pub enum Entry {
    /// By `sysenter`.
    Sysenter,
    /// By `int 0x80`.
    Call,
    /// By a page fault.
    Fault { error: u32, address: u32 },
}

impl Entry {
    /// The address of the code that is entered.
    pub const fn address(self, symbols: &Symbols) -> u32 {
        let [sysenter, call, fault] = symbols.entries;
        match self {
            Self::Sysenter => sysenter,
            Self::Call => call,
            Self::Fault { .. } => fault,
        }
    }

    /// Vector and error code as the entry code saves them for the portable kernel.
    pub fn saved(self) -> (u32, u32) {
        match self {
            Self::Sysenter => (vector::SYSENTER, 0),
            Self::Call => (vector::SYSTEM_CALL, 0),
            Self::Fault { error, .. } => (vector::PAGE_FAULT, error),
        }
    }

    /// Where the code goes if it leaves the event to the portable kernel, and how many bytes more
    /// it has pushed.
    pub const fn slow(self, alien: bool, symbols: &Symbols) -> (u32, u32) {
        let [save_registers, entered, entered_saved] = symbols.slow;
        match self {
            Self::Sysenter => (save_registers, 0),
            Self::Fault { .. } if !alien => (entered_saved, 32),
            _ => (entered, 0),
        }
    }

    /// The words that the processor pushes, the last one first.
    pub fn pushed(self, user: &User) -> Vec<u32> {
        let [.., esp, eip, eflags] = user.regs;
        let common = [eip, user.cs, eflags, esp, user.ss];
        match self {
            Self::Sysenter => Vec::new(),
            Self::Call => common.to_vec(),
            Self::Fault { error, .. } => [error].into_iter().chain(common).collect(),
        }
    }
}

/// The user's registers at an entry.
pub struct User {
    /// `eax ebx ecx edx esi edi ebp esp eip eflags`
    pub regs: [u32; 10],
    /// Selectors.
    pub cs: u32,
    /// See `cs`.
    pub ss: u32,
    /// See `cs`.
    pub ds: u16,
    /// See `cs`.
    pub es: u16,
    /// See `cs`.
    pub fs: u16,
    /// See `cs`.
    pub gs: u16,
}

impl User {
    /// Random ones, with these arguments of a system call and these selectors.
    pub fn random(arguments: [u32; ARGUMENTS], (cs, ss): (u32, u32), rng: &mut Rng) -> Self {
        let [eax, ebx, esi, edi, ebp] = arguments;
        let [ecx, edx, esp, eip] = [(); 4].map(|()| rng.u32(..));
        let is_small = cs == u32::from(SMALL_CODE);
        let (loadable, data) = (LOADABLE[usize::from(is_small)], translated(USER_DATA, is_small));
        let odd = |rng: &mut Rng, usual: u16| {
            if rng.u32(..32) == 0 {
                loadable[rng.usize(..loadable.len())] | rng.u16(..4)
            } else {
                usual
            }
        };
        Self {
            regs: [
                eax,
                ebx,
                ecx,
                edx,
                esi,
                edi,
                ebp,
                esp,
                eip,
                rng.u32(..) & USER_FLAGS & !RESUME_FLAG | FIXED_FLAGS,
            ],
            cs,
            ss,
            ds: odd(rng, data),
            es: odd(rng, data),
            fs: odd(rng, 0),
            gs: odd(rng, 0),
        }
    }

    /// As the entry code saves them.
    pub fn save(&self, thread: &mut Thread, vector: u32) {
        let [eax, ebx, ecx, edx, esi, edi, ebp, esp, eip, eflags] = self.regs;
        for (index, value) in [
            (word::EAX, eax),
            (word::EBX, ebx),
            (word::ECX, ecx),
            (word::EDX, edx),
            (word::ESI, esi),
            (word::EDI, edi),
            (word::EBP, ebp),
            (word::ESP, esp),
            (word::EIP, eip),
            (word::EFLAGS, eflags),
            (word::CS, self.cs),
            (word::SS, self.ss),
            (word::DS, u32::from(self.ds)),
            (word::ES, u32::from(self.es)),
            (word::FS, u32::from(self.fs)),
            (word::GS, u32::from(self.gs)),
            (word::VECTOR, vector),
            (word::ERROR, 0),
        ] {
            thread.context[index] = value;
        }
    }
}

/// How a thread entered, and the processor's state.
pub struct Entered {
    /// The thread's registers.
    pub user: User,
    /// How it entered; none if that has no fast path.
    pub entry: Option<Entry>,
    /// Its space.
    pub space: Ref<Space>,
    /// The space whose directory is loaded.
    pub directory_of: Ref<Space>,
    /// The clock.
    pub clock: Clock,
}

impl Entered {
    /// An entry by this event, with random registers.
    pub fn random(kernel: &mut Kernel, me: Ref<Thread>, event: &Event, rng: &mut Rng) -> Self {
        let is_alien = kernel.pool[me].is_alien();
        let entry = match event {
            Event::Call(_) => match rng.u32(..24) {
                0..=7 if is_alien => Some(Entry::Sysenter),
                _ if is_alien => Some(Entry::Call),
                // By `int`.
                0 => None,
                1 => Some(Entry::Call),
                _ => Some(Entry::Sysenter),
            },
            Event::Fault => Some(Entry::Fault { error: rng.u32(..8), address: rng.u32(..) }),
            Event::Tick => None,
        };
        let arguments = if let Event::Call(arguments) = event {
            *arguments
        } else {
            [(); ARGUMENTS].map(|()| rng.u32(..))
        };
        let mut user = User::random(arguments, select(kernel, me), rng);
        // Some aliens use the same selector.
        if is_alien {
            match rng.u32(..20) {
                0..=2 => user.fs = TLS,
                3..=6 => user.gs = TLS,
                // A selector of a small space's own segments.
                7 => user.gs = SMALL_DATA,
                _ if is_small(kernel, me) => (user.fs, user.gs) = (0, TLS),
                _ => {}
            }
        }
        lazy::load(kernel, me, rng);
        // Mostly less time passes than a slice has.
        let passes = if rng.u32(..8) == 0 { 8_000_000 } else { 20_000 };
        let clock = Clock::random(kernel.port.now + rng.u64(..passes), rng);
        kernel.port.now = clock.now();
        let directory_of = directory_of(kernel, me, rng);
        if let Some((_, fs_gs)) = lazy::alien_selectors(kernel, me)
            && rng.u32(..8) != 0
        {
            (user.fs, user.gs) = (fs_gs as u16, (fs_gs >> 16) as u16);
        }
        if entry == Some(Entry::Sysenter) {
            // The user passes its stack and instruction pointer in ECX and EDX.
            (user.regs[7], user.regs[8]) = (user.regs[2], user.regs[3]);
            user.regs[9] = FIXED_FLAGS;
        }
        let space = kernel.pool[me].space.get().expect("who runs has a space");
        Self { user, entry, space, directory_of, clock }
    }
}
