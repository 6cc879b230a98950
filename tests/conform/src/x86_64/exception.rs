// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions that x86-64 has, and frames that ask for more than a user may have.

use crate::alien;
use crate::exception::{DATA, WHOLE, create, expect, launch, launch_with, next};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SPACE, Why, check, fill, good};
use abi::frame::{USER_FLAGS, fault, vector};
use abi::{Frame, Op, Rights, Tag, USER_END, Word};
use core::mem::offset_of;
use macadamia::cap::{frame, set_frame};
use macadamia::ipc::reply_wait;
use macadamia::map::{map, protect};
use processor::{INVALID_BYTES, SP, Words, code};

pub const CASES: &[Case] = &[
    ("a_division_by_zero_reaches_the_handler", |bed| expect(bed, code::divides(), 0)),
    ("privileged_instructions_are_refused", privileged),
    ("data_is_not_executed", not_executed),
    ("an_address_that_is_none_is_the_threads_fault", nowhere),
    ("the_last_system_call_returns_to_nowhere", last_call),
    ("hostile_registers_do_no_harm", hostile_registers),
    ("another_code_segment_does_not_lead_into_the_kernel", |bed| {
        expect(bed, code::loads_code_selector(), vector::INVALID_OPCODE)
    }),
    ("virtual_8086_mode_gives_no_privilege", virtual_mode),
    ("a_single_step_in_virtual_8086_mode_is_the_threads", step_in_virtual_mode),
    ("a_single_step_stops_after_one_instruction", single_step),
    ("a_single_step_goes_through_a_system_call", step_over_call),
    ("the_kernels_memory_is_refused_everywhere", kernel_memory),
    ("all_registers_are_the_threads_own", all_registers),
];

/// Single step, and interrupts enabled.
const STEP: Word = 1 << 8;
const RUNNING: Word = 0x202;
/// The lowest non-canonical address, and the start of the upper half.
const NONE: [Word; 3] = [USER_END, 1 << 63, !USER_END];

fn privileged(bed: &mut Bed) -> Result<(), Why> {
    for (name, code) in [
        ("hlt", code::halt()),
        ("cli", code::close_interrupts()),
        ("mov cr3", code::load_tables()),
        ("rdmsr", code::read_special()),
        ("wrmsr", code::write_special()),
        ("swapgs", code::swap_base()),
        ("sysretq", code::return_from_call()),
        ("rdpmc", code::read_counts()),
        ("in", code::read_port()),
        ("int", code::interrupt()),
    ] {
        expect(bed, code, vector::GENERAL_PROTECTION).map_err(|_| Why::from(name))?;
    }
    Ok(())
}

/// A page that can be read cannot be executed; with the right it can, and without it no longer.
fn not_executed(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights::RWX))?;
    fill(DATA, PAGE, code::invalid());
    good(protect(SPACE, DATA, PAGE, Rights(3)))?;
    let refused = fault::PROTECTION | fault::USER | fault::FETCH;
    launch_with(bed, code::branch(), DATA)?;
    let (r, f) = next()?;
    check("a fetch", r.words == [vector::PAGE_FAULT, DATA, refused] && f.rip == DATA)?;
    good(protect(SPACE, DATA, PAGE, Rights::RWX))?;
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("it is executed", r.words[0] == vector::INVALID_OPCODE && frame().rip == DATA)?;
    good(protect(SPACE, DATA, PAGE, Rights::READ))?;
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("and no more", r.words == [vector::PAGE_FAULT, DATA, refused])
}

/// A thread that is sent to an address beyond the users': the fault is its own.
fn nowhere(bed: &mut Bed) -> Result<(), Why> {
    for address in NONE {
        launch(bed, code::invalid())?;
        let (r, f) = next()?;
        set_frame(&Frame { rip: address, ..f });
        let r = good(reply_wait(r.handle, WHOLE))?;
        check("a protection fault", r.words == [vector::GENERAL_PROTECTION, 0, 0])?;
        check("there", frame().rip == address)?;
        launch_with(bed, code::branch(), address)?;
        let (r, _) = next()?;
        let is_fault = matches!(r.words[0], vector::GENERAL_PROTECTION | vector::PAGE_FAULT);
        check("a jump there is refused", is_fault)?;
        launch_with(bed, code::read(), address)?;
        let (r, f) = next()?;
        let is_fault = matches!(r.words[0], vector::GENERAL_PROTECTION | vector::PAGE_FAULT);
        check("so is a read", is_fault && f.rip == ADDRESS)?;
    }
    Ok(())
}

/// `syscall` is the last instruction of the users' addresses: its return address is beyond them.
fn last_call(bed: &mut Bed) -> Result<(), Why> {
    let (page, bytes) = (USER_END - PAGE, code::last_call().len() as Word);
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS + PAGE - bytes, bytes, code::last_call());
    let slot = bed.slot();
    let space = good(QUOTA.create_space(16, slot))?;
    good(map(space, page, bed.ram, 0, PAGE, Rights(5)))?;
    let thread = create(bed, space)?;
    // Its tag is 0.
    good(thread.start(USER_END - bytes, 0, 0))?;
    let (r, f) = next()?;
    check("its own fault", r.words == [vector::GENERAL_PROTECTION, 0, 0])?;
    check("after the call", f.rip == USER_END && f.r[0] != 0)
}

fn hostile_registers(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::invalid(), code::close_interrupts()].concat())?;
    let (r, f) = next()?;
    set_frame(&Frame {
        rip: f.rip + INVALID_BYTES,
        rflags: !STEP,
        fs_base: !0,
        vector: !0,
        error: !0,
        address: !0,
        changed: !0,
        ..f
    });
    let r = good(reply_wait(r.handle, WHOLE))?;
    let f = frame();
    check("no privilege was gained", r.words[0] == vector::GENERAL_PROTECTION)?;
    check("interrupts are on, no I/O privilege", f.rflags & !USER_FLAGS == RUNNING)?;
    check("no base that is no user's", f.fs_base == 0)
}

/// An alien continues with these 32-bit words: instruction pointer, CS, flags, stack pointer, SS,
/// and the other segments. Its stack is where 16 bits reach, and the page at 0, where such code
/// would be, has instructions without effect, up to a write to that page. No processor has virtual
/// 8086 mode in long mode, and refuses; QEMU 10 has.
fn returns_to(bed: &mut Bed, words: [u32; 9]) -> Result<Word, Why> {
    const STACK: Word = 0x8000;
    const NOP: u8 = 0x90;
    let stack: [u8; 36] = core::array::from_fn(|at| words[at / 4].to_le_bytes()[at % 4]);
    let alien = alien::launch(bed, code::returns_by_stack())?;
    good(map(SPACE, ADDRESS, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(ADDRESS, PAGE, &[NOP; 512]);
    good(map(SPACE, ADDRESS, bed.ram, 2 * PAGE, PAGE, Rights(3)))?;
    fill(ADDRESS, 36, &stack);
    good(map(alien.space, 0, bed.ram, PAGE, PAGE, Rights(5)))?;
    good(map(alien.space, STACK, bed.ram, 2 * PAGE, PAGE, Rights(3)))?;
    alien.set(SP, STACK);
    let r = alien.run(alien.bound.handle)?;
    check("no privilege", alien.word(offset_of!(Frame, rflags)) & !USER_FLAGS == RUNNING)?;
    Ok(r.words[0])
}

/// The I/O privilege, virtual 8086 mode.
const PRIVILEGE: u32 = 3 << 12;
const VIRTUAL: u32 = 1 << 17;

fn virtual_mode(bed: &mut Bed) -> Result<(), Why> {
    let flags = RUNNING as u32 | PRIVILEGE | VIRTUAL;
    let cause = returns_to(bed, [0x100, 0, flags, 0x8800, 0, 0, 0, 0, 0])?;
    check("the thread's own", [vector::GENERAL_PROTECTION, vector::PAGE_FAULT].contains(&cause))
}

/// In that mode CS and SS can have the values of the kernel's.
fn step_in_virtual_mode(bed: &mut Bed) -> Result<(), Why> {
    let flags = (RUNNING | STEP) as u32 | PRIVILEGE | VIRTUAL;
    let cause = returns_to(bed, [0x100, 8, flags, 0x8800, 0x10, 0, 0, 0, 0])?;
    check("the thread's own", [vector::GENERAL_PROTECTION, vector::DEBUG].contains(&cause))
}

fn single_step(bed: &mut Bed) -> Result<(), Why> {
    let code = [code::invalid(), code::nop(), code::nop(), code::invalid()].concat();
    launch(bed, &code)?;
    let (r, mut f) = next()?;
    f.skip_invalid();
    f.rflags |= STEP;
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    let mut f = frame();
    let after = ADDRESS + INVALID_BYTES + 1;
    check("one instruction", r.words[0] == vector::DEBUG && f.rip == after)?;
    f.rflags &= !STEP;
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("then it runs on", r.words[0] == vector::INVALID_OPCODE)
}

/// The step ends with the call, or with the instruction after it: the kernel is never stepped.
fn step_over_call(bed: &mut Bed) -> Result<(), Why> {
    let code = [code::invalid(), code::system_call(), code::nop(), code::invalid()].concat();
    launch(bed, &code)?;
    let (r, mut f) = next()?;
    f.skip_invalid();
    f.rflags |= STEP;
    f.r[0] = Tag::new(Op::Identify, 0, 0).0.into();
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    let f = frame();
    let call = ADDRESS + INVALID_BYTES + code::system_call().len() as Word;
    check("a step", r.words[0] == vector::DEBUG)?;
    check("after the call", f.rip == call || f.rip == call + 1)?;
    check("which was made", f.r[0] != Word::from(Tag::new(Op::Identify, 0, 0).0))
}

fn kernel_memory(bed: &mut Bed) -> Result<(), Why> {
    // The image, the processor's page, the pool, the last page.
    for address in [0xe010_1000, 0xe040_0f80, 0xe080_0000, 0xffff_f000] {
        let address = 0xffff_ffff_0000_0000 | address;
        let is_fault = |words: [Word; 3], error| {
            words[..2] == [vector::PAGE_FAULT, address]
                && words[2] & !fault::PROTECTION == error | fault::USER
        };
        launch_with(bed, code::read(), address)?;
        check("a read is refused", is_fault(next()?.0.words, 0))?;
        launch_with(bed, code::write(), address)?;
        check("a write is refused", is_fault(next()?.0.words, fault::WRITE))?;
        launch_with(bed, code::branch(), address)?;
        check("a fetch is refused", is_fault(next()?.0.words, fault::FETCH))?;
    }
    Ok(())
}

fn all_registers(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::invalid(), code::invalid()].concat())?;
    let (r, f) = next()?;
    let wanted = Frame {
        r: core::array::from_fn(|index| 0x0101_0101_0101_0101 * (index as Word + 1)),
        rsp: 0x1234_5678_9abc_def0,
        rflags: RUNNING | 0xcd5,
        fs_base: 0x7f7f_1234_5678,
        rip: f.rip + INVALID_BYTES,
        changed: abi::frame::CHANGED_STATE,
        ..f
    };
    set_frame(&wanted);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("the second one", r.words[0] == vector::INVALID_OPCODE)?;
    let f = frame();
    // The processor records that the instruction is to be tried again (RF).
    let again = f.rflags & 1 << 16;
    check("all as they were", f == Frame { rflags: wanted.rflags | again, changed: 0, ..wanted })
}
