// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers at ring 1, and their attacks on the entry area, which is the only part of the kernel
//! that they see (docs/entry-area.md). Their threads execute machine code. Where the machine has no
//! servers, each case checks that it says so.

use crate::exception::{WHOLE, create, next};
use crate::server::{START, showing, shown_once, with_server};
use crate::{ADDRESS, Bed, Case, OTHER, PAGE, QUOTA, SPACE, Why, bytes, check, fails, fill, good};
use abi::frame::{fault, vector};
use abi::utcb::AREA_BYTES;
use abi::{Error, Frame, MessageKind, Op, Rights, TABLE_SPAN, Tag, USER_END, Word};
use core::mem::offset_of;
use macadamia::alien::Alien;
use macadamia::alloc::format;
use macadamia::cap::{copy, delete, frame, set_frame};
use macadamia::ipc::{receive, reply_wait, run};
use macadamia::map::{map, unmap};
use macadamia::{Space, Thread, time};
use processor::code;

pub const CASES: &[Case] = &[
    ("a_fresh_space_becomes_one", |bed| with_server(bed, |_, _| Ok(()))),
    ("it_maps_in_its_window_alone", |bed| with_server(bed, maps_in_its_window)),
    ("it_runs_at_ring_1", |bed| with_server(bed, runs_at_ring_1)),
    ("it_does_nothing_that_is_privileged", |bed| with_server(bed, nothing_privileged)),
    ("it_does_not_reach_the_kernel", |bed| with_server(bed, reaches_no_kernel)),
    ("it_reaches_of_the_area_what_the_list_says", |bed| with_server(bed, reaches_the_area)),
    ("it_gains_nothing_from_the_areas_code", |bed| with_server(bed, enters_the_area)),
    ("it_harms_only_itself_by_the_areas_words", |bed| with_server(bed, forges_words)),
    ("it_does_not_go_on_at_what_is_no_address", |bed| with_server(bed, goes_nowhere)),
    ("it_survives_each_interrupt_number", |bed| with_server(bed, interrupt_numbers)),
    ("its_flags_are_its_own", |bed| with_server(bed, own_flags)),
    ("a_space_shows_it_once", |bed| with_server(bed, shown_once)),
    ("who_shows_it_does_not_reach_it", |bed| with_server(bed, not_reached)),
    ("who_shows_it_goes_on_without_it", |bed| with_server(bed, goes_on_without)),
    ("it_ends_while_it_is_shown", |bed| with_server(bed, ends_while_shown)),
    ("what_it_maps_is_there_at_once", |bed| with_server(bed, there_at_once)),
    ("it_serves_an_alien", |bed| with_server(bed, |bed, server| serves(bed, server, 1000))),
    ("an_alien_that_misbehaves_harms_nobody", |bed| with_server(bed, hostile_alien)),
    ("its_alien_has_an_fpu_of_its_own", |bed| with_server(bed, own_fpu)),
    ("it_misleads_only_itself_about_its_alien", |bed| with_server(bed, forges_a_crossing)),
];

/// The addresses of its code and its data, after the kernel's part of the window.
pub const CODE: Word = START + AREA_BYTES;
pub const DATA: Word = CODE + PAGE;

/// The entry area, and the numbers of the pages in it that a server can read, and whether it can
/// write and execute them.
pub const AREA: Word = 0xffff_ffff_ffe0_0000;
const PAGES: [(Word, bool, bool); 6] = [
    (0, false, true),
    (1, false, false),
    (2, false, false),
    (3, false, false),
    (WORDS, true, false),
    (8, false, false),
];
/// The page that it can write: it has which of the two runs, a handle, where the server continues,
/// and its stack pointer.
pub const WORDS: Word = 4;
/// Pages that only the kernel can access, or that are missing.
const NOT_THERE: [Word; 6] = [5, 6, 9, 10, 11, 511];

/// Addresses of the kernel: code, its words, the pool, and an unused one of the upper half.
const KERNELS: [Word; 7] = [
    0xffff_ffff_e000_0000,
    0xffff_ffff_e010_1000,
    0xffff_ffff_e040_0f80,
    0xffff_ffff_e080_0000,
    0xffff_ffff_ff00_0000,
    0xffff_ffff_c000_0000,
    0xffff_8000_0000_0000,
];

/// A thread of the server that runs this code, with an argument; its exceptions come here.
pub fn launch(bed: &mut Bed, server: Space, code: &[u8], argument: Word) -> Result<Thread, Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, 2 * PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code);
    good(map(server, CODE, bed.ram, 0, 2 * PAGE, Rights::RWX))?;
    let thread = create(bed, server)?;
    good(thread.start(CODE, DATA + PAGE, argument))?;
    Ok(thread)
}

/// The exception with which this code ends; its thread is deleted afterwards.
pub fn outcome(bed: &mut Bed, server: Space, code: &[u8], argument: Word) -> Result<Frame, Why> {
    let thread = launch(bed, server, code, argument)?;
    let (_, frame) = next()?;
    good(delete(thread.0))?;
    Ok(frame)
}

fn maps_in_its_window(bed: &mut Bed, server: Space) -> Result<(), Why> {
    for (at, pages) in [
        (0, 1),
        (ADDRESS, 1),
        (START - PAGE, 1),
        (START, 1),
        (CODE - PAGE, 2),
        (USER_END - PAGE, 2),
        (AREA, 1),
    ] {
        fails(map(server, at, bed.ram, 0, pages * PAGE, Rights(3)), Error::BadAddress)?;
    }
    good(map(server, CODE, bed.ram, 0, PAGE, Rights(3)))?;
    good(map(server, USER_END - PAGE, bed.ram, 0, PAGE, Rights(3)))?;
    good(unmap(server, CODE, USER_END - CODE))
}

fn runs_at_ring_1(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let f = outcome(bed, server, code::tells_its_ring(), 0)?;
    check("it got there", f.vector == vector::INVALID_OPCODE)?;
    check("code and stack of ring 1", f.r[0] & 3 == 1 && f.r[1] & 3 == 1)?;
    check("no I/O privilege", f.r[4] & 0x3000 == 0)
}

/// Instructions that only ring 0 may execute, in bytes.
const PRIVILEGED: [(&str, &[u8]); 40] = [
    ("cli", &[0xfa]),
    ("sti", &[0xfb]),
    ("hlt", &[0xf4]),
    ("mov rax, cr0", &[0x0f, 0x20, 0xc0]),
    ("mov rax, cr2", &[0x0f, 0x20, 0xd0]),
    ("mov rax, cr3", &[0x0f, 0x20, 0xd8]),
    ("mov rax, cr4", &[0x0f, 0x20, 0xe0]),
    ("mov cr0, rax", &[0x0f, 0x22, 0xc0]),
    ("mov cr2, rax", &[0x0f, 0x22, 0xd0]),
    ("mov cr3, rax", &[0x0f, 0x22, 0xd8]),
    ("mov cr4, rax", &[0x0f, 0x22, 0xe0]),
    ("mov cr8, rax", &[0x44, 0x0f, 0x22, 0xc0]),
    ("mov rax, cr8", &[0x44, 0x0f, 0x20, 0xc0]),
    ("mov rax, dr7", &[0x0f, 0x21, 0xf8]),
    ("mov dr7, rax", &[0x0f, 0x23, 0xf8]),
    ("mov dr0, rax", &[0x0f, 0x23, 0xc0]),
    ("lgdt [rsp]", &[0x0f, 0x01, 0x14, 0x24]),
    ("lidt [rsp]", &[0x0f, 0x01, 0x1c, 0x24]),
    ("lldt ax", &[0x0f, 0x00, 0xd0]),
    ("ltr ax", &[0x0f, 0x00, 0xd8]),
    ("lmsw ax", &[0x0f, 0x01, 0xf0]),
    ("clts", &[0x0f, 0x06]),
    ("invlpg [rsp]", &[0x0f, 0x01, 0x3c, 0x24]),
    ("rdmsr", &[0x0f, 0x32]),
    ("wrmsr", &[0x0f, 0x30]),
    ("rdpmc", &[0x0f, 0x33]),
    ("in al, 0x60", &[0xe4, 0x60]),
    ("out 0x60, al", &[0xe6, 0x60]),
    ("swapgs", &[0x0f, 0x01, 0xf8]),
    ("sysretq", &[0x48, 0x0f, 0x07]),
    ("sysretl", &[0x0f, 0x07]),
    ("sysexit", &[0x0f, 0x35]),
    ("sysenter", &[0x0f, 0x34]),
    ("stac", &[0x0f, 0x01, 0xcb]),
    ("int 0x20", &[0xcd, 0x20]),
    // push 0x10; push rsp; pushfq; push 8; push 0; iretq
    ("iretq to ring 0", &[0x6a, 0x10, 0x54, 0x9c, 0x6a, 0x08, 0x6a, 0x00, 0x48, 0xcf]),
    // push 8; push 0; retfq
    ("retfq to ring 0", &[0x6a, 0x08, 0x6a, 0x00, 0x48, 0xcb]),
    // mov eax, 0x10; mov ss, eax
    ("a stack of ring 0", &[0xb8, 0x10, 0, 0, 0, 0x8e, 0xd0]),
    // mov eax, 0x10; mov ds, eax
    ("data of ring 0", &[0xb8, 0x10, 0, 0, 0, 0x8e, 0xd8]),
    // pushfq; or dword [rsp], 0x4000; popfq; iretq: a nested task
    ("iretq with NT", &[0x9c, 0x81, 0x0c, 0x24, 0, 0x40, 0, 0, 0x9d, 0x48, 0xcf]),
];

fn nothing_privileged(bed: &mut Bed, server: Space) -> Result<(), Why> {
    are_refused(bed, server, &PRIVILEGED)
}

/// Checks that the server gets an exception at each of these attempts, by their names and code.
pub fn are_refused(bed: &mut Bed, server: Space, attempts: &[(&str, &[u8])]) -> Result<(), Why> {
    for (what, code) in attempts {
        let f = outcome(bed, server, &[code, code::invalid()].concat(), 0)?;
        // It did not reach the instruction after that.
        let stopped = f.rip.wrapping_sub(CODE) < code.len() as Word;
        let refused = matches!(f.vector, vector::GENERAL_PROTECTION | vector::INVALID_OPCODE);
        if !refused || !stopped {
            return Err(format!("{what} came as {:#x} at {:#x}", f.vector, f.rip));
        }
    }
    Ok(())
}

/// Checks that a read, a write and a fetch at an address are refused, or allowed.
fn reaches(
    bed: &mut Bed,
    server: Space,
    address: Word,
    [reads, writes]: [bool; 2],
) -> Result<(), Why> {
    for (code, reached) in [(code::read(), reads), (code::writes_there(), writes)] {
        let f = outcome(bed, server, &[code, code::invalid()].concat(), address)?;
        let refused = f.vector == vector::PAGE_FAULT && f.address == address;
        let is_right = if reached { f.vector == vector::INVALID_OPCODE } else { refused };
        if !is_right {
            return Err(format!("{address:#x}: {code:02x?} came as {:#x}", f.vector));
        }
    }
    Ok(())
}

fn is_not_executed(bed: &mut Bed, server: Space, address: Word) -> Result<(), Why> {
    let f = outcome(bed, server, code::branch(), address)?;
    if f.vector == vector::PAGE_FAULT && f.address == address {
        return Ok(());
    }
    Err(format!("{address:#x} is executed: it came as {:#x} at {:#x}", f.vector, f.rip))
}

fn reaches_no_kernel(bed: &mut Bed, server: Space) -> Result<(), Why> {
    for address in KERNELS {
        reaches(bed, server, address, [false; 2])?;
        is_not_executed(bed, server, address)?;
    }
    Ok(())
}

fn reaches_the_area(bed: &mut Bed, server: Space) -> Result<(), Why> {
    for (place, writes, executes) in PAGES {
        let address = AREA + place * PAGE + 0x400;
        reaches(bed, server, address, [true, writes])?;
        if !executes {
            is_not_executed(bed, server, address)?;
        }
    }
    for place in NOT_THERE {
        reaches(bed, server, AREA + place * PAGE, [false; 2])?;
        is_not_executed(bed, server, AREA + place * PAGE)?;
    }
    // Its code is not data.
    let f = outcome(bed, server, code::writes_there(), AREA)?;
    check("code is not written", f.vector == vector::PAGE_FAULT && f.error & fault::WRITE != 0)
}

/// From any of its bytes, the area's code ends with an exception of the server, or returns to it.
fn enters_the_area(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let thread = launch(bed, server, code::branches_three_times(), AREA)?;
    let (mut r, mut f) = next()?;
    for offset in 1..=CODE_BYTES {
        let known = matches!(
            f.vector,
            DIVIDED
                | vector::DEBUG
                | 3
                | vector::INVALID_OPCODE
                | STACK
                | vector::GENERAL_PROTECTION
                | vector::PAGE_FAULT
                | SEGMENT_MISSING
        );
        if !known {
            return Err(format!("byte {}: it came as {:#x} at {:#x}", offset - 1, f.vector, f.rip));
        }
        // The count starts again.
        fill(ADDRESS, PAGE, code::branches_three_times());
        f = Frame { rip: CODE, rsp: DATA + PAGE, rflags: 0x202, ..f };
        f.r[RSI] = AREA + offset;
        set_frame(&f);
        r = good(reply_wait(r.handle, WHOLE))?;
        check("an exception", r.kind == MessageKind::Exception)?;
        f = frame();
    }
    good(delete(thread.0))
}

/// More bytes than the area's code has.
const CODE_BYTES: Word = 1600;
const DIVIDED: Word = 0;
const STACK: Word = 12;
const SEGMENT_MISSING: Word = 11;

/// Values that a server may write into words that name an address.
pub const FORGED: [Word; 8] =
    [0, CODE, USER_END, 1 << 47, 1 << 63, AREA + 64, 0xffff_ffff_e010_1000, Word::MAX];

fn forges_words(bed: &mut Bed, server: Space) -> Result<(), Why> {
    for offset in (0..40).step_by(8) {
        for value in FORGED.into_iter().chain([1, 3, 1 << 32 | 3]) {
            // An unknown system call goes to the kernel and returns.
            let set = [&[0x48, 0xb8][..], &value.to_le_bytes(), &[0x48, 0x89, 0x06]].concat();
            let code = [&set, code::invalid_call(), code::invalid()].concat();
            let f = outcome(bed, server, &code, AREA + WORDS * PAGE + offset)?;
            check("it goes on", f.vector == vector::INVALID_OPCODE)?;
            check("where it was", f.rip == CODE + (code.len() - 2) as Word)?;
        }
    }
    // All of the page, with the stacks of entries.
    let f = outcome(bed, server, code::scribbles(), AREA + WORDS * PAGE)?;
    check("it goes on", f.vector == vector::INVALID_OPCODE && f.r[0] == 0x1234)?;
    // Its stack is there.
    let code = [code::moves_stack(), code::invalid_call(), code::invalid()].concat();
    for stack in FORGED.into_iter().chain([AREA + WORDS * PAGE + PAGE, AREA + WORDS * PAGE + 64]) {
        let f = outcome(bed, server, &code, stack)?;
        check("its stack is its own", f.vector == vector::INVALID_OPCODE && f.rsp == stack)?;
    }
    Ok(())
}

fn goes_nowhere(bed: &mut Bed, server: Space) -> Result<(), Why> {
    for address in [USER_END, (1 << 47) - 2, 1 << 47, 1 << 63, !USER_END] {
        let f = outcome(bed, server, code::branch(), address)?;
        let refused = matches!(f.vector, vector::GENERAL_PROTECTION | vector::PAGE_FAULT);
        check("a fault of its own", refused)?;
        let slot = bed.slot();
        let (thread, _) = good(QUOTA.create_thread(server, slot, None))?;
        fails(thread.start(address, DATA, 0), Error::BadAddress)?;
        good(delete(thread.0))?;
    }
    Ok(())
}

fn interrupt_numbers(bed: &mut Bed, server: Space) -> Result<(), Why> {
    for number in 0..=255u8 {
        let f = outcome(bed, server, &[0xcd, number, 0x0f, 0x0b], 0)?;
        let known = matches!(
            f.vector,
            vector::GENERAL_PROTECTION | vector::INVALID_OPCODE | 3 | SEGMENT_MISSING
        );
        if !known {
            return Err(format!("int {number:#x} came as {:#x}", f.vector));
        }
    }
    Ok(())
}

/// Whatever flags it has, a system call returns, and interrupts do no harm to the kernel.
fn own_flags(bed: &mut Bed, server: Space) -> Result<(), Why> {
    // DF, NT, RF, AC, ID; with them a system call, and an exception.
    for flags in [0x400, 0x4000, 0x1_0000, 0x4_0000, 0x20_0000, 0x25_4cd5] {
        let code = [code::sets_flags(), code::invalid_call(), code::invalid()].concat();
        let f = outcome(bed, server, &code, flags)?;
        check("a system call comes back", f.vector == vector::INVALID_OPCODE)?;
        let code = [code::sets_flags(), code::invalid()].concat();
        let f = outcome(bed, server, &code, flags)?;
        check("an exception is its own", f.vector == vector::INVALID_OPCODE)?;
        check("interrupts stay open", f.rflags & 0x200 != 0 && f.rflags & 0x3000 == 0)?;
    }
    // A single step of a system call is one of the server's, or none.
    let code = [code::sets_flags(), code::invalid_call(), code::invalid()].concat();
    let f = outcome(bed, server, &code, 0x100)?;
    check("a step", matches!(f.vector, vector::DEBUG | vector::INVALID_OPCODE))
}

/// An alien that this component handles, in a space that shows the server, with its reply handle. It
/// begins at [`ADDRESS`].
fn alien(bed: &mut Bed, space: Space, code: &[u8]) -> Result<(Alien, Word), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code);
    good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    let (slot, handler) = (bed.slot(), bed.slot());
    good(copy(crate::SELF.0, None, handler, Rights::CALL, 0))?;
    let (alien, handle) = good(Alien::create(QUOTA, space, slot, Thread(handler)))?;
    alien.set_frame(&Frame { rip: ADDRESS, rsp: ADDRESS + PAGE, ..alien.frame() });
    Ok((alien, handle))
}

fn not_reached(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let space = showing(bed, server)?;
    good(map(server, CODE, bed.ram, 0, PAGE, Rights::RWX))?;
    let (alien, mut handle) = alien(bed, space, &[])?;
    // The information page, its own page, a missing one, the last of the window; and the area.
    for address in
        [START + PAGE, CODE, CODE + TABLE_SPAN, USER_END - PAGE, AREA, AREA + WORDS * PAGE]
    {
        for code in [code::read(), code::writes_there(), code::branch()] {
            fill(ADDRESS, PAGE, code);
            let mut frame = Frame { rip: ADDRESS, rsp: ADDRESS + PAGE, ..alien.frame() };
            frame.r[RSI] = address;
            alien.set_frame(&frame);
            let r = good(run(handle))?;
            handle = r.handle;
            check("an event", r.kind == MessageKind::Alien)?;
            let f = alien.frame();
            check("a page fault there", f.vector == vector::PAGE_FAULT && f.address == address)?;
            check("of a user", f.error & fault::USER != 0)?;
        }
    }
    Ok(())
}

/// Registers of a frame.
const RBX: usize = 1;
const RSI: usize = 4;

fn goes_on_without(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let space = showing(bed, server)?;
    let (alien, mut handle) = alien(bed, space, code::counts_calls())?;
    for turn in 1..=4 {
        handle = good(run(handle))?.handle;
        check("it goes on", alien.frame().r[RBX] == turn)?;
        if turn % 2 == 0 {
            good(space.show(START, server))?;
        } else {
            good(space.detach(START))?;
        }
    }
    Ok(())
}

fn ends_while_shown(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let space = showing(bed, server)?;
    good(map(server, CODE, bed.ram, 0, PAGE, Rights::RWX))?;
    let (alien, handle) = alien(bed, space, code::counts_calls())?;
    good(delete(server.0))?;
    good(run(handle))?;
    check("it goes on", alien.frame().r[RBX] == 1)?;
    good(map(space, START, bed.ram, 0, PAGE, Rights(3)))
}

fn there_at_once(bed: &mut Bed, server: Space) -> Result<(), Why> {
    showing(bed, server)?;
    // At a new table.
    let at = CODE + 8 * TABLE_SPAN;
    let code = [code::read(), code::invalid()].concat();
    for turn in 0..3 {
        good(map(server, at, bed.large, 0, PAGE, Rights(3)))?;
        check("it is there", outcome(bed, server, &code, at)?.vector == vector::INVALID_OPCODE)?;
        let bytes = if turn == 0 { PAGE } else { TABLE_SPAN };
        good(unmap(server, at, bytes))?;
        let f = outcome(bed, server, &code, at)?;
        check("it is gone", f.vector == vector::PAGE_FAULT && f.address == at)?;
    }
    Ok(())
}

/// The words at the start of the data of the server's thread.
#[repr(C)]
struct Orders {
    handle: Word,
    frame: Word,
    count: Word,
    entry: Word,
    tag: Word,
    forged: Word,
}

/// A server's thread with its own alien, which runs this code. Both have to be deleted.
pub fn pair(
    bed: &mut Bed,
    server: Space,
    (code, alien_code): (&[u8], &[u8]),
    (count, forged): (Word, Word),
) -> Result<[Thread; 2], Why> {
    let space = showing(bed, server)?;
    let thread = {
        good(map(SPACE, ADDRESS, bed.ram, 0, 2 * PAGE, Rights::RWX))?;
        fill(ADDRESS, PAGE, code);
        good(map(server, CODE, bed.ram, 0, 2 * PAGE, Rights::RWX))?;
        create(bed, server)?
    };
    good(map(SPACE, OTHER, bed.ram, 2 * PAGE, PAGE, Rights::RWX))?;
    fill(OTHER, PAGE, alien_code);
    good(map(space, OTHER, bed.ram, 2 * PAGE, PAGE, Rights::RWX))?;
    let (slot, handler) = (bed.slot(), bed.slot());
    good(copy(thread.0, None, handler, Rights::CALL, 0))?;
    let (alien, bound) = good(QUOTA.create_thread(space, slot, Some(server)))?;
    good(alien.set_handler(Some(Thread(handler))))?;
    let tag = Word::from(Tag::new(Op::Run, 0, 0).0);
    let (handle, frame) = (bound.handle, bound.utcb);
    for (index, word) in [handle, frame, count, OTHER, tag, forged].into_iter().enumerate() {
        fill(ADDRESS + PAGE + 8 * index as Word, 8, &word.to_le_bytes());
    }
    good(thread.start(CODE, DATA + PAGE, DATA))?;
    Ok([thread, alien])
}

/// A word of the server's data.
fn word(offset: usize) -> Word {
    let found = bytes(ADDRESS + PAGE + offset as Word, 8);
    found.iter().rev().fold(0, |all, byte| all << 8 | Word::from(*byte))
}

/// The server resumes its alien this many times; each time this makes a system call.
pub fn serves(bed: &mut Bed, server: Space, count: Word) -> Result<(), Why> {
    let [thread, alien] = pair(bed, server, (code::serves(), code::counts_calls()), (count, 0))?;
    let (_, f) = next()?;
    check("it came to its end", f.vector == vector::INVALID_OPCODE)?;
    check("each call has come", f.r[0] == count && word(offset_of!(Orders, count)) == 0)?;
    good(delete(thread.0))?;
    good(delete(alien.0))
}

/// An alien may have any registers and flags at its call.
fn hostile_alien(bed: &mut Bed, server: Space) -> Result<(), Why> {
    for alien_code in [
        code::counts_calls_with_flags(),
        code::counts_calls_with_stack(),
        code::counts_calls_with_selectors(),
        code::counts_calls_by_breakpoints(),
    ] {
        let [thread, alien] = pair(bed, server, (code::serves(), alien_code), (100, 0))?;
        let (_, f) = next()?;
        check("it came to its end", f.vector == vector::INVALID_OPCODE && f.r[0] == 100)?;
        good(delete(thread.0))?;
        good(delete(alien.0))?;
        server_again(server)?;
    }
    Ok(())
}

/// The FPU has the server's registers when the alien continues.
fn own_fpu(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let code = [code::serves_once(), code::computes_and_runs()].concat();
    let [thread, alien] = pair(bed, server, (&code, code::tells_fpu()), (1, 0))?;
    let (_, f) = next()?;
    check("it came to its end", f.vector == vector::INVALID_OPCODE)?;
    check("the register is the alien's", f.r[0] == 0)?;
    good(delete(thread.0))?;
    good(delete(alien.0))
}

/// Unmaps the pages of a case, so that the next one begins like this one.
pub fn server_again(server: Space) -> Result<(), Why> {
    good(unmap(server, CODE, 2 * PAGE))
}

/// While the server serves its alien, it writes any value into each word of the area, and makes a
/// system call.
fn forges_a_crossing(bed: &mut Bed, server: Space) -> Result<(), Why> {
    for offset in [0, 8, 16, 24] {
        for forged in FORGED.into_iter().chain([1, 3, 1 << 32 | 3]) {
            let code = [
                code::serves_once(),
                &[0x48, 0xbe][..],
                &(AREA + WORDS * PAGE + offset).to_le_bytes(),
                code::forges_and_runs(),
            ]
            .concat();
            let threads = pair(bed, server, (&code, code::counts_calls()), (1, forged))?;
            // Whatever the result, the machine continues, and so does the next server.
            let due = time::now() + 2_000_000;
            good(time::alarm(due, 1))?;
            macadamia::utcb::accept(1);
            while good(receive(None))?.kind != MessageKind::Notification {}
            for thread in threads {
                good(delete(thread.0))?;
            }
            server_again(server)?;
        }
    }
    serves(bed, server, 10)
}
