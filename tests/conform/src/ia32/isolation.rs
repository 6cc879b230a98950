// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread sees nothing of another one: selectors, TLS descriptors, debug registers, I/O ports,
//! FPU and SSE registers. All threads execute machine code from the same page.

use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, check, good};
use abi::frame::vector;
use abi::{Frame, MessageKind, Rights};
use macadamia::cap::{copy, frame, set_frame};
use macadamia::ipc::{Message, Received, receive, reply_wait};
use macadamia::map::map;
use macadamia::start::{bytes, fill};
use macadamia::{Space, Thread, time};

pub const CASES: &[Case] = &[
    ("selectors_stay_with_their_thread", selectors),
    ("tls_descriptors_stay_with_their_thread", tls_descriptors),
    ("a_breakpoint_stays_with_its_thread", breakpoint),
    ("ports_stay_with_their_space", ports),
    ("a_new_thread_has_a_fresh_fpu", fresh_fpu),
    ("sse_registers_stay_with_their_thread", sse_registers),
    ("a_direction_flag_stays_with_its_thread", direction_flag),
];

/// Memory for data, after the code's page.
const DATA: u32 = ADDRESS + PAGE;
const UD2: [u8; 2] = [0x0f, 0x0b];

/// Puts code into the page that all threads here run from.
fn load(bed: &Bed, code: &[u8]) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, 2 * PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code);
    fill(DATA, PAGE, &[]);
    Ok(())
}

/// A thread that starts at an offset of the page; its exceptions come here with its number as
/// badge.
fn launch(bed: &mut Bed, space: Space, number: u32, offset: u32) -> Result<Thread, Why> {
    let (handler, slot) = (bed.slot(), bed.slot());
    good(copy(SELF.0, None, handler, Rights::CALL, number))?;
    let (thread, _) = good(QUOTA.create_thread(space, slot, None))?;
    good(thread.set_handler(Some(Thread(handler))))?;
    good(thread.start(ADDRESS + offset, DATA + PAGE, 0))?;
    Ok(thread)
}

/// The next exception, which must be this thread's and of this kind.
fn next(number: u32, kind: u32) -> Result<(Received, Frame), Why> {
    of_thread(good(receive(None))?, number, kind)
}

/// Lets a thread continue after its `ud2`, and waits for the next exception.
fn go_on(handle: u32, mut f: Frame, number: u32, kind: u32) -> Result<(Received, Frame), Why> {
    f.eip += UD2.len() as u32;
    set_frame(&f);
    of_thread(
        good(reply_wait(handle, Message { words: [0; 3], count: 19, caps: 0 }))?,
        number,
        kind,
    )
}

fn of_thread(r: Received, number: u32, kind: u32) -> Result<(Received, Frame), Why> {
    let f = frame();
    if r.kind == MessageKind::Exception && r.badge == number && r.words[0] == kind {
        return Ok((r, f));
    }
    Err(macadamia::alloc::format!("exception {} of thread {} at {:#x}", r.words[0], r.badge, f.eip))
}

/// `mov eax, fs; mov ebx, gs; ud2`
const TELL_SELECTORS: [u8; 6] = [0x8c, 0xe0, 0x8c, 0xeb, UD2[0], UD2[1]];

fn selectors(bed: &mut Bed) -> Result<(), Why> {
    // mov eax, 0x23; mov fs, ax; mov gs, ax; ud2; then tell; at 20 tell, as the other thread
    let mut code = [0x90; 32];
    code[..11].copy_from_slice(&[0xb8, 0x23, 0, 0, 0, 0x8e, 0xe0, 0x8e, 0xe8, UD2[0], UD2[1]]);
    code[11..17].copy_from_slice(&TELL_SELECTORS);
    code[20..26].copy_from_slice(&TELL_SELECTORS);
    load(bed, &code)?;
    launch(bed, SPACE, 1, 0)?;
    let (first, f) = next(1, vector::INVALID_OPCODE)?;
    launch(bed, SPACE, 2, 20)?;
    let (_, other) = next(2, vector::INVALID_OPCODE)?;
    check("the second thread's are null", other.eax == 0 && other.ebx == 0)?;
    let (_, f) = go_on(first.handle, f, 1, vector::INVALID_OPCODE)?;
    check("the first thread has its own again", f.eax == 0x23 && f.ebx == 0x23)
}

fn tls_descriptors(bed: &mut Bed) -> Result<(), Why> {
    // mov eax, 0x33; mov fs, ax; mov eax, fs:[4]; ud2
    let code = [0xb8, 0x33, 0, 0, 0, 0x8e, 0xe0, 0x64, 0xa1, 4, 0, 0, 0, UD2[0], UD2[1]];
    load(bed, &code)?;
    fill(DATA + 4, 4, &0x5eed_u32.to_le_bytes());
    let (handler, slot) = (bed.slot(), bed.slot());
    good(copy(SELF.0, None, handler, Rights::CALL, 1))?;
    let (first, _) = good(QUOTA.create_thread(SPACE, slot, None))?;
    good(first.set_handler(Some(Thread(handler))))?;
    good(first.set_tls(0, DATA, 0xfff | 1 << 23))?;
    good(first.set_registers(
        &Frame { eip: ADDRESS, esp: DATA + PAGE, ds_es: 0x23_0023, ..Frame::default() },
        true,
    ))?;
    let (_, f) = next(1, vector::INVALID_OPCODE)?;
    check("the first thread reads through its descriptor", f.eax == 0x5eed)?;
    launch(bed, SPACE, 2, 0)?;
    let (r, _) = next(2, vector::GENERAL_PROTECTION)?;
    check("the second has none", r.words[2] == 0x30)
}

fn breakpoint(bed: &mut Bed) -> Result<(), Why> {
    // nop; nop; ud2
    load(bed, &[0x90, 0x90, UD2[0], UD2[1]])?;
    let (handler, slot) = (bed.slot(), bed.slot());
    good(copy(SELF.0, None, handler, Rights::CALL, 1))?;
    let (first, _) = good(QUOTA.create_thread(SPACE, slot, None))?;
    good(first.set_handler(Some(Thread(handler))))?;
    good(first.set_debug(0, ADDRESS + 1))?;
    good(first.set_debug(7, 1))?;
    good(first.set_registers(
        &Frame { eip: ADDRESS, esp: DATA + PAGE, ds_es: 0x23_0023, ..Frame::default() },
        true,
    ))?;
    let (_, f) = next(1, vector::DEBUG)?;
    check("before the instruction", f.eip == ADDRESS + 1)?;
    launch(bed, SPACE, 2, 0)?;
    next(2, vector::INVALID_OPCODE)?;
    check("the status register tells which", good(first.set_debug(7, 0))? & 1 == 1)?;
    check("once", good(first.set_debug(7, 0))? & 1 == 0)
}

fn ports(bed: &mut Bed) -> Result<(), Why> {
    if bed.ports.is_none() {
        return Ok(());
    }
    // in al, 0x80; ud2; in al, 0x80; ud2
    load(bed, &[0xe4, 0x80, UD2[0], UD2[1], 0xe4, 0x80, UD2[0], UD2[1]])?;
    let slot = bed.slot();
    let bare = good(QUOTA.create_space(4, slot))?;
    good(map(bare, ADDRESS, bed.ram, 0, 2 * PAGE, Rights::RWX))?;
    launch(bed, SPACE, 1, 0)?;
    let (first, f) = next(1, vector::INVALID_OPCODE)?;
    launch(bed, bare, 2, 0)?;
    next(2, vector::GENERAL_PROTECTION)?;
    go_on(first.handle, f, 1, vector::INVALID_OPCODE).map(|_| ())
}

fn fresh_fpu(bed: &mut Bed) -> Result<(), Why> {
    // fldpi; fldpi; ud2; at 16: fnstenv [DATA]; ud2
    let mut code = [0x90; 32];
    code[..6].copy_from_slice(&[0xd9, 0xeb, 0xd9, 0xeb, UD2[0], UD2[1]]);
    code[16..18].copy_from_slice(&[0xd9, 0x35]);
    code[18..22].copy_from_slice(&DATA.to_le_bytes());
    code[22..24].copy_from_slice(&UD2);
    load(bed, &code)?;
    launch(bed, SPACE, 1, 0)?;
    next(1, vector::INVALID_OPCODE)?;
    launch(bed, SPACE, 2, 16)?;
    next(2, vector::INVALID_OPCODE)?;
    let word = |at: u32| bytes(DATA + at, 2).try_into().map_or(0, u16::from_le_bytes);
    check("the initial control word", word(0) == 0x037f)?;
    check("no exception, empty stack", word(4) == 0 && word(8) == 0xffff)
}

fn sse_registers(bed: &mut Bed) -> Result<(), Why> {
    if time::kip().features & abi::arch::ia32::kip::FEATURE_SSE == 0 {
        return Ok(());
    }
    // movss xmm0, [DATA]; ud2; movss [DATA + 4], xmm0; ud2; at 24: movss [DATA + 8], xmm0; ud2
    let mut code = [0x90; 48];
    code[..4].copy_from_slice(&[0xf3, 0x0f, 0x10, 0x05]);
    code[4..8].copy_from_slice(&DATA.to_le_bytes());
    code[8..10].copy_from_slice(&UD2);
    for (at, to) in [(10, DATA + 4), (24, DATA + 8)] {
        code[at..at + 4].copy_from_slice(&[0xf3, 0x0f, 0x11, 0x05]);
        code[at + 4..at + 8].copy_from_slice(&to.to_le_bytes());
        code[at + 8..at + 10].copy_from_slice(&UD2);
    }
    load(bed, &code)?;
    fill(DATA, 12, &[0xef, 0xbe, 0xad, 0xde, 0, 0, 0, 0, 1, 1, 1, 1]);
    launch(bed, SPACE, 1, 0)?;
    let (first, f) = next(1, vector::INVALID_OPCODE)?;
    launch(bed, SPACE, 2, 24)?;
    next(2, vector::INVALID_OPCODE)?;
    let word = |at: u32| bytes(DATA + at, 4).try_into().map_or(0, u32::from_le_bytes);
    check("the second thread's register is zero", word(8) == 0)?;
    go_on(first.handle, f, 1, vector::INVALID_OPCODE)?;
    check("the first thread's is what it was", word(4) == 0xdead_beef)
}

fn direction_flag(bed: &mut Bed) -> Result<(), Why> {
    // std; ud2; at 8: pushfd; pop eax; ud2
    let mut code = [0x90; 16];
    code[..3].copy_from_slice(&[0xfd, UD2[0], UD2[1]]);
    code[8..12].copy_from_slice(&[0x9c, 0x58, UD2[0], UD2[1]]);
    load(bed, &code)?;
    launch(bed, SPACE, 1, 0)?;
    let (_, f) = next(1, vector::INVALID_OPCODE)?;
    check("set in the first thread", f.eflags & 0x400 != 0)?;
    launch(bed, SPACE, 2, 8)?;
    let (_, f) = next(2, vector::INVALID_OPCODE)?;
    check("clear in the second", f.eax & 0x400 == 0)
}
