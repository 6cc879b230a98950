// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that is loaded when it is used: it ends with its thread or its space, and none of it
//! passes between an alien and its handler. All threads execute machine code.

use super::own::bare;
use super::state::{has_sysenter, system_call};
use crate::exception::{BADGE, DATA, create, next, start};
use crate::{ADDRESS, Bed, Case, OTHER, PAGE, QUOTA, SPACE, Why, check, fails, good};
use abi::arch::ia32::kip::INT_VECTOR;
use abi::frame::{Frame, vector};
use abi::state::tls::{PAGES, PRESENT};
use abi::{Op, Rights, Tag};
use macadamia::alloc::vec::Vec;
use macadamia::cap::{copy, delete, frame, set_frame};
use macadamia::ipc::{Message, Received, reply_wait};
use macadamia::map::map;
use macadamia::start::{bytes, fill};
use macadamia::{Error, Space, Thread, time};

pub const CASES: &[Case] = &[
    ("ports_of_a_dead_space_are_nobodys", dead_ports),
    ("a_map_of_ports_that_fails_leaves_nothing", failed_ports),
    ("a_closed_port_is_closed_at_once", closed_port),
    ("a_pending_fpu_exception_stays_with_its_thread", pending_exception),
    ("a_pending_fpu_exception_goes_with_its_thread", forgotten_exception),
    ("denormals_are_zeros_is_kept", denormals),
    ("a_started_thread_has_null_selectors", started_selectors),
    ("a_started_thread_has_no_descriptors", started_descriptors),
    ("a_started_thread_has_no_breakpoints", started_breakpoints),
    ("a_started_thread_has_a_fresh_fpu", started_fpu),
    ("a_step_into_the_kernel_is_not_anothers", step_into_kernel),
    ("a_handler_keeps_the_selector_it_loads", |bed| handler_keeps(bed, &[])),
    ("a_handler_keeps_it_behind_a_system_call", |bed| handler_keeps(bed, &by_int(Op::Yield))),
    // fldz
    ("a_handler_keeps_it_when_it_uses_the_fpu", |bed| handler_keeps(bed, &[0xd9, 0xee])),
    ("an_alien_keeps_the_selector_it_loads", alien_keeps),
    ("an_aliens_breakpoint_is_not_its_handlers", alien_breakpoint),
    ("an_aliens_ports_are_not_its_handlers", alien_ports),
    ("a_thread_uses_the_ports_of_its_space", |bed| {
        if bed.ports.is_some() {
            macadamia::port::write8(0x80, 0);
        }
        Ok(())
    }),
];

const UD2: [u8; 2] = [0x0f, 0x0b];

/// Lets a thread continue after its `ud2`, and waits for the next exception.
fn go_on(r: &Received, mut f: Frame) -> Result<(Received, Frame), Why> {
    f.eip += UD2.len() as u32;
    set_frame(&f);
    let r = good(reply_wait(r.handle, Message { words: [0; 3], count: 19, caps: 0 }))?;
    Ok((r, frame()))
}

/// `ud2` after the port 0x80, a protection fault at 0x81.
fn only_one_port() -> Result<(), Why> {
    let (r, f) = next()?;
    check("the port is open", r.words[0] == vector::INVALID_OPCODE)?;
    check("the next one is not", go_on(&r, f)?.0.words[0] == vector::GENERAL_PROTECTION)
}

/// `in al, 0x80; ud2; in al, 0x81; ud2`
const TRY_PORTS: [u8; 8] = [0xe4, 0x80, UD2[0], UD2[1], 0xe4, 0x81, UD2[0], UD2[1]];

/// A space whose Quota has enough memory for a map of the ports, but not for the record that it
/// uses them.
fn failed_ports(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    let [roomy, narrow, space] = [bed.slot(), bed.slot(), bed.slot()];
    let roomy = good(QUOTA.create_quota(16 * PAGE, 0, roomy))?;
    good(roomy.create_space(4, space))?;
    let (used, _) = good(roomy.info())?;
    good(delete(space))?;
    let narrow = good(QUOTA.create_quota(used + 2 * PAGE, 0, narrow))?;
    let space = good(narrow.create_space(4, space))?;
    fails(map(space, 0, ports, 0, 1, Rights(3)), Error::QuotaExceeded)?;
    check("nothing is charged", good(narrow.info())?.0 == used)
}

/// This thread has not used its own port yet: otherwise its map would be loaded in between.
fn dead_ports(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    let dead = bare(bed, &TRY_PORTS)?;
    good(map(dead, 0, ports, 0, 1, Rights(3)))?;
    start(bed, dead, 0)?;
    only_one_port()?;
    good(delete(dead.0))?;
    // One of these gets its memory, and zeros, which would allow all ports, that of its map.
    let mut spaces = [dead; 16];
    for space in &mut spaces {
        let slot = bed.slot();
        *space = good(QUOTA.create_space(4, slot))?;
    }
    for _ in 0..8 {
        let zeros = bed.slot();
        good(QUOTA.create_space(300, zeros))?;
    }
    for space in spaces {
        good(map(space, 0, ports, 0, 1, Rights(3)))?;
        good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights(3)))?;
    }
    for space in spaces {
        start(bed, space, 0)?;
        only_one_port()?;
    }
    Ok(())
}

fn closed_port(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    // l: in al, 0x80; ud2; jmp l
    let space = bare(bed, &[0xe4, 0x80, UD2[0], UD2[1], 0xeb, 0xfa])?;
    good(map(space, 0, ports, 0, 1, Rights(3)))?;
    start(bed, space, 0)?;
    let (r, f) = next()?;
    check("open", r.words[0] == vector::INVALID_OPCODE)?;
    let slot = bed.slot();
    let derived = good(ports.derive(0, 1, slot, QUOTA))?;
    good(map(space, 0, derived, 0, 1, Rights(3)))?;
    good(macadamia::cap::revoke(derived.0))?;
    let (r, _) = go_on(&r, f)?;
    check("closed", r.words[0] == vector::GENERAL_PROTECTION)?;
    good(map(space, 0, ports, 0, 1, Rights(3)))?;
    let again = good(reply_wait(r.handle, Message::default()))?;
    check("open again", again.words[0] == vector::INVALID_OPCODE)
}

/// Where the second thread starts.
const SECOND: u32 = 64;

/// Puts the code of two threads into the page that they run from.
fn two(bed: &Bed, first: &[u8], second: &[u8]) -> Result<(), Why> {
    let mut code = first.to_vec();
    code.resize(SECOND as usize, 0x90);
    code.extend(second);
    good(map(SPACE, ADDRESS, bed.ram, 0, 2 * PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, &code);
    fill(DATA, PAGE, &[]);
    Ok(())
}

/// MXCSR with the bit, else initial.
const DENORMALS_ARE_ZEROS: u32 = 0x1fc0;

/// A division by zero that is not masked and that no instruction has taken yet: then `ud2; fwait;
/// ud2`.
fn divide(bed: &mut Bed) -> Result<(Thread, Received, Frame), Why> {
    // fninit; fldcw [DATA]; fld1; fldz; fdivp; ud2; fwait; ud2
    let mut first = [
        0xdb, 0xe3, 0xd9, 0x2d, 0, 0, 0, 0, 0xd9, 0xe8, 0xd9, 0xee, 0xde, 0xf9, UD2[0], UD2[1],
        0x9b, UD2[0], UD2[1],
    ];
    first[4..8].copy_from_slice(&DATA.to_le_bytes());
    // fldz; fnstsw ax; ud2
    two(bed, &first, &[0xd9, 0xee, 0xdf, 0xe0, UD2[0], UD2[1]])?;
    fill(DATA, 2, &0x037b_u16.to_le_bytes());
    let thread = start(bed, SPACE, 0)?;
    let (r, f) = next()?;
    check("it divided", r.words[0] == vector::INVALID_OPCODE)?;
    Ok((thread, r, f))
}

/// The second thread uses the FPU and finds it initial.
fn second_uses_fpu(bed: &mut Bed) -> Result<(), Why> {
    let second = create(bed, SPACE)?;
    good(second.start(ADDRESS + SECOND, DATA + PAGE, 0))?;
    let (r, f) = next()?;
    check("no exception, no status", r.words[0] == vector::INVALID_OPCODE && f.eax & 0x80ff == 0)
}

fn pending_exception(bed: &mut Bed) -> Result<(), Why> {
    let (_, r, f) = divide(bed)?;
    second_uses_fpu(bed)?;
    check("it comes to the first", go_on(&r, f)?.0.words[0] == 16)
}

fn forgotten_exception(bed: &mut Bed) -> Result<(), Why> {
    let (thread, ..) = divide(bed)?;
    good(delete(thread.0))?;
    second_uses_fpu(bed)
}

fn denormals(bed: &mut Bed) -> Result<(), Why> {
    if !has_sse() {
        return Ok(());
    }
    // fxsave [SAVED]; ud2; ldmxcsr [DATA]; ud2; stmxcsr [DATA + 4]; ud2
    const SAVED: u32 = DATA + 512;
    let mut first = Vec::new();
    for (opcode, address) in
        [([0x0f, 0xae, 0x05], SAVED), ([0x0f, 0xae, 0x15], DATA), ([0x0f, 0xae, 0x1d], DATA + 4)]
    {
        first.extend(opcode);
        first.extend(address.to_le_bytes());
        first.extend(UD2);
    }
    two(bed, &first, &[0xd9, 0xee, 0x31, 0xc0, UD2[0], UD2[1]])?;
    fill(DATA, 4, &DENORMALS_ARE_ZEROS.to_le_bytes());
    start(bed, SPACE, 0)?;
    let (r, f) = next()?;
    if word(SAVED + 28) & 0x40 == 0 {
        return Ok(());
    }
    let (r, f) = go_on(&r, f)?;
    check("it may be set", r.words[0] == vector::INVALID_OPCODE)?;
    second_uses_fpu(bed)?;
    go_on(&r, f)?;
    check("still set", word(DATA + 4) == DENORMALS_ARE_ZEROS)
}

fn word(at: u32) -> u32 {
    bytes(at, 4).try_into().map_or(0, u32::from_le_bytes)
}

/// Whether the processor knows MXCSR.
fn has_sse() -> bool {
    time::kip().features & abi::arch::ia32::kip::FEATURE_SSE != 0
}

/// A thread runs `first`, is stopped and started at `second`; its frame then.
fn started_again(bed: &mut Bed, first: &[u8], second: &[u8]) -> Result<(Received, Frame), Why> {
    two(bed, first, second)?;
    let thread = create(bed, SPACE)?;
    good(thread.set_tls(0, DATA, 0xf_ffff | PAGES | PRESENT))?;
    good(thread.set_debug(0, ADDRESS + SECOND + 1))?;
    good(thread.set_debug(7, 1))?;
    good(thread.set_registers(
        &Frame { eip: ADDRESS, esp: DATA + PAGE, ds_es: 0x23_0023, ..Frame::default() },
        true,
    ))?;
    let (r, _) = next()?;
    check("the first code ran", r.words[0] == vector::INVALID_OPCODE)?;
    good(thread.stop())?;
    good(thread.start(ADDRESS + SECOND, DATA + PAGE, 0))?;
    next()
}

/// `mov eax, 0x33; mov fs, ax; mov gs, ax`
const LOAD_TLS: [u8; 9] = [0xb8, 0x33, 0, 0, 0, 0x8e, 0xe0, 0x8e, 0xe8];

fn started_selectors(bed: &mut Bed) -> Result<(), Why> {
    // mov eax, 0x23; mov fs, ax; mov gs, ax; ud2
    let first = [0xb8, 0x23, 0, 0, 0, 0x8e, 0xe0, 0x8e, 0xe8, UD2[0], UD2[1]];
    // mov eax, fs; mov ebx, gs; ud2
    let (_, f) = started_again(bed, &first, &[0x8c, 0xe0, 0x8c, 0xeb, UD2[0], UD2[1]])?;
    check("FS and GS", f.eax == 0 && f.ebx == 0)
}

fn started_descriptors(bed: &mut Bed) -> Result<(), Why> {
    let code = [&LOAD_TLS[..], &UD2].concat();
    let (r, _) = started_again(bed, &code, &code)?;
    check("the selector names nothing", r.words[0] == vector::GENERAL_PROTECTION)
}

fn started_breakpoints(bed: &mut Bed) -> Result<(), Why> {
    // nop; nop; ud2
    let (r, _) = started_again(bed, &UD2, &[0x90, 0x90, UD2[0], UD2[1]])?;
    check("none", r.words[0] == vector::INVALID_OPCODE)
}

fn started_fpu(bed: &mut Bed) -> Result<(), Why> {
    // push 0x27f; fldcw [esp]; fldpi
    let mut first = [0x68, 0x7f, 2, 0, 0, 0xd9, 0x2c, 0x24, 0xd9, 0xeb].to_vec();
    // fnstenv [DATA]
    let mut second = [&[0xd9, 0x35][..], &DATA.to_le_bytes()].concat();
    if has_sse() {
        // push 0x3f80; ldmxcsr [esp]
        first.extend([0x68, 0x80, 0x3f, 0, 0, 0x0f, 0xae, 0x14, 0x24]);
        // stmxcsr [DATA + 32]
        second.extend([0x0f, 0xae, 0x1d]);
        second.extend((DATA + 32).to_le_bytes());
    }
    first.extend(UD2);
    second.extend(UD2);
    started_again(bed, &first, &second)?;
    check("control word", word(DATA) & 0xffff == 0x037f)?;
    check("an empty stack", word(DATA + 8) & 0xffff == 0xffff)?;
    check("MXCSR", !has_sse() || word(DATA + 32) == 0x1f80)
}

fn step_into_kernel(bed: &mut Bed) -> Result<(), Why> {
    if !has_sysenter() {
        return Ok(());
    }
    // pushfd; or dword [esp], 0x100; popfd in front of `sysenter`; xor ebx, ebx in front of all
    let set = [0x9c, 0x81, 0x0c, 0x24, 0, 1, 0, 0, 0x9d];
    let call = system_call(Op::Receive, ADDRESS + 2 + set.len() as u32);
    let (registers, sysenter) = call.split_at(call.len() - 2);
    let first = [&[0x31, 0xdb], registers, &set, sysenter].concat();
    // icebp, which leaves the status register as it is; ud2
    two(bed, &first, &[0xf1, UD2[0], UD2[1]])?;
    let waits = start(bed, SPACE, 0)?;
    while good(waits.state())? != 2 {
        good(crate::object::yield_now())?;
    }
    let second = create(bed, SPACE)?;
    good(second.start(ADDRESS + SECOND, DATA + PAGE, 0))?;
    check("a debug exception", next()?.0.words[0] == vector::DEBUG)?;
    check("not for a step", good(second.set_debug(7, 0))? & 1 << 14 == 0)
}

/// Code of a system call that changes no register except EAX.
fn by_int(op: Op) -> Vec<u8> {
    [&[0xb8][..], &Tag::new(op, 0, 0).0.to_le_bytes(), &[0xcd, INT_VECTOR as u8]].concat()
}

/// Code of a thread: parts, and between them `run` under the handle in EBX.
fn with_runs(parts: &[&[u8]], fast: bool) -> Vec<u8> {
    // mov ebx, esi
    let mut code = [0x89, 0xf3].to_vec();
    for part in parts {
        if fast {
            code.extend(system_call(Op::Run, ADDRESS + code.len() as u32));
        } else {
            code.extend(by_int(Op::Run));
        }
        code.extend(*part);
    }
    code
}

/// An alien whose handler, in its own space, has not started.
struct Handled {
    alien: Thread,
    space: Space,
    handler: Thread,
    handle: u32,
}

impl Handled {
    /// Lets the handler run until its exception.
    fn go(&self) -> Result<(Received, Frame), Why> {
        good(self.handler.start(ADDRESS, DATA + PAGE, self.handle))?;
        next()
    }
}

/// An alien that is about to run `code`.
fn handled(bed: &mut Bed, handler: &[u8], code: &[u8]) -> Result<Handled, Why> {
    let home = bare(bed, handler)?;
    good(map(SPACE, OTHER, bed.ram, 2 * PAGE, PAGE, Rights(3)))?;
    fill(OTHER, PAGE, code);
    let (space, slot, badged) = (bed.slot(), bed.slot(), bed.slot());
    let space = good(QUOTA.create_space(0, space))?;
    // A new alien's registers are zero.
    good(map(space, 0, bed.ram, 2 * PAGE, PAGE, Rights(5)))?;
    let handler = create(bed, home)?;
    good(copy(handler.0, None, badged, Rights::CALL, BADGE))?;
    let (alien, bound) = good(QUOTA.create_thread(space, slot, Some(home)))?;
    good(alien.set_handler(Some(Thread(badged))))?;
    good(alien.set_priority(90, 90))?;
    Ok(Handled { alien, space, handler, handle: bound.handle })
}

/// By `int`, and by `sysenter` if there is one.
fn ways() -> impl Iterator<Item = bool> {
    [false, true].into_iter().take(if has_sysenter() { 2 } else { 1 })
}

/// The same for FS and for GS: the difference of the opcodes.
fn ways_and_registers() -> impl Iterator<Item = (bool, u8)> {
    ways().flat_map(|fast| [(fast, 0), (fast, 8)])
}

fn handler_keeps(bed: &mut Bed, between: &[u8]) -> Result<(), Why> {
    for (fast, gs) in ways_and_registers() {
        // push ebx; mov ecx, 0x23; mov fs, cx
        let load = [&[0x53, 0xb9, 0x23, 0, 0, 0, 0x8e, 0xe1 + gs][..], between, &[0x5b]].concat();
        // mov eax, fs; ud2
        let code = with_runs(&[&load, &[0x8c, 0xe0 + gs, UD2[0], UD2[1]]], fast);
        // int 0x80; mov eax, fs; int 0x80
        let h = handled(bed, &code, &[0xcd, 0x80, 0x8c, 0xe0 + gs, 0xcd, 0x80])?;
        let (r, f) = h.go()?;
        check("the handler's exception", r.words[0] == vector::INVALID_OPCODE)?;
        check("the handler's is what it loaded", f.eax & 0xffff == 0x23)?;
        check("the alien's is null", good(h.alien.registers())?.eax & 0xffff == 0)?;
        bed.clean();
    }
    Ok(())
}

fn alien_keeps(bed: &mut Bed) -> Result<(), Why> {
    for (fast, gs) in ways_and_registers() {
        // xor ecx, ecx; mov fs, cx
        let code = with_runs(&[&[0x31, 0xc9, 0x8e, 0xe1 + gs], &UD2], fast);
        // mov eax, 0x23; mov fs, ax; int 0x80; xor eax, eax; mov eax, fs; int 0x80
        let h = handled(
            bed,
            &code,
            &[
                0xb8,
                0x23,
                0,
                0,
                0,
                0x8e,
                0xe0 + gs,
                0xcd,
                0x80,
                0x31,
                0xc0,
                0x8c,
                0xe0 + gs,
                0xcd,
                0x80,
            ],
        )?;
        check("the handler's exception", h.go()?.0.words[0] == vector::INVALID_OPCODE)?;
        check("the alien's is what it loaded", good(h.alien.registers())?.eax & 0xffff == 0x23)?;
        bed.clean();
    }
    Ok(())
}

fn alien_breakpoint(bed: &mut Bed) -> Result<(), Why> {
    for fast in ways() {
        let code = with_runs(&[&[0x90, UD2[0], UD2[1]]], fast);
        let h = handled(bed, &code, &[0xcd, 0x80])?;
        good(h.alien.set_debug(0, ADDRESS + code.len() as u32 - 3))?;
        good(h.alien.set_debug(7, 1))?;
        check("the handler goes past it", h.go()?.0.words[0] == vector::INVALID_OPCODE)?;
        bed.clean();
    }
    Ok(())
}

fn alien_ports(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    for fast in ways() {
        let code = with_runs(&[&[0xe4, 0x80, UD2[0], UD2[1]]], fast);
        // in al, 0x80; int 0x80
        let h = handled(bed, &code, &[0xe4, 0x80, 0xcd, 0x80])?;
        good(map(h.space, 0, ports, 0, 1, Rights(3)))?;
        check("the handler has none", h.go()?.0.words[0] == vector::GENERAL_PROTECTION)?;
        bed.clean();
    }
    Ok(())
}
