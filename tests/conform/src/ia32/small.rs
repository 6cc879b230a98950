// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small spaces and their homes. Where the machine has none, each case checks that it says so.

use super::homes::{
    CODE, DATA, FIRST, SECOND, SIZE, alien, call, jump, launch, native, new_home, outcome, seen,
    with_home, word, write,
};
use super::server::limits_hold;
use crate::exception::next;
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, Why, check, fails, good};
use abi::frame::{Frame, vector};
use abi::state::tls::{PAGES, PRESENT};
use abi::{Error, MessageKind, Op, Rights, TABLE_SPAN};
use image::layout::GRANTS_END;
use macadamia::Space;
use macadamia::alloc::vec::Vec;
use macadamia::cap::{copy, delete};
use macadamia::map::{Window, map, unmap};

pub const CASES: &[Case] = &[
    ("a_home_has_no_threads", no_threads),
    ("a_space_is_in_one_home", |bed| with_home(bed, one_home)),
    ("a_small_space_ends_at_its_size", |bed| with_home(bed, ends_at_its_size)),
    ("an_alien_goes_on_small_and_large", |bed| with_home(bed, goes_on)),
    ("a_native_thread_goes_on_small_and_large", |bed| with_home(bed, goes_on_by_itself)),
    ("each_has_its_own_memory", |bed| with_home(bed, own_memory)),
    ("a_fault_tells_its_own_address", |bed| with_home(bed, own_address)),
    ("it_reaches_nothing_behind_its_size", |bed| with_home(bed, reaches_nothing)),
    ("no_instruction_reaches_behind_its_size", |bed| with_home(bed, no_instruction)),
    ("it_does_not_learn_its_place", |bed| with_home(bed, place_unknown)),
    ("its_thread_pointer_is_its_own", |bed| with_home(bed, thread_pointer)),
    ("its_breakpoints_are_its_own", |bed| with_home(bed, breakpoint)),
    ("what_is_mapped_and_unmapped_counts_at_once", |bed| with_home(bed, at_once)),
    ("a_segment_in_it_is_there", |bed| with_home(bed, segment)),
    ("it_goes_on_when_its_home_ends", |bed| with_home(bed, home_ends)),
    ("it_goes_on_when_another_ends", |bed| with_home(bed, another_ends)),
    ("hostile_registers_do_no_harm_in_it", |bed| with_home(bed, hostile_registers)),
];

fn no_threads(bed: &mut Bed) -> Result<(), Why> {
    let home = new_home(bed)?;
    let slot = bed.slot();
    fails(QUOTA.create_thread(home, slot, None).map(|_| ()), Error::BadArgument)?;
    fails(QUOTA.create_thread(home, slot, Some(crate::SPACE)).map(|_| ()), Error::BadArgument)?;
    fails(QUOTA.create_space_at(0, slot, 2).map(|_| ()), Error::BadArgument)?;
    fails(home.serve(bed.window, false), Error::BadState)
}

fn one_home(bed: &mut Bed, home: Space) -> Result<(), Why> {
    let other = new_home(bed)?;
    let space = native(bed, 0, &[])?;
    for size in [0, PAGE, TABLE_SPAN + PAGE, 3 * TABLE_SPAN, 1 << 31] {
        check("a size that there is not", home.take_in(0, space, size).is_err())?;
    }
    fails(home.take_in(TABLE_SPAN, space, SIZE), Error::BadAddress)?;
    fails(home.take_in(abi::USER_END, space, SIZE), Error::BadAddress)?;
    fails(space.take_in(FIRST, space, SIZE), Error::BadState)?;
    fails(home.take_in(FIRST, home, SIZE), Error::BadState)?;
    fails(home.take_in(FIRST, other, SIZE), Error::BadState)?;
    good(home.take_in(FIRST, space, SIZE))?;
    fails(home.take_in(SECOND, space, SIZE), Error::Occupied)?;
    fails(other.take_in(FIRST, space, SIZE), Error::Occupied)?;
    let second = native(bed, 0, &[])?;
    fails(home.take_in(FIRST, second, SIZE), Error::Occupied)?;
    good(home.detach(FIRST))?;
    fails(home.detach(FIRST), Error::NotThere)?;
    good(other.take_in(FIRST, space, SIZE))
}

fn ends_at_its_size(bed: &mut Bed, home: Space) -> Result<(), Why> {
    let space = native(bed, 0, &[])?;
    good(map(space, SIZE, bed.ram, 0, PAGE, Rights(3)))?;
    fails(home.take_in(FIRST, space, SIZE), Error::Occupied)?;
    good(unmap(space, SIZE, TABLE_SPAN))?;
    good(home.take_in(FIRST, space, SIZE))?;
    fails(map(space, SIZE, bed.ram, 0, PAGE, Rights(3)), Error::BadAddress)?;
    fails(map(space, SIZE - PAGE, bed.ram, 0, 2 * PAGE, Rights(3)), Error::BadAddress)?;
    good(map(space, SIZE - PAGE, bed.ram, 0, PAGE, Rights(3)))?;
    good(home.detach(FIRST))?;
    good(map(space, SIZE, bed.ram, 0, PAGE, Rights(3)))
}

/// It counts in a register and in memory, by DS and ES, and on its stack.
fn goes_on(bed: &mut Bed, home: Space) -> Result<(), Why> {
    // inc eax; inc dword [DATA]; inc dword es:[DATA]; push eax; pop ecx; int 0x80; jmp back
    let mut code = [
        0x40, 0xff, 0x05, 0, 0, 0, 0, 0x26, 0xff, 0x05, 0, 0, 0, 0, 0x50, 0x59, 0xcd, 0x80, 0xeb,
        0xec,
    ];
    code[3..7].copy_from_slice(&DATA.to_le_bytes());
    code[10..14].copy_from_slice(&DATA.to_le_bytes());
    let (space, alien, mut handle) = alien(bed, 0, &code)?;
    let start = word(bed, 1)?;
    let other = new_home(bed)?;
    let places = [(home, FIRST), (home, SECOND), (other, 0), (other, FIRST)];
    for turn in 1..=16 {
        let r = good(macadamia::ipc::run(handle))?;
        handle = r.handle;
        let f = alien.frame();
        check("an event", r.kind == MessageKind::Alien)?;
        if f.vector != vector::SYSTEM_CALL {
            return Err(macadamia::alloc::format!(
                "turn {turn}: vector {}, error {:#x}, address {:#x}, eip {:#x}",
                f.vector,
                f.error,
                f.address,
                f.eip
            ));
        }
        check("its registers", f.eax == turn && f.ecx == turn && f.esp == DATA + PAGE)?;
        check("its memory", word(bed, 1)? == start + 2 * turn)?;
        let (there, address) = places[turn as usize / 2 % 4];
        if turn % 2 == 1 {
            good(there.take_in(address, space, SIZE))?;
        } else {
            let (there, address) = places[(turn as usize - 1) / 2 % 4];
            good(there.detach(address))?;
        }
    }
    Ok(())
}

/// It makes itself small and large by its own system calls.
fn goes_on_by_itself(bed: &mut Bed, home: Space) -> Result<(), Why> {
    const HOME: u32 = 1;
    const OWN: u32 = 2;
    let mut code = Vec::new();
    let mut call = |op: Op, args: [u32; 4]| call(&mut code, DATA, op, args);
    for _ in 0..3 {
        call(Op::Attach, [HOME, FIRST, OWN, SIZE | Rights::RWX.0]);
        call(Op::Detach, [HOME, FIRST, 0, 0]);
    }
    call(Op::Attach, [HOME, SECOND, OWN, SIZE | Rights::RWX.0]);
    code.extend([0x0f, 0x0b]);
    write(bed, 1, &[])?;
    let space = native(bed, 0, &code)?;
    good(copy(home.0, Some(space), HOME, Rights::ALL, 0))?;
    good(copy(space.0, Some(space), OWN, Rights::ALL, 0))?;
    launch(bed, space)?;
    let (_, f) = next()?;
    check(
        "it got there",
        f.vector == vector::INVALID_OPCODE && f.eip == CODE + code.len() as u32 - 2,
    )?;
    check("all succeeded", word(bed, 1)? == 0)
}

fn own_memory(bed: &mut Bed, home: Space) -> Result<(), Why> {
    // L: inc dword [DATA]; int 0x80; jmp L
    let mut code = [0xff, 0x05, 0, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf6];
    code[2..6].copy_from_slice(&DATA.to_le_bytes());
    let (one, _, mut first) = alien(bed, 0, &code)?;
    let (two, _, mut second) = alien(bed, 2, &code)?;
    write(bed, 1, &[])?;
    write(bed, 3, &[])?;
    good(home.take_in(FIRST, one, SIZE))?;
    good(home.take_in(SECOND, two, SIZE))?;
    for turn in 1..=20 {
        first = good(macadamia::ipc::run(first))?.handle;
        if turn % 4 == 0 {
            second = good(macadamia::ipc::run(second))?.handle;
        }
        check("the first counts", word(bed, 1)? == turn)?;
        check("the second counts", word(bed, 3)? == turn / 4)?;
    }
    Ok(())
}

fn own_address(bed: &mut Bed, home: Space) -> Result<(), Why> {
    for address in [0, PAGE * 5, CODE + 8 * PAGE, SIZE - 4] {
        // mov [address], eax
        let mut code = [0xa3, 0, 0, 0, 0];
        code[1..].copy_from_slice(&address.to_le_bytes());
        let f = outcome(bed, home, &code)?;
        check(
            "a page fault there",
            f.vector == vector::PAGE_FAULT && f.address == address && f.eip == CODE,
        )?;
    }
    Ok(())
}

/// A stack segment's limit.
const STACK: u32 = 12;

fn reaches_nothing(bed: &mut Bed, home: Space) -> Result<(), Why> {
    if !limits_hold(bed)? {
        return Ok(());
    }
    let neighbour = native(bed, 2, &[])?;
    good(home.take_in(SECOND, neighbour, SIZE))?;
    // Addresses of the neighbour, of its end, across its end, of the kernel, and ones that wrap
    // around to below its own.
    for address in [SIZE + CODE, SIZE, SIZE - 3, 0xe010_0000, 0u32.wrapping_sub(TABLE_SPAN)] {
        for prefix in [0x2e, 0x3e, 0x26, 0x36] {
            for opcode in [0xa1, 0xa3] {
                let mut code = [prefix, opcode, 0, 0, 0, 0, 0x0f, 0x0b];
                code[2..6].copy_from_slice(&u32::to_le_bytes(address));
                let f = outcome(bed, home, &code)?;
                let refused = matches!(f.vector, vector::GENERAL_PROTECTION | STACK);
                if !refused {
                    return Err(macadamia::alloc::format!("{code:02x?} came as {}", f.vector));
                }
            }
        }
        // Selectors of others: large spaces, servers and the kernel.
        for selector in [0x08u8, 0x10, 0x18, 0x20, 0x28, 0x30, 0x48, 0x50, 0x58] {
            // mov eax, selector; mov fs, ax; mov eax, fs:[address]; ud2
            let mut code =
                [0xb8, selector | 3, 0, 0, 0, 0x8e, 0xe0, 0x64, 0xa1, 0, 0, 0, 0, 0x0f, 0x0b];
            code[9..13].copy_from_slice(&u32::to_le_bytes(address));
            let f = outcome(bed, home, &code)?;
            check(
                "not to be loaded",
                f.vector != vector::INVALID_OPCODE
                    && f.vector != vector::PAGE_FAULT
                    && f.eip == CODE + 5,
            )?;
        }
        // mov eax, address; jmp eax
        let mut code = [0xb8, 0, 0, 0, 0, 0xff, 0xe0];
        code[1..5].copy_from_slice(&u32::to_le_bytes(address.max(SIZE)));
        check("no jump", outcome(bed, home, &code)?.vector == vector::GENERAL_PROTECTION)?;
        // mov esp, address + 4; push eax
        let mut code = [0xbc, 0, 0, 0, 0, 0x50];
        code[1..5].copy_from_slice(&u32::to_le_bytes(address.wrapping_add(4)));
        check("no push", outcome(bed, home, &code)?.vector == STACK)?;
    }
    Ok(())
}

/// In a region between two others, which have pages at its borders: these can be neither read nor
/// written.
fn no_instruction(bed: &mut Bed, home: Space) -> Result<(), Why> {
    if !limits_hold(bed)? {
        return Ok(());
    }
    write(bed, 6, &[])?;
    for address in [FIRST - SIZE, SECOND] {
        let slot = bed.slot();
        let neighbour = good(QUOTA.create_space(0, slot))?;
        good(map(neighbour, 0, bed.ram, 6 * PAGE, PAGE, Rights(3)))?;
        good(map(neighbour, SIZE - PAGE, bed.ram, 6 * PAGE, PAGE, Rights(3)))?;
        good(home.take_in(address, neighbour, SIZE))?;
    }
    let word =
        |opcode: &[u8], value: u32, rest: &[u8]| [opcode, &value.to_le_bytes()[..], rest].concat();
    let esi = |value: u32, rest: &[u8]| word(&[0xbe], value, rest);
    let edi = |value: u32, rest: &[u8]| word(&[0xbf], value, rest);
    let esp = |value: u32, rest: &[u8]| word(&[0xbc], value, rest);
    let far = |address: u32| [&word(&[0xea], address, &[])[..], &[0x63, 0]].concat();
    let end = SIZE - 4;
    let codes: [(&str, Vec<u8>); 24] = [
        ("lodsd below", esi(0u32.wrapping_sub(4), &[0xad])),
        ("lodsd beyond", esi(SIZE, &[0xad])),
        ("lodsd across", esi(SIZE - 1, &[0xad])),
        ("stosd below", edi(0u32.wrapping_sub(4), &[0xab])),
        ("stosd beyond", edi(SIZE, &[0xab])),
        ("rep stosd across", word(&[0xb9], 8, &edi(end - 8, &[0xf3, 0xab]))),
        ("rep stosd down", word(&[0xb9], 8, &edi(8, &[0xfd, 0xf3, 0xab]))),
        ("rep movsd across", word(&[0xb9], 8, &esi(CODE, &edi(end - 8, &[0xf3, 0xa5])))),
        ("rep movsd from beyond", word(&[0xb9], 8, &esi(SIZE, &edi(DATA, &[0xf3, 0xa5])))),
        ("push below", esp(0, &[0x50])),
        ("pusha across", esp(SIZE + 16, &[0x60])),
        ("pusha below", esp(0, &[0x60])),
        ("pop beyond", esp(SIZE, &[0x58])),
        ("popa across", esp(SIZE - 16, &[0x61])),
        ("enter below", esp(0, &[0xc8, 0x10, 0, 1])),
        ("leave beyond", word(&[0xbd], SIZE, &[0xc9])),
        ("call beyond", word(&[0xb8], SIZE, &[0xff, 0xd0])),
        ("call below", word(&[0xb8], 0u32.wrapping_sub(16), &[0xff, 0xd0])),
        ("far jump beyond", far(SIZE)),
        ("ret beyond", word(&[0x68], SIZE, &[0xc3])),
        ("iret beyond", [&[0x9c, 0x6a, 0x63][..], &word(&[0x68], SIZE, &[0xcf])].concat()),
        ("fst beyond", word(&[0xd9, 0xee, 0xdd, 0x1d], SIZE - 4, &[])),
        ("lock beyond", word(&[0xf0, 0xff, 0x05], SIZE, &[])),
        (
            "by address with scale",
            word(&[0xb8], 0x4000_0000, &word(&[0xff, 0x04, 0x85], end + 4, &[])),
        ),
    ];
    for place in [FIRST, FIRST + 4 * SIZE] {
        for (what, code) in &codes {
            let mut code = code.clone();
            code.extend([0x0f, 0x0b]);
            let space = native(bed, 0, &code)?;
            good(map(space, SIZE - PAGE, bed.ram, 8 * PAGE, PAGE, Rights(3)))?;
            good(home.take_in(place, space, SIZE))?;
            let thread = launch(bed, space)?;
            let (_, f) = next()?;
            // On the way down it comes to its own first page, where nothing is mapped.
            let refused = matches!(f.vector, vector::GENERAL_PROTECTION | STACK)
                || f.vector == vector::PAGE_FAULT && f.address < SIZE;
            seen(what, &f, refused)?;
            for slot in [thread.0, space.0] {
                good(delete(slot))?;
            }
        }
    }
    // Far pointers to segments that are not its own.
    for selector in [0x08u8, 0x10, 0x18, 0x1b, 0x20, 0x23, 0x28, 0x33, 0x3b, 0x43, 0x48, 0x51, 0x59]
    {
        // push selector; push 0; lds, les, lfs, lgs eax, [esp]
        for load in [
            &[0xc5, 0x04, 0x24][..],
            &[0xc4, 0x04, 0x24],
            &[0x0f, 0xb4, 0x04, 0x24],
            &[0x0f, 0xb5, 0x04, 0x24],
        ] {
            let code = [&[0x6a, selector, 0x6a, 0][..], load, &[0x0f, 0x0b]].concat();
            let f = outcome(bed, home, &code)?;
            let refused =
                matches!(f.vector, vector::GENERAL_PROTECTION | NOT_PRESENT) && f.eip == CODE + 4;
            seen(&macadamia::alloc::format!("{selector:#x} by {load:02x?}"), &f, refused)?;
        }
    }
    let page = good(Window::open(GRANTS_END, bed.ram, 6 * PAGE, PAGE, Rights(1)))?;
    check("the neighbours have what they had", (0..PAGE / 4).all(|index| page.read(index * 4) == 0))
}

/// Everything that it can read of itself and of the processor is the same wherever it is.
fn place_unknown(bed: &mut Bed, home: Space) -> Result<(), Why> {
    let mut code = Vec::new();
    let mut stores = |opcode: &[u8], offset: u32| {
        code.extend(opcode);
        code.extend((DATA + offset).to_le_bytes());
    };
    // fld, fnstenv; sgdt, sidt, str, sldt, smsw; all segment registers
    stores(&[0xd9, 0x05], 0);
    for (opcode, offset) in
        [(&[0xd9, 0x35][..], 0x10), (&[0x0f, 0x01, 0x05], 0x40), (&[0x0f, 0x01, 0x0d], 0x48)]
    {
        stores(opcode, offset);
    }
    for (opcode, offset) in
        [(&[0x0f, 0x00, 0x0d][..], 0x50), (&[0x0f, 0x00, 0x05], 0x54), (&[0x0f, 0x01, 0x25], 0x58)]
    {
        stores(opcode, offset);
    }
    for register in 0..6 {
        stores(&[0x8c, 0x05 | register << 3], 0x60 + 4 * u32::from(register));
    }
    // Of every selector: lsl, lar. L: xor eax, eax; lsl eax, cx; mov [ecx*4 + DATA + 0x200], eax;
    // ...; inc ecx; cmp ecx, 128; jb L
    code.extend([0x31, 0xc9]);
    let again = code.len();
    for (opcode, offset) in [(0x03, 0x200), (0x02, 0x400)] {
        code.extend([0x31, 0xc0, 0x0f, opcode, 0xc1, 0x89, 0x04, 0x8d]);
        code.extend((DATA + offset).to_le_bytes());
    }
    code.extend([0x41, 0x81, 0xf9, 128, 0, 0, 0]);
    jump(&mut code, 0x72, again);
    code.extend([0x0f, 0x0b]);
    let mut found: Vec<(Frame, Vec<u32>)> = Vec::new();
    for place in [FIRST, SECOND, 0, 16 * SIZE] {
        write(bed, 1, &[0x5a])?;
        let space = native(bed, 0, &code)?;
        good(home.take_in(place, space, SIZE))?;
        let thread = launch(bed, space)?;
        let (_, f) = next()?;
        seen(
            "the end",
            &f,
            f.vector == vector::INVALID_OPCODE && f.eip == CODE + code.len() as u32 - 2,
        )?;
        // What others can read of it is the same, too.
        let registers = good(thread.registers())?;
        check("its own address", registers.eip == f.eip && registers.esp == f.esp)?;
        let page = good(Window::open(GRANTS_END, bed.ram, PAGE, PAGE, Rights(1)))?;
        found.push((f, (0..PAGE / 4).map(|index| page.read(index * 4)).collect()));
        for slot in [thread.0, space.0] {
            good(delete(slot))?;
        }
    }
    let (frame, words) = &found[0];
    for (other, others) in &found[1..] {
        let differs = words.iter().zip(others).position(|(one, other)| one != other);
        if let Some(index) = differs {
            return Err(macadamia::alloc::format!(
                "word {index:#x}: {:#x} and {:#x}",
                words[index],
                others[index]
            ));
        }
        check("its registers", frame == other)?;
    }
    Ok(())
}

/// A segment descriptor that is not present.
const NOT_PRESENT: u32 = 11;

fn thread_pointer(bed: &mut Bed, home: Space) -> Result<(), Why> {
    // mov eax, 0x33; mov gs, ax; mov eax, gs:[address]; ud2
    let reads = |address: u32| {
        let mut code = [0xb8, 0x33, 0, 0, 0, 0x8e, 0xe8, 0x65, 0xa1, 0, 0, 0, 0, 0x0f, 0x0b];
        code[9..13].copy_from_slice(&u32::to_le_bytes(address));
        code
    };
    let limits = limits_hold(bed)?;
    for (base, address, fine) in [
        (DATA, 0, true),
        (0, DATA, true),
        (0, SIZE, false),
        (DATA, SIZE - DATA, false),
        (SIZE, 0, false),
        (SIZE + CODE, 0, false),
        (DATA, 0u32.wrapping_sub(DATA + 4), false),
        (SIZE - 4, 1, false),
    ] {
        write(bed, 1, &[0x5a, 0x5a, 0x5a, 0x5a])?;
        let (space, alien, handle) = alien(bed, 0, &reads(address))?;
        good(home.take_in(FIRST, space, SIZE))?;
        good(alien.thread.set_tls(0, base, PRESENT | PAGES | 0xf_ffff))?;
        good(macadamia::ipc::run(handle))?;
        let f = alien.frame();
        if fine {
            seen("its own word", &f, f.vector == vector::INVALID_OPCODE && f.eax == 0x5a5a_5a5a)?;
        } else if limits {
            check("refused", matches!(f.vector, vector::GENERAL_PROTECTION | NOT_PRESENT))?;
        }
        for slot in [alien.thread.0, space.0] {
            good(delete(slot))?;
        }
    }
    Ok(())
}

fn breakpoint(bed: &mut Bed, home: Space) -> Result<(), Why> {
    // An emulator without limits is QEMU, which crashes at the breakpoint of an instruction whose
    // segment has a base.
    let instructions = limits_hold(bed)?;
    // nop; nop; mov [DATA], eax; ud2
    let mut code = [0x90, 0x90, 0xa3, 0, 0, 0, 0, 0x0f, 0x0b];
    code[3..7].copy_from_slice(&DATA.to_le_bytes());
    let (space, alien, mut handle) = alien(bed, 0, &code)?;
    good(home.take_in(FIRST, space, SIZE))?;
    // The instruction at CODE + 1; a write of four bytes at DATA.
    for (address, control, at) in [(CODE + 1, 1, CODE + 1), (DATA, 1 | 0b1101 << 16, CODE + 7)]
        .into_iter()
        .skip(usize::from(!instructions))
    {
        good(alien.thread.set_debug(0, address))?;
        good(alien.thread.set_debug(7, control))?;
        alien.set_frame(&Frame { eip: CODE, ..alien.frame() });
        handle = good(macadamia::ipc::run(handle))?.handle;
        let f = alien.frame();
        seen("a breakpoint there", &f, f.vector == vector::DEBUG && f.eip == at)?;
    }
    Ok(())
}

fn at_once(bed: &mut Bed, home: Space) -> Result<(), Why> {
    // L: mov eax, [DATA]; int 0x80; jmp L
    let mut code = [0xa1, 0, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7];
    code[1..5].copy_from_slice(&DATA.to_le_bytes());
    let (space, alien, mut handle) = alien(bed, 0, &code)?;
    good(home.take_in(FIRST, space, SIZE))?;
    write(bed, 4, &[4])?;
    write(bed, 5, &[5])?;
    for turn in 0..8 {
        let page = 4 + turn % 2;
        good(map(space, DATA, bed.ram, page * PAGE, PAGE, Rights(1)))?;
        handle = good(macadamia::ipc::run(handle))?.handle;
        check(
            "what was mapped",
            alien.frame().vector == vector::SYSTEM_CALL && alien.frame().eax == page,
        )?;
        if turn % 3 == 2 {
            good(unmap(space, DATA, PAGE))?;
            handle = good(macadamia::ipc::run(handle))?.handle;
            check(
                "it is gone",
                alien.frame().vector == vector::PAGE_FAULT && alien.frame().address == DATA,
            )?;
            alien.set_frame(&Frame { eip: CODE, ..alien.frame() });
        }
    }
    Ok(())
}

fn segment(bed: &mut Bed, home: Space) -> Result<(), Why> {
    // mov eax, [2 * TABLE_SPAN ..]; int 0x80; jmp back
    let at = 3 * TABLE_SPAN;
    let mut code = [0xa1, 0, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7];
    code[1..5].copy_from_slice(&at.to_le_bytes());
    let (space, alien, mut handle) = alien(bed, 0, &code)?;
    let slot = bed.slot();
    let segment = good(QUOTA.create_segment(TABLE_SPAN, slot))?;
    good(home.take_in(FIRST, space, SIZE))?;
    good(space.attach(at, segment, Rights(3)))?;
    write(bed, 6, &[6])?;
    good(map(Space(segment.0), 0, bed.ram, 6 * PAGE, PAGE, Rights(3)))?;
    handle = good(macadamia::ipc::run(handle))?.handle;
    check(
        "what is in the Segment",
        alien.frame().vector == vector::SYSTEM_CALL && alien.frame().eax == 6,
    )?;
    good(unmap(Space(segment.0), 0, TABLE_SPAN))?;
    handle = good(macadamia::ipc::run(handle))?.handle;
    check("nothing is", alien.frame().vector == vector::PAGE_FAULT && alien.frame().address == at)?;
    good(map(Space(segment.0), 0, bed.ram, 6 * PAGE, PAGE, Rights(3)))?;
    handle = good(macadamia::ipc::run(handle))?.handle;
    check("there again", alien.frame().vector == vector::SYSTEM_CALL)?;
    good(space.detach(at))?;
    good(macadamia::ipc::run(handle))?;
    check("detached", alien.frame().vector == vector::PAGE_FAULT && alien.frame().address == at)
}

fn home_ends(bed: &mut Bed, home: Space) -> Result<(), Why> {
    let (space, alien, mut handle) = alien(bed, 0, &[0x40, 0xcd, 0x80, 0xeb, 0xfb])?;
    good(home.take_in(FIRST, space, SIZE))?;
    handle = good(macadamia::ipc::run(handle))?.handle;
    good(delete(home.0))?;
    good(macadamia::ipc::run(handle))?;
    check("it goes on", alien.frame().eax == 2)?;
    good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights(3)))
}

fn another_ends(bed: &mut Bed, home: Space) -> Result<(), Why> {
    let (one, alien_one, mut handle) = alien(bed, 0, &[0x40, 0xcd, 0x80, 0xeb, 0xfb])?;
    let (two, _, second) = alien(bed, 2, &[0x40, 0xcd, 0x80, 0xeb, 0xfb])?;
    good(home.take_in(FIRST, one, SIZE))?;
    good(home.take_in(SECOND, two, SIZE))?;
    handle = good(macadamia::ipc::run(handle))?.handle;
    good(macadamia::ipc::run(second))?;
    good(delete(two.0))?;
    good(macadamia::ipc::run(handle))?;
    check("it goes on", alien_one.frame().eax == 2)?;
    let third = native(bed, 4, &[])?;
    good(home.take_in(SECOND, third, SIZE))
}

fn hostile_registers(bed: &mut Bed, home: Space) -> Result<(), Why> {
    let limits = limits_hold(bed)?;
    let (space, alien, mut handle) = alien(bed, 0, &[0xcd, 0x80])?;
    good(home.take_in(FIRST, space, SIZE))?;
    let good_frame = alien.frame();
    let selectors =
        [0u32, 3, 0x08, 0x10, 0x1b, 0x23, 0x28, 0x33, 0x48, 0x51, 0x59, 0x63, 0x6b, 0xffff];
    for selector in selectors {
        let both = selector | selector << 16;
        alien.set_frame(&Frame {
            ds_es: both,
            fs_gs: both,
            changed: abi::frame::CHANGED_SEGMENTS,
            ..good_frame
        });
        handle = good(macadamia::ipc::run(handle))?.handle;
        let f = alien.frame();
        seen(
            &macadamia::alloc::format!("its system call with {selector:#x}"),
            &f,
            f.vector == vector::SYSTEM_CALL,
        )?;
    }
    for eip in [SIZE - 1, SIZE, SIZE + CODE, 0xdfff_ffff, 0xe000_0000, 0xffff_ffff] {
        alien.set_frame(&Frame {
            eip,
            changed: abi::frame::CHANGED_SEGMENTS,
            ds_es: 0x23_0023,
            fs_gs: 0,
            ..good_frame
        });
        handle = good(macadamia::ipc::run(handle))?.handle;
        let f = alien.frame();
        check(
            "a fault of its own",
            f.vector == vector::GENERAL_PROTECTION || f.vector == vector::PAGE_FAULT,
        )?;
        check("at the limit", !limits || eip < SIZE || f.vector == vector::GENERAL_PROTECTION)?;
    }
    for eflags in [0u32, 0xffff_ffff, 0x4000, 0x2_0000, 0x3000, 0x400, 0x4_0000] {
        alien.set_frame(&Frame { eflags: eflags & !0x100, ..good_frame });
        handle = good(macadamia::ipc::run(handle))?.handle;
        check("it came back", alien.frame().vector == vector::SYSTEM_CALL)?;
    }
    Ok(())
}
