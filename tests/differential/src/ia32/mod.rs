// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32's fast paths.

mod code;
mod entry;
mod hardly_needed;
mod lazy;
mod machine;
mod rules;
mod spaces;

use crate::elf::Elf;
use crate::processor::{
    Event, Executed, Found, Outcome, Places, Processor, Run, Who, forget_peer, keep,
};
use abi::frame::{BY_SYSEXIT, vector};
use abi::state::tls::{PAGES, PRESENT};
use abi::{Op, Rights, UserAddr, Word};
use anyhow::Result;
use code::Code;
use entry::{Entered, Entry};
use fastrand::Rng;
use ia32_context::word;
use kcore::Thread;
use kcore::thread::gate;
use pool::Ref;
use rules::Left;
use spaces::{HOMES, SMALL_BYTES, Spaces};

/// The portable kernel with IA-32's registers and translation tables.
type Kernel = crate::processor::Kernel<Ia32>;

/// The code.
pub struct Ia32 {
    code: Code,
}

/// Words of saved registers that are compared after a system call by a fast path, for a thread in a
/// ready queue.
const KEPT: [usize; 10] = [
    word::EAX,
    word::EBX,
    word::ESI,
    word::EDI,
    word::EBP,
    word::ESP,
    word::EIP,
    word::EFLAGS,
    word::DS,
    word::ES,
];

impl Processor for Ia32 {
    type Registers = ia32_context::Ia32;
    type Format = mmu::ia32::Ia32;
    type Spaces = Spaces;
    type Entered = Entered;
    type Left = Left;

    const FAST: &'static [Op] =
        &[Op::Call, Op::ReplyWait, Op::Run, Op::MapRun, Op::MapReplyWait, Op::Notify, Op::Receive];
    const PAGES: u32 = 8;
    const LOW_END: u32 = SMALL_BYTES;
    const EMPTY_SPACES: u32 = HOMES;
    // Only some systems can have the rare ones.
    const WAYS: &'static [(&'static str, u64)] = &[
        ("calls", 25),
        ("replies", 25),
        ("faults", 25),
        ("replies to faults", 25),
        ("of them that map", 15),
        ("alien calls", 25),
        ("alien faults", 25),
        ("alien sysenters", 25),
        ("entries into a server", 25),
        ("of them from an alien", 25),
        ("runs by a server", 25),
        ("runs", 25),
        ("runs by sysexit", 20),
        ("runs of another alien", 15),
        ("runs that map", 10),
        ("entries into a small space", 25),
        ("alien events to a small handler", 25),
        ("exits with care", 25),
        ("events of aliens in small spaces", 25),
        ("runs of them", 15),
        ("notifications", 25),
        ("notifications of more urgent threads", 25),
        ("runs of another alien in a small space", 2),
        ("runs of another alien without TLS by a server", 2),
        ("notifications of waiting threads", 5),
        ("receives of notifications", 5),
        ("receives of nothing", 5),
        ("receives that wait", 5),
    ];
    const EVENTS: u64 = 300_000;
    const HARDLY_NEEDED: &'static [(&'static str, &'static str)] = hardly_needed::ALL;

    fn read(elf: &Elf) -> Result<Self> {
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
        // Segment descriptors of TLS, mostly the first one.
        let has = (0..3)
            .filter(|index| is_alien && rng.u32(..16) > index.min(&1) * 14)
            .collect::<Vec<u32>>();
        let random = |index| {
            // Not even in a small space is the second beyond the end.
            let base = if rng.u32(..16) == 0 {
                rng.u32(..)
            } else {
                [0, 0x1000, 1 << 20, SMALL_BYTES][rng.usize(..16) / 5]
            };
            [index, base, (rng.u32(..8).min(1) * (PRESENT | PAGES)) | 0xf_ffff]
        };
        has.into_iter().map(random).collect()
    }

    fn by_system_call(thread: &mut Thread) {
        thread.context[word::VECTOR] = vector::SYSENTER;
    }

    fn set_up(&self, kernel: &mut Kernel, found: &Found, rng: &mut Rng) -> Spaces {
        spaces::set_up(kernel, found, self.code.ways, rng)
    }

    fn meanwhile(
        &self,
        kernel: &mut Kernel,
        found: &Found,
        spaces: &mut Spaces,
        me: Ref<Thread>,
        rng: &mut Rng,
    ) {
        if rng.u32(..5) == 0 {
            lazy::show_elsewhere(kernel, rng);
        }
        spaces::move_one(kernel, found, spaces, self.code.ways, (me, rng));
    }

    fn write_frame(frame: &mut [Word], rng: &mut Rng) {
        let frame: &mut abi::Frame = bytemuck::from_bytes_mut(bytemuck::cast_slice_mut(frame));
        match rng.u32(..32) {
            0 => (frame.changed, frame.fs_gs) = (rng.u32(..8), rng.u32(..)),
            1 => frame.ds_es = rng.u32(..),
            2..=7 => {
                *frame = abi::Frame { changed: 0, ds_es: 0x23_0023, ..*frame };
                [frame.eax, frame.ecx, frame.esp, frame.eip, frame.eflags] =
                    [(); 5].map(|()| rng.u32(..));
            }
            8..=24 => {
                // The trap flag, the resume flag.
                let special = [0x100, 0x100, 0x1_0000]
                    .get(rng.u32(..12) as usize)
                    .copied()
                    .unwrap_or_default();
                *frame = abi::Frame {
                    changed: BY_SYSEXIT,
                    ds_es: 0x23_0023,
                    eflags: rng.u32(..) & !0x1_0100 | special,
                    ..*frame
                };
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

    fn way_in(&self, kernel: &mut Kernel, me: Ref<Thread>, entered: &Entered) {
        lazy::note_segments(kernel, me, &entered.user);
    }

    fn portable(&self, kernel: &mut Kernel, me: Ref<Thread>, event: &Event, entered: &Entered) {
        let user = &entered.user;
        match (event, entered.entry) {
            (Event::Tick, _) => user.save(&mut kernel.pool[me], 0x20),
            (_, Some(Entry::Fault { error, address })) => {
                user.save(&mut kernel.pool[me], vector::PAGE_FAULT);
                kernel.pool[me].context[word::ERROR] = error;
                kernel.page_fault(UserAddr(address), Rights::READ);
            }
            (_, Some(Entry::Call)) => {
                user.save(&mut kernel.pool[me], vector::SYSTEM_CALL);
                kernel.exception();
            }
            (_, Some(Entry::Sysenter)) if kernel.pool[me].is_alien() => {
                user.save(&mut kernel.pool[me], vector::SYSENTER);
                kernel.exception();
            }
            (_, entry) => {
                let vector = if entry.is_some() {
                    vector::SYSENTER
                } else {
                    abi::arch::ia32::kip::INT_VECTOR
                };
                user.save(&mut kernel.pool[me], vector);
                kernel.system_call();
                while kernel.carry_on() {}
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
        rules::check(kernel, me, entered, outcome)
    }

    fn check_thread(&self, kernel: &Kernel, thread: &Thread) -> Result<()> {
        rules::check_thread(kernel, thread)
    }

    fn normalise(thread: &mut Thread, who: Who) {
        let waits_fast =
            matches!(thread.gate, gate::OPEN | gate::REPLY | gate::RUN | gate::NOTIFIED);
        let frame_elsewhere = thread.gate == gate::REPLY | gate::ALIEN;
        if who.runs || frame_elsewhere {
            keep(thread, &[]);
        } else if waits_fast {
            // Resumed by `sysexit` with results in registers, or by `iret` with those that
            // `set_result` wrote.
            keep(thread, &[word::ESP, word::EIP, word::EFLAGS]);
        }
        if who.is_brief {
            // ECX and EDX have no meaning, and its space's selectors are written on the way out.
            keep(thread, &KEPT);
        }
        if thread.gate == gate::REPLY | gate::EXCEPTION {
            // `pushad`'s own stack pointer; and the way out writes its space's selectors.
            (thread.context[word::EBP + 1], thread.context[word::CS], thread.context[word::SS]) =
                (0, 0, 0);
        }
        forget_peer(thread);
        if frame_elsewhere {
            thread.fault_address = UserAddr(0);
        }
    }
}
