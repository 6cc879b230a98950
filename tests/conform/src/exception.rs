// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions of native threads as messages to their handler. The thread that fails executes
//! machine code in a page of the conformance program's own space.

use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, check, fill, good};
use abi::frame::{fault, vector};
use abi::{Frame, MessageKind, Rights, Word};
use macadamia::cap::{copy, frame, set_frame};
use macadamia::ipc::{Message, Received, receive, reply_wait};
use macadamia::map::{map, protect, unmap};
use macadamia::{Memory, Space, Thread};
use processor::{
    ARGUMENTS, BREAKPOINT, INVALID, INVALID_BYTES, KERNEL_REFUSED, NUMBER, PC, RESULT,
    WRITE_REFUSED, Words, code,
};

pub const CASES: &[Case] = &[
    ("an_invalid_opcode_reaches_the_handler", |bed| expect(bed, code::invalid(), INVALID)),
    ("a_breakpoint_reaches_the_handler", |bed| expect(bed, code::breakpoint(), BREAKPOINT)),
    ("reading_the_kernel_is_a_fault", reading_the_kernel),
    ("writing_the_information_page_is_a_fault", writing_the_information_page),
    ("a_fault_tells_address_and_access", fault_tells),
    ("a_handler_can_change_registers", handler_changes_registers),
    ("without_a_handler_a_thread_halts", without_a_handler),
    ("a_stopped_exception_keeps_its_registers", stopped_keeps_registers),
    ("an_exception_in_the_queue_goes_to_a_new_handler", queued_exception),
    ("unmapped_memory_is_gone_at_once", unmapped_is_gone),
    ("a_lowered_right_counts_at_once", lowered_right),
    ("revoked_memory_is_gone_at_once", revoked_is_gone),
];

/// Badge that the handler sees.
pub const BADGE: Word = 0x77;
/// Memory for data, after the code's page.
pub const DATA: Word = ADDRESS + PAGE;

/// The answer that gives a thread the registers of [`set_frame`].
pub const WHOLE: Message =
    Message { words: [0; 3], count: abi::tag::REGISTER_WORDS + abi::frame::WORDS, caps: 0 };

/// A thread that runs `code` and whose handler is this one.
pub fn launch(bed: &mut Bed, code: &[u8]) -> Result<Thread, Why> {
    launch_with(bed, code, 0)
}

/// The same with an argument.
pub fn launch_with(bed: &mut Bed, code: &[u8], argument: Word) -> Result<Thread, Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code);
    start(bed, SPACE, argument)
}

/// The same in a space that has the code already.
pub fn start(bed: &mut Bed, space: Space, argument: Word) -> Result<Thread, Why> {
    let thread = create(bed, space)?;
    good(thread.start(ADDRESS, ADDRESS + PAGE, argument))?;
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
    check(
        "an exception with the badge",
        r.kind == MessageKind::Exception && r.badge == BADGE as u32,
    )?;
    Ok((r, frame()))
}

pub fn expect(bed: &mut Bed, code: &[u8], expected: Word) -> Result<(), Why> {
    launch(bed, code)?;
    let (r, frame) = next()?;
    if r.words[0] == expected && frame.vector == expected {
        Ok(())
    } else {
        Err(macadamia::alloc::format!("exception {} instead of {expected}", r.words[0]))
    }
}

fn reading_the_kernel(bed: &mut Bed) -> Result<(), Why> {
    launch_with(bed, code::read(), 0xe010_0000)?;
    let (r, _) = next()?;
    check("a fault", KERNEL_REFUSED.contains(&r.words[0]))
}

fn writing_the_information_page(bed: &mut Bed) -> Result<(), Why> {
    launch_with(bed, code::write(), abi::utcb::KIP_ADDRESS)?;
    let (r, _) = next()?;
    check(
        "a write that is refused",
        r.words == [vector::PAGE_FAULT, abi::utcb::KIP_ADDRESS, WRITE_REFUSED],
    )
}

fn fault_tells(bed: &mut Bed) -> Result<(), Why> {
    launch_with(bed, &[code::write(), code::invalid()].concat(), DATA + 8)?;
    let (r, f) = next()?;
    check("vector, address", r.words[0] == vector::PAGE_FAULT && r.words[1] == DATA + 8)?;
    check(
        "a write, not a protection fault",
        r.words[2] & (fault::PROTECTION | fault::WRITE) == fault::WRITE,
    )?;
    check("at the instruction", f.word(PC) == ADDRESS)?;
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    let again = good(reply_wait(r.handle, Message::default()))?;
    check("it went on", again.words[0] == INVALID)
}

fn handler_changes_registers(bed: &mut Bed) -> Result<(), Why> {
    let code = [code::invalid(), code::nop(), code::invalid()].concat();
    launch(bed, &code)?;
    let (r, mut f) = next()?;
    f.skip_invalid();
    f.set(RESULT, 0xcafe_f00d);
    f.set(ARGUMENTS[4], 0x1234);
    set_frame(&f);
    let again = good(reply_wait(r.handle, WHOLE))?;
    let f = frame();
    check(
        "it went on there",
        again.words[0] == INVALID && f.word(PC) == ADDRESS + code.len() as Word - INVALID_BYTES,
    )?;
    check("with these registers", f.word(RESULT) == 0xcafe_f00d && f.word(ARGUMENTS[4]) == 0x1234)
}

fn without_a_handler(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code::invalid());
    let thread = create(bed, SPACE)?;
    good(thread.set_handler(None))?;
    good(thread.start(ADDRESS, ADDRESS + PAGE, 0))?;
    while good(thread.state())? == 1 {
        good(crate::object::yield_now())?;
    }
    check("halted", good(thread.state())? == 5)?;
    let f = good(thread.registers())?;
    check("its registers tell", f.vector == INVALID && f.word(PC) == ADDRESS)
}

fn stopped_keeps_registers(bed: &mut Bed) -> Result<(), Why> {
    let thread = launch(bed, &[code::values(), code::invalid()].concat())?;
    next()?;
    good(thread.stop())?;
    let f = good(thread.registers())?;
    check("as they were", f.word(NUMBER) == 0x1234 && f.word(ARGUMENTS[0]) == 0x1234)?;
    check(
        "and why it stopped",
        f.vector == INVALID && f.word(PC) == ADDRESS + code::values().len() as Word,
    )
}

fn queued_exception(bed: &mut Bed) -> Result<(), Why> {
    let thread = launch(bed, code::invalid())?;
    while good(thread.state())? != 3 {
        good(crate::object::yield_now())?;
    }
    let handler = bed.slot();
    good(copy(SELF.0, None, handler, Rights::CALL, BADGE + 1))?;
    good(thread.set_handler(Some(Thread(handler))))?;
    let r = good(receive(None))?;
    check("with the new badge", r.kind == MessageKind::Exception && r.badge == BADGE as u32 + 1)
}

/// Code that reads (or writes) repeatedly at the address in its argument, with an invalid
/// instruction after each access.
pub fn toucher(write: bool) -> &'static [u8] {
    if write { code::writes() } else { code::reads() }
}

/// Lets the toucher touch once, then `change`; the next touch must fault.
fn touch_after(
    bed: &mut Bed,
    write: bool,
    change: impl FnOnce(Memory) -> Result<(), Why>,
) -> Result<(), Why> {
    let slot = bed.slot();
    let memory = good(bed.ram.derive(PAGE, PAGE, slot, QUOTA))?;
    good(map(SPACE, DATA, memory, 0, PAGE, Rights(3)))?;
    launch_with(bed, toucher(write), DATA)?;
    let (r, mut f) = next()?;
    check("the first touch is allowed", r.words[0] == INVALID)?;
    change(memory)?;
    f.skip_invalid();
    set_frame(&f);
    let again = good(reply_wait(r.handle, WHOLE))?;
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
