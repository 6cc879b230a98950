// SPDX-License-Identifier: MIT OR Apache-2.0
//! More attacks of a server at ring 1 and its processes (docs/entry-area.md): instructions that
//! only some processors have, or that emulators allow; single steps and breakpoints that take
//! effect in the entry area; interrupts with any stack pointer; the way to ring 3.

use super::server::{
    AREA, CODE, DATA, FORGED, WORDS, are_refused, launch, outcome, pair, server_again, serves,
};
use crate::exception::{WHOLE, next};
use crate::server::{placed, with_server};
use crate::{Bed, Case, OTHER, PAGE, Why, check, good};
use abi::frame::{fault, vector};
use abi::{MessageKind, Op, Tag, Word};
use core::arch::x86_64::__cpuid;
use macadamia::alloc::format;
use macadamia::cap::{delete, frame, set_frame};
use macadamia::ipc::{receive, reply_wait};
use macadamia::{Space, println, result, time};
use processor::{Words, code};

pub const CASES: &[Case] = &[
    ("it_does_nothing_that_other_processors_have", |bed| with_server(bed, nothing_of_others)),
    ("it_does_no_harm_by_what_is_let_pass", |bed| with_server(bed, let_pass)),
    ("it_stays_at_ring_1_whatever_is_in_ss", |bed| with_server(bed, stays_at_ring_1)),
    ("its_steps_are_its_own", |bed| with_server(bed, own_steps)),
    ("its_breakpoint_where_ss_is_loaded_from_is_not_the_areas", |bed| {
        with_server(bed, stack_selector)
    }),
    ("it_is_interrupted_with_any_stack", |bed| with_server(bed, interrupted)),
    ("it_leaves_to_ring_3_only_as_itself", |bed| with_server(bed, to_ring_3)),
    ("its_alien_that_steps_into_the_area_harms_nobody", |bed| with_server(bed, alien_steps)),
    ("its_aliens_breakpoint_where_ss_is_loaded_from_is_not_the_areas", |bed| {
        with_server(bed, alien_stack_selector)
    }),
];

/// Instructions that only ring 0 may execute, or that the kernel has disabled, in bytes.
const REFUSED: [(&str, &[u8]); 7] = [
    ("invpcid rax, [rsp]", &[0x66, 0x0f, 0x38, 0x82, 0x04, 0x24]),
    ("xsetbv", &[0x0f, 0x01, 0xd1]),
    ("clac", &[0x0f, 0x01, 0xca]),
    ("monitor", &[0x0f, 0x01, 0xc8]),
    ("mwait", &[0x0f, 0x01, 0xc9]),
    ("vmcall", &[0x0f, 0x01, 0xc1]),
    ("vmlaunch", &[0x0f, 0x01, 0xc2]),
];

fn nothing_of_others(bed: &mut Bed, server: Space) -> Result<(), Why> {
    are_refused(bed, server, &REFUSED)
}

/// Instructions that a processor may refuse or execute without harm: they tell the addresses of
/// tables, or empty caches.
const LET_PASS: [(&str, &[u8]); 14] = [
    ("wbinvd", &[0x0f, 0x09]),
    ("invd", &[0x0f, 0x08]),
    ("sgdt [rsp - 16]", &[0x0f, 0x01, 0x44, 0x24, 0xf0]),
    ("sidt [rsp - 16]", &[0x0f, 0x01, 0x4c, 0x24, 0xf0]),
    ("sldt eax", &[0x0f, 0x00, 0xc0]),
    ("str eax", &[0x0f, 0x00, 0xc8]),
    ("smsw eax", &[0x0f, 0x01, 0xe0]),
    ("rdtscp", &[0x0f, 0x01, 0xf9]),
    // int1
    ("a breakpoint without a number", &[0xf1]),
    // mov eax, 8; lar eax, eax
    ("lar of ring 0's code", &[0xb8, 8, 0, 0, 0, 0x0f, 0x02, 0xc0]),
    // mov eax, 1; mov ss, eax: none
    ("no stack segment", &[0xb8, 1, 0, 0, 0, 0x8e, 0xd0]),
    // mov eax, 0x23; mov ds, eax; mov es, eax; mov fs, eax; mov gs, eax
    ("data of ring 3", &[0xb8, 0x23, 0, 0, 0, 0x8e, 0xd8, 0x8e, 0xc0, 0x8e, 0xe0, 0x8e, 0xe8]),
    // push 0x3002; popfq: the I/O privilege, and interrupts disabled
    ("flags of ring 0", &[0x68, 0x02, 0x30, 0, 0, 0x9d]),
    // push 0x20002; popfq
    ("virtual 8086 mode", &[0x68, 0x02, 0, 2, 0, 0x9d]),
];

fn let_pass(bed: &mut Bed, server: Space) -> Result<(), Why> {
    for (what, code) in LET_PASS {
        let code = [code, code::invalid_call(), code::invalid()].concat();
        let f = outcome(bed, server, &code, 0)?;
        let known =
            matches!(f.vector, vector::GENERAL_PROTECTION | vector::INVALID_OPCODE | vector::DEBUG);
        let is_its = f.rip.wrapping_sub(CODE) < PAGE && f.rflags & 0x2_3200 == 0x200;
        if !known || !is_its {
            return Err(format!("{what} came as {:#x} at {:#x}", f.vector, f.rip));
        }
    }
    Ok(())
}

/// Whether this processor is QEMU's, as CPUID says.
fn is_qemu() -> bool {
    const HYPERVISOR: u32 = 1 << 31;
    let leaf = __cpuid(0x4000_0000);
    let name = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes);
    __cpuid(1).ecx & HYPERVISOR != 0 && name.as_flattened() == b"TCGTCGTCGTCG"
}

/// A null selector in SS, with each RPL, and then what only ring 0 may do. QEMU 10 takes the ring
/// from that selector's descriptor, which is none: ring 0.
fn stays_at_ring_1(bed: &mut Bed, server: Space) -> Result<(), Why> {
    if is_qemu() {
        result!("# skipped: QEMU lets ring 1 become ring 0");
        return Ok(());
    }
    for selector in 0..4 {
        // mov eax, selector; mov ss, eax; mov rax, cr3
        let code = [0xb8, selector, 0, 0, 0, 0x8e, 0xd0, 0x0f, 0x20, 0xd8];
        are_refused(bed, server, &[("SS without a segment", &code)])?;
    }
    Ok(())
}

/// The trap flag.
const STEP: Word = 0x100;

fn own_steps(bed: &mut Bed, server: Space) -> Result<(), Why> {
    const INTERRUPT: &[u8] = &[0xcd, 0x20];
    const BREAKPOINT: Word = 3;
    for stepped in [code::nop(), INTERRUPT, code::breakpoint(), code::invalid_call()] {
        let code = [code::sets_flags(), stepped, code::invalid()].concat();
        let f = outcome(bed, server, &code, STEP)?;
        let known = matches!(
            f.vector,
            vector::DEBUG | BREAKPOINT | vector::GENERAL_PROTECTION | vector::INVALID_OPCODE
        );
        if !known || f.rip.wrapping_sub(CODE) > code.len() as Word {
            return Err(format!("{stepped:02x?} came as {:#x} at {:#x}", f.vector, f.rip));
        }
    }
    Ok(())
}

/// The register that enables breakpoints, and its value for the first one: it stops after two bytes
/// were read or written.
const CONTROL: Word = 7;
const READ: Word = 1 | 3 << 16 | 1 << 18;

/// Right after SS is loaded no breakpoint is reported: it is reported after the next instruction, in
/// the area if that is a system call. (QEMU 10 does not wait.)
fn stack_selector(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let tag = Tag::new(Op::Identify, 0, 0).0.into();
    let thread = launch(bed, server, code::loads_stack_selector(), DATA)?;
    let (r, mut f) = next()?;
    good(thread.set_debug(0, DATA))?;
    good(thread.set_debug(CONTROL, READ))?;
    f.skip_invalid();
    f.r[0] = tag;
    set_frame(&f);
    let mut r = good(reply_wait(r.handle, WHOLE))?;
    if r.words[0] == vector::DEBUG {
        set_frame(&frame());
        r = good(reply_wait(r.handle, WHOLE))?;
    }
    check("the call was made", r.words[0] == vector::INVALID_OPCODE && frame().r[0] != tag)?;
    good(delete(thread.0))
}

/// Lets some time pass, in which others run.
fn pause() -> Result<(), Why> {
    good(time::alarm(time::now() + 2_000_000, 1))?;
    macadamia::utcb::accept(1);
    while good(receive(None))?.kind != MessageKind::Notification {}
    Ok(())
}

/// How often [`interrupted`] checks whether a thread has its stack pointer.
const ATTEMPTS: u32 = 1000;

/// An interrupt comes while the stack pointer is invalid, or in the stacks of entries.
fn interrupted(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let words = AREA + WORDS * PAGE;
    let stacks = [words, words + 8, words + 1024, words + 1536, words + PAGE - 8, words + PAGE];
    for stack in FORGED.into_iter().chain(stacks) {
        for (code, is_kept) in [(code::waits(), true), (code::pushes(), false)] {
            let code = [code::moves_stack(), code].concat();
            let thread = launch(bed, server, &code, stack)?;
            // On a busy host time passes in which the thread executes nothing: only its stack
            // pointer shows that it has come there.
            let mut is_its = false;
            for _ in 0..ATTEMPTS {
                pause()?;
                good(thread.stop())?;
                let f = good(thread.registers())?;
                is_its = f.rip.wrapping_sub(CODE) < PAGE && f.rsp == stack;
                // A thread that pushes where nothing is mapped has raised an exception, which is
                // never answered.
                if is_its || !is_kept {
                    break;
                }
                good(thread.set_registers(&f, true))?;
            }
            check("it stays where it was", is_its || !is_kept)?;
            good(delete(thread.0))?;
        }
    }
    Ok(())
}

/// A server that loads ring 3's selectors by itself is still its own thread. Ring 3 can access none
/// of its pages; the pages of its process are accessible as to the process.
fn to_ring_3(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let f = outcome(bed, server, code::leaves_to_ring_3(), CODE)?;
    check("a page fault there", f.vector == vector::PAGE_FAULT && f.address == CODE)?;
    check("of a user", f.error & fault::USER != 0)?;
    server_again(server)?;
    let place = [&[0x48, 0xbe][..], &OTHER.to_le_bytes()].concat();
    let code = [code::serves_once(), &place, code::leaves_to_ring_3()].concat();
    let threads = pair(bed, server, (&code, code::counts_calls()), (1, 0))?;
    // Whatever the result, the machine continues, and so does the next server.
    pause()?;
    for thread in threads {
        good(delete(thread.0))?;
    }
    server_again(server)?;
    serves(bed, server, 10)
}

/// An alien makes its calls in a special way, and its server gets an event at each turn. Checks
/// that it came to its end.
fn serves_somehow(
    bed: &mut Bed,
    server: Space,
    alien_code: &[u8],
    breakpoint: Option<Word>,
) -> Result<(), Why> {
    let [thread, alien] = pair(bed, server, (code::serves(), alien_code), (100, 0))?;
    if let Some(at) = breakpoint {
        good(alien.set_debug(0, at))?;
        good(alien.set_debug(CONTROL, READ))?;
    }
    let (_, f) = next()?;
    check("the server came to its end", f.vector == vector::INVALID_OPCODE)?;
    check("the alien did, too", (1..=100).contains(&f.r[0]))?;
    good(delete(thread.0))?;
    good(delete(alien.0))
}

/// Each of its system calls is a single step, which some processors report in the area.
fn alien_steps(bed: &mut Bed, server: Space) -> Result<(), Why> {
    serves_somehow(bed, server, code::counts_calls_by_steps(), None)
}

fn alien_stack_selector(bed: &mut Bed, server: Space) -> Result<(), Why> {
    serves_somehow(bed, server, code::counts_calls_after_stack_selector(), Some(OTHER + PAGE - 64))
}

/// What a server does.
type Act = fn(&mut Bed, Space) -> Result<(), Why>;

/// What this program does for ever, by its argument, for tests of the tool (`pc64.nmi`): a server
/// computes at ring 1, or serves an alien, and also makes other system calls, or two compute by
/// turns, of which one has a number in an FPU register.
pub const FOR_EVER: [(&str, Act); 3] = [
    ("spins", |bed, server| launch(bed, server, code::waits(), 0).map(|_| ())),
    ("crosses", |bed, server| {
        let codes = (code::serves_and_calls(), code::counts_calls());
        pair(bed, server, codes, (0, 0)).map(|_| ())
    }),
    ("alternates", |bed, server| {
        let other = placed(bed)?;
        good(other.serve(bed.window, false))?;
        launch(bed, server, code::keeps(), 0x5ec4e7)?;
        launch(bed, other, code::keeps(), 0).map(|_| ())
    }),
];

/// Does one of these.
pub fn stay(bed: &mut Bed, name: &str, act: Act) {
    match with_server(bed, act) {
        Ok(()) => println!("{name}"),
        Err(why) => println!("does not do what `{name}` says: {why}"),
    }
    // No thread sends anything.
    let _ = receive(None);
}
