// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64's entry area: a server and its alien take turns without the kernel, which learns about it
//! when it is entered next. Random sequences of events are compared with the portable kernel, which
//! sees each of them.
#![cfg(feature = "wide")]

use crate::common;

use abi::frame::{USER_FLAGS, vector};
use abi::{Delivery, Frame, MessageKind, Op, Tag, USER_END, Word};
use arch_host::{POOL_BYTES, boot_with, results, set_arguments};
use bytemuck::Zeroable;
use common::{named_in, seed, slot};
use core::mem::offset_of;
use kcore::fault::EVENT_WORDS;
use kcore::port::Context;
use kcore::thread::{SEQUENCE, flag, gate};
use kcore::{Space, Thread};
use mmu::x86_64::X86_64 as Format;
use pool::{Link, Ref};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use x86_64_context::crossing::{Pair, Who, Words, commit, is_prepared, may_cross, prepare};
use x86_64_context::{FIXED_FLAGS, X86_64, word};

type Kernel = kcore::Kernel<arch_host::Host<X86_64, Format>>;

const SPACE: Word = slot::FREE;
const ALIEN: Word = slot::FREE + 1;
const OTHER: Word = slot::FREE + 2;
const ENTRY: Word = 0x40_0000;
const STACK: Word = 0x50_0000;
/// Bits of the server's alarm, of which it accepts one.
const ACCEPTED: u32 = 1;
const IGNORED: u32 = 2;
/// The FPU traps.
const NO_FPU: Word = 7;
const FRAME_BYTES: u32 = size_of::<Frame>() as u32;

/// The registers of a thread that enters: all are random, except its program counter and stack
/// pointer.
fn registers(numbers: [Word; 3]) -> Frame {
    let [a, b, c] = numbers;
    Frame {
        r: core::array::from_fn(|index| a.rotate_left(index as u32 * 4) ^ b),
        rsp: STACK + c % 0x1000,
        rip: ENTRY + c % 0x1000,
        rflags: b & USER_FLAGS & !0x1_0100 | FIXED_FLAGS,
        ..Frame::zeroed()
    }
}

/// Saves them as an entry does.
fn save(thread: &mut Thread, frame: &Frame, why: Word) {
    let c = &mut thread.context;
    c[word::GENERAL..word::VECTOR].copy_from_slice(&frame.r);
    (c[word::RIP], c[word::RSP], c[word::RFLAGS]) = (frame.rip, frame.rsp, frame.rflags);
    (c[word::VECTOR], c[word::ERROR]) = (why, 0);
}

/// A system call with these words by the running thread; it ends where the registers say.
fn call(kernel: &mut Kernel, op: Op, args: [Word; 4], at: &Frame) {
    let me = kernel.current().expect("somebody runs");
    // A native thread's flags are lost.
    let at = Frame { rflags: FIXED_FLAGS, ..*at };
    save(&mut kernel.pool[me], &at, vector::SYSTEM_CALL);
    let tag = Tag::new(op, 0, 0).0 as Word;
    set_arguments::<X86_64>(&mut kernel.pool[me], [tag, args[0], args[1], args[2], args[3]]);
    kernel.system_call();
    while kernel.carry_on() {}
}

/// A kernel whose root server's thread has an alien, which has not run, and another thread of the
/// same priority that is ready.
fn machine() -> (Kernel, Pair, Word) {
    let mut kernel: Kernel = boot_with(POOL_BYTES);
    let server = kernel.current().expect("the root server runs");
    let start = Frame { rip: ENTRY, rsp: STACK, ..Frame::zeroed() };
    let succeeds = |kernel: &mut Kernel, op, args| {
        call(kernel, op, args, &start);
        let answer = results::<X86_64>(&kernel.pool[server]);
        assert_eq!(answer[0], 0, "{op:?} {args:?}");
        answer
    };
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, SPACE, 0]);
    let made = [slot::QUOTA, SPACE, ALIEN, slot::SPACE];
    let handle = succeeds(&mut kernel, Op::CreateThread, made)[2];
    succeeds(&mut kernel, Op::SetHandler, [ALIEN, slot::THREAD, 0, 0]);
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, OTHER, 0]);
    succeeds(&mut kernel, Op::Start, [OTHER, ENTRY, STACK, 0]);
    let root: Ref<Space> = kernel.pool[server].space.get().expect("it has a space");
    let alien = named_in(&kernel.pool, root, ALIEN);
    let at = kernel.pool[server].utcb + offset_of!(abi::utcb::Utcb, accept) as u32;
    kernel.pool.bytes_mut(at, 4).copy_from_slice(&ACCEPTED.to_ne_bytes());
    (kernel, Pair { server, alien }, handle)
}

fn frame_of(kernel: &Kernel, alien: Ref<Thread>) -> Frame {
    bytemuck::pod_read_unaligned(kernel.pool.bytes_at(kernel.pool[alien].utcb, FRAME_BYTES))
}

fn set_frame(kernel: &mut Kernel, alien: Ref<Thread>, frame: &Frame) {
    let at = kernel.pool[alien].utcb;
    kernel.pool.bytes_mut(at, FRAME_BYTES).copy_from_slice(bytemuck::bytes_of(frame));
}

/// A kernel that is not entered if the area's code can do without it.
struct Area {
    kernel: Kernel,
    pair: Pair,
    /// Which thread of the pair ran when the kernel was left, if one did, and which runs now.
    believed: Option<Who>,
    runs: Option<Who>,
    is_open: bool,
    words: Words,
    crossings: u32,
    /// The thread whose registers the FPU has, and whether the FPU is enabled for the running
    /// thread.
    fpu_owner: Link<Thread>,
    is_fpu_open: bool,
}

impl Area {
    fn new((kernel, pair, _): (Kernel, Pair, Word)) -> Self {
        let mut area = Self {
            kernel,
            pair,
            believed: None,
            runs: None,
            is_open: false,
            words: Words::default(),
            crossings: 0,
            fpu_owner: Link::NULL,
            is_fpu_open: false,
        };
        area.leave();
        area
    }

    /// On the way out of the kernel: what the area has.
    fn leave(&mut self) {
        let current = self.kernel.current();
        self.believed =
            [Who::Alien, Who::Server].into_iter().find(|who| current == Some(self.pair.of(*who)));
        self.runs = self.believed;
        let Thread { context, .. } = self.kernel.pool[self.pair.server];
        self.words = Words {
            handle: self.kernel.pool[self.pair.alien].handle,
            rip: context[word::RIP],
            rsp: context[word::RSP],
            scratch: 0,
        };
        let top = kcore::port::Processor::cpu(&mut self.kernel.port).top;
        self.is_open = self
            .runs
            .is_some_and(|who| may_cross(&self.kernel.pool, self.pair, who, top, self.fpu_owner));
        let mut frame = frame_of(&self.kernel, self.pair.alien);
        let alien = &self.kernel.pool[self.pair.alien];
        if self.runs == Some(Who::Server) {
            self.is_open &= is_prepared(&frame, alien);
        } else if self.is_open {
            prepare(&mut frame, alien);
            set_frame(&mut self.kernel, self.pair.alien, &frame);
        }
        self.is_fpu_open = current.is_some_and(|current| self.fpu_owner.is(current))
            || self.is_open && self.fpu_owner.is(self.pair.alien);
    }

    /// At an entry the kernel does what was not done when the pair crossed.
    fn enter(&mut self) {
        if let (Some(believed), Some(found)) = (self.believed, self.runs) {
            commit(&mut self.kernel.pool, self.pair, believed, found, &self.words);
            kcore::port::Processor::cpu(&mut self.kernel.port).current = self.pair.of(found).link();
        }
    }

    /// The running thread uses the FPU. If it is disabled, the kernel enables it, and this returns
    /// true: the kernel has to be left.
    fn use_fpu(&mut self) -> bool {
        let Some(who) = self.runs else { return false };
        let me = self.pair.of(who);
        if self.is_fpu_open {
            let may = |thread: Ref<Thread>| self.fpu_owner.is(thread);
            assert!(may(me) || who == Who::Server && may(self.pair.alien), "{who:?}: another's");
            return false;
        }
        self.enter();
        self.fpu_owner = me.link();
        true
    }

    /// The alien's system call through the area's code, if that is allowed. Returns what the server
    /// gets.
    fn event(&mut self, at: &Frame) -> Option<[Word; 5]> {
        if !self.is_open || self.runs != Some(Who::Alien) {
            return None;
        }
        let alien = self.pair.alien;
        self.words.handle = self.words.handle.wrapping_add(SEQUENCE);
        let Frame { r, rsp, rip, rflags, .. } = *at;
        let frame = Frame { r, rsp, rip, rflags, ..frame_of(&self.kernel, alien) };
        set_frame(&mut self.kernel, alien, &frame);
        self.runs = Some(Who::Server);
        self.crossings += 1;
        let badge = self.kernel.pool[alien].handler.badge();
        let delivery = Delivery::new(MessageKind::Alien, badge, EVENT_WORDS, 0).0;
        let handle = self.words.handle;
        Some([delivery.into(), handle.into(), vector::SYSTEM_CALL, 0, 0])
    }

    /// The server's `run` likewise: the alien's registers.
    fn resume(&mut self, handle: Word, at: &Frame) -> Option<Frame> {
        let frame = frame_of(&self.kernel, self.pair.alien);
        let fits = self.is_open
            && self.runs == Some(Who::Server)
            && Word::from(self.words.handle) == handle
            && frame.changed == 0
            && frame.rip < USER_END;
        fits.then(|| {
            (self.words.rip, self.words.rsp) = (at.rip, at.rsp);
            self.runs = Some(Who::Alien);
            self.crossings += 1;
            frame
        })
    }

    /// The handle under which the alien waits, if it does.
    fn handle(&self) -> Word {
        self.words.handle.into()
    }
}

/// The words of a thread that tell what it waits for.
fn told(kernel: &Kernel, thread: Ref<Thread>) -> impl PartialEq + core::fmt::Debug + use<> {
    let Thread { gate, partner, handle, priority, signals, flags, .. } = kernel.pool[thread];
    let Thread { sending, badge, .. } = kernel.pool[thread];
    // What an alien or a thread that is ready has sent last does not matter.
    let sends = (gate & gate::STATE == gate::REPLY).then_some((sending, badge));
    let partner = (gate & gate::STATE != gate::READY).then_some(partner.value());
    (gate & !gate::SLOW, partner, handle, priority, signals, flags & !flag::BRIEF, sends)
}

/// The registers of a thread, except those that a native thread's system call loses.
fn kept(mut context: Context, is_native: bool) -> Context {
    if is_native && context[word::VECTOR] == vector::SYSTEM_CALL {
        let [rbx, rbp, r15] = [word::RAX + 1, word::RDI + 1, word::R8 + 7];
        [rbx, word::RCX, rbp, word::R11, r15].iter().for_each(|lost| context[*lost] = 0);
    }
    context
}

/// Checks that both kernels are in the same state, as far as a user can see.
fn check(portable: &mut Kernel, area: &mut Area) {
    let pair = area.pair;
    let current = portable.current();
    assert_eq!(current, area.kernel.current(), "who runs");
    for thread in [pair.server, pair.alien] {
        assert_eq!(told(portable, thread), told(&area.kernel, thread));
        if current == Some(thread) {
            let is_server = thread == pair.server;
            let kept = |kernel: &Kernel| kept(kernel.pool[thread].context, is_server);
            assert_eq!(kept(portable), kept(&area.kernel));
        }
    }
    if portable.pool[pair.alien].state() == gate::REPLY {
        assert_eq!(frame_of(portable, pair.alien), frame_of(&area.kernel, pair.alien));
    }
}

/// An event in both.
fn step(portable: &mut Kernel, area: &mut Area, numbers: [Word; 4]) {
    let [what, a, b, c] = numbers;
    let pair = area.pair;
    let at = registers([a, b, c]);
    let current = portable.current();
    let now = portable.port.now + c % 4_000_000;
    (portable.port.now, area.kernel.port.now) = (now, now);
    if what / 16 % 4 == 0 && area.use_fpu() {
        for kernel in [&mut *portable, &mut area.kernel] {
            if let Some(me) = kernel.current() {
                save(&mut kernel.pool[me], &at, NO_FPU);
            }
        }
        check(portable, area);
        area.leave();
        return;
    }
    if what % 16 == 0 || current != Some(pair.alien) && current != Some(pair.server) {
        // The timer interrupts the thread that runs.
        area.enter();
        let why = 0x30;
        for kernel in [&mut *portable, &mut area.kernel] {
            if let Some(me) = kernel.current() {
                save(&mut kernel.pool[me], &at, why);
            }
            kernel.port.now = now.max(kernel.port.timer.unwrap_or(0));
            kernel.tick();
            while kernel.carry_on() {}
        }
    } else if current == Some(pair.alien) {
        let call = Frame {
            r: core::array::from_fn(|index| match index + word::GENERAL {
                word::RCX => at.rip,
                word::R11 => at.rflags,
                _ => at.r[index],
            }),
            ..at
        };
        save(&mut portable.pool[pair.alien], &call, vector::SYSTEM_CALL);
        portable.exception();
        if let Some(told) = area.event(&call) {
            assert_eq!(portable.current(), Some(pair.server), "the server has it");
            assert_eq!(results::<X86_64>(&portable.pool[pair.server]), told);
            assert_eq!(frame_of(portable, pair.alien), frame_of(&area.kernel, pair.alien));
            return;
        }
        area.enter();
        save(&mut area.kernel.pool[pair.alien], &call, vector::SYSTEM_CALL);
        area.kernel.exception();
    } else {
        let handle = area.handle();
        match what % 16 {
            1 => {
                let bits = if a % 16 == 0 { ACCEPTED | IGNORED } else { ACCEPTED };
                let due = now + b % 3_000_000;
                serve(
                    portable,
                    area,
                    Op::Alarm,
                    [due & 0xffff_ffff, due >> 32, bits.into(), 0],
                    &at,
                );
            }
            2 => {
                let priority = Word::from(portable.pool[pair.server].priority);
                let lower = priority - Word::from(a % 16 == 0);
                serve(portable, area, Op::SetPriority, [ALIEN, lower, lower, 0], &at);
            }
            3 => serve(portable, area, Op::Run, [handle ^ (a % 8 * 0x100_0000), 0, 0, 0], &at),
            _ => {
                // The server changes its alien's registers.
                let changed = Word::from(a % 32 == 0);
                for kernel in [&mut *portable, &mut area.kernel] {
                    let frame = frame_of(kernel, pair.alien);
                    let rip = if b % 64 == 0 { frame.rip } else { at.rip };
                    let frame = Frame { r: at.r, rip, changed, ..frame };
                    set_frame(kernel, pair.alien, &frame);
                }
                let me = Frame { rip: at.rip + 0x10_0000, ..at };
                if let Some(frame) = area.resume(handle, &me) {
                    call(portable, Op::Run, [handle, 0, 0, 0], &me);
                    assert_eq!(portable.current(), Some(pair.alien), "it goes on");
                    let c = portable.pool[pair.alien].context;
                    assert_eq!(c[word::GENERAL..word::VECTOR], frame.r);
                    assert_eq!([c[word::RIP], c[word::RSP]], [frame.rip, frame.rsp]);
                    return;
                }
                serve(portable, area, Op::Run, [handle, 0, 0, 0], &me);
            }
        }
        check(portable, area);
        area.leave();
        return;
    }
    check(portable, area);
    area.leave();
}

/// A system call of the server's in both, which the area's code leaves to the kernel.
fn serve(portable: &mut Kernel, area: &mut Area, op: Op, args: [Word; 4], at: &Frame) {
    area.enter();
    call(portable, op, args, at);
    call(&mut area.kernel, op, args, at);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_crosses_without_the_kernel_is_as_if_it_had_seen_it(steps in prop::collection::vec(any::<[Word; 4]>(), 1..200)) {
        let (mut portable, pair, handle) = machine();
        let mut area = Area::new(machine());
        prop_assert_eq!(area.pair, pair);
        prop_assert_eq!(area.handle(), handle);
        let count = steps.len() as u32;
        for numbers in steps {
            step(&mut portable, &mut area, numbers);
        }
        prop_assert!(count < 100 || area.crossings > 0, "it is no test without crossings");
    }
}
