// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways into a server that need another thread: an alien is stopped or reset while it has
//! everything loaded that a server must not see. Each case does this with the process's own space
//! and with a small one, by `sysenter` and by `int`. The other ways are those of Linux's programs
//! (`tests/linux/ways.c`). Where the machine has no servers, `server` checks that it says so.

use super::homes::{CODE, DATA, FIRST, SIZE, new_home, write};
use super::state::{has_sysenter, system_call};
use crate::exception::{create, next};
use crate::{Bed, Case, PAGE, QUOTA, Why, check, good, server};
use abi::arch::ia32::kip::INT_VECTOR;
use abi::frame::{Frame, WORDS, vector};
use abi::state::tls::{PAGES, PRESENT};
use abi::{Delivery, Error, Op, Rights, TABLE_SPAN, Tag, USER_END};
use image::layout::GRANTS_END;
use macadamia::alloc::format;
use macadamia::alloc::vec::Vec;
use macadamia::cap::{copy, set_frame};
use macadamia::ipc::{Message, Received, reply};
use macadamia::map::{Window, map};
use macadamia::start::fill;
use macadamia::time::has_servers;
use macadamia::utcb;

pub const CASES: &[Case] = &[
    ("a_stopped_process_leaves_nothing_to_its_server", |bed| each(bed, Way::Stop)),
    ("a_reset_process_leaves_nothing_to_its_server", |bed| each(bed, Way::Reset)),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Stop,
    Reset,
}

/// How a way is taken.
#[derive(Clone, Copy, Debug)]
struct How {
    way: Way,
    /// Whether the server's system calls are by `sysenter`.
    sysenter: bool,
    /// Whether the process's space is small.
    small: bool,
    /// The selector in DS and ES; FS and GS have [`OWN`].
    data: u32,
    /// Whether the process is about to run one instruction, with TF; otherwise it runs.
    steps: bool,
}

/// Selectors of the process's own segments. A process that has only the first one may take fast
/// paths.
const OWN: u32 = 0x33;
const SECOND_OWN: u32 = 0x3b;
/// The data segment of large spaces, which servers have, too.
const FLAT: u32 = 0x20;
/// The word of the UTCB at which [`macadamia::cap::frame`] is.
const FRAME_WORD: usize = abi::tag::REGISTER_WORDS as usize;
/// DF, AC and NT; NT is not kept for a process.
const FLAGS: u32 = 0x4_4400;
const KEPT: u32 = 0x4_0400;
const TF: u32 = 0x100;
/// These, TF, I/O privilege, virtual 8086 mode, virtual interrupts.
const FORBIDDEN: u32 = FLAGS | TF | 0x1a_3000;
/// The priority of a process that spins, below its server, and of the thread that stops it: that
/// runs when the process's slice is over. The thread that stops the process before it runs has a
/// higher one.
const LOW: u32 = 80;
const ABOVE: u32 = LOW + 1;

/// In the process's data: its count, whether it has to continue, and a word that it reads through
/// its segments.
const COUNT: u32 = 0;
const GO: u32 = 4;
const WITNESS: u32 = 8;
const PATTERN: u32 = 0x5a5a_1234;
/// The address at which a stopped process continues after a reset.
const AFRESH: u32 = CODE + 0x100;

/// In the server's window: code, data, stacks, the process's data.
const SERVER_CODE: u32 = server::START + TABLE_SPAN;
const STOPPER: u32 = SERVER_CODE + 0x800;
const FOUND: u32 = SERVER_CODE + PAGE;
const STACKS: u32 = FOUND + PAGE;
const SHARED: u32 = STACKS + PAGE;
/// In the RAM: the process's code and data, and the first page of the server.
const PROCESS_PAGE: u32 = 0;
const SERVER_PAGE: u32 = 2;
const FOUND_PAGE: u32 = 3;

/// In the server's capability table.
const ALIEN: u32 = 1;
const PROCESS: u32 = 2;
const HOME: u32 = 3;

/// The state that the server found when it was entered, in words of its data; then the frame that
/// it copied.
mod found {
    pub const STATUS: u32 = 0;
    pub const VECTOR: u32 = 1;
    pub const FLAGS: u32 = 2;
    pub const DS: u32 = 3;
    pub const ES: u32 = 4;
    pub const FS: u32 = 5;
    pub const GS: u32 = 6;
    /// The largest limit of all segments that could be loaded.
    pub const LIMIT: u32 = 7;
    pub const HANDLE: u32 = 8;
    pub const FRAME: u32 = 16;
}

fn each(bed: &mut Bed, way: Way) -> Result<(), Why> {
    if !has_servers() {
        return Ok(());
    }
    let calls = [false, true].into_iter().filter(|sysenter| !sysenter || has_sysenter());
    for sysenter in calls {
        for small in [false, true] {
            for data in [OWN, SECOND_OWN, 0] {
                for steps in [false, true] {
                    let how = How { way, sysenter, small, data, steps };
                    go(bed, how).map_err(|why| format!("{how:x?}: {why}"))?;
                    bed.clean();
                }
            }
        }
    }
    Ok(())
}

/// A system call of a native thread at `address`, whose arguments are in its registers.
pub fn native_call(op: Op, sysenter: bool, address: u32) -> Vec<u8> {
    if sysenter {
        return system_call(op, address).into();
    }
    // mov eax, tag; int
    let mut code = [&[0xb8], &Tag::new(op, 0, 0).0.to_le_bytes()[..]].concat();
    code.extend([0xcd, INT_VECTOR as u8]);
    code
}

/// Appends an instruction whose operand is this word of what the server found.
fn with_found(code: &mut Vec<u8>, opcode: &[u8], index: u32) {
    code.extend(opcode);
    code.extend((FOUND + 4 * index).to_le_bytes());
}

/// The offsets of the parts of the server's code.
struct Parts {
    copies: u32,
    runs: u32,
}

/// The code of the server's first thread, which waits before it. It copies ECX words from ESI to
/// EDI; or it runs the alien whose handle is in EBX, and stores the state that it finds.
fn server_code(sysenter: bool) -> (Vec<u8>, Parts) {
    // ud2
    let mut code = [0x0f, 0x0b].to_vec();
    let copies = SERVER_CODE + code.len() as u32;
    // rep movsd; ud2
    code.extend([0xf3, 0xa5, 0x0f, 0x0b]);
    let runs = SERVER_CODE + code.len() as u32;
    code.extend(native_call(Op::Run, sysenter, runs));
    // pushfd; pop; then everything that a `mov` can store
    code.push(0x9c);
    with_found(&mut code, &[0x8f, 0x05], found::FLAGS);
    with_found(&mut code, &[0xa3], found::STATUS);
    with_found(&mut code, &[0x89, 0x35], found::VECTOR);
    with_found(&mut code, &[0x89, 0x1d], found::HANDLE);
    for (register, index) in [(3, found::DS), (0, found::ES), (4, found::FS), (5, found::GS)] {
        with_found(&mut code, &[0x8c, register << 3 | 5], index);
    }
    // xor esi, esi; xor edi, edi; again: lsl eax, edi; jnz next; cmp eax, esi; jbe next; mov esi,
    // eax
    code.extend([
        0x31, 0xf6, 0x31, 0xff, 0x0f, 0x03, 0xc7, 0x75, 0x06, 0x39, 0xf0, 0x76, 0x02, 0x89, 0xc6,
    ]);
    // next: inc edi; cmp edi, 0x10000; jb again; mov [LIMIT], esi; ud2
    code.extend([0x47, 0x81, 0xff, 0, 0, 1, 0, 0x72, 0xec]);
    with_found(&mut code, &[0x89, 0x35], found::LIMIT);
    code.extend([0x0f, 0x0b]);
    (code, Parts { copies, runs })
}

/// The code of the thread that stops or resets the alien, after the alien has counted or at once.
fn stopper_code(how: How) -> Vec<u8> {
    let mut code = Vec::new();
    if !how.steps {
        // cmp dword [COUNT], 0; je back
        code.extend([0x83, 0x3d]);
        code.extend((SHARED + COUNT).to_le_bytes());
        code.extend([0, 0x74, 0xf7]);
    }
    // mov ebx, ALIEN; mov esi, PROCESS; mov edi, HOME
    for (mov, value) in [(0xbb, ALIEN), (0xbe, PROCESS), (0xbf, HOME)] {
        code.push(mov);
        code.extend(value.to_le_bytes());
    }
    let op = if how.way == Way::Stop { Op::Stop } else { Op::Reset };
    code.extend(native_call(op, how.sysenter, STOPPER + code.len() as u32));
    code.extend([0x0f, 0x0b]);
    code
}

/// The code of the process. It has selectors in EAX and EBX, calls, spins, reads through its
/// segments, and calls again.
fn process_code(data: u32) -> Vec<u8> {
    // mov fs, eax; mov gs, eax; mov ds, ebx; mov es, ebx; pushfd; or dword [esp], FLAGS; popfd; int
    // 0x80
    let mut code =
        [0x8e, 0xe0, 0x8e, 0xe8, 0x8e, 0xdb, 0x8e, 0xc3, 0x9c, 0x81, 0x0c, 0x24].to_vec();
    code.extend(FLAGS.to_le_bytes());
    code.extend([0x9d, 0xcd, 0x80]);
    // again: inc dword ss:[COUNT]; cmp dword ss:[GO], 0; je again
    code.extend([0x36, 0xff, 0x05]);
    code.extend((DATA + COUNT).to_le_bytes());
    code.extend([0x36, 0x83, 0x3d]);
    code.extend((DATA + GO).to_le_bytes());
    code.extend([0, 0x74, 0xef]);
    // mov ecx, fs:[WITNESS]; mov edx, gs:[WITNESS]; mov esi, ds:[WITNESS]; mov edi, es:[WITNESS];
    // int 0x80
    for (prefix, register) in [(0x64, 1), (0x65, 2), (0x3e, 6), (0x26, 7)] {
        if register < 6 || data != 0 {
            code.extend([prefix, 0x8b, register << 3 | 5]);
            code.extend(WITNESS.to_le_bytes());
        }
    }
    code.extend([0xcd, 0x80]);
    code.resize((AFRESH - CODE) as usize, 0);
    // mov eax, fs; mov ebx, gs; mov ecx, ds; mov edx, es; pushfd; pop ebp; mov esi, OWN; mov fs,
    // esi
    code.extend([0x8c, 0xe0, 0x8c, 0xeb, 0x8c, 0xd9, 0x8c, 0xc2, 0x9c, 0x5d, 0xbe]);
    code.extend(OWN.to_le_bytes());
    code.extend([0x8e, 0xe6]);
    code
}

/// A server's first thread, which waits for its next work.
struct Server {
    parts: Parts,
    handle: u32,
    frame: Frame,
    window: Window,
}

impl Server {
    /// Lets it do one of its parts with these registers, and waits for its end.
    fn part(&mut self, registers: Frame) -> Result<(), Why> {
        set_frame(&Frame {
            esp: self.frame.esp,
            eflags: self.frame.eflags,
            ds_es: self.frame.ds_es,
            ..registers
        });
        let whole = Message { count: abi::tag::REGISTER_WORDS + WORDS, ..Message::default() };
        good(reply(self.handle, whole))?;
        self.wait()
    }

    fn wait(&mut self) -> Result<(), Why> {
        let (Received { handle, .. }, frame) = next()?;
        (self.handle, self.frame) = (handle, frame);
        check_end(&frame, SERVER_CODE..STOPPER)
    }

    fn found(&self, index: u32) -> u32 {
        self.window.read(4 * index)
    }

    /// Runs the alien under this handle, or under that of its last event. Checks that its server
    /// has none of the process's state afterwards.
    fn run(&mut self, handle: Option<u32>) -> Result<(), Why> {
        let handle = handle.unwrap_or_else(|| self.found(found::HANDLE));
        self.part(Frame { eip: self.parts.runs, ebx: handle, ..Frame::default() })?;
        let [flags, ds, es, fs, gs, limit] =
            [found::FLAGS, found::DS, found::ES, found::FS, found::GS, found::LIMIT]
                .map(|index| self.found(index));
        let is_null = |selector: u32| selector & !3 == 0;
        let is_flat = |selector: u32| selector & !3 == FLAT;
        if flags & FORBIDDEN == 0
            && is_null(fs)
            && is_null(gs)
            && is_flat(ds)
            && is_flat(es)
            && limit < USER_END
        {
            return Ok(());
        }
        Err(format!(
            "the server has flags {flags:#x}, segments {ds:x} {es:x} {fs:x} {gs:x}, and may have one that ends at {limit:#x}"
        ))
    }

    /// The alien's frame.
    fn frame(&mut self, at: u32) -> Result<Frame, Why> {
        let to = FOUND + 4 * found::FRAME;
        self.part(Frame {
            eip: self.parts.copies,
            esi: at,
            edi: to,
            ecx: WORDS,
            ..Frame::default()
        })?;
        (0..WORDS)
            .for_each(|i| utcb::set_word(FRAME_WORD + i as usize, self.found(found::FRAME + i)));
        Ok(macadamia::cap::frame())
    }

    fn set_frame(&mut self, at: u32, frame: &Frame) -> Result<(), Why> {
        set_frame(frame);
        (0..WORDS).for_each(|i| {
            self.window.write(4 * (found::FRAME + i), utcb::word(FRAME_WORD + i as usize))
        });
        let from = FOUND + 4 * found::FRAME;
        self.part(Frame {
            eip: self.parts.copies,
            esi: from,
            edi: at,
            ecx: WORDS,
            ..Frame::default()
        })
    }

    fn event(&self, wanted: u32) -> Result<(), Why> {
        match (Delivery(self.found(found::STATUS)).error(), self.found(found::VECTOR)) {
            (None, vector) if vector == wanted => Ok(()),
            other => Err(format!("{other:x?} instead of event {wanted:#x}")),
        }
    }
}

/// All registers of the process except its instruction pointer and its count.
fn kept(what: &str, f: &Frame, before: &Frame) -> Result<(), Why> {
    let of = |f: &Frame| {
        [f.eax, f.ebx, f.ecx, f.edx, f.esi, f.edi, f.ebp, f.esp, f.ds_es, f.fs_gs, f.eflags & KEPT]
    };
    if of(f) == of(before) {
        Ok(())
    } else {
        Err(format!("{what}: {:x?} instead of {:x?}", of(f), of(before)))
    }
}

/// Checks that a thread of the server came to one of its own `ud2`.
fn check_end(f: &Frame, code: core::ops::Range<u32>) -> Result<(), Why> {
    if f.vector == vector::INVALID_OPCODE && code.contains(&f.eip) {
        return Ok(());
    }
    Err(format!("vector {} at {:#x} for {:#x}, error {:#x}", f.vector, f.eip, f.address, f.error))
}

/// Makes a server and a process that shows it, and takes one way.
fn go(bed: &mut Bed, how: How) -> Result<(), Why> {
    let (code, parts) = server_code(how.sysenter);
    write(bed, SERVER_PAGE, &code)?;
    // The stopper's code is in the same page.
    good(map(crate::SPACE, crate::ADDRESS, bed.ram, SERVER_PAGE * PAGE, PAGE, Rights(3)))?;
    fill(
        crate::ADDRESS + (STOPPER - SERVER_CODE),
        PAGE - (STOPPER - SERVER_CODE),
        &stopper_code(how),
    );
    write(bed, FOUND_PAGE, &[])?;
    write(bed, PROCESS_PAGE, &process_code(how.data))?;
    write(bed, PROCESS_PAGE + 1, &[0, 0, PATTERN].map(u32::to_le_bytes).concat())?;
    let serves = server::placed(bed)?;
    good(serves.serve(bed.window, false))?;
    good(map(serves, SERVER_CODE, bed.ram, SERVER_PAGE * PAGE, 3 * PAGE, Rights::RWX))?;
    good(map(serves, SHARED, bed.ram, (PROCESS_PAGE + 1) * PAGE, PAGE, Rights::RWX))?;
    let (space, slot) = (bed.slot(), bed.slot());
    let process = good(QUOTA.create_space(0, space))?;
    good(map(process, CODE, bed.ram, PROCESS_PAGE * PAGE, 2 * PAGE, Rights::RWX))?;
    good(process.show(server::START, serves))?;
    if how.small {
        let home = new_home(bed)?;
        good(home.show(server::START, serves))?;
        good(home.take_in(FIRST, process, SIZE))?;
    }
    let runner = create(bed, serves)?;
    let (alien, bound) = good(QUOTA.create_thread(process, slot, Some(serves)))?;
    good(alien.set_handler(Some(runner)))?;
    good(alien.set_priority(LOW, LOW))?;
    for index in 0..if how.data == SECOND_OWN { 2 } else { 1 } {
        good(alien.set_tls(index, DATA, PRESENT | PAGES | 0xf_ffff))?;
    }
    for (from, to) in [(alien.0, ALIEN), (process.0, PROCESS), (serves.0, HOME)] {
        good(copy(from, Some(serves), to, Rights::ALL, 0))?;
    }
    good(runner.start(SERVER_CODE, STACKS + PAGE / 2, 0))?;
    let (Received { handle, .. }, frame) = next()?;
    let mut server = Server {
        parts,
        handle,
        frame,
        window: good(Window::open(GRANTS_END, bed.ram, FOUND_PAGE * PAGE, PAGE, Rights(3)))?,
    };

    let fresh = server.frame(bound.utcb)?;
    let general = Frame {
        eax: OWN,
        ebx: how.data,
        ecx: 0x1111,
        edx: 0x2222,
        esi: 0x3333,
        edi: 0x4444,
        ebp: 0x5555,
        ..fresh
    };
    server.set_frame(bound.utcb, &Frame { eip: CODE, esp: DATA + PAGE, ..general })?;
    server.run(Some(bound.handle))?;
    server.event(vector::SYSTEM_CALL)?;
    let begun = server.frame(bound.utcb)?;
    let own = Frame {
        esp: DATA + PAGE,
        ds_es: how.data << 16 | how.data,
        fs_gs: OWN << 16 | OWN,
        eflags: KEPT,
        ..general
    };
    kept("loaded by itself", &begun, &own)?;
    if how.steps {
        server.set_frame(bound.utcb, &Frame { eflags: begun.eflags | TF, ..begun })?;
    }

    let stopper = create(bed, serves)?;
    let priority = if how.steps { ABOVE } else { LOW };
    good(stopper.set_priority(priority, priority))?;
    good(stopper.start(STOPPER, STACKS + PAGE, 0))?;
    server.run(None)?;
    let (_, stopped) = next()?;
    check_end(&stopped, STOPPER..FOUND)?;
    check("its system call", stopped.eax == 0)?;
    match how.way {
        Way::Stop => goes_on(bed, &mut server, bound.utcb, how, &begun),
        Way::Reset => {
            let status = Delivery(server.found(found::STATUS));
            check("whose alien was reset", status.error() == Some(Error::PeerRestarted))?;
            begins_afresh(&mut server, stopped.ebx, stopped.esi, &fresh)
        }
    }
}

/// A process that was stopped continues with its own state.
fn goes_on(bed: &Bed, server: &mut Server, at: u32, how: How, begun: &Frame) -> Result<(), Why> {
    server.event(vector::STOPPED)?;
    let f = server.frame(at)?;
    kept("stopped", &f, begun)?;
    check("whether it steps", (f.eflags & TF != 0) == how.steps)?;
    let shared =
        good(Window::open(GRANTS_END + PAGE, bed.ram, (PROCESS_PAGE + 1) * PAGE, PAGE, Rights(3)))?;
    check("it has counted, if it was to", (shared.read(COUNT) == 0) == how.steps)?;
    shared.write(GO, 1);
    server.run(None)?;
    if how.steps {
        server.event(vector::DEBUG)?;
        let f = server.frame(at)?;
        kept("after a step", &f, begun)?;
        check("one step", f.eip > begun.eip && shared.read(COUNT) == 1)?;
        server.set_frame(at, &Frame { eflags: f.eflags & !TF, ..f })?;
        server.run(None)?;
    }
    server.event(vector::SYSTEM_CALL)?;
    let by_data = if how.data == 0 { [begun.esi, begun.edi] } else { [PATTERN; 2] };
    let [esi, edi] = by_data;
    kept("went on", &server.frame(at)?, &Frame { ecx: PATTERN, edx: PATTERN, esi, edi, ..*begun })
}

/// A process that was reset has none of its former state.
fn begins_afresh(server: &mut Server, at: u32, handle: u32, fresh: &Frame) -> Result<(), Why> {
    let f = server.frame(at)?;
    check("registers of one that never ran", f == *fresh && f.vector == vector::CREATED)?;
    server.set_frame(at, &Frame { eip: AFRESH, esp: DATA + PAGE, ..f })?;
    server.run(Some(handle))?;
    server.event(vector::GENERAL_PROTECTION)?;
    let f = server.frame(at)?;
    let is_null = |selector: u32| selector & !3 == 0;
    check(
        "no segments of its own",
        is_null(f.eax)
            && is_null(f.ebx)
            && f.ecx == f.edx
            && f.ecx & !3 != OWN & !3
            && !is_null(f.ecx),
    )?;
    check("no flags of its own", f.ebp & FORBIDDEN == 0)
}
