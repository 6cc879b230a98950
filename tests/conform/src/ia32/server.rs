// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers: spaces that others show. Their threads execute machine code. Where the machine has no
//! servers, each case checks that it says so.

use crate::exception::{create, next};
use crate::server::{START, placed, showing, shown_once, with_server};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, check, fails, good};
use abi::arch::ia32::kip::FEATURE_SYSENTER;
use abi::frame::{Frame, fault, vector};
use abi::state::tls::{PAGES, PRESENT};
use abi::{Error, MessageKind, Rights, TABLE_SPAN, USER_END};
use macadamia::alien::Alien;
use macadamia::cap::{copy, delete};
use macadamia::map::{map, unmap};
use macadamia::start::fill;
use macadamia::time::has_servers;
use macadamia::{Space, Thread, result, time};

pub const CASES: &[Case] = &[
    ("a_fresh_space_becomes_one", |bed| with_server(bed, |_, _| Ok(()))),
    ("a_space_that_is_not_fresh_becomes_none", not_fresh),
    ("a_window_has_its_place", misplaced),
    ("the_only_one_is_alone", only_one),
    ("it_maps_in_its_window_alone", |bed| with_server(bed, maps_in_its_window)),
    ("it_runs_at_ring_1", |bed| with_server(bed, runs_at_ring_1)),
    ("it_does_not_reach_the_kernel", |bed| with_server(bed, reaches_no_kernel)),
    ("it_does_nothing_that_is_privileged", |bed| with_server(bed, nothing_privileged)),
    ("it_does_not_go_on_in_the_kernel", |bed| with_server(bed, goes_on_beyond)),
    ("it_survives_each_interrupt_number", |bed| with_server(bed, interrupt_numbers)),
    ("a_space_shows_it_once", |bed| with_server(bed, shown_once)),
    ("who_shows_it_does_not_reach_it", |bed| with_server(bed, not_reached)),
    ("who_shows_it_goes_on_without_it", |bed| with_server(bed, goes_on_without)),
    ("it_ends_while_it_is_shown", |bed| with_server(bed, ends_while_shown)),
    ("what_it_maps_is_there_at_once", |bed| with_server(bed, there_at_once)),
];

/// The addresses of its code and its data, after the kernel's part of the window.
const CODE: u32 = START + TABLE_SPAN;
const DATA: u32 = CODE + PAGE;

/// A thread of the server that runs this code; its exceptions come here.
fn launch(bed: &mut Bed, server: Space, code: &[u8]) -> Result<Thread, Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code);
    good(map(server, CODE, bed.ram, 0, 2 * PAGE, Rights::RWX))?;
    let thread = create(bed, server)?;
    good(thread.start(CODE, DATA + PAGE, 0))?;
    Ok(thread)
}

/// The exception with which this code ends; its thread is deleted afterwards.
fn outcome(bed: &mut Bed, server: Space, code: &[u8]) -> Result<Frame, Why> {
    let thread = launch(bed, server, code)?;
    let (_, frame) = next()?;
    good(delete(thread.0))?;
    Ok(frame)
}

fn not_fresh(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let aliens = good(QUOTA.create_space(0, slot))?;
    fails(aliens.serve(bed.window, false), Error::BadState)?;
    let used = placed(bed)?;
    good(map(used, ADDRESS, bed.ram, 0, PAGE, Rights(1)))?;
    fails(used.serve(bed.window, false), Error::BadState)?;
    let bound = placed(bed)?;
    create(bed, bound)?;
    fails(bound.serve(bed.window, false), Error::BadState)?;
    if has_servers() {
        let server = placed(bed)?;
        good(server.serve(bed.window, false))?;
        fails(server.serve(bed.window, false), Error::BadState)?;
    }
    Ok(())
}

fn misplaced(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    fails(QUOTA.create_space_at(16, slot, START + PAGE).map(|_| ()), Error::BadAddress)?;
    fails(QUOTA.create_space_at(16, slot, USER_END).map(|_| ()), Error::BadAddress)?;
    fails(QUOTA.create_space_at(0, slot, START).map(|_| ()), Error::BadArgument)?;
    let space = good(QUOTA.create_space_at(16, slot, START + TABLE_SPAN))?;
    fails(space.serve(bed.window, false), Error::BadAddress)?;
    fails(space.serve(bed.ram, false), Error::BadArgument)?;
    let short = macadamia::Memory(bed.slot());
    good(bed.window.derive(0, 256 << 20, short.0, QUOTA))?;
    let here = placed(bed)?;
    fails(here.serve(short, false), Error::BadAddress)?;
    fails(map(SPACE, ADDRESS, bed.window, 0, PAGE, Rights(1)), Error::BadArgument)
}

fn only_one(bed: &mut Bed) -> Result<(), Why> {
    if !has_servers() {
        return Ok(());
    }
    let (one, other) = (placed(bed)?, placed(bed)?);
    good(one.serve(bed.window, true))?;
    fails(other.serve(bed.window, false), Error::Occupied)?;
    good(delete(one.0))?;
    good(other.serve(bed.window, false))?;
    let third = placed(bed)?;
    fails(third.serve(bed.window, true), Error::Occupied)
}

fn maps_in_its_window(bed: &mut Bed, server: Space) -> Result<(), Why> {
    for (at, pages) in [
        (0, 1),
        (ADDRESS, 1),
        (START - PAGE, 1),
        (START, 1),
        (CODE - PAGE, 2),
        (USER_END - PAGE, 2),
    ] {
        fails(map(server, at, bed.ram, 0, pages * PAGE, Rights(3)), Error::BadAddress)?;
    }
    good(map(server, CODE, bed.ram, 0, PAGE, Rights(3)))?;
    good(map(server, USER_END - PAGE, bed.ram, 0, PAGE, Rights(3)))?;
    good(unmap(server, CODE, USER_END - CODE))
}

fn runs_at_ring_1(bed: &mut Bed, server: Space) -> Result<(), Why> {
    // mov eax, cs; mov ebx, ss; mov ecx, fs; mov edx, gs; pushfd; pop esi; ud2
    let f = outcome(
        bed,
        server,
        &[0x8c, 0xc8, 0x8c, 0xd3, 0x8c, 0xe1, 0x8c, 0xea, 0x9c, 0x5e, 0x0f, 0x0b],
    )?;
    check("it got there", f.vector == vector::INVALID_OPCODE)?;
    check("code and stack of ring 1", f.eax & 3 == 1 && f.ebx & 3 == 1)?;
    check("FS and GS are null", f.ecx & 0xfffc == 0 && f.edx & 0xfffc == 0)?;
    check("no I/O privilege", f.esi & 0x3000 == 0)
}

/// Whether the machine checks segment limits, as a thread sees it: if not, servers were enabled by
/// force, and can access the kernel.
pub fn limits_hold(bed: &mut Bed) -> Result<bool, Why> {
    // mov eax, [0xe0100000]; without limits the page refuses it.
    let thread = crate::exception::launch(bed, &[0xa1, 0x00, 0x00, 0x10, 0xe0])?;
    let (_, f) = next()?;
    good(delete(thread.0))?;
    let hold = f.vector == vector::GENERAL_PROTECTION;
    if !hold {
        result!("# skipped: this machine checks no segment limits");
    }
    Ok(hold)
}

fn reaches_no_kernel(bed: &mut Bed, server: Space) -> Result<(), Why> {
    if !limits_hold(bed)? {
        return Ok(());
    }
    good(map(server, USER_END - PAGE, bed.ram, PAGE, PAGE, Rights::RWX))?;
    for address in [USER_END, USER_END - 3, 0xe010_0000, 0xffff_fffc] {
        // CS, DS, ES, SS; then FS and GS with every selector that it can load: a read, and a write
        // if that is allowed.
        for (prefix, writes) in [(0x2e, false), (0x3e, true), (0x26, true), (0x36, true)] {
            let mut code = [prefix, 0xa1, 0, 0, 0, 0, 0x0f, 0x0b];
            code[2..6].copy_from_slice(&u32::to_le_bytes(address));
            refused(bed, server, &code)?;
            code[1] = 0xa3;
            if writes {
                refused(bed, server, &code)?;
            }
        }
        for selector in [0x18u8, 0x20, 0x30, 0x38, 0x40, 0x50, 0x58] {
            // mov eax, selector; mov fs, ax; mov eax, fs:[address]; ud2
            let mut code =
                [0xb8, selector | 1, 0, 0, 0, 0x8e, 0xe0, 0x64, 0xa1, 0, 0, 0, 0, 0x0f, 0x0b];
            code[9..13].copy_from_slice(&u32::to_le_bytes(address));
            let f = outcome(bed, server, &code)?;
            check(
                "refused, or not to be loaded",
                f.vector == vector::GENERAL_PROTECTION || f.vector == NOT_PRESENT,
            )?;
        }
        // mov eax, address; jmp eax
        let mut code = [0xb8, 0, 0, 0, 0, 0xff, 0xe0];
        code[1..5].copy_from_slice(&u32::to_le_bytes(address.max(USER_END)));
        refused(bed, server, &code)?;
        // mov esp, address + 2; push eax
        let mut code = [0xbc, 0, 0, 0, 0, 0x50];
        code[1..5].copy_from_slice(&u32::to_le_bytes(address.saturating_add(4)));
        let f = outcome(bed, server, &code)?;
        check("no push", f.vector == STACK)?;
    }
    Ok(())
}

/// `int 3` and `into`, which any code may raise.
const BREAKPOINT: u32 = 3;
const OVERFLOW: u32 = 4;
/// A segment descriptor that is not present; the stack segment's limit.
const NOT_PRESENT: u32 = 11;
const STACK: u32 = 12;

fn refused(bed: &mut Bed, server: Space, code: &[u8]) -> Result<(), Why> {
    let f = outcome(bed, server, code)?;
    // Through SS it is a stack fault.
    if matches!(f.vector, vector::GENERAL_PROTECTION | STACK) {
        return Ok(());
    }
    Err(macadamia::alloc::format!("{code:02x?} came as {:#x}, eax {:#x}", f.vector, f.eax))
}

fn nothing_privileged(bed: &mut Bed, server: Space) -> Result<(), Why> {
    // cli; sti; hlt; mov cr3, eax; mov eax, cr0; lgdt [eax]; invlpg [eax]; rdmsr; in al, 0x60;
    // clts; ltr ax; iret to ring 0
    let code: [&[u8]; 11] = [
        &[0xfa],
        &[0xfb],
        &[0xf4],
        &[0x0f, 0x22, 0xd8],
        &[0x0f, 0x20, 0xc0],
        &[0x0f, 0x01, 0x10],
        &[0x0f, 0x01, 0x38],
        &[0x0f, 0x32],
        &[0xe4, 0x60],
        &[0x0f, 0x06],
        &[0x0f, 0x00, 0xd8],
    ];
    for code in code {
        let f = outcome(bed, server, code)?;
        check("refused", f.vector == vector::GENERAL_PROTECTION)?;
    }
    Ok(())
}

fn goes_on_beyond(bed: &mut Bed, server: Space) -> Result<(), Why> {
    if !limits_hold(bed)? || time::kip().features & FEATURE_SYSENTER == 0 {
        return Ok(());
    }
    // mov edx, address; mov ecx, esp; sysenter: whatever the call does, it returns to the address.
    for address in [USER_END - 1, USER_END, 0xe010_0000, 0xffff_fffc] {
        let mut code = [0xba, 0, 0, 0, 0, 0x89, 0xe1, 0xb8, 0, 0, 0, 0, 0x0f, 0x34];
        code[1..5].copy_from_slice(&u32::to_le_bytes(address));
        let f = outcome(bed, server, &code)?;
        check(
            "a fault of its own",
            matches!(f.vector, vector::GENERAL_PROTECTION | vector::PAGE_FAULT),
        )?;
        check("at this address", f.eip == address)?;
    }
    Ok(())
}

fn interrupt_numbers(bed: &mut Bed, server: Space) -> Result<(), Why> {
    for number in 0..=255u8 {
        // int number; ud2
        let f = outcome(bed, server, &[0xcd, number, 0x0f, 0x0b])?;
        let known = matches!(
            f.vector,
            vector::GENERAL_PROTECTION
                | vector::INVALID_OPCODE
                | BREAKPOINT
                | OVERFLOW
                | vector::SYSTEM_CALL
        );
        if !known {
            return Err(macadamia::alloc::format!("int {number:#x} came as {:#x}", f.vector));
        }
    }
    Ok(())
}

/// An alien in a space that shows the server, with its reply handle. It begins at [`ADDRESS`].
fn alien(bed: &mut Bed, space: Space, code: &[u8]) -> Result<(Alien, u32), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code);
    good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    let (slot, handler) = (bed.slot(), bed.slot());
    good(copy(SELF.0, None, handler, Rights::CALL, 0))?;
    let (alien, handle) = good(Alien::create(QUOTA, space, slot, Thread(handler)))?;
    alien.set_frame(&Frame { eip: ADDRESS, esp: ADDRESS + PAGE, ..alien.frame() });
    Ok((alien, handle))
}

fn not_reached(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let space = showing(bed, server)?;
    good(map(server, CODE, bed.ram, 0, PAGE, Rights::RWX))?;
    let (alien, mut handle) = alien(bed, space, &[])?;
    good(alien.thread.set_tls(0, 0, PRESENT | PAGES | 0xf_ffff))?;
    // The information page, its own page, a missing one, the last of the window.
    for address in [START + PAGE, CODE, CODE + TABLE_SPAN, USER_END - PAGE] {
        let read = [0xa1, 0, 0, 0, 0];
        let write = [0xa3, 0, 0, 0, 0];
        // Through a segment of 4 GiB: mov eax, 0x33; mov gs, ax; mov eax, gs:[address]
        let by_gs = [0xb8, 0x33, 0, 0, 0, 0x8e, 0xe8, 0x65, 0xa1, 0, 0, 0, 0];
        let jump = [0xb8, 0, 0, 0, 0, 0xff, 0xe0];
        for (code, at) in [(&read[..], 1), (&write[..], 1), (&by_gs[..], 9), (&jump[..], 1)] {
            fill(ADDRESS, PAGE, code);
            fill(ADDRESS + at, 4, &address.to_le_bytes());
            alien.set_frame(&Frame { eip: ADDRESS, esp: ADDRESS + PAGE, ..alien.frame() });
            let r = good(macadamia::ipc::run(handle))?;
            handle = r.handle;
            check("an event", r.kind == MessageKind::Alien)?;
            let f = alien.frame();
            check("a page fault there", f.vector == vector::PAGE_FAULT && f.address == address)?;
            check("of a user", f.error & fault::USER != 0)?;
        }
    }
    Ok(())
}

fn goes_on_without(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let space = showing(bed, server)?;
    // inc eax; int 0x80; jmp back
    let (alien, mut handle) = alien(bed, space, &[0x40, 0xcd, 0x80, 0xeb, 0xfb])?;
    for turn in 1..=4 {
        handle = good(macadamia::ipc::run(handle))?.handle;
        check("it goes on", alien.frame().eax == turn)?;
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
    let (alien, handle) = alien(bed, space, &[0x40, 0xcd, 0x80])?;
    good(delete(server.0))?;
    good(macadamia::ipc::run(handle))?;
    check("it goes on", alien.frame().eax == 1)?;
    good(map(space, START, bed.ram, 0, PAGE, Rights(3)))
}

fn there_at_once(bed: &mut Bed, server: Space) -> Result<(), Why> {
    showing(bed, server)?;
    // mov eax, [OTHER]; mov [OTHER], eax; ud2: at a new table.
    let at = CODE + 8 * TABLE_SPAN;
    let mut code = [0xa1, 0, 0, 0, 0, 0x40, 0xa3, 0, 0, 0, 0, 0x0f, 0x0b];
    code[1..5].copy_from_slice(&at.to_le_bytes());
    code[7..11].copy_from_slice(&at.to_le_bytes());
    for turn in 0..3 {
        good(map(server, at, bed.large, 0, PAGE, Rights(3)))?;
        check("it is there", outcome(bed, server, &code)?.vector == vector::INVALID_OPCODE)?;
        let bytes = if turn == 0 { PAGE } else { TABLE_SPAN };
        good(unmap(server, at, bytes))?;
        let f = outcome(bed, server, &code)?;
        check("it is gone", f.vector == vector::PAGE_FAULT && f.address == at)?;
    }
    Ok(())
}
