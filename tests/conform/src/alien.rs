// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aliens: threads whose every kernel entry is a message to their handler, and the
//! receive mode `run`.

use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, check, fails, good};
use abi::frame::{BY_SYSEXIT, CHANGED_SEGMENTS, Frame, vector};
use abi::utcb::{Utcb, fpu};
use abi::{Delivery, MapRecord, MessageKind, Op, Rights, Tag};
use core::mem::offset_of;
use macadamia::cap::{Bound, copy};
use macadamia::ipc::{Received, map_run, reply, run};
use macadamia::map::{map, unmap};
use macadamia::start::{bytes, fill};
use macadamia::{Error, Space, Thread, sys, time, utcb};

pub const CASES: &[Case] = &[
    ("int_0x80_arrives_with_all_registers", int_0x80),
    ("sysenter_arrives", sysenter),
    ("its_sysenter_is_no_answer_of_a_handler", forged_answer),
    ("it_goes_on_by_sysexit", by_sysexit),
    ("a_page_fault_arrives", page_fault),
    ("an_exception_arrives", exception),
    ("the_alien_sees_what_the_handler_wrote", handler_writes),
    ("a_notification_interrupts_run", notification_interrupts),
    ("pending_bits_come_before_the_alien_runs", pending_bits),
    ("run_wants_an_aliens_handle", |_| fails(run(0x1_0000), Error::BadHandle)),
    ("an_answer_maps_and_runs", answer_maps),
    ("an_answer_replaces_a_page", answer_replaces),
    ("an_answer_has_up_to_16_records", answer_of_many),
    ("an_answer_whose_record_fails_runs_nothing", answer_fails),
    ("an_answer_to_nobody_maps_nothing", answer_to_nobody),
    ("an_answer_is_interrupted_behind_its_records", answer_interrupted),
    ("a_thread_pointer_works", thread_pointer),
    ("a_selector_it_loaded_is_seen_and_kept", own_selector),
    ("its_data_segments_arrive", data_segments),
    ("its_data_segments_arrive_by_sysenter", data_segments_by_sysenter),
    ("fpu_registers_survive_others", fpu_survives),
    ("single_step_works", single_step),
    ("run_fails_when_the_alien_halts", |bed| {
        let alien = launch(bed, &[0x0f, 0x0b])?;
        good(alien.thread.set_handler(None))?;
        fails(run(alien.bound.handle), Error::BadState)
    }),
    ("hostile_flags_do_no_harm", hostile_flags),
];

/// Where the code is in the alien's space, and a page of data behind it.
const CODE: u32 = 0x0804_8000;
const DATA: u32 = CODE + PAGE;

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

struct Alien {
    thread: Thread,
    bound: Bound,
    space: Space,
}

impl Alien {
    fn word(&self, offset: usize) -> u32 {
        let at = bytes(self.bound.utcb + offset as u32, 4);
        at.try_into().map_or(0, u32::from_le_bytes)
    }
    fn set(&self, offset: usize, value: u32) {
        fill(self.bound.utcb + offset as u32, 4, &value.to_le_bytes());
    }
    fn run(&self, handle: u32) -> Result<Received, Why> {
        let r = good(run(handle))?;
        check("an alien's event", r.kind == MessageKind::Alien)?;
        Ok(r)
    }
}

/// An alien that is about to run `code` with a stack and a data page.
fn launch(bed: &mut Bed, code: &[u8]) -> Result<Alien, Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code);
    let (space, thread, handler) = (bed.slot(), bed.slot(), bed.slot());
    let space = good(QUOTA.create_space(0, space))?;
    good(map(space, CODE, bed.ram, 0, PAGE, Rights(5)))?;
    good(map(space, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    good(copy(SELF.0, None, handler, Rights::CALL, 5))?;
    let (thread, bound) = good(QUOTA.create_thread(space, thread, Some(SPACE)))?;
    good(thread.set_handler(Some(Thread(handler))))?;
    // It runs below its handler, as a Linux process does.
    good(thread.set_priority(90, 90))?;
    let alien = Alien { thread, bound, space };
    alien.set(offset_of!(Frame, eip), CODE);
    alien.set(offset_of!(Frame, esp), DATA + PAGE);
    Ok(alien)
}

/// mov dword ptr [DATA], 7; int 0x80
fn writer() -> [u8; 12] {
    let [a, b, c, d] = DATA.to_le_bytes();
    [0xc7, 0x05, a, b, c, d, 7, 0, 0, 0, 0xcd, 0x80]
}

/// The alien has its page fault at DATA by now.
fn faulted(bed: &mut Bed) -> Result<(Alien, u32), Why> {
    let alien = launch(bed, &writer())?;
    good(unmap(alien.space, DATA, PAGE))?;
    let r = alien.run(alien.bound.handle)?;
    check("a page fault", r.words[0] == vector::PAGE_FAULT && r.words[1] == DATA)?;
    Ok((alien, r.handle))
}

/// What is in the first word of the second page of RAM.
fn written(bed: &Bed) -> Result<u32, Why> {
    good(map(SPACE, ADDRESS + PAGE, bed.ram, PAGE, PAGE, Rights::READ))?;
    Ok(u32::from_le_bytes(bytes(ADDRESS + PAGE, 4).try_into().unwrap_or_default()))
}

fn clear(bed: &Bed) -> Result<(), Why> {
    good(map(SPACE, ADDRESS + PAGE, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(ADDRESS + PAGE, 4, &[0; 4]);
    Ok(())
}

fn data_page(alien: &Alien, bed: &Bed, rights: Rights) -> MapRecord {
    MapRecord::new(MapRecord::MAP, alien.space.0, DATA, bed.ram.0, PAGE, PAGE, rights)
}

fn answer_maps(bed: &mut Bed) -> Result<(), Why> {
    clear(bed)?;
    let (alien, handle) = faulted(bed)?;
    let r = good(map_run(handle, &[data_page(&alien, bed, Rights(3))]))?;
    check("its system call", r.kind == MessageKind::Alien && r.words[0] == vector::SYSTEM_CALL)?;
    check("what it wrote", written(bed)? == 7)
}

fn answer_replaces(bed: &mut Bed) -> Result<(), Why> {
    clear(bed)?;
    let (alien, handle) = faulted(bed)?;
    let r = good(map_run(handle, &[data_page(&alien, bed, Rights::READ)]))?;
    check("a fault again, of a page that is there", r.words == [vector::PAGE_FAULT, DATA, 7])?;
    let r = good(map_run(r.handle, &[data_page(&alien, bed, Rights(3))]))?;
    check("its system call", r.words[0] == vector::SYSTEM_CALL)?;
    check("what it wrote", written(bed)? == 7)
}

fn answer_of_many(bed: &mut Bed) -> Result<(), Why> {
    clear(bed)?;
    let (alien, handle) = faulted(bed)?;
    let mut records = [data_page(&alien, bed, Rights(3)); 17];
    for (record, page) in records.iter_mut().zip(1..16) {
        *record = MapRecord::new(MapRecord::MAP, alien.space.0, DATA + page * PAGE, bed.ram.0, PAGE, PAGE, Rights::READ);
    }
    fails(map_run(handle, &records), Error::BadArgument)?;
    fails(map_run(handle, &[]), Error::BadArgument)?;
    let r = good(map_run(handle, &records[..16]))?;
    check("its system call", r.words[0] == vector::SYSTEM_CALL)?;
    check("what it wrote", written(bed)? == 7)
}

fn answer_fails(bed: &mut Bed) -> Result<(), Why> {
    clear(bed)?;
    let (alien, handle) = faulted(bed)?;
    let good_one = data_page(&alien, bed, Rights(3));
    let bad = MapRecord::new(MapRecord::MAP, alien.space.0, DATA, 999, PAGE, PAGE, Rights(3));
    let elsewhere = MapRecord::new(MapRecord::MAP, alien.space.0, DATA + PAGE, bed.ram.0, PAGE, PAGE, Rights(3));
    fails(map_run(handle, &[bad]), Error::NoCapability)?;
    let words = [elsewhere, elsewhere, bad, good_one].into_iter().flat_map(|record| record.0);
    words.enumerate().for_each(|(i, word)| utcb::set_word(i, word));
    let mut registers = [Tag::new(Op::MapRun, 0, 0).0, handle, 4, 0, 0];
    sys::raw(&mut registers);
    check("the third failed", Delivery(registers[0]).error() == Some(Error::NoCapability) && registers[2] == 2)?;
    check("it has not run", written(bed)? == 0)?;
    let r = good(map_run(handle, &[good_one]))?;
    check("the handle was good", r.words[0] == vector::SYSTEM_CALL)
}

fn answer_to_nobody(bed: &mut Bed) -> Result<(), Why> {
    let (alien, handle) = faulted(bed)?;
    let record = data_page(&alien, bed, Rights(3));
    fails(map_run(handle ^ 0x100_0000, &[record]), Error::BadHandle)?;
    let r = alien.run(handle)?;
    check("the same fault", r.words == [vector::PAGE_FAULT, DATA, 6])
}

fn answer_interrupted(bed: &mut Bed) -> Result<(), Why> {
    clear(bed)?;
    let (alien, handle) = faulted(bed)?;
    let bell = bed.slot();
    good(copy(SELF.0, None, bell, Rights::NOTIFY, 4))?;
    good(Thread(bell).notify())?;
    utcb::accept(4);
    let r = map_run(handle, &[data_page(&alien, bed, Rights(3))]);
    utcb::accept(0);
    let r = good(r)?;
    check("the bits, and the same handle", r.kind == MessageKind::Interrupted && r.words[0] == 4 && r.handle == handle)?;
    check("it has not run", written(bed)? == 0)?;
    let r = alien.run(handle)?;
    check("the page was there", r.words[0] == vector::SYSTEM_CALL && written(bed)? == 7)
}

fn int_0x80(bed: &mut Bed) -> Result<(), Why> {
    // mov eax, 20; mov ebx, 1 .. ebp, 6; int 0x80; int 0x80
    let mut code = [0; 39];
    for (i, opcode) in [0xb8, 0xbb, 0xb9, 0xba, 0xbe, 0xbf, 0xbd].into_iter().enumerate() {
        code[i * 5] = opcode;
        code[i * 5 + 1] = if i == 0 { 20 } else { i as u8 };
    }
    code[35..39].copy_from_slice(&[0xcd, 0x80, 0xcd, 0x80]);
    let alien = launch(bed, &code)?;
    let r = alien.run(alien.bound.handle)?;
    check("a system call with the badge", r.words[0] == vector::SYSTEM_CALL && r.badge == 5)?;
    check("its number", alien.word(offset_of!(Frame, eax)) == 20)?;
    check("its arguments", GENERAL.iter().skip(1).zip(1..).all(|(offset, value)| alien.word(*offset) == value))?;
    check("behind the instruction", alien.word(offset_of!(Frame, eip)) == CODE + 37)?;
    alien.set(offset_of!(Frame, eax), 1234);
    let r = alien.run(r.handle)?;
    check("the result arrived, the rest stayed", alien.word(offset_of!(Frame, eax)) == 1234 && alien.word(offset_of!(Frame, ebp)) == 6)?;
    check("a second call", r.words[0] == vector::SYSTEM_CALL)
}

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
    let mut code = [0xb8, 0x03, 0x10, 0, 0, 0x89, 0xe1, 0xba, 0, 0, 0, 0, 0xbb, 1, 0, 0, 0, 0x0f, 0x34];
    code[8..12].copy_from_slice(&(CODE + 64).to_le_bytes());
    let alien = launch(bed, &code)?;
    let r = alien.run(alien.bound.handle)?;
    check("vector", r.words[0] == vector::SYSENTER)?;
    check("eax as it was", alien.word(offset_of!(Frame, eax)) == 0x1003)?;
    check("ebx as it was", alien.word(offset_of!(Frame, ebx)) == 1)?;
    check("ecx and edx", alien.word(offset_of!(Frame, ecx)) == DATA + PAGE && alien.word(offset_of!(Frame, edx)) == CODE + 64)?;
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
        for (register, value) in [(offset_of!(Frame, eax), tag), (offset_of!(Frame, ebx), alien.bound.handle), (offset_of!(Frame, esi), 1)]
        {
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
    check("it went on", r.words[0] == vector::SYSTEM_CALL && alien.word(offset_of!(Frame, eip)) == CODE + 4)?;
    let expected = [1, 2, DATA + 0x124, CODE + 2, 5, 6, 7];
    check("its registers", GENERAL.iter().zip(expected).all(|(offset, value)| alien.word(*offset) == value))?;
    check("its stack", alien.word(offset_of!(Frame, esp)) == DATA + 0x124)?;
    check("its flags", alien.word(offset_of!(Frame, eflags)) & abi::frame::USER_FLAGS == 0x401)?;
    check("nothing is left of it", alien.word(offset_of!(Frame, changed)) == 0)?;
    // A step is one instruction, as it is by `iret`.
    alien.set(offset_of!(Frame, eip), CODE);
    alien.set(offset_of!(Frame, eflags), 0x100);
    alien.set(offset_of!(Frame, changed), BY_SYSEXIT);
    let r = alien.run(r.handle)?;
    check("the system call before the step", r.words[0] == vector::SYSTEM_CALL && alien.word(offset_of!(Frame, eip)) == CODE + 2)
}

fn page_fault(bed: &mut Bed) -> Result<(), Why> {
    // mov [0x12345678], eax; int 0x80
    let alien = launch(bed, &[0xa3, 0x78, 0x56, 0x34, 0x12, 0xcd, 0x80])?;
    let r = alien.run(alien.bound.handle)?;
    check("vector and address", r.words[0] == vector::PAGE_FAULT && r.words[1] == 0x1234_5678)?;
    check("a write", r.words[2] & 2 != 0)?;
    good(map(alien.space, 0x1234_5000, bed.ram, 2 * PAGE, PAGE, Rights(3)))?;
    let r = alien.run(r.handle)?;
    check("it went on", r.words[0] == vector::SYSTEM_CALL)
}

fn exception(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, &[0x0f, 0x0b])?;
    let r = alien.run(alien.bound.handle)?;
    check("vector", r.words[0] == vector::INVALID_OPCODE)?;
    check("at the instruction", alien.word(offset_of!(Frame, eip)) == CODE)
}

fn handler_writes(bed: &mut Bed) -> Result<(), Why> {
    // int 0x80; mov [DATA], edi; int 0x80
    let mut code = [0xcd, 0x80, 0x89, 0x3d, 0, 0, 0, 0, 0xcd, 0x80];
    code[4..8].copy_from_slice(&DATA.to_le_bytes());
    let alien = launch(bed, &code)?;
    let r = alien.run(alien.bound.handle)?;
    alien.set(offset_of!(Frame, edi), 0x5566_7788);
    alien.run(r.handle)?;
    good(map(SPACE, ADDRESS + PAGE, bed.ram, PAGE, PAGE, Rights::READ))?;
    check("stored", bytes(ADDRESS + PAGE, 4) == 0x5566_7788u32.to_le_bytes())
}

/// Runs an alien that counts in EAX until an alarm interrupts it: later, if the alarm was due before it ran,
/// as on a machine that was stopped meanwhile.
fn run_interrupted(alien: &Alien, mut handle: u32) -> Result<u32, Why> {
    let before = alien.word(offset_of!(Frame, eax));
    for delay in (0..10).map(|doublings| 5_000_000u64 << doublings) {
        good(time::alarm(time::now() + delay, 1))?;
        let r = good(run(handle))?;
        check("interrupted by the bit", r.kind == MessageKind::Interrupted && r.words[0] == 1)?;
        if alien.word(offset_of!(Frame, eax)) != before {
            check("its frame says so", alien.word(offset_of!(Frame, vector)) == vector::INTERRUPTED)?;
            return Ok(r.handle);
        }
        handle = r.handle;
    }
    check("it runs before its time is up", false).map(|()| handle)
}

fn notification_interrupts(bed: &mut Bed) -> Result<(), Why> {
    // inc eax; jmp back
    let alien = launch(bed, &[0x40, 0xeb, 0xfd])?;
    utcb::accept(1);
    let handle = run_interrupted(&alien, alien.bound.handle)?;
    // It goes on from there.
    run_interrupted(&alien, handle).map(|_| ())
}

fn pending_bits(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, &[0xcd, 0x80])?;
    good(time::alarm(1, 2))?;
    utcb::accept(2);
    let r = good(run(alien.bound.handle))?;
    check("interrupted before it ran", r.kind == MessageKind::Interrupted && r.handle == alien.bound.handle)?;
    let r = alien.run(r.handle)?;
    check("its handle was still good", r.words[0] == vector::SYSTEM_CALL)
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
    check("stopped behind one instruction", r.words[0] == vector::DEBUG && alien.word(offset_of!(Frame, eip)) == CODE + 1)
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
    check("the handle cannot be used twice", reply(alien.bound.handle, macadamia::ipc::Message::default()) == Err(Error::BadHandle))
}
