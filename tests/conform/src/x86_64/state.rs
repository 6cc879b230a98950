// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rarely loaded state: the bases of FS and GS, breakpoints, registers of SSE; and selectors, which no
//! thread keeps.

use crate::alien;
use crate::exception::{DATA, WHOLE, expect, launch, launch_with, next, start};
use crate::{ADDRESS, Bed, Case, PAGE, SPACE, Why, bytes, check, fails, fill, good};
use abi::frame::{CHANGED_STATE, vector};
use abi::{Error, Frame, Op, Rights, Tag, USER_END, Word};
use macadamia::cap::{frame, set_frame};
use macadamia::ipc::{Received, reply_wait};
use macadamia::map::map;
use macadamia::{Result as Answer, Thread, sys};
use processor::{ARGUMENTS, INVALID_BYTES, Words, code, set_gs_base, set_thread_pointer};

pub const CASES: &[Case] = &[
    ("each_thread_has_its_own_thread_pointer", pointers),
    ("a_thread_pointer_that_is_no_users_is_refused", |bed| bad_bases(bed, set_thread_pointer)),
    ("each_thread_has_its_own_base_of_gs", bases_of_gs),
    ("each_alien_has_its_own_base_of_gs", alien_bases),
    ("a_base_of_gs_that_is_no_users_is_refused", |bed| bad_bases(bed, set_gs_base)),
    ("a_selector_of_one_thread_is_not_seen_by_another", selectors),
    ("a_thread_that_loads_a_selector_keeps_its_thread_pointer", pointer_stays),
    ("what_a_boot_loader_may_leave_is_nobodys", no_remains),
    ("parts_that_there_are_not_are_refused", other_parts),
    ("breakpoints_that_are_no_users_are_refused", bad_breakpoints),
    ("a_breakpoint_stays_with_its_thread", breakpoint),
    ("a_watched_word_stops_its_writer", watched),
    ("an_aliens_breakpoint_is_not_its_handlers", alien_breakpoint),
    ("a_breakpoint_where_ss_is_loaded_from_is_not_the_kernels", stack_selector),
    ("each_thread_has_its_own_registers_of_sse", |bed| floats(bed, code::floats(), 16, &[16])),
    ("each_thread_has_its_own_registers_of_avx", avx),
    ("each_thread_has_its_own_registers_of_avx_512", avx_512),
];

/// The addresses of two threads' data.
const FIRST: Word = DATA;
const SECOND: Word = DATA + 256;
/// Registers of a frame.
const RBX: usize = 1;
const RCX: usize = 2;
const RDX: usize = 3;

/// Lets a thread continue after the invalid instruction at which it stopped. Returns its next
/// exception.
fn go_on((r, mut f): (Received, Frame)) -> Result<(Received, Frame), Why> {
    f.skip_invalid();
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("an invalid instruction", r.words[0] == vector::INVALID_OPCODE)?;
    Ok((r, frame()))
}

/// Two threads read by their thread pointers, in turn; then one gets another pointer.
fn pointers(bed: &mut Bed) -> Result<(), Why> {
    const VALUES: [Word; 2] = [0x1111_2222_3333_4444, 0x5555_6666_7777_8888];
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(FIRST, 8, &VALUES[0].to_ne_bytes());
    fill(SECOND, 8, &VALUES[1].to_ne_bytes());
    let code = [code::invalid(), code::reads_pointer()].concat();
    let first = launch(bed, &code)?;
    let mut one = next()?;
    good(set_thread_pointer(first, FIRST))?;
    let second = start(bed, SPACE, 0)?;
    let mut other = next()?;
    good(set_thread_pointer(second, SECOND))?;
    for _ in 0..3 {
        one = go_on(one)?;
        check("the first one's", one.1.r[RDX] == VALUES[0] && one.1.fs_base == FIRST)?;
        other = go_on(other)?;
        check("the second one's", other.1.r[RDX] == VALUES[1] && other.1.fs_base == SECOND)?;
    }
    one.1.fs_base = SECOND;
    one.1.changed = CHANGED_STATE;
    check("by its frame", go_on(one)?.1.r[RDX] == VALUES[1])
}

fn bad_bases(bed: &mut Bed, set: fn(Thread, Word) -> Answer<()>) -> Result<(), Why> {
    let thread = launch(bed, code::invalid())?;
    next()?;
    for address in [USER_END, !USER_END, Word::MAX, 1 << 63] {
        fails(set(thread, address), Error::BadArgument)?;
    }
    good(set(thread, USER_END - 1))
}

/// Two threads read by GS in turn, each with a base of FS that is the other's of GS; a third one has
/// none.
fn bases_of_gs(bed: &mut Bed) -> Result<(), Why> {
    const VALUES: [Word; 2] = [0x1111_2222_3333_4444, 0x5555_6666_7777_8888];
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(FIRST, 8, &VALUES[0].to_ne_bytes());
    fill(SECOND, 8, &VALUES[1].to_ne_bytes());
    let first = launch(bed, &[code::invalid(), code::reads_by_both()].concat())?;
    let mut one = next()?;
    let second = start(bed, SPACE, 0)?;
    let mut other = next()?;
    for (thread, gs, fs) in [(first, FIRST, SECOND), (second, SECOND, FIRST)] {
        good(set_gs_base(thread, gs))?;
        good(set_thread_pointer(thread, fs))?;
    }
    let read = |f: &Frame| [f.r[RDX], f.r[RCX]];
    for _ in 0..3 {
        one = go_on(one)?;
        check("the first one's", read(&one.1) == VALUES)?;
        other = go_on(other)?;
        check("the second one's", read(&other.1) == [VALUES[1], VALUES[0]])?;
    }
    good(set_gs_base(first, SECOND))?;
    one = go_on(one)?;
    check("another base", read(&one.1) == [VALUES[1]; 2])?;
    has_no_base(bed, VALUES[0])
}

/// A thread that was just made reads this value at `FIRST` by GS.
fn has_no_base(bed: &mut Bed, value: Word) -> Result<(), Why> {
    launch_with(bed, code::reads_by_gs(), FIRST)?;
    let (r, f) = next()?;
    check("no base", r.words[0] == vector::INVALID_OPCODE && f.r[RDX] == value)
}

/// Two aliens read by GS between their system calls, and one that has no base by `DATA`.
fn alien_bases(bed: &mut Bed) -> Result<(), Why> {
    const BASES: [Word; 2] = [alien::DATA, alien::DATA + 256];
    const VALUES: [Word; 2] = [0x1234_5678_9abc_def0, 0x0fed_cba9_8765_4321];
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(FIRST, 8, &VALUES[0].to_ne_bytes());
    fill(SECOND, 8, &VALUES[1].to_ne_bytes());
    let aliens = [
        alien::launch(bed, code::system_calls_with_gs())?,
        alien::launch(bed, code::system_calls_with_gs())?,
    ];
    let mut handles = aliens.each_ref().map(|alien| alien.bound.handle);
    for (alien, base) in aliens.iter().zip(BASES) {
        good(set_gs_base(alien.thread, base))?;
    }
    for round in 0..6 {
        let which = round / 2 % 2;
        let alien = &aliens[which];
        let r = alien.run(handles[which])?;
        check("a system call", r.words[0] == vector::SYSTEM_CALL)?;
        check("its own", alien.word(ARGUMENTS[2]) == VALUES[which])?;
        handles[which] = r.handle;
    }
    has_no_base(bed, VALUES[0])
}

fn selectors(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, code::loads_selector())?;
    next()?;
    launch(bed, code::reads_selectors())?;
    let (_, f) = next()?;
    check("none", f.r[0] == 0 && f.r[RDX] == 0)
}

/// The kernel clears the selectors at its next entry, and no other thread runs meanwhile.
fn pointer_stays(bed: &mut Bed) -> Result<(), Why> {
    const VALUE: Word = 0x1111_2222_3333_4444;
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(FIRST, 8, &VALUE.to_ne_bytes());
    let thread = launch(bed, &[code::invalid(), code::loads_data_selector()].concat())?;
    let one = next()?;
    good(set_thread_pointer(thread, FIRST))?;
    check("still its own", go_on(one)?.1.r[RDX] == VALUE)
}

/// The base of GS is 0 at first, the time-stamp counter can be read; `sysenter` and the instructions on
/// bases are invalid.
fn no_remains(bed: &mut Bed) -> Result<(), Why> {
    const VALUE: Word = 0x1111_2222_3333_4444;
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(FIRST, 8, &VALUE.to_ne_bytes());
    has_no_base(bed, VALUE)?;
    expect(bed, code::read_base(), vector::INVALID_OPCODE)?;
    // The exception depends on the processor.
    launch(bed, code::other_call())?;
    let (r, f) = next()?;
    let is_fault = matches!(r.words[0], vector::INVALID_OPCODE | vector::GENERAL_PROTECTION);
    check("sysenter", is_fault && f.rip == ADDRESS)
}

/// Debug registers 4 to 6 cannot be set.
fn other_parts(bed: &mut Bed) -> Result<(), Why> {
    let thread = launch(bed, code::invalid())?;
    next()?;
    for part in [2, 7, 15, 20, 21, 22, 24, Word::MAX] {
        let words = [thread.0, part, 0, 0];
        fails(sys::call_with(Op::SetState, words).map(|_| ()), Error::BadArgument)?;
    }
    Ok(())
}

/// The register that enables breakpoints, and its values for the first one: it stops before an
/// instruction, or after a write to eight bytes.
const CONTROL: Word = 7;
const EXECUTED: Word = 1;
const WRITTEN: Word = 1 | 1 << 16 | 2 << 18;
/// In the status: the first breakpoint was hit.
const MET: Word = 1;

fn bad_breakpoints(bed: &mut Bed) -> Result<(), Why> {
    let thread = launch(bed, code::invalid())?;
    next()?;
    let refused =
        |index, value| fails(thread.set_debug(index, value).map(|_| ()), Error::BadArgument);
    for index in 0..4 {
        [USER_END, !USER_END, Word::MAX].into_iter().try_for_each(|at| refused(index, at))?;
        good(thread.set_debug(index, USER_END - 1))?;
        // Of I/O ports.
        refused(CONTROL, EXECUTED | 2 << (16 + 4 * index))?;
    }
    // Accesses to debug registers, and undefined bits.
    refused(CONTROL, EXECUTED | 1 << 13)?;
    refused(CONTROL, EXECUTED | 1 << 32)
}

/// Two threads are about to execute the same code; one hits the breakpoint.
fn breakpoint(bed: &mut Bed) -> Result<(), Why> {
    const AT: Word = ADDRESS + INVALID_BYTES + 1;
    /// In the flags: no breakpoint stops the next instruction.
    const RESUME: Word = 1 << 16;
    let code = [code::invalid(), code::nop(), code::nop(), code::invalid()].concat();
    let first = launch(bed, &code)?;
    let one = next()?;
    good(first.set_debug(0, AT))?;
    check("nothing was met yet", good(first.set_debug(CONTROL, EXECUTED))? & MET == 0)?;
    start(bed, SPACE, 0)?;
    go_on(next()?)?;
    let (r, mut f) = one;
    f.skip_invalid();
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    let f = frame();
    check("before the instruction", r.words[0] == vector::DEBUG && f.rip == AT)?;
    set_frame(&Frame { rflags: f.rflags | RESUME, ..f });
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("it goes on", r.words[0] == vector::INVALID_OPCODE)?;
    check("the status tells which", good(first.set_debug(CONTROL, 0))? & MET != 0)?;
    check("once", good(first.set_debug(CONTROL, 0))? & MET == 0)
}

fn watched(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    let thread = launch_with(bed, code::writes(), DATA + 4)?;
    let (r, mut f) = next()?;
    let after = f.rip;
    good(thread.set_debug(0, DATA))?;
    good(thread.set_debug(CONTROL, WRITTEN))?;
    f.skip_invalid();
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    let f = frame();
    check("after the write", r.words[0] == vector::DEBUG && f.rip == after)?;
    check("which was met", good(thread.set_debug(CONTROL, 0))? & MET != 0)?;
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("then the next instruction", r.words[0] == vector::INVALID_OPCODE)
}

/// Right after SS is loaded no breakpoint is reported: it is reported after the next instruction,
/// in the kernel if that is a system call. (QEMU 10 does not wait.)
fn stack_selector(bed: &mut Bed) -> Result<(), Why> {
    const READ: Word = 1 | 3 << 16 | 1 << 18;
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    let thread = launch_with(bed, code::loads_stack_selector(), DATA)?;
    let (r, mut f) = next()?;
    good(thread.set_debug(0, DATA))?;
    good(thread.set_debug(CONTROL, READ))?;
    f.skip_invalid();
    f.r[0] = Tag::new(Op::Identify, 0, 0).0.into();
    set_frame(&f);
    let mut r = good(reply_wait(r.handle, WHOLE))?;
    if r.words[0] == vector::DEBUG {
        set_frame(&frame());
        r = good(reply_wait(r.handle, WHOLE))?;
    }
    let is_made = frame().r[0] != Word::from(Tag::new(Op::Identify, 0, 0).0);
    check("the call was made", r.words[0] == vector::INVALID_OPCODE && is_made)
}

/// The handler writes to the address of its alien's breakpoint, and nothing stops it.
fn alien_breakpoint(bed: &mut Bed) -> Result<(), Why> {
    const PLACE: Word = ADDRESS + PAGE - 8;
    let alien = alien::launch(bed, code::system_calls())?;
    good(alien.thread.set_debug(0, PLACE))?;
    good(alien.thread.set_debug(CONTROL, WRITTEN))?;
    let mut handle = alien.bound.handle;
    for _ in 0..3 {
        let r = alien.run(handle)?;
        check("a system call", r.words[0] == vector::SYSTEM_CALL)?;
        fill(PLACE, 8, &[1; 8]);
        handle = r.handle;
    }
    check("nobody met it", good(alien.thread.set_debug(CONTROL, 0))? & MET == 0)
}

/// Whether the processor has AVX, and the kernel lets users have its registers.
fn has_avx(bed: &mut Bed) -> Result<bool, Why> {
    const HAS_AND_MAY: Word = 1 << 28 | 1 << 27;
    launch(bed, code::features())?;
    let (_, f) = next()?;
    Ok(f.r[RCX] & HAS_AND_MAY == HAS_AND_MAY)
}

/// The registers of AVX, if there are any.
fn avx(bed: &mut Bed) -> Result<(), Why> {
    if has_avx(bed)? { floats(bed, code::wide_floats(), 32, &[32]) } else { Ok(()) }
}

/// The registers of AVX-512: users have them if the processor has them.
fn avx_512(bed: &mut Bed) -> Result<(), Why> {
    const HAS: Word = 1 << 16;
    const PARTS: Word = 0xe6;
    if !has_avx(bed)? {
        return Ok(());
    }
    launch(bed, code::more_features())?;
    let has = next()?.1.r[RBX] & HAS != 0;
    launch(bed, code::user_parts())?;
    let parts = next()?.1.r[0] & PARTS;
    check("all parts or none", has == (parts == PARTS))?;
    if has { floats(bed, code::widest_floats(), 64, &[64, 64, 2]) } else { Ok(()) }
}

/// Two threads load registers from so many bytes, and in turn store as much as `sizes` says of each,
/// `size` bytes apart.
fn floats(bed: &mut Bed, code: &[u8], size: Word, sizes: &[Word]) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    let values = [
        *b"registers of the first thread, as it loaded them at its start ..",
        *b"and those of the other one, as it loaded them, and nobody else's",
    ];
    let [first, other] = values.each_ref().map(|value| &value[..size as usize]);
    fill(FIRST, size, first);
    fill(SECOND, size, other);
    launch_with(bed, code, FIRST)?;
    let mut one = next()?;
    start(bed, SPACE, SECOND)?;
    let mut two = next()?;
    check("both have loaded it", [&one, &two].into_iter().all(|(_, f)| f.rip > ADDRESS))?;
    for _ in 0..3 {
        fill(FIRST + size, 3 * size, &[0; 192][..3 * size as usize]);
        fill(SECOND + size, 3 * size, &[0; 192][..3 * size as usize]);
        one = go_on(one)?;
        two = go_on(two)?;
        for (stored, at) in sizes.iter().zip((1..).map(|place| place * size)) {
            let part = ..*stored as usize;
            check("the first one's", bytes(FIRST + at, *stored) == &first[part])?;
            check("the other one's", bytes(SECOND + at, *stored) == &other[part])?;
        }
    }
    Ok(())
}
