// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64's fast paths.

mod area;
mod code;
mod entry;
mod lazy;
mod machine;
mod rules;
mod spaces;

use crate::elf::Elf;
use crate::processor::{
    Event, Executed, Found, Outcome, Places, Processor, Run, Who, all, forget_peer, keep,
};
use abi::frame::{CHANGED_STATE, USER_FLAGS, vector};
use abi::state::THREAD_POINTER;
use abi::{Frame, Op, USER_END, UserAddr, Word};
use anyhow::Result;
use code::Code;
use entry::{CALL, Entered};
use fastrand::Rng;
use kcore::Thread;
use kcore::thread::gate;
use pool::Ref;
use rules::Left;
use x86_64_context::lazy::PORTS;
use x86_64_context::{FIXED_FLAGS, word};

/// The portable kernel with x86-64's registers and translation tables.
type Kernel = crate::processor::Kernel<X86_64>;

/// Flags that only `iretq` restores: of single steps, and of resuming after a breakpoint.
const BY_IRET: u64 = 1 << 8 | 1 << 16;

/// The code.
pub struct X86_64 {
    code: Code,
}

impl Processor for X86_64 {
    type Registers = x86_64_context::X86_64;
    type Format = mmu::x86_64::X86_64;
    type Spaces = ();
    type Entered = Entered;
    type Left = Left;

    const FAST: &'static [Op] =
        &[Op::Call, Op::ReplyWait, Op::Run, Op::MapRun, Op::MapReplyWait, Op::Notify, Op::Receive];
    const PAGES: u32 = 8;
    const LOW_END: u32 = 1 << 28;
    const HIGH_RANGE: u32 = 0x3010_0000;
    const WAYS: &'static [(&'static str, u64)] = &[
        ("calls", 25),
        ("replies", 25),
        ("to another space", 25),
        ("notifications", 25),
        ("notifications of more urgent threads", 25),
        ("notifications of waiting threads", 5),
        ("receives of notifications", 5),
        ("receives of nothing", 5),
        ("receives that wait", 5),
        ("alien calls", 25),
        ("alien calls with the FPU", 5),
        ("runs", 25),
        ("runs by iretq", 15),
        ("runs with the FPU", 5),
        ("runs of another alien", 5),
        ("alien faults", 25),
        ("alien faults with the FPU", 5),
        ("runs that map", 5),
        ("runs that map, with the FPU", 2),
        ("faults", 25),
        ("answers by a page", 15),
    ];
    const EVENTS: u64 = 450_000;
    const HARDLY_NEEDED: &'static [(&'static str, &'static str)] = &[
        (
            "try_notify: testl $1,0x34(%rbx), Jne",
            "N4: an alien that is neither at its handler nor runs has to be notified, and there is one only if something more urgent runs.",
        ),
        (
            "try_notify: cmp %edi,0x38(%rbx), Jne",
            "W5: who is in a ready queue by a fast path had nothing to load; only another thread's `set_state` changes that meanwhile.",
        ),
        ("native_fault: Cmp of a static, Jne", "F1: a fault in the kernel is no event of a user."),
        (
            "map_reply: cmpl $4,0x104(%rbp,%rcx), Jne",
            "M2: a space has mapped (M6) Memories and Segments only, and a Segment has its upper table where a Memory has its class, so M4 refuses it.",
        ),
        (
            "map_reply: test $0x3F,%cl, Jne",
            "M5: other rights stay in the address, and where it points nothing has been mapped (M6).",
        ),
        (
            "map_reply: test %r15d,0x10(%r11), Jne",
            "The search: the other way leads to nothing, and the portable kernel does it all.",
        ),
    ];

    fn read(elf: &Elf) -> Result<Self> {
        area::check(elf)?;
        Ok(Self { code: Code::read(elf)? })
    }

    fn places(&self) -> &Places {
        &self.code.places
    }

    fn tests(&self) -> Vec<Option<String>> {
        self.code.decoded.tests.iter().cloned().map(Some).collect()
    }

    fn missed(&self, executed: &Executed) -> Vec<String> {
        self.code.decoded.missed(executed)
    }

    fn state(is_alien: bool, rng: &mut Rng) -> Vec<[u32; 3]> {
        // A thread pointer; some natives have one, too.
        let has = rng.u32(..if is_alien { 2 } else { 12 }) == 0;
        if has { vec![[THREAD_POINTER, rng.u32(..), 0]] } else { Vec::new() }
    }

    fn by_system_call(thread: &mut Thread) {
        thread.context[word::VECTOR] = vector::SYSTEM_CALL;
    }

    fn set_up(&self, kernel: &mut Kernel, found: &Found, rng: &mut Rng) {
        spaces::set_up(kernel, found, rng);
    }

    fn meanwhile(
        &self,
        kernel: &mut Kernel,
        _: &Found,
        (): &mut (),
        _: Ref<Thread>,
        rng: &mut Rng,
    ) {
        // An alien has used a port, or its space no longer has any.
        let threads = all::<Self>(kernel);
        let alien = threads[rng.usize(..threads.len())];
        spaces::enter_one(kernel, alien);
        if kernel.pool[alien].is_alien() && rng.u32(..16) == 0 {
            kernel.pool[alien].lazy ^= PORTS;
        }
    }

    fn write_frame(frame: &mut [Word], rng: &mut Rng) {
        let frame: &mut Frame = bytemuck::from_bytes_mut(bytemuck::cast_slice_mut(frame));
        match rng.u32(..64) {
            0 => frame.changed = rng.u64(..3),
            1 => frame.fs_base = rng.u64(..),
            2 => frame.rip = rng.u64(..USER_END),
            3 => frame.rflags = rng.u64(..) & USER_FLAGS & !BY_IRET | FIXED_FLAGS,
            4 => frame.rip = rng.u64(..),
            5 => frame.rflags = rng.u64(..),
            6..=7 => (frame.changed, frame.fs_base) = (CHANGED_STATE, rng.u64(..USER_END)),
            // As after a system call, mostly with flags that `sysretq` restores.
            8..=24 => {
                frame.changed = 0;
                frame.rip = rng.u64(..USER_END);
                frame.r[word::RCX - word::GENERAL] = frame.rip;
                frame.rflags = rng.u64(..) & USER_FLAGS & !BY_IRET | FIXED_FLAGS;
                frame.rflags ^= match rng.u32(..8) {
                    0 => BY_IRET & rng.u64(..),
                    1 => 1 << rng.u32(..64),
                    _ => 0,
                };
                frame.r[word::R11 - word::GENERAL] = frame.rflags;
            }
            _ => {}
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
        spaces::drop_translations(kernel);
    }

    fn check(
        &self,
        kernel: &mut Kernel,
        me: Ref<Thread>,
        entered: &Entered,
        outcome: &Outcome<Left>,
    ) -> Result<()> {
        rules::check(&self.code, kernel, me, entered, outcome)
    }

    fn check_thread(&self, _: &Kernel, thread: &Thread) -> Result<()> {
        rules::check_thread(thread)
    }

    fn normalise(thread: &mut Thread, who: Who) {
        let waits_fast =
            matches!(thread.gate, gate::OPEN | gate::REPLY | gate::RUN | gate::NOTIFIED);
        if thread.gate == gate::REPLY | gate::ALIEN {
            // An alien's registers are in its handler's memory, and so is the fault's address.
            keep(thread, &[]);
            thread.fault_address = UserAddr(0);
        }
        if who.runs || waits_fast || who.is_brief {
            // A thread that runs has its registers in the processor. One that waits is resumed with
            // a message and the first two of these, and one that was put into a queue has the
            // message here.
            let kept = [&[word::RSP, word::RIP][..], &CALL].concat();
            let count = if who.runs { 0 } else { 2 };
            let count = if who.is_brief { kept.len() } else { count };
            keep(thread, &kept[..count]);
        }
        forget_peer(thread);
    }
}
