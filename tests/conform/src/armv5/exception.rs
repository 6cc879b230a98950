// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions that only ARM has: in Thumb code, of alignment, of privileged instructions; and
//! frames that ask for more than a user may have.

use crate::exception::{DATA, WHOLE, create, expect, launch, launch_with, next};
use crate::{ADDRESS, Bed, Case, PAGE, SPACE, Why, check, fill, good};
use abi::frame::{fault, vector};
use abi::{Frame, Op, Rights, Tag};
use macadamia::alloc::format;
use macadamia::cap::{frame, set_frame};
use macadamia::ipc::reply_wait;
use macadamia::map::map;
use processor::{INVALID_BYTES, code};

pub const CASES: &[Case] = &[
    ("reading_a_control_register_is_undefined", |bed| {
        expect(bed, code::read_control(), vector::UNDEFINED)
    }),
    ("writing_a_control_register_is_undefined", |bed| {
        expect(bed, code::write_control(), vector::UNDEFINED)
    }),
    ("writing_the_domains_is_undefined", |bed| {
        expect(bed, code::write_domains(), vector::UNDEFINED)
    }),
    ("floating_point_is_undefined", |bed| expect(bed, code::float(), vector::UNDEFINED)),
    ("supervisor_mode_is_not_to_be_had", supervisor_mode),
    ("a_misaligned_access_reaches_the_handler", misaligned),
    ("thumb_code_runs", thumb),
    ("a_thread_starts_in_thumb_state", thumb_start),
    ("a_system_call_returns_to_thumb_state", thumb_call),
    ("a_fault_tells_a_write_of_every_kind", kinds_of_writes),
    ("a_read_is_no_write", reads),
    ("a_fetch_is_told", fetch),
    ("hostile_registers_do_no_harm", hostile_registers),
    ("an_odd_program_counter_is_made_even", odd_program_counter),
    ("data_can_be_executed_where_it_can_be_read", readable),
    ("the_kernels_memory_is_refused_everywhere", kernel_data),
];

/// Mode, T, F and I of the status: user mode, interrupts on.
const CONTROL: u32 = 0xff;
const USER: u32 = 0x10;
const THUMB: u32 = 0x20;

fn supervisor_mode(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::try_supervisor(), code::invalid()].concat())?;
    let (r, f) = next()?;
    check("the instruction does nothing", r.words[0] == vector::UNDEFINED)?;
    check("user mode, interrupts on", f.r[2] & CONTROL == USER && f.cpsr & CONTROL == USER)
}

fn misaligned(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    for (name, code, offsets) in [
        ("ldr", code::read(), &[1, 2, 3][..]),
        ("str", code::write(), &[1, 2, 3]),
        ("ldrh", code::read_half(), &[1, 3]),
        ("strh", code::write_half(), &[1, 3]),
        ("swp", code::swap(), &[1, 2, 3]),
        ("stm", code::write_multiple(), &[1, 2, 3]),
    ] {
        for offset in offsets {
            let at = DATA + 64 + offset;
            launch_with(bed, &[code, code::invalid()].concat(), at)?;
            let (r, f) = next()?;
            if r.words[..2] != [vector::ALIGNMENT, at] || f.pc != ADDRESS {
                return Err(format!(
                    "{name}: exception {} for {:#x} at {:#x}",
                    r.words[0], r.words[1], f.pc
                ));
            }
        }
        launch_with(bed, &[code, code::invalid()].concat(), DATA + 64)?;
        check("aligned it is done", next()?.0.words[0] == vector::UNDEFINED)?;
    }
    Ok(())
}

/// `bx` to Thumb code after it.
fn thumb(bed: &mut Bed) -> Result<(), Why> {
    let start = ADDRESS + code::branch().len() as u32;
    launch_with(bed, &[code::branch(), code::thumb(), code::invalid()].concat(), start | 1)?;
    let (r, f) = next()?;
    check("an undefined instruction", r.words[0] == vector::UNDEFINED && f.pc == start + 2)?;
    check(
        "in Thumb state, after one that was executed",
        f.cpsr & CONTROL == USER | THUMB && f.r[2] == 42,
    )?;
    // Back to ARM state, by a frame.
    let behind = start + code::thumb().len() as u32;
    set_frame(&Frame { pc: behind, cpsr: f.cpsr & !THUMB, ..f });
    let again = good(reply_wait(r.handle, WHOLE))?;
    check(
        "in ARM state",
        again.words[0] == vector::UNDEFINED
            && frame().pc == behind
            && frame().cpsr & CONTROL == USER,
    )
}

fn thumb_start(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code::thumb());
    let thread = create(bed, SPACE)?;
    good(thread.start(ADDRESS | 1, ADDRESS + PAGE, 0))?;
    let (r, f) = next()?;
    check("it ran", r.words[0] == vector::UNDEFINED && f.r[2] == 42)?;
    check("in Thumb state", f.pc == ADDRESS + 2 && f.cpsr & THUMB != 0)
}

fn thumb_call(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code::thumb_native_call());
    let thread = create(bed, SPACE)?;
    let mut r = [0x5555; 13];
    r[0] = Tag::new(Op::Yield, 0, 0).0;
    good(
        thread
            .set_registers(&Frame { r, pc: ADDRESS, cpsr: USER | THUMB, ..Frame::default() }, true),
    )?;
    let (_, f) = next()?;
    check(
        "in Thumb state, after it",
        f.vector == vector::UNDEFINED && f.pc == ADDRESS + 2 && f.cpsr & CONTROL == USER | THUMB,
    )?;
    check("it succeeded", f.r[0] == 0)?;
    check("what is no result is kept", f.r[5..] == r[5..])
}

fn kinds_of_writes(bed: &mut Bed) -> Result<(), Why> {
    for (name, code) in [
        ("str", code::write()),
        ("strb", code::write_byte()),
        ("strh", code::write_half()),
        ("stm", code::write_multiple()),
        ("swp", code::swap()),
        ("strd", code::write_double()),
    ] {
        launch_with(bed, &[code, code::invalid()].concat(), DATA + 64)?;
        let (r, f) = next()?;
        let told = r.words == [vector::PAGE_FAULT, DATA + 64, fault::WRITE] && f.pc == ADDRESS;
        check(name, told)?;
    }
    for (name, code) in
        [("str in Thumb state", code::thumb_write()), ("push in Thumb state", code::thumb_push())]
    {
        good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
        fill(ADDRESS, PAGE, code);
        let thread = create(bed, SPACE)?;
        good(thread.start(ADDRESS | 1, DATA + 72, DATA + 64))?;
        let (r, f) = next()?;
        check(name, r.words == [vector::PAGE_FAULT, DATA + 64, fault::WRITE] && f.pc == ADDRESS)?;
    }
    // A page that can be read and must not be written.
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights::READ))?;
    launch_with(bed, code::write_multiple(), DATA + 64)?;
    check(
        "a right is missing",
        next()?.0.words == [vector::PAGE_FAULT, DATA + 64, fault::WRITE | fault::PROTECTION],
    )
}

fn reads(bed: &mut Bed) -> Result<(), Why> {
    for code in [code::read(), code::read_half(), code::read_double()] {
        launch_with(bed, code, DATA + 64)?;
        check("a read", next()?.0.words == [vector::PAGE_FAULT, DATA + 64, 0])?;
    }
    Ok(())
}

fn fetch(bed: &mut Bed) -> Result<(), Why> {
    for state in [0, 1] {
        launch_with(bed, code::branch(), (DATA + 64) | state)?;
        let (r, f) = next()?;
        check("a fetch", r.words == [vector::PAGE_FAULT, DATA + 64, fault::FETCH])?;
        check("at the address", f.pc == DATA + 64 && f.cpsr & THUMB == state * THUMB)?;
    }
    // The kernel's pages are mapped, but not for users.
    launch_with(bed, code::branch(), 0xe010_0000)?;
    let (r, f) = next()?;
    check(
        "a fetch from the kernel",
        r.words[..2] == [vector::PAGE_FAULT, 0xe010_0000] && f.pc == 0xe010_0000,
    )?;
    check("is one", r.words[2] & (fault::FETCH | fault::WRITE) == fault::FETCH)
}

/// Continues with each mode, and all other bits that a user cannot have.
fn hostile_registers(bed: &mut Bed) -> Result<(), Why> {
    let code = [code::invalid(), code::read_status(), code::invalid()].concat();
    launch(bed, &code)?;
    let (mut r, _) = next()?;
    for mode in 0..32 {
        let mut f = frame();
        f.pc = ADDRESS + INVALID_BYTES;
        f.cpsr = 0xffff_ffc0 | mode;
        f.changed = u32::MAX;
        (f.vector, f.error, f.address) = (u32::MAX, u32::MAX, u32::MAX);
        set_frame(&f);
        r = good(reply_wait(r.handle, WHOLE))?;
        let f = frame();
        check(
            "it went on",
            r.words[0] == vector::UNDEFINED && f.pc == ADDRESS + code.len() as u32 - INVALID_BYTES,
        )?;
        check("its flags", f.cpsr & 0xf800_0000 == 0xf800_0000)?;
        check(
            "user mode, interrupts on, no Java",
            f.r[2] & CONTROL == USER && f.cpsr & CONTROL == USER && f.r[2] & 1 << 24 == 0,
        )?;
    }
    Ok(())
}

fn odd_program_counter(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::invalid(), code::read_status(), code::invalid()].concat())?;
    let (mut r, _) = next()?;
    for bits in [1, 2, 3] {
        let mut f = frame();
        (f.pc, f.r[2]) = ((ADDRESS + INVALID_BYTES) | bits, 0);
        set_frame(&f);
        r = good(reply_wait(r.handle, WHOLE))?;
        let f = frame();
        check(
            "it went on",
            r.words[0] == vector::UNDEFINED && f.pc == ADDRESS + 2 * INVALID_BYTES,
        )?;
        check("in ARM state", f.cpsr & CONTROL == USER)?;
    }
    Ok(())
}

/// Rights without EXECUTE.
fn readable(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights(3)))?;
    fill(ADDRESS, PAGE, &[code::read_status(), code::invalid()].concat());
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::READ))?;
    crate::exception::start(bed, SPACE, 0)?;
    let (r, f) = next()?;
    check(
        "it ran",
        r.words[0] == vector::UNDEFINED && f.pc == ADDRESS + code::read_status().len() as u32,
    )
}

/// The page of the vectors can be read, because it has the helpers; no other page of the kernel
/// can.
fn kernel_data(bed: &mut Bed) -> Result<(), Why> {
    for address in [0xe000_0000, 0xe008_0000, 0xe080_0000, 0xefff_fffc, 0xf000_0000, 0xfffe_fffc] {
        for code in [code::read(), code::write()] {
            launch_with(bed, code, address)?;
            let (r, _) = next()?;
            if r.words[..2] != [vector::PAGE_FAULT, address] {
                return Err(format!("exception {} for {address:#x}", r.words[0]));
            }
        }
    }
    for address in [0xffff_0000, 0xffff_0fc0, 0xffff_0ff0, 0xffff_0ffc] {
        launch_with(bed, code::write(), address)?;
        let (r, _) = next()?;
        check(
            "not written",
            r.words[..2] == [vector::PAGE_FAULT, address] && r.words[2] & fault::WRITE != 0,
        )?;
    }
    Ok(())
}
