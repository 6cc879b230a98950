// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aliens: what only IA-32 has.

use crate::alien::{Alien, CODE, DATA, launch};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, check, good};
use abi::frame::{BY_SYSEXIT, CHANGED_SEGMENTS, Frame, vector};
use abi::utcb::{Utcb, fpu};
use abi::{Error, MessageKind, Op, Rights, Tag};
use core::mem::offset_of;
use macadamia::cap::copy;
use macadamia::ipc::{reply, run};
use macadamia::map::map;
use macadamia::start::{bytes, fill};
use macadamia::{Thread, time, utcb};

pub const CASES: &[Case] = &[
    ("sysenter_arrives", sysenter),
    ("its_sysenter_is_no_answer_of_a_handler", forged_answer),
    ("it_goes_on_by_sysexit", by_sysexit),
    ("a_thread_pointer_works", thread_pointer),
    ("a_selector_it_loaded_is_seen_and_kept", own_selector),
    ("its_data_segments_arrive", data_segments),
    ("its_data_segments_arrive_by_sysenter", data_segments_by_sysenter),
    ("fpu_registers_survive_others", fpu_survives),
    ("single_step_works", single_step),
    ("hostile_flags_do_no_harm", hostile_flags),
];

/// EAX, then those that arguments are in.
const GENERAL: [usize; 7] = [
    offset_of!(Frame, eax),
    offset_of!(Frame, ebx),
    offset_of!(Frame, ecx),
    offset_of!(Frame, edx),
    offset_of!(Frame, esi),
    offset_of!(Frame, edi),
    offset_of!(Frame, ebp),
];

/// mov eax, 0x33; mov ds, eax; xor ecx, ecx; mov es, ecx: a selector of its own, and null.
const SEGMENTS: [u8; 11] = [0xb8, 0x33, 0, 0, 0, 0x8e, 0xd8, 0x31, 0xc9, 0x8e, 0xc1];

/// An alien whose DS begins at its data.
fn launch_with_segment(bed: &mut Bed, code: &[u8]) -> Result<Alien, Why> {
    let alien = launch(bed, code)?;
    // Not at 0: QEMU lets null be used, but it adds the base.
    good(alien.thread.set_tls(0, DATA, 0xf_ffff | 1 << 20 | 1 << 23))?;
    Ok(alien)
}

fn data_segments(bed: &mut Bed) -> Result<(), Why> {
    let mut code = SEGMENTS.to_vec();
    // int 0x80; mov ds, ecx; mov ss:[0x12345678], eax
    code.extend([0xcd, 0x80, 0x8e, 0xd9, 0x36, 0xa3, 0x78, 0x56, 0x34, 0x12]);
    let alien = launch_with_segment(bed, &code)?;
    let r = alien.run(alien.bound.handle)?;
    check("a system call", r.words[0] == vector::SYSTEM_CALL)?;
    check("its own in DS, null in ES", alien.word(offset_of!(Frame, ds_es)) == 0x33)?;
    let r = alien.run(r.handle)?;
    check("a page fault", r.words[0] == vector::PAGE_FAULT && r.words[1] == 0x1234_5678)?;
    check("null in both", alien.word(offset_of!(Frame, ds_es)) == 0)
}

fn data_segments_by_sysenter(bed: &mut Bed) -> Result<(), Why> {
    if time::kip().features & abi::arch::ia32::kip::FEATURE_SYSENTER == 0 {
        return Ok(());
    }
    let mut code = SEGMENTS.to_vec();
    // mov ecx, esp; mov edx, CODE; sysenter
    code.extend([0x89, 0xe1, 0xba]);
    code.extend(CODE.to_le_bytes());
    code.extend([0x0f, 0x34]);
    let alien = launch_with_segment(bed, &code)?;
    let r = alien.run(alien.bound.handle)?;
    check("a sysenter", r.words[0] == vector::SYSENTER)?;
    check("its own in DS, null in ES", alien.word(offset_of!(Frame, ds_es)) == 0x33)
}

fn sysenter(bed: &mut Bed) -> Result<(), Why> {
    if time::kip().features & abi::arch::ia32::kip::FEATURE_SYSENTER == 0 {
        return Ok(());
    }
    // mov eax, 0x1003; mov ecx, esp; mov edx, CODE + 64; mov ebx, 1; sysenter
    let mut code =
        [0xb8, 0x03, 0x10, 0, 0, 0x89, 0xe1, 0xba, 0, 0, 0, 0, 0xbb, 1, 0, 0, 0, 0x0f, 0x34];
    code[8..12].copy_from_slice(&(CODE + 64).to_le_bytes());
    let alien = launch(bed, &code)?;
    let r = alien.run(alien.bound.handle)?;
    check("vector", r.words[0] == vector::SYSENTER)?;
    check("eax as it was", alien.word(offset_of!(Frame, eax)) == 0x1003)?;
    check("ebx as it was", alien.word(offset_of!(Frame, ebx)) == 1)?;
    check(
        "ecx and edx",
        alien.word(offset_of!(Frame, ecx)) == DATA + PAGE
            && alien.word(offset_of!(Frame, edx)) == CODE + 64,
    )?;
    check("esp from ecx", alien.word(offset_of!(Frame, esp)) == DATA + PAGE)?;
    check("eip from edx", alien.word(offset_of!(Frame, eip)) == CODE + 64)
}

/// With a breakpoint its state is loaded, but not for its handler.
fn forged_answer(bed: &mut Bed) -> Result<(), Why> {
    if time::kip().features & abi::arch::ia32::kip::FEATURE_SYSENTER == 0 {
        return Ok(());
    }
    for op in [Op::Run, Op::MapRun] {
        // mov ecx, esp; mov edx, CODE; sysenter
        let alien = launch(bed, &[0x89, 0xe1, 0xba, 0, 0x80, 0x04, 0x08, 0x0f, 0x34])?;
        good(alien.thread.set_debug(0, DATA))?;
        good(alien.thread.set_debug(7, 1))?;
        let tag = Tag::new(op, 0, 0).0;
        for (register, value) in [
            (offset_of!(Frame, eax), tag),
            (offset_of!(Frame, ebx), alien.bound.handle),
            (offset_of!(Frame, esi), 1),
        ] {
            alien.set(register, value);
        }
        let r = alien.run(alien.bound.handle)?;
        check("an event", r.kind == MessageKind::Alien && r.words[0] == vector::SYSENTER)?;
        check("eax as it was", alien.word(offset_of!(Frame, eax)) == tag)?;
    }
    Ok(())
}

/// Whether the processor has `sysexit` or not.
fn by_sysexit(bed: &mut Bed) -> Result<(), Why> {
    // int 0x80; int 0x80
    let alien = launch(bed, &[0xcd, 0x80, 0xcd, 0x80])?;
    let r = alien.run(alien.bound.handle)?;
    GENERAL.iter().zip(1..).for_each(|(offset, value)| alien.set(*offset, value));
    alien.set(offset_of!(Frame, esp), DATA + 0x124);
    // Carry and direction.
    alien.set(offset_of!(Frame, eflags), 0x401);
    alien.set(offset_of!(Frame, changed), BY_SYSEXIT);
    let r = alien.run(r.handle)?;
    check(
        "it went on",
        r.words[0] == vector::SYSTEM_CALL && alien.word(offset_of!(Frame, eip)) == CODE + 4,
    )?;
    let expected = [1, 2, DATA + 0x124, CODE + 2, 5, 6, 7];
    check(
        "its registers",
        GENERAL.iter().zip(expected).all(|(offset, value)| alien.word(*offset) == value),
    )?;
    check("its stack", alien.word(offset_of!(Frame, esp)) == DATA + 0x124)?;
    check("its flags", alien.word(offset_of!(Frame, eflags)) & abi::frame::USER_FLAGS == 0x401)?;
    check("nothing is left of it", alien.word(offset_of!(Frame, changed)) == 0)?;
    // A step is one instruction, as it is by `iret`.
    alien.set(offset_of!(Frame, eip), CODE);
    alien.set(offset_of!(Frame, eflags), 0x100);
    alien.set(offset_of!(Frame, changed), BY_SYSEXIT);
    let r = alien.run(r.handle)?;
    check(
        "the system call before the step",
        r.words[0] == vector::SYSTEM_CALL && alien.word(offset_of!(Frame, eip)) == CODE + 2,
    )
}

fn thread_pointer(bed: &mut Bed) -> Result<(), Why> {
    // mov eax, gs:[4]; int 0x80
    let alien = launch(bed, &[0x65, 0xa1, 4, 0, 0, 0, 0xcd, 0x80])?;
    good(map(SPACE, ADDRESS + PAGE, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(ADDRESS + PAGE, 8, &[0, 0, 0, 0, 0xef, 0xbe, 0xad, 0xde]);
    // Base DATA, 4 GiB in pages, present.
    good(alien.thread.set_tls(0, DATA, 0xf_ffff | 1 << 20 | 1 << 23))?;
    alien.set(offset_of!(Frame, fs_gs), 0x33 << 16);
    alien.set(offset_of!(Frame, changed), CHANGED_SEGMENTS);
    let r = alien.run(alien.bound.handle)?;
    check("no fault", r.words[0] == vector::SYSTEM_CALL)?;
    check("through the segment", alien.word(offset_of!(Frame, eax)) == 0xdead_beef)?;
    check("the frame shows the selector", alien.word(offset_of!(Frame, fs_gs)) >> 16 == 0x33)
}

fn own_selector(bed: &mut Bed) -> Result<(), Why> {
    // mov ax, 0x33; mov gs, ax; int 0x80; jmp here
    let alien = launch(bed, &[0x66, 0xb8, 0x33, 0, 0x8e, 0xe8, 0xcd, 0x80, 0xeb, 0xfe])?;
    good(alien.thread.set_tls(0, DATA, 0xf_ffff | 1 << 20 | 1 << 23))?;
    let mut handle = alien.bound.handle;
    utcb::accept(2);
    // It is interrupted at every moment between its handler's `run` and its own next instruction.
    for delay in (0..30_000).step_by(200) {
        alien.set(offset_of!(Frame, eip), CODE);
        alien.set(offset_of!(Frame, fs_gs), 0);
        alien.set(offset_of!(Frame, changed), CHANGED_SEGMENTS);
        let r = alien.run(handle)?;
        check("seen at its system call", alien.word(offset_of!(Frame, fs_gs)) >> 16 == 0x33)?;
        // ES is null: not a case for the fast path.
        alien.set(offset_of!(Frame, ds_es), 0x23);
        good(time::alarm(time::now() + delay, 2))?;
        let r = good(run(r.handle))?;
        check("interrupted", r.kind == MessageKind::Interrupted)?;
        check("still seen", alien.word(offset_of!(Frame, fs_gs)) >> 16 == 0x33)?;
        alien.set(offset_of!(Frame, ds_es), 0x23 << 16 | 0x23);
        handle = r.handle;
    }
    Ok(())
}

fn fpu_survives(bed: &mut Bed) -> Result<(), Why> {
    // fninit; fldpi; int 0x80; fstp qword [DATA]; int 0x80
    let mut code = [0xdb, 0xe3, 0xd9, 0xeb, 0xcd, 0x80, 0xdd, 0x1d, 0, 0, 0, 0, 0xcd, 0x80];
    code[8..12].copy_from_slice(&DATA.to_le_bytes());
    let alien = launch(bed, &code)?;
    let place = || alien.word(offset_of!(Utcb, fpu));
    check("not used yet", place() == fpu::INITIAL)?;
    let r = alien.run(alien.bound.handle)?;
    check("in the processor", place() == fpu::LOADED)?;
    // Another alien spoils the registers in between.
    let other = {
        let slot = bed.slot();
        let (thread, bound) = good(QUOTA.create_thread(alien.space, slot, Some(SPACE)))?;
        Alien { thread, bound, space: alien.space }
    };
    good(other.thread.set_priority(90, 90))?;
    let handler = bed.slot();
    good(copy(SELF.0, None, handler, Rights::CALL, 6))?;
    good(other.thread.set_handler(Some(Thread(handler))))?;
    fill(ADDRESS + 64, 6, &[0xdb, 0xe3, 0xd9, 0xee, 0xcd, 0x80]);
    other.set(offset_of!(Frame, eip), CODE + 64);
    other.set(offset_of!(Frame, esp), DATA + PAGE);
    let o = good(run(other.bound.handle))?;
    check("the other one ran", o.badge == 6 && o.words[0] == vector::SYSTEM_CALL)?;
    check("saved for the other one", place() == fpu::SAVED)?;
    alien.run(r.handle)?;
    check("loaded again", place() == fpu::LOADED)?;
    good(alien.thread.fpu_sync())?;
    check("saved when asked", place() == fpu::SAVED)?;
    good(map(SPACE, ADDRESS + PAGE, bed.ram, PAGE, PAGE, Rights::READ))?;
    check("pi", bytes(ADDRESS + PAGE, 8) == core::f64::consts::PI.to_le_bytes())
}

fn single_step(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, &[0x90, 0x90, 0xcd, 0x80])?;
    alien.set(offset_of!(Frame, eflags), 0x102);
    let r = alien.run(alien.bound.handle)?;
    check(
        "stopped after one instruction",
        r.words[0] == vector::DEBUG && alien.word(offset_of!(Frame, eip)) == CODE + 1,
    )
}

fn hostile_flags(bed: &mut Bed) -> Result<(), Why> {
    // cli; a fault if I/O privilege was not gained
    let alien = launch(bed, &[0xfa])?;
    alien.set(offset_of!(Frame, eflags), 0xffff_feff);
    alien.set(offset_of!(Frame, ds_es), 0x0008_0010);
    alien.set(offset_of!(Frame, fs_gs), 0x0048_0008);
    alien.set(offset_of!(Frame, changed), CHANGED_SEGMENTS);
    let r = alien.run(alien.bound.handle)?;
    check("no privilege", r.words[0] == vector::GENERAL_PROTECTION)?;
    check("interrupts on", alien.word(offset_of!(Frame, eflags)) & 0x3200 == 0x200)?;
    check(
        "the handle cannot be used twice",
        reply(alien.bound.handle, macadamia::ipc::Message::default()) == Err(Error::BadHandle),
    )
}
