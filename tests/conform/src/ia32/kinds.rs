// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads of small spaces together with others: those of large spaces, of the same home, of
//! another home, and of the server that homes show. Where the machine has no small spaces, each
//! case checks that it says so.

use super::homes::{
    CODE, DATA, FIRST, SECOND, SIZE, jump, launch, native, new_home, seen, with_home, word, write,
};
use super::neighbours::{SERVER, changer};
use super::server::limits_hold;
use super::state::{has_sysenter, system_call};
use crate::exception::{create, next};
use crate::{Bed, Case, PAGE, QUOTA, SELF, Why, check, good, server};
use abi::frame::{Frame, vector};
use abi::state::tls::{PAGES, PRESENT};
use abi::{MessageKind, Op, Rights, TABLE_SPAN, Tag};
use image::layout::GRANTS_END;
use macadamia::Space;
use macadamia::alloc::vec::Vec;
use macadamia::cap::{copy, delete};
use macadamia::ipc::Message;
use macadamia::map::{Window, map};

pub const CASES: &[Case] = &[
    ("calls_between_all_kinds_of_spaces", |bed| with_home(bed, calls)),
    ("a_handler_of_each_kind_serves_each_kind", |bed| with_home(bed, handlers)),
    ("the_server_of_their_homes_runs_aliens", |bed| with_home(bed, run_by_a_server)),
    ("it_goes_on_from_an_exception_in_another_kind", |bed| with_home(bed, moved_in_exception)),
    ("a_selector_that_it_keeps_means_the_same_when_it_is_large", |bed| {
        with_home(bed, keeps_selectors)
    }),
    ("its_selectors_are_flat_where_it_replies_to_a_large_space", |bed| {
        with_home(bed, flat_behind_a_reply)
    }),
];

/// Kinds of spaces.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Large,
    /// In the first home, in its first or second region; in another home.
    First,
    Second,
    Elsewhere,
}

const KINDS: [Kind; 4] = [Kind::Large, Kind::First, Kind::Second, Kind::Elsewhere];

fn put(home: Space, other: Space, kind: Kind, space: Space) -> Result<(), Why> {
    good(match kind {
        Kind::Large => Ok(()),
        Kind::First => home.take_in(FIRST, space, SIZE),
        Kind::Second => home.take_in(SECOND, space, SIZE),
        Kind::Elsewhere => other.take_in(FIRST, space, SIZE),
    })
}

fn take_out(home: Space, other: Space, kind: Kind) -> Result<(), Why> {
    good(match kind {
        Kind::Large => Ok(()),
        Kind::First => home.detach(FIRST),
        Kind::Second => home.detach(SECOND),
        Kind::Elsewhere => other.detach(FIRST),
    })
}

/// Which pairs of spaces are possible: there cannot be two in one region.
fn pairs() -> impl Iterator<Item = (Kind, Kind)> {
    KINDS
        .into_iter()
        .flat_map(|from| KINDS.map(|to| (from, to)))
        .filter(|(from, to)| from != to || *from == Kind::Large)
}

/// Appends `inc dword [DATA]`.
fn count(code: &mut Vec<u8>) {
    code.extend([0xff, 0x05]);
    code.extend(DATA.to_le_bytes());
}

/// The number of calls in each pair.
const CALLS: u32 = 100;

/// A client and a server count their calls in their own memory.
fn calls(bed: &mut Bed, home: Space) -> Result<(), Why> {
    if !has_sysenter() {
        return Ok(());
    }
    // mov ebx, SERVER; call; inc dword [DATA]; cmp dword [DATA], CALLS; jb back; ud2
    let mut client = [0xbb, SERVER as u8, 0, 0, 0].to_vec();
    client.extend(system_call(Op::Call, CODE + client.len() as u32));
    count(&mut client);
    client.extend([0x81, 0x3d]);
    client.extend(DATA.to_le_bytes());
    client.extend(CALLS.to_le_bytes());
    jump(&mut client, 0x72, 0);
    client.extend([0x0f, 0x0b]);
    // xor ebx, ebx; receive; inc dword [DATA]; reply_wait; jmp back
    let mut server = [0x31, 0xdb].to_vec();
    server.extend(system_call(Op::Receive, CODE + 2));
    let again = server.len();
    count(&mut server);
    server.extend(system_call(Op::ReplyWait, CODE + server.len() as u32));
    jump(&mut server, 0xeb, again);
    let other = new_home(bed)?;
    for (from, to) in pairs() {
        write(bed, 1, &[])?;
        write(bed, 3, &[])?;
        let (client_space, server_space) = (native(bed, 0, &client)?, native(bed, 2, &server)?);
        put(home, other, from, client_space)?;
        put(home, other, to, server_space)?;
        let serves = launch(bed, server_space)?;
        good(copy(serves.0, Some(client_space), SERVER, Rights::ALL, 0))?;
        let calls = launch(bed, client_space)?;
        let (r, f) = next()?;
        if f.vector != vector::INVALID_OPCODE {
            return Err(macadamia::alloc::format!(
                "{from:?} to {to:?}: vector {} at {:#x} for {:#x}, {:#x}",
                f.vector,
                f.eip,
                f.address,
                r.words[0]
            ));
        }
        check("both have counted", word(bed, 1)? == CALLS && word(bed, 3)? == CALLS)?;
        for slot in [calls.0, serves.0, client_space.0, server_space.0] {
            good(delete(slot))?;
        }
    }
    Ok(())
}

/// A thread raises exceptions, and a handler of each kind lets it continue: after a page fault with
/// a frame, after a breakpoint without one.
fn handlers(bed: &mut Bed, home: Space) -> Result<(), Why> {
    if !has_sysenter() {
        return Ok(());
    }
    // mov eax, [SIZE - 4], of 5 bytes, where nothing is; int3
    let mut fault = [0xa1, 0, 0, 0, 0];
    fault[1..].copy_from_slice(&(SIZE - 4).to_le_bytes());
    let other = new_home(bed)?;
    for (event, moves_on) in [(&fault[..], true), (&[0xcc], false)] {
        // Ten of them; mov ebx, SERVER; call
        let mut thread_code = event.repeat(10);
        thread_code.extend([0xbb, SERVER as u8, 0, 0, 0]);
        thread_code.extend(system_call(Op::Call, CODE + thread_code.len() as u32));
        let handler_code = handler(moves_on);
        for (from, to) in pairs() {
            write(bed, 3, &[])?;
            let (space, handler_space) =
                (native(bed, 0, &thread_code)?, native(bed, 2, &handler_code)?);
            put(home, other, from, space)?;
            put(home, other, to, handler_space)?;
            let handles = launch(bed, handler_space)?;
            let thread = create(bed, space)?;
            good(thread.set_handler(Some(handles)))?;
            good(copy(SELF.0, Some(space), SERVER, Rights::CALL, 0))?;
            good(thread.start(CODE, DATA + PAGE, 0))?;
            let r = good(macadamia::ipc::receive(None))?;
            let handled = word(bed, 3)?;
            if r.kind != MessageKind::Call || handled != 10 {
                return Err(macadamia::alloc::format!(
                    "{from:?} with a handler {to:?}: {handled} exceptions"
                ));
            }
            for slot in [thread.0, handles.0, space.0, handler_space.0] {
                good(delete(slot))?;
            }
        }
    }
    Ok(())
}

/// The code of a handler, which counts. It replies with the frame in its UTCB, EIP five bytes
/// further, or with nothing.
fn handler(moves_on: bool) -> Vec<u8> {
    // EBX is the UTCB at the start: mov [DATA + 8], ebx; xor ebx, ebx; receive
    let mut code = [0x89, 0x1d].to_vec();
    code.extend((DATA + 8).to_le_bytes());
    code.extend([0x31, 0xdb]);
    code.extend(system_call(Op::Receive, CODE + code.len() as u32));
    let again = code.len();
    // mov ecx, [DATA + 8]; add dword [ecx + eip], 5; inc dword [DATA]; reply_wait; jmp again
    let eip = (core::mem::offset_of!(abi::utcb::Utcb, words)
        + abi::tag::REGISTER_WORDS as usize * 4
        + core::mem::offset_of!(Frame, eip)) as u8;
    code.extend([0x8b, 0x0d]);
    code.extend((DATA + 8).to_le_bytes());
    code.extend([0x83, 0x41, eip, 5]);
    count(&mut code);
    let mut reply = system_call(Op::ReplyWait, CODE + code.len() as u32);
    let words = if moves_on { abi::tag::REGISTER_WORDS + abi::frame::WORDS } else { 0 };
    reply[1..5].copy_from_slice(&Tag::new(Op::ReplyWait, words, 0).0.to_le_bytes());
    code.extend(reply);
    jump(&mut code, 0xeb, again);
    code
}

/// Appends a `mov` between a register and a word of the server's data, or another instruction that
/// has such a word as its operand.
fn with_word(code: &mut Vec<u8>, opcode: &[u8], index: u32) {
    code.extend(opcode);
    code.extend((server::START + TABLE_SPAN + PAGE + 4 * index).to_le_bytes());
}

/// System calls of an alien.
const EVENTS: u32 = 50;
/// After this many of two aliens their server pauses.
const PAUSE: u32 = 14;

/// The code of a server that runs two aliens in turn, or just one. It ends with `ud2` at an event
/// that is no system call; after the `ud2` at [`PAUSE`] events it can continue. Its data: their
/// handles, their frames, events. At the end ESI is the vector and EDI the address of the last
/// event.
fn runs_two(sysenter: bool, alone: bool) -> Vec<u8> {
    const MOV_EAX_FROM: &[u8] = &[0xa1];
    const MOV_EAX_TO: &[u8] = &[0xa3];
    const MOV_EBX_FROM: &[u8] = &[0x8b, 0x1d];
    const MOV_EBX_TO: &[u8] = &[0x89, 0x1d];
    const XCHG_EAX: &[u8] = &[0x87, 0x05];
    let mut code = Vec::new();
    for index in [2, 3] {
        with_word(&mut code, MOV_EAX_FROM, index);
        for (register, value) in [
            (core::mem::offset_of!(Frame, eip), CODE),
            (core::mem::offset_of!(Frame, esp), DATA + PAGE),
            (core::mem::offset_of!(Frame, edi), 0),
        ] {
            // mov dword [eax + register], value
            code.extend([0xc7, 0x40, register as u8]);
            code.extend(value.to_le_bytes());
        }
    }
    let again = code.len();
    with_word(&mut code, MOV_EBX_FROM, 0);
    code.extend(system_call(Op::Run, server::START + TABLE_SPAN + code.len() as u32));
    // cmp esi, vector; jne to the end, which is written below
    let wanted = if sysenter { vector::SYSENTER } else { vector::SYSTEM_CALL };
    code.extend([0x81, 0xfe]);
    code.extend(wanted.to_le_bytes());
    code.extend([0x75, 0]);
    let behind = code.len();
    if sysenter {
        // mov eax, [frame]; mov dword [eax + changed], BY_SYSEXIT
        with_word(&mut code, MOV_EAX_FROM, 2);
        code.extend([0xc7, 0x40, core::mem::offset_of!(Frame, changed) as u8]);
        code.extend(abi::frame::BY_SYSEXIT.to_le_bytes());
        // mov ecx, [eax + ebp]; mov [eax + eip], ecx: there it waits for the end of its call
        code.extend([
            0x8b,
            0x48,
            core::mem::offset_of!(Frame, ebp) as u8,
            0x89,
            0x48,
            core::mem::offset_of!(Frame, eip) as u8,
        ]);
    }
    // Now the other's.
    with_word(&mut code, MOV_EBX_TO, 0);
    for (one, other) in if alone { &[][..] } else { &[(0, 1), (2, 3)] }.iter().copied() {
        with_word(&mut code, MOV_EAX_FROM, one);
        with_word(&mut code, XCHG_EAX, other);
        with_word(&mut code, MOV_EAX_TO, one);
    }
    with_word(&mut code, &[0xff, 0x05], 4);
    with_word(&mut code, &[0x81, 0x3d], 4);
    code.extend(PAUSE.to_le_bytes());
    // jb back; ud2; mov dword [events], 0; jmp back
    let back = |code: &mut Vec<u8>, opcode: &[u8]| {
        code.extend(opcode);
        code.extend((again as i32 - (code.len() as i32 + 4)).to_le_bytes());
    };
    back(&mut code, &[0x0f, 0x82]);
    code[behind - 1] = (code.len() - behind) as u8;
    code.extend([0x0f, 0x0b]);
    with_word(&mut code, &[0xc7, 0x05], 4);
    code.extend([0; 4]);
    back(&mut code, &[0xe9]);
    code
}

/// The code of an alien, whose GS is a segment of all memory from [`DATA`] on: it counts there
/// through DS and GS, and on its stack. The last word of the space is read in the end; `by_fs`, it
/// has its data segment in FS and reads by that what is beyond its end.
fn counts(sysenter: bool, by_fs: bool) -> Vec<u8> {
    // mov eax, 0x33; mov gs, ax
    let mut code = [0xb8, 0x33, 0, 0, 0, 0x8e, 0xe8].to_vec();
    if by_fs {
        // mov eax, ds; mov fs, ax
        code.extend([0x8c, 0xd8, 0x8e, 0xe0]);
    }
    let again = code.len();
    count(&mut code);
    // inc dword gs:[4]; push eax; pop ecx; inc edi; cmp edi, EVENTS; ja to the end
    code.extend([0x65, 0xff, 0x05, 4, 0, 0, 0, 0x50, 0x59, 0x47, 0x81, 0xff]);
    code.extend(EVENTS.to_le_bytes());
    code.extend([0x77, 0]);
    let behind = code.len();
    if sysenter {
        // mov ebp, after; mov ecx, esp; mov edx, ebp; sysenter
        code.push(0xbd);
        code.extend((CODE + code.len() as u32 + 10).to_le_bytes());
        code.extend([0x89, 0xe1, 0x89, 0xea, 0x0f, 0x34]);
    } else {
        code.extend([0xcd, 0x80]);
    }
    jump(&mut code, 0xeb, again);
    code[behind - 1] = (code.len() - behind) as u8;
    // mov eax, [SIZE - 4], or fs:[SIZE]
    code.extend(if by_fs { &[0x64, 0xa1][..] } else { &[0xa1] });
    code.extend(if by_fs { SIZE } else { SIZE - 4 }.to_le_bytes());
    code
}

/// A server runs two aliens in turn, each in a space of each kind: they count in their own memory,
/// and the address of a page fault is the one that they have used. At each pause their spaces
/// change places.
fn run_by_a_server(bed: &mut Bed, home: Space) -> Result<(), Why> {
    if !has_sysenter() {
        return Ok(());
    }
    let other = new_home(bed)?;
    let serves = server::placed(bed)?;
    good(serves.serve(bed.window, false))?;
    for place in [home, other] {
        good(place.show(server::START, serves))?;
    }
    let code = server::START + TABLE_SPAN;
    good(map(serves, code, bed.ram, 4 * PAGE, 2 * PAGE, Rights::RWX))?;
    let limits = limits_hold(bed)?;
    let hows = [(false, false), (true, false), (false, true)].into_iter();
    for ((sysenter, by_fs), (from, to)) in hows.flat_map(|how| pairs().map(move |pair| (how, pair)))
    {
        let runner = create(bed, serves)?;
        let mut words = [0; 5];
        let (mut made, mut spaces) = (Vec::new(), Vec::new());
        for (index, kind) in [from, to].into_iter().enumerate() {
            let (slot, thread) = (bed.slot(), bed.slot());
            let space = good(QUOTA.create_space(0, slot))?;
            let page = 2 * index as u32;
            write(bed, page, &counts(sysenter, by_fs))?;
            write(bed, page + 1, &[])?;
            good(map(space, CODE, bed.ram, page * PAGE, 2 * PAGE, Rights::RWX))?;
            good(space.show(server::START, serves))?;
            put(home, other, kind, space)?;
            spaces.push((space, kind));
            let (alien, bound) = good(QUOTA.create_thread(space, thread, Some(serves)))?;
            good(alien.set_handler(Some(runner)))?;
            good(alien.set_tls(0, DATA, PRESENT | PAGES | 0xf_ffff))?;
            [words[index], words[2 + index]] = [bound.handle, bound.utcb];
            made.extend([alien.0, space.0]);
        }
        write(bed, 4, &runs_two(sysenter, by_fs))?;
        write(bed, 5, words.map(u32::to_le_bytes).as_flattened())?;
        good(runner.start(code, code + 2 * PAGE, 0))?;
        let (mut r, mut f) = next()?;
        while f.vector == vector::INVALID_OPCODE
            && ![vector::PAGE_FAULT, vector::GENERAL_PROTECTION].contains(&f.esi)
        {
            for (_, kind) in &spaces {
                take_out(home, other, *kind)?;
            }
            let [(one, a), (two, b)] = [spaces[0], spaces[1]];
            spaces = [(one, b), (two, a)].to_vec();
            for (space, kind) in &spaces {
                put(home, other, *kind, *space)?;
            }
            macadamia::cap::set_frame(&Frame { eip: f.eip + 2, ..f });
            let whole = Message {
                count: abi::tag::REGISTER_WORDS + abi::frame::WORDS,
                ..Message::default()
            };
            r = good(macadamia::ipc::reply_wait(r.handle, whole))?;
            f = macadamia::cap::frame();
        }
        let counted = |page| -> Result<bool, Why> {
            let window = good(Window::open(GRANTS_END, bed.ram, page * PAGE, PAGE, Rights(1)))?;
            Ok([0, 4].into_iter().all(|at| (EVENTS..=EVENTS + 1).contains(&window.read(at))))
        };
        let is_large = [from, to].contains(&Kind::Large);
        let is_end = if by_fs {
            limits && f.esi == vector::GENERAL_PROTECTION
                || (is_large || !limits) && f.esi == vector::PAGE_FAULT && f.edi == SIZE
        } else {
            f.esi == vector::PAGE_FAULT && f.edi == SIZE - 4
        };
        let is_right =
            f.vector == vector::INVALID_OPCODE && is_end && counted(1)? && (by_fs || counted(3)?);
        if !is_right {
            let Frame { vector, eip, esi, edi, .. } = f;
            return Err(macadamia::alloc::format!(
                "{from:?} and {to:?}, sysenter {sysenter}, by FS {by_fs}: vector {vector} at {eip:#x}; last event {esi} for {edi:#x}; {} and {} counted",
                word(bed, 1)?,
                word(bed, 3)?
            ));
        }
        made.push(runner.0);
        for slot in made {
            good(delete(slot))?;
        }
    }
    Ok(())
}

/// A thread's space is made small or large while it waits for the end of an exception, which its
/// handler ends by the fast path or not.
fn moved_in_exception(bed: &mut Bed, home: Space) -> Result<(), Why> {
    // int3; mov eax, [DATA]; int3; ...; ud2
    let mut code = Vec::new();
    for _ in 0..8 {
        code.extend([0xcc, 0xa1]);
        code.extend(DATA.to_le_bytes());
    }
    code.extend([0x0f, 0x0b]);
    write(bed, 1, &[0x5a, 0x5a, 0x5a, 0x5a])?;
    let space = native(bed, 0, &code)?;
    launch(bed, space)?;
    let (mut r, mut f) = next()?;
    for turn in 0..8 {
        check("a breakpoint", f.vector == 3)?;
        if turn % 2 == 0 {
            good(home.take_in(SECOND, space, SIZE))?;
        } else {
            good(home.detach(SECOND))?;
        }
        if turn % 4 < 2 {
            r = good(macadamia::ipc::reply_wait(r.handle, Message::default()))?;
        } else {
            good(macadamia::ipc::reply(r.handle, Message::default()))?;
            r = good(macadamia::ipc::receive(None))?;
        }
        f = macadamia::cap::frame();
        seen("its own word", &f, f.eax == 0x5a5a_5a5a)?;
    }
    check("it came to its end", f.vector == vector::INVALID_OPCODE)
}

/// Like a change between `push ds` and `pop es`: the thread's space becomes large meanwhile, and
/// another thread's small.
fn keeps_selectors(bed: &mut Bed, home: Space) -> Result<(), Why> {
    let neighbour = native(bed, 2, &[0x0f, 0x0b])?;
    good(home.take_in(SECOND, neighbour, SIZE))?;
    for register in [0xd8, 0xc0, 0xe0, 0xe8] {
        // mov eax, ds; int3; mov ds, es, fs or gs, eax; mov ebx, [DATA] by that; ud2
        let prefix = match register {
            0xd8 => 0x3e,
            0xc0 => 0x26,
            0xe0 => 0x64,
            _ => 0x65,
        };
        let mut code = [0x8c, 0xd8, 0xcc, 0x8e, register, prefix, 0x8b, 0x1d].to_vec();
        code.extend(DATA.to_le_bytes());
        code.extend([0x0f, 0x0b]);
        write(bed, 1, &[0x5a, 0x5a, 0x5a, 0x5a])?;
        let space = native(bed, 0, &code)?;
        good(home.take_in(FIRST, space, SIZE))?;
        let thread = launch(bed, space)?;
        let (r, f) = next()?;
        seen("a breakpoint", &f, f.vector == 3)?;
        good(home.detach(FIRST))?;
        let runs = launch(bed, neighbour)?;
        next()?;
        good(macadamia::ipc::reply(r.handle, Message::default()))?;
        let (_, f) = next()?;
        seen("its own word", &f, f.vector == vector::INVALID_OPCODE && f.ebx == 0x5a5a_5a5a)?;
        for slot in [runs.0, thread.0, space.0] {
            good(delete(slot))?;
        }
    }
    Ok(())
}

/// A thread of a large space calls one of a small space, and loads a selector of small spaces
/// afterwards.
fn flat_behind_a_reply(bed: &mut Bed, home: Space) -> Result<(), Why> {
    if !has_sysenter() {
        return Ok(());
    }
    let mut code = [0xbb, SERVER as u8, 0, 0, 0].to_vec();
    code.extend(system_call(Op::Call, CODE + code.len() as u32));
    // mov eax, SMALL_DATA; mov ds, eax; mov ebx, [DATA]; ud2
    code.extend([0xb8, 0x6b, 0, 0, 0, 0x8e, 0xd8, 0x8b, 0x1d]);
    code.extend(DATA.to_le_bytes());
    code.extend([0x0f, 0x0b]);
    write(bed, 1, &[0x5a, 0x5a, 0x5a, 0x5a])?;
    write(bed, 3, &[])?;
    let (space, other) = (native(bed, 0, &code)?, native(bed, 2, &changer(CODE, &[], true))?);
    good(home.take_in(SECOND, other, SIZE))?;
    let replies = launch(bed, other)?;
    good(copy(replies.0, Some(space), SERVER, Rights::ALL, 0))?;
    launch(bed, space)?;
    let (_, f) = next()?;
    seen("its own word", &f, f.vector == vector::INVALID_OPCODE && f.ebx == 0x5a5a_5a5a)
}
