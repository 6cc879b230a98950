// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions that Alpha has, frames that ask for more than a user may have, and what PALcode does
//! for users.

use crate::exception::{DATA, WHOLE, expect, launch, launch_with, next};
use crate::{ADDRESS, Bed, Case, PAGE, SPACE, Why, check, good};
use abi::frame::{fault, vector};
use abi::{Frame, Rights, USER_END, Word};
use macadamia::cap::{frame, set_frame};
use macadamia::ipc::reply_wait;
use macadamia::map::map;
use processor::{INVALID_BYTES, Words, code};

pub const CASES: &[Case] = &[
    ("privileged_instructions_are_refused", privileged),
    ("the_fpu_is_refused", |bed| expect(bed, code::uses_fpu(), vector::FPU)),
    ("calls_of_palcode_that_mean_nothing_are_exceptions", other_calls),
    ("what_is_not_aligned_reaches_the_handler", misaligned),
    ("a_fetch_is_told", fetch),
    ("addresses_that_are_no_users_are_refused", kernel_memory),
    ("another_address_of_a_page_gives_no_more_rights", other_address),
    ("hostile_registers_do_no_harm", hostile_registers),
    ("all_registers_are_the_threads_own", all_registers),
    ("a_port_that_was_given_is_there", given_port),
    ("one_that_was_not_is_refused", other_ports),
    ("the_counter_is_readable", counter),
];

/// Instructions of PALcode, and calls that are the kernel's.
fn privileged(bed: &mut Bed) -> Result<(), Why> {
    for number in [0, 3, 4, 5, 6, 7, 8, 11, 0x2d, 0x3e] {
        expect(bed, &code::call_pal(number), vector::RESERVED)
            .map_err(|_| macadamia::alloc::format!("call_pal {number:#x}"))?;
    }
    for (name, code) in [
        ("hw_mfpr", code::reads_register()),
        ("hw_mtpr", code::writes_register()),
        ("hw_ldq", code::reads_physical()),
        ("hw_stq", code::writes_physical()),
        ("hw_ret", code::leaves_palmode()),
    ] {
        expect(bed, code, vector::RESERVED).map_err(|_| Why::from(name))?;
    }
    Ok(())
}

/// `bpt`, `bugchk` and others of users, and those that no processor has.
fn other_calls(bed: &mut Bed) -> Result<(), Why> {
    for number in [0x80, 0x81, 0x83, 0xaa, 0xbb] {
        expect(bed, &code::call_pal(number), vector::CALL_PAL)
            .map_err(|_| macadamia::alloc::format!("call_pal {number:#x}"))?;
    }
    for number in [0x40, 0x7f, 0xc0, 0xff] {
        expect(bed, &code::call_pal(number), vector::RESERVED)
            .map_err(|_| macadamia::alloc::format!("call_pal {number:#x}"))?;
    }
    Ok(())
}

fn misaligned(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    for offset in 1..8 {
        let at = DATA + 64 + offset;
        for code in [code::read_wide(), code::write_wide()] {
            launch_with(bed, code, at)?;
            let (r, f) = next()?;
            check("which, and where", r.words[..2] == [vector::UNALIGNED, at])?;
            check("at the instruction", f.pc == ADDRESS)?;
        }
    }
    launch_with(bed, &[code::read_wide(), code::invalid()].concat(), DATA + 64)?;
    check("aligned it is done", next()?.0.words[0] == vector::RESERVED)
}

fn fetch(bed: &mut Bed) -> Result<(), Why> {
    launch_with(bed, code::branch(), DATA + 64)?;
    let (r, f) = next()?;
    check("a fetch", r.words == [vector::PAGE_FAULT, DATA + 64, fault::FETCH])?;
    check("at the address", f.pc == DATA + 64)
}

/// PALcode, the kernel's memory, the board's registers, and what is neither a user's nor the kernel's.
fn kernel_memory(bed: &mut Bed) -> Result<(), Why> {
    for at in [
        USER_END,
        USER_END - 8,
        1 << 50,
        0xffff_fc00_0000_0000,
        0xffff_fc00_0080_0000,
        0xffff_fd01_fc00_0000,
        0xffff_ffff_ffff_fff8,
    ] {
        launch_with(bed, code::read_wide(), at)?;
        check("a read", next()?.0.words == [vector::PAGE_FAULT, at, 0])?;
        launch_with(bed, code::write_wide(), at)?;
        check("a write", next()?.0.words == [vector::PAGE_FAULT, at, fault::WRITE])?;
    }
    Ok(())
}

/// QEMU's Alpha does not look at bit 42 of an address if all bits above it are set: a user's page has
/// another address there, which is as little the kernel's, and which no other pattern of bits gives.
fn other_address(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights::READ))?;
    for bit in [32, 33, 41, 42, 43, 63] {
        launch_with(bed, code::read_wide(), DATA | 1 << bit)?;
        check("beyond", next()?.0.words == [vector::PAGE_FAULT, DATA | 1 << bit, 0])?;
    }
    let at = DATA | 0xffff_f800_0000_0000;
    launch_with(bed, &[code::read_wide(), code::invalid()].concat(), at)?;
    check("a read", next()?.0.words[0] == vector::RESERVED)?;
    launch_with(bed, code::write_wide(), at)?;
    check("a write", next()?.0.words == [vector::PAGE_FAULT, at, fault::WRITE])?;
    launch_with(bed, code::branch(), at)?;
    check("a fetch", next()?.0.words == [vector::PAGE_FAULT, at, fault::FETCH])
}

fn hostile_registers(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::invalid(), code::writes_register()].concat())?;
    let (r, f) = next()?;
    set_frame(&Frame {
        // Bit 0 would be PALmode.
        pc: f.pc + INVALID_BYTES + 1,
        vector: !0,
        error: !0,
        address: !0,
        changed: !0,
        ..f
    });
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("no privilege was gained", r.words[0] == vector::RESERVED)?;
    check("there", frame().pc == f.pc + INVALID_BYTES)
}

/// Of its own in each.
fn wanted(f: Frame) -> Frame {
    Frame {
        r: core::array::from_fn(|index| 0x0101_0101_0101_0101 * (index as Word + 1)),
        pc: f.pc + INVALID_BYTES,
        ..f
    }
}

fn all_registers(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::invalid(), code::invalid()].concat())?;
    let (r, f) = next()?;
    set_frame(&wanted(f));
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("the second one", r.words[0] == vector::RESERVED)?;
    check("all as they were", frame() == wanted(f))
}

/// The port that the description gives.
const PORT: Word = 0x80;

fn given_port(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    good(map(SPACE, 0, ports, 0, 1, Rights::WRITE))?;
    launch_with(bed, &[&code::reads_port(1)[..], code::invalid()].concat(), PORT)?;
    let (r, mut f) = next()?;
    check("read", r.words[0] == vector::RESERVED && f.r[0] < 0x100)?;
    check("nothing else changed", f.r[17] == 1 && f.r[16] == PORT)?;
    f.skip_invalid();
    launch_with(bed, &[&code::writes_port(1)[..], code::invalid()].concat(), PORT)?;
    check("written", next()?.0.words[0] == vector::RESERVED)
}

/// The interrupt controller's, the one before, the one after, more bytes than it has, and what is no
/// port or no width.
fn other_ports(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    good(map(SPACE, 0, ports, 0, 1, Rights::WRITE))?;
    for (port, bytes) in [
        (0x21, 1),
        (PORT - 1, 1),
        (PORT + 1, 1),
        (PORT, 2),
        (PORT, 4),
        (PORT, 3),
        (PORT, 0),
        (PORT + (1 << 16), 1),
        (PORT + (1 << 32), 1),
    ] {
        launch_with(bed, &code::reads_port(bytes), port)?;
        check("a read", next()?.0.words[0] == vector::PORT_READ)?;
        launch_with(bed, &code::writes_port(bytes), port)?;
        check("a write", next()?.0.words[0] == vector::PORT_WRITE)?;
    }
    Ok(())
}

/// It counts, and it is the same for all.
fn counter(bed: &mut Bed) -> Result<(), Why> {
    let before = macadamia::time::counter();
    launch(bed, code::reads_count())?;
    let (r, f) = next()?;
    let after = macadamia::time::counter();
    check("both were read", r.words[0] == vector::RESERVED)?;
    let counts = [before, f.r[1], f.r[0], after];
    check("it counts", counts.is_sorted() && before != after)
}
