// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions of native threads as messages to their handler. The thread that
//! fails runs machine code written to a page of the own space.

use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, check, good};
use abi::frame::vector;
use abi::{Frame, MessageKind, Rights};
use macadamia::cap::{copy, frame, set_frame};
use macadamia::ipc::{Message, Received, receive, reply, reply_wait};
use macadamia::map::{map, protect, unmap};
use macadamia::start::fill;
use macadamia::{Memory, Space, Thread};

pub const CASES: &[Case] = &[
    ("an_invalid_opcode_reaches_the_handler", |bed| expect(bed, &[0x0f, 0x0b], vector::INVALID_OPCODE)),
    ("a_breakpoint_reaches_the_handler", |bed| expect(bed, &[0xcc], 3)),
    ("a_division_by_zero_reaches_the_handler", |bed| expect(bed, &[0x31, 0xc9, 0xf7, 0xf1], 0)),
    ("hlt_is_refused", |bed| expect(bed, &[0xf4], vector::GENERAL_PROTECTION)),
    ("cli_is_refused", |bed| expect(bed, &[0xfa], vector::GENERAL_PROTECTION)),
    ("loading_cr3_is_refused", |bed| expect(bed, &[0x0f, 0x22, 0xd8], vector::GENERAL_PROTECTION)),
    ("ports_that_were_not_given_are_refused", |bed| expect(bed, &[0xe4, 0x60], vector::GENERAL_PROTECTION)),
    ("an_unused_interrupt_is_refused", |bed| expect(bed, &[0xcd, 0x41], vector::GENERAL_PROTECTION)),
    ("reading_the_kernel_is_a_fault", reading_the_kernel),
    ("writing_the_information_page_is_a_fault", |bed| expect(bed, &[0xa3, 0x00, 0x10, 0x00, 0x00], vector::PAGE_FAULT)),
    ("a_fault_tells_address_and_access", fault_tells),
    ("a_handler_can_change_registers", handler_changes_registers),
    ("hostile_registers_do_no_harm", hostile_registers),
    ("without_a_handler_a_thread_halts", without_a_handler),
    ("a_stopped_exception_keeps_its_registers", stopped_keeps_registers),
    ("an_exception_in_the_queue_goes_to_a_new_handler", queued_exception),
    ("unmapped_memory_is_gone_at_once", unmapped_is_gone),
    ("a_lowered_right_counts_at_once", lowered_right),
    ("revoked_memory_is_gone_at_once", revoked_is_gone),
    ("single_step_stops_behind_one_instruction", single_step),
];

/// Badge that the handler sees.
pub const BADGE: u32 = 0x77;
/// Memory for data, behind the code's page.
pub const DATA: u32 = ADDRESS + PAGE;

/// A thread that runs `code` and whose handler is this one.
pub fn launch(bed: &mut Bed, code: &[u8]) -> Result<Thread, Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code);
    start(bed, SPACE)
}

/// The same in a space that has the code already.
pub fn start(bed: &mut Bed, space: Space) -> Result<Thread, Why> {
    let thread = create(bed, space)?;
    good(thread.start(ADDRESS, ADDRESS + PAGE, 0))?;
    Ok(thread)
}

/// A thread whose handler is this one.
pub fn create(bed: &mut Bed, space: Space) -> Result<Thread, Why> {
    let (handler, slot) = (bed.slot(), bed.slot());
    good(copy(SELF.0, None, handler, Rights::CALL, BADGE))?;
    let (thread, _) = good(QUOTA.create_thread(space, slot, None))?;
    good(thread.set_handler(Some(Thread(handler))))?;
    Ok(thread)
}

/// The next message, which must be an exception.
pub fn next() -> Result<(Received, Frame), Why> {
    let r = good(receive(None))?;
    check("an exception with the badge", r.kind == MessageKind::Exception && r.badge == BADGE)?;
    Ok((r, frame()))
}

fn expect(bed: &mut Bed, code: &[u8], expected: u32) -> Result<(), Why> {
    launch(bed, code)?;
    let (r, frame) = next()?;
    if r.words[0] == expected && frame.vector == expected {
        Ok(())
    } else {
        Err(macadamia::alloc::format!("exception {} instead of {expected}", r.words[0]))
    }
}

/// By its page, or by the limit of its segment where the kernel relies on that.
fn reading_the_kernel(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[0xa1, 0x00, 0x00, 0x10, 0xe0])?;
    let (r, _) = next()?;
    check("a fault", matches!(r.words[0], vector::PAGE_FAULT | vector::GENERAL_PROTECTION))
}

fn fault_tells(bed: &mut Bed) -> Result<(), Why> {
    // mov dword [DATA], 5; ud2
    let mut code = [0xc7, 0x05, 0, 0, 0, 0, 5, 0, 0, 0, 0x0f, 0x0b];
    code[2..6].copy_from_slice(&(DATA + 8).to_le_bytes());
    launch(bed, &code)?;
    let (r, f) = next()?;
    check("vector, address", r.words[0] == vector::PAGE_FAULT && r.words[1] == DATA + 8)?;
    check("a write, not a protection fault", r.words[2] & 3 == 2)?;
    check("at the instruction", f.eip == ADDRESS)?;
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    let again = good(reply_wait(r.handle, Message::default()))?;
    check("it went on", again.words[0] == vector::INVALID_OPCODE)
}

fn handler_changes_registers(bed: &mut Bed) -> Result<(), Why> {
    // ud2; nop; ud2
    launch(bed, &[0x0f, 0x0b, 0x90, 0x0f, 0x0b])?;
    let (r, mut f) = next()?;
    f.eip += 2;
    f.eax = 0xcafe_f00d;
    f.edi = 0x1234;
    set_frame(&f);
    let again = good(reply_wait(r.handle, Message { words: [0; 3], count: 19, caps: 0 }))?;
    let f = frame();
    check("it went on there", again.words[0] == vector::INVALID_OPCODE && f.eip == ADDRESS + 3)?;
    check("with these registers", f.eax == 0xcafe_f00d && f.edi == 0x1234)
}

fn hostile_registers(bed: &mut Bed) -> Result<(), Why> {
    // ud2; then cli (a fault if I/O privilege was not gained)
    launch(bed, &[0x0f, 0x0b, 0xfa])?;
    let (r, mut f) = next()?;
    f.eip += 2;
    f.eflags = 0xffff_feff;
    f.ds_es = 0x0010_0008;
    f.fs_gs = 0xfff0_004b;
    f.changed = u32::MAX;
    set_frame(&f);
    let again = good(reply_wait(r.handle, Message { words: [0; 3], count: 19, caps: 0 }))?;
    let f = frame();
    check("no privilege was gained", again.words[0] == vector::GENERAL_PROTECTION)?;
    check("interrupts are on, no I/O privilege", f.eflags & 0x3200 == 0x200)?;
    check("bad selectors became null", f.ds_es == 0)
}

fn without_a_handler(bed: &mut Bed) -> Result<(), Why> {
    let thread = launch(bed, &[0x0f, 0x0b])?;
    good(thread.set_handler(None))?;
    while good(thread.state())? == 1 {
        good(crate::object::yield_now())?;
    }
    check("halted", good(thread.state())? == 5)?;
    let f = good(thread.registers())?;
    check("its registers tell", f.vector == vector::INVALID_OPCODE && f.eip == ADDRESS)
}

fn stopped_keeps_registers(bed: &mut Bed) -> Result<(), Why> {
    // mov eax, 0x1234; mov ebx, eax; ud2
    let thread = launch(bed, &[0xb8, 0x34, 0x12, 0, 0, 0x89, 0xc3, 0x0f, 0x0b])?;
    next()?;
    good(thread.stop())?;
    let f = good(thread.registers())?;
    check("as they were", f.eax == 0x1234 && f.ebx == 0x1234 && f.vector == vector::INVALID_OPCODE && f.eip == ADDRESS + 7)
}

fn queued_exception(bed: &mut Bed) -> Result<(), Why> {
    let thread = launch(bed, &[0x0f, 0x0b])?;
    while good(thread.state())? != 3 {
        good(crate::object::yield_now())?;
    }
    let handler = bed.slot();
    good(copy(SELF.0, None, handler, Rights::CALL, BADGE + 1))?;
    good(thread.set_handler(Some(Thread(handler))))?;
    let r = good(receive(None))?;
    check("with the new badge", r.kind == MessageKind::Exception && r.badge == BADGE + 1)
}

/// Code that reads (or writes) `DATA` over and over, telling by `ud2` in between.
pub fn toucher(write: bool) -> [u8; 9] {
    // l: mov eax, [DATA] / mov [DATA], eax; ud2; jmp l
    let mut code = [if write { 0xa3 } else { 0xa1 }, 0, 0, 0, 0, 0x0f, 0x0b, 0xeb, 0xf7];
    code[1..5].copy_from_slice(&DATA.to_le_bytes());
    code
}

/// Lets the toucher touch once, then `change`; the next touch must fault.
fn touch_after(bed: &mut Bed, write: bool, change: impl FnOnce(Memory) -> Result<(), Why>) -> Result<(), Why> {
    let slot = bed.slot();
    let memory = good(bed.ram.derive(PAGE, PAGE, slot, QUOTA))?;
    good(map(SPACE, DATA, memory, 0, PAGE, Rights(3)))?;
    launch(bed, &toucher(write))?;
    let (r, mut f) = next()?;
    check("the first touch is allowed", r.words[0] == vector::INVALID_OPCODE)?;
    change(memory)?;
    f.eip += 2;
    set_frame(&f);
    let again = good(reply_wait(r.handle, Message { words: [0; 3], count: 19, caps: 0 }))?;
    check("the second faults", again.words[0] == vector::PAGE_FAULT && again.words[1] == DATA)
}

fn unmapped_is_gone(bed: &mut Bed) -> Result<(), Why> {
    touch_after(bed, false, |_| good(unmap(SPACE, DATA, PAGE)))
}

fn lowered_right(bed: &mut Bed) -> Result<(), Why> {
    touch_after(bed, true, |_| good(protect(SPACE, DATA, PAGE, Rights::READ)))
}

fn revoked_is_gone(bed: &mut Bed) -> Result<(), Why> {
    touch_after(bed, false, |memory| good(macadamia::cap::revoke(memory.0)))
}

fn single_step(bed: &mut Bed) -> Result<(), Why> {
    // ud2; nop; nop
    launch(bed, &[0x0f, 0x0b, 0x90, 0x90, 0x0f, 0x0b])?;
    let (r, mut f) = next()?;
    f.eip += 2;
    f.eflags |= 0x100;
    set_frame(&f);
    let stepped = good(reply_wait(r.handle, Message { words: [0; 3], count: 19, caps: 0 }))?;
    let mut f = frame();
    check("a debug exception behind one instruction", stepped.words[0] == vector::DEBUG && f.eip == ADDRESS + 3)?;
    f.eflags &= !0x100;
    set_frame(&f);
    let on = good(reply_wait(stepped.handle, Message { words: [0; 3], count: 19, caps: 0 }))?;
    check("then it runs on", on.words[0] == vector::INVALID_OPCODE)?;
    good(reply(on.handle, Message::default()))
}
