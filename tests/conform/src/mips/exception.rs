// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions that MIPS has, also in delay slots, and frames that ask for more than a user may
//! have.

use crate::exception::{DATA, WHOLE, expect, launch, launch_with, next};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SPACE, Why, check, fill, good};
use abi::frame::{DELAY_SLOT, fault, vector};
use abi::tag::REGISTER_WORDS;
use abi::{Frame, Op, Rights, Tag, USER_END, Word};
use macadamia::cap::{frame, set_frame};
use macadamia::ipc::{Message, call, reply_wait};
use macadamia::map::{map, unmap};
use macadamia::utcb;
use processor::{INVALID_BYTES, Words, code};

pub const CASES: &[Case] = &[
    ("privileged_instructions_are_refused", privileged),
    ("the_fpu_is_refused", |bed| expect(bed, code::uses_fpu(), vector::COPROCESSOR)),
    ("a_trap_reaches_the_handler", |bed| expect(bed, code::traps(), vector::TRAP)),
    ("an_overflow_reaches_the_handler", |bed| expect(bed, code::overflows(), vector::OVERFLOW)),
    ("what_is_not_aligned_reaches_the_handler", misaligned),
    ("a_fetch_is_told", fetch),
    ("who_is_sent_to_an_address_that_is_not_aligned_is_refused", sent_astray),
    ("a_fault_in_a_delay_slot_is_told_and_made_good", delayed_fault),
    ("a_fetch_of_a_delay_slot_is_told", delayed_fetch),
    ("a_system_call_in_a_delay_slot_is_none", delayed_call),
    ("addresses_that_are_no_users_are_refused", kernel_memory),
    ("hostile_registers_do_no_harm", hostile_registers),
    ("all_registers_are_the_threads_own", all_registers),
    ("the_kernel_leaves_nothing_in_its_registers", kernels_registers),
    ("a_call_by_the_library_leaves_nothing_in_registers", callers_registers),
    ("the_counter_is_readable", counter),
];

fn privileged(bed: &mut Bed) -> Result<(), Why> {
    for (name, code) in [
        ("mfc0", code::read_status()),
        ("mtc0", code::write_status()),
        ("mfc0 of the counter", code::read_count()),
        ("dmtc0 of the counter", code::write_count()),
        ("tlbwr", code::write_tlb()),
        ("tlbp", code::probe_tlb()),
        ("eret", code::return_from_exception()),
        ("cache", code::drop_line()),
    ] {
        expect(bed, code, vector::COPROCESSOR).map_err(|_| Why::from(name))?;
    }
    Ok(())
}

/// Registers that are no part of a message keep the sender's values on a fast path; the library
/// clears them before. The called thread answers with the values that it finds: $16 to $23, then
/// $30, $31, `hi` and `lo`.
fn callers_registers(bed: &mut Bed) -> Result<(), Why> {
    let tag = |words| Tag::new(Op::ReplyWait, words, 0).0.into();
    let all = [
        code::native_call([tag(0), 0, 0, 0, 0]),
        code::load(2, tag(0)),
        code::system_call().into(),
        code::shows_kept().into(),
        code::load(2, tag(REGISTER_WORDS)),
        code::system_call().into(),
        code::shows_others().into(),
        code::load(2, tag(REGISTER_WORDS)),
        code::system_call().into(),
    ];
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, &all.concat());
    let (thread, _) = good(QUOTA.create_thread(SPACE, bed.slot(), None))?;
    good(thread.start(ADDRESS, 0, 0))?;
    // From its first answer on it waits before it is called.
    good(call(thread, Message::default()))?;
    for which in ["$16 to $23", "$30, $31, hi and lo"] {
        let reply = good(call(thread, Message::new([1, 2, 3])))?;
        let rest = (3..REGISTER_WORDS as usize).all(|word| utcb::word(word) == 0);
        let is_all = reply.count == REGISTER_WORDS;
        check(which, is_all && reply.words == [0; 3] && rest)?;
    }
    Ok(())
}

fn misaligned(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    for offset in 1..8 {
        let at = DATA + 64 + offset;
        launch_with(bed, code::read_wide(), at)?;
        let (r, f) = next()?;
        check("a read, and where", r.words == [vector::ADDRESS, at, 0] && f.pc == ADDRESS)?;
        launch_with(bed, code::write_wide(), at)?;
        check("a write, and where", next()?.0.words == [vector::ADDRESS, at, fault::WRITE])?;
    }
    launch_with(bed, code::branch(), ADDRESS + 2)?;
    let (r, f) = next()?;
    let at = ADDRESS + 2;
    check("a fetch, and where", r.words == [vector::ADDRESS, at, fault::FETCH] && f.pc == at)?;
    launch_with(bed, &[code::read_wide(), code::invalid()].concat(), DATA + 64)?;
    check("aligned it is done", next()?.0.words[0] == vector::RESERVED)
}

/// Its handler sends it to such an address; then it is there already.
fn sent_astray(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, code::invalid())?;
    let (mut r, f) = next()?;
    for offset in 1..4 {
        let pc = ADDRESS + offset;
        set_frame(&Frame { pc, ..f });
        for _ in 0..2 {
            r = good(reply_wait(r.handle, WHOLE))?;
            check("refused, and where", r.words == [vector::ADDRESS, pc, fault::FETCH])?;
            check("there", frame().pc == pc)?;
        }
    }
    Ok(())
}

fn fetch(bed: &mut Bed) -> Result<(), Why> {
    launch_with(bed, code::branch(), DATA + 64)?;
    let (r, f) = next()?;
    check("a fetch", r.words == [vector::PAGE_FAULT, DATA + 64, fault::FETCH])?;
    check("at the address", f.pc == DATA + 64)
}

/// The branch is executed again with its delay slot after the page was mapped.
fn delayed_fault(bed: &mut Bed) -> Result<(), Why> {
    for (code, error) in [(code::reads_on_the_way(), 0), (code::writes_on_the_way(), fault::WRITE)]
    {
        launch_with(bed, code, DATA)?;
        let (r, f) = next()?;
        check("the branch's", f.pc == ADDRESS && f.error == error | DELAY_SLOT)?;
        check("a fault", r.words == [vector::PAGE_FAULT, DATA, error | DELAY_SLOT])?;
        good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
        let r = good(reply_wait(r.handle, WHOLE))?;
        check("it went on", r.words[0] == vector::BREAKPOINT && frame().pc == ADDRESS + 12)?;
        good(unmap(SPACE, DATA, PAGE))?;
    }
    Ok(())
}

/// The delay slot is in the next page, which is missing.
fn delayed_fetch(bed: &mut Bed) -> Result<(), Why> {
    const LAST: Word = PAGE - 4;
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights::RWX))?;
    fill(DATA + LAST, 4, code::branches_at_the_end());
    launch_with(bed, code::branch(), DATA + LAST)?;
    let (r, f) = next()?;
    let error = fault::FETCH | DELAY_SLOT;
    check("a fetch", r.words == [vector::PAGE_FAULT, DATA + PAGE, error])?;
    check("of the branch's", f.pc == DATA + LAST)?;
    good(unmap(SPACE, DATA, PAGE))
}

fn delayed_call(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, code::calls_on_the_way())?;
    let (r, f) = next()?;
    check("an exception", r.words == [vector::DELAYED_CALL, 0, DELAY_SLOT] && f.pc == ADDRESS)
}

/// Addresses above the users'; above those that the processor has for users; of the kernel's
/// segments; and in the hole before these.
fn kernel_memory(bed: &mut Bed) -> Result<(), Why> {
    let kernels: [Word; 5] = [
        0xffff_ffff_8000_0000,
        0xffff_ffff_8080_0000,
        0xffff_ffff_b800_03f8,
        0x9800_0000_0000_0000,
        0x4000_0000_0000_0000,
    ];
    let none = [(USER_END, vector::PAGE_FAULT), (1 << 40, vector::ADDRESS)];
    for (address, why) in
        none.into_iter().chain(kernels.into_iter().map(|address| (address, vector::ADDRESS)))
    {
        launch_with(bed, code::read(), address)?;
        check("a read is refused", next()?.0.words == [why, address, 0])?;
        launch_with(bed, code::write(), address)?;
        check("a write is refused", next()?.0.words == [why, address, fault::WRITE])?;
        launch_with(bed, code::branch(), address)?;
        check("a fetch is refused", next()?.0.words == [why, address, fault::FETCH])?;
    }
    Ok(())
}

fn hostile_registers(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::invalid(), code::write_status()].concat())?;
    let (r, f) = next()?;
    set_frame(&Frame {
        pc: f.pc + INVALID_BYTES,
        vector: !0,
        error: !0,
        address: !0,
        changed: !0,
        ..f
    });
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("no privilege was gained", r.words[0] == vector::COPROCESSOR)
}

/// A different value in each, except in those that no thread has.
fn wanted(f: Frame) -> Frame {
    let mut wanted = Frame {
        r: core::array::from_fn(|index| 0x0101_0101_0101_0101 * (index as Word + 1)),
        hi: 0x1234_5678_9abc_def0,
        lo: 0xfedc_ba98_7654_3210,
        pc: f.pc + INVALID_BYTES,
        ..f
    };
    (wanted.r[0], wanted.r[26], wanted.r[27]) = (0, 0, 0);
    wanted
}

fn all_registers(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::invalid(), code::invalid()].concat())?;
    let (r, f) = next()?;
    let mut set = wanted(f);
    (set.r[0], set.r[26], set.r[27]) = (!0, !0, !0);
    set_frame(&set);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("the second one", r.words[0] == vector::RESERVED)?;
    check("all as they were", frame() == wanted(f))
}

/// After a way out of the kernel, and after a miss in the TLB.
fn kernels_registers(bed: &mut Bed) -> Result<(), Why> {
    const MOVES: [u32; 2] = [0x0340_302d, 0x0360_382d];
    let moves = MOVES.map(u32::to_be_bytes).concat();
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    launch_with(
        bed,
        &[&moves[..], code::invalid(), code::read(), &moves, code::invalid()].concat(),
        DATA,
    )?;
    let (r, mut f) = next()?;
    check("at the start", f.r[6] == 0 && f.r[7] == 0)?;
    f.skip_invalid();
    (f.r[6], f.r[7]) = (1, 1);
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    let f = frame();
    check("after a miss", r.words[0] == vector::RESERVED && f.r[6] == 0 && f.r[7] == 0)
}

/// It counts, and the kernel's count is the same.
fn counter(bed: &mut Bed) -> Result<(), Why> {
    let before = macadamia::time::counter();
    launch(bed, code::reads_count())?;
    let (r, f) = next()?;
    let after = macadamia::time::counter();
    check("both were read", r.words[0] == vector::RESERVED)?;
    let counts = [before, f.r[6], f.r[7], after];
    check("it counts", counts.is_sorted() && before != after)
}
