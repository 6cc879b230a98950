// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions that PowerPC has, and frames that ask for more than a user may have.

use crate::exception::{DATA, WHOLE, launch, launch_with, next};
use crate::{ADDRESS, Bed, Case, PAGE, SPACE, Why, check, good};
use abi::Rights;
use abi::frame::{USER_FLAGS, fault, program, vector};
use macadamia::cap::{frame, set_frame};
use macadamia::ipc::reply_wait;
use macadamia::map::map;
use processor::{INVALID_BYTES, Words, code};

pub const CASES: &[Case] = &[
    ("an_illegal_instruction_says_so", |bed| of_kind(bed, code::invalid(), program::ILLEGAL)),
    ("a_trap_says_so", |bed| of_kind(bed, code::breakpoint(), program::TRAP)),
    ("privileged_instructions_say_so", privileged),
    ("a_misaligned_reservation_reaches_the_handler", misaligned),
    ("a_fetch_is_told", fetch),
    ("a_single_step_reaches_the_handler", steps),
    ("hostile_registers_do_no_harm", hostile_registers),
    ("the_kernels_memory_is_refused_everywhere", kernel_memory),
    ("the_time_base_is_readable", time_base),
    ("all_registers_are_the_threads_own", all_registers),
];

/// SE of the machine state: the processor stops after each instruction.
const STEP: u32 = 0x400;
/// Bits that every thread has: interrupts, user mode, machine checks, translation.
const RUNNING: u32 = 0xd030;

fn of_kind(bed: &mut Bed, code: &[u8], kind: u32) -> Result<(), Why> {
    launch(bed, code)?;
    let (_, f) = next()?;
    check("the kind", f.vector == vector::PROGRAM && f.error == kind && f.pc == ADDRESS)
}

fn privileged(bed: &mut Bed) -> Result<(), Why> {
    for (name, code) in [
        ("mfmsr", code::read_state()),
        ("mtmsr", code::write_state()),
        ("mfsr", code::read_segment()),
        ("mtsr", code::write_segment()),
        ("mfspr", code::read_special()),
        ("mtspr", code::write_special()),
        ("rfi", code::return_from_exception()),
        ("tlbie", code::drop_page()),
        ("dcbi", code::drop_line()),
    ] {
        of_kind(bed, code, program::PRIVILEGED).map_err(|_| Why::from(name))?;
    }
    Ok(())
}

fn misaligned(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    for offset in 1..4 {
        launch_with(bed, code::reserve(), DATA + 64 + offset)?;
        let (r, f) = next()?;
        check(
            "alignment, and where",
            r.words[..2] == [vector::ALIGNMENT, DATA + 64 + offset] && f.pc == ADDRESS,
        )?;
    }
    launch_with(bed, &[code::reserve(), code::invalid()].concat(), DATA + 64)?;
    check("aligned it is done", next()?.0.words[0] == vector::PROGRAM)
}

/// The invalid instruction after it is reached, and the register has a value.
fn time_base(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, code::reads_time())?;
    let (_, f) = next()?;
    check(
        "it was read",
        f.vector == vector::PROGRAM
            && f.error == program::ILLEGAL
            && f.pc == ADDRESS + 4
            && f.gpr[5] != 0,
    )
}

fn fetch(bed: &mut Bed) -> Result<(), Why> {
    launch_with(bed, code::branch(), DATA + 64)?;
    let (r, f) = next()?;
    check("a fetch", r.words == [vector::PAGE_FAULT, DATA + 64, fault::FETCH])?;
    check("at the address", f.pc == DATA + 64)
}

fn steps(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::invalid(), code::steps()].concat())?;
    let (r, mut f) = next()?;
    f.skip_invalid();
    set_frame(&abi::Frame { msr: f.msr | STEP, ..f });
    let start = ADDRESS + INVALID_BYTES;
    let mut handle = r.handle;
    for (step, done) in [[1, 0, 0], [1, 2, 0], [1, 2, 3]].into_iter().enumerate() {
        let r = good(reply_wait(handle, WHOLE))?;
        let f = frame();
        check(
            "a step",
            r.words[0] == vector::TRACE
                && f.pc == start + 4 * (step as u32 + 1)
                && f.gpr[5..8] == done,
        )?;
        set_frame(&abi::Frame { msr: if step == 2 { f.msr & !STEP } else { f.msr }, ..f });
        handle = r.handle;
    }
    let r = good(reply_wait(handle, WHOLE))?;
    check("no step any more", r.words[0] == vector::PROGRAM && frame().msr == RUNNING)
}

fn hostile_registers(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::invalid(), code::invalid()].concat())?;
    let (r, f) = next()?;
    set_frame(&abi::Frame {
        msr: !USER_FLAGS,
        pc: ADDRESS + INVALID_BYTES + 3,
        vector: !0,
        error: !0,
        address: !0,
        changed: !0,
        ..f
    });
    let r = good(reply_wait(r.handle, WHOLE))?;
    let f = frame();
    check("the second one", r.words[0] == vector::PROGRAM && f.pc == ADDRESS + INVALID_BYTES)?;
    check("a user's machine state", f.msr == RUNNING)
}

fn kernel_memory(bed: &mut Bed) -> Result<(), Why> {
    // The kernel's image has the addresses from 0 on, and its pool those after it: what users have
    // there is theirs. Devices belong to none.
    for address in [0x0001_0000, 0x0080_0000, 0xc000_0000, 0xf000_0000, 0xfe00_0000, 0xffff_fffc] {
        launch_with(bed, code::read(), address)?;
        check("a read is refused", next()?.0.words == [vector::PAGE_FAULT, address, 0])?;
        launch_with(bed, code::write(), address)?;
        check(
            "a write is refused",
            next()?.0.words == [vector::PAGE_FAULT, address, fault::WRITE],
        )?;
        launch_with(bed, code::branch(), address)?;
        check(
            "a fetch is refused",
            next()?.0.words == [vector::PAGE_FAULT, address, fault::FETCH],
        )?;
    }
    Ok(())
}

fn all_registers(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::invalid(), code::invalid()].concat())?;
    let (r, f) = next()?;
    let wanted = abi::Frame {
        gpr: core::array::from_fn(|index| 0x0101_0101 * index as u32 + 7),
        lr: 0x1234_5678,
        ctr: 0x8765_4321,
        // It has only these bits.
        xer: 0xe000_007f,
        cr: 0x1357_9bdf,
        pc: f.pc + INVALID_BYTES,
        ..f
    };
    set_frame(&wanted);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("the second one", r.words[0] == vector::PROGRAM)?;
    check("all as they were", frame() == wanted)
}
