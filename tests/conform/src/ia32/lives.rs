// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers that die again and again, each while a process shows it and runs. Another server works
//! all the time and is not affected, and the Quota gets everything back each time. Where the
//! machine has no servers, `server` checks that the kernel says so.

use super::homes::{CODE, DATA, FIRST, SIZE, jump, new_home, write};
use super::state::has_sysenter;
use super::ways::native_call;
use crate::exception::create;
use crate::{Bed, Case, PAGE, QUOTA, Why, check, good, server};
use abi::frame::{Frame, vector};
use abi::{Op, Rights, TABLE_SPAN};
use core::mem::offset_of;
use image::layout::GRANTS_END;
use macadamia::alloc::format;
use macadamia::alloc::vec::Vec;
use macadamia::cap::delete;
use macadamia::map::{Window, map, unmap};
use macadamia::time::has_servers;
use macadamia::{Memory, Space, Thread, ipc, result, time};

pub const CASES: &[Case] = &[("many_die_beside_one_that_works", many)];

/// How many servers die; and how many if this program has ports, which none of them uses.
const LIVES: u32 = 1_000;
const LIVES_BESIDE_PORTS: u32 = 100;
/// Priorities of a server and its process. The server that works is below those that die: it runs
/// when they are gone.
const DYING: u32 = 80;
const WORKING: u32 = 70;
/// The bit of the alarm.
const TIME_IS_UP: u32 = 1;
/// The longest life, in nanoseconds, and how long the others run after it.
const LIFE: u32 = 200_000;
const AFTERWARDS: u64 = 20_000;

/// Addresses in the window; the last page has its own table.
pub const SERVER_CODE: u32 = server::START + TABLE_SPAN;
pub const SERVER_DATA: u32 = SERVER_CODE + PAGE;
const FAR: u32 = SERVER_CODE + 8 * TABLE_SPAN;
/// Pages of RAM of a server and its process: code and data of each.
const PAGES: u32 = 4;
/// Words of the server's data: its process's handle and frame, and the count of events.
const HANDLE: u32 = 0;
const FRAME: u32 = 1;
const COUNT: u32 = 2;
/// Another count, at another address of the same page.
const FAR_COUNT: u32 = 3;

/// Appends an instruction whose operand is this word of the server's data.
fn with_word(code: &mut Vec<u8>, opcode: &[u8], index: u32) {
    code.extend(opcode);
    code.extend((SERVER_DATA + 4 * index).to_le_bytes());
}

/// The code of a server. It runs its process, which counts its system calls in EAX, and counts
/// them, too; `ud2` if the counts differ.
fn server_code() -> Vec<u8> {
    let mut code = Vec::new();
    begin_process(&mut code);
    let again = code.len();
    run_process(&mut code);
    // mov eax, [FRAME]; mov eax, [eax + its eax]; inc dword [COUNT]; inc dword [FAR_COUNT]
    with_word(&mut code, &[0xa1], FRAME);
    code.extend([0x8b, 0x40, offset_of!(Frame, eax) as u8]);
    with_word(&mut code, &[0xff, 0x05], COUNT);
    code.extend([0xff, 0x05]);
    code.extend((FAR + 4 * FAR_COUNT).to_le_bytes());
    // cmp esi, SYSTEM_CALL; jne bad; cmp eax, [COUNT]; je again; bad: ud2
    code.extend([0x81, 0xfe]);
    code.extend(vector::SYSTEM_CALL.to_le_bytes());
    code.extend([0x75, 0x08]);
    with_word(&mut code, &[0x3b, 0x05], COUNT);
    jump(&mut code, 0x74, again);
    code.extend([0x0f, 0x0b]);
    code
}

/// Appends code by which a server starts its process: mov eax, [FRAME]; mov dword [eax + eip],
/// CODE; mov dword [eax + esp], DATA + PAGE
pub fn begin_process(code: &mut Vec<u8>) {
    with_word(code, &[0xa1], FRAME);
    for (register, value) in [(offset_of!(Frame, eip), CODE), (offset_of!(Frame, esp), DATA + PAGE)]
    {
        code.extend([0xc7, 0x40, register as u8]);
        code.extend(value.to_le_bytes());
    }
}

/// Appends code by which it runs its process: mov ebx, [HANDLE]; run; mov [HANDLE], ebx
pub fn run_process(code: &mut Vec<u8>) {
    with_word(code, &[0x8b, 0x1d], HANDLE);
    code.extend(native_call(Op::Run, has_sysenter(), SERVER_CODE + code.len() as u32));
    with_word(code, &[0x89, 0x1d], HANDLE);
}

/// The code of a process: inc eax; inc dword [DATA]; push eax; pop ecx; int 0x80; jmp back
pub fn process_code() -> Vec<u8> {
    let mut code = [0x40, 0xff, 0x05].to_vec();
    code.extend(DATA.to_le_bytes());
    code.extend([0x50, 0x59, 0xcd, 0x80, 0xeb, 0xf3]);
    code
}

/// A server and its process.
struct Life {
    memory: Memory,
    server: Space,
    process: Space,
    home: Option<Space>,
    runner: Thread,
    alien: Thread,
}

impl Life {
    /// Starts a server and its process, with these pages of the RAM.
    fn begin(bed: &mut Bed, page: u32, small: bool, priority: u32) -> Result<Self, Why> {
        write(bed, page, &server_code())?;
        write(bed, page + 2, &process_code())?;
        write(bed, page + 3, &[])?;
        let slots: [u32; 3] = core::array::from_fn(|_| bed.slot());
        let memory = good(bed.ram.derive(page * PAGE, PAGES * PAGE, slots[0], QUOTA))?;
        let server = server::placed(bed)?;
        good(server.serve(bed.window, false))?;
        good(map(server, SERVER_CODE, memory, 0, 2 * PAGE, Rights::RWX))?;
        let process = good(QUOTA.create_space(0, slots[1]))?;
        good(map(process, CODE, memory, 2 * PAGE, 2 * PAGE, Rights::RWX))?;
        good(process.show(server::START, server))?;
        let home = if small { Some(new_home(bed)?) } else { None };
        if let Some(home) = home {
            good(home.show(server::START, server))?;
            good(home.take_in(FIRST, process, SIZE))?;
        }
        // A table that spaces that show the server do not have yet.
        good(map(server, FAR, memory, PAGE, PAGE, Rights(3)))?;
        let runner = create(bed, server)?;
        let (alien, bound) = good(QUOTA.create_thread(process, slots[2], Some(server)))?;
        good(alien.set_handler(Some(runner)))?;
        good(alien.set_priority(priority, priority))?;
        good(runner.set_priority(priority + 1, priority + 1))?;
        write(bed, page + 1, [bound.handle, bound.utcb].map(u32::to_le_bytes).as_flattened())?;
        good(runner.start(SERVER_CODE, SERVER_DATA + PAGE, 0))?;
        Ok(Self { memory, server, process, home, runner, alien })
    }

    /// Ends it by one of these ways.
    fn die(&self, how: u32) -> Result<(), Why> {
        good(match how % 8 {
            0 => delete(self.server.0),
            1 => delete(self.runner.0),
            2 => delete(self.alien.0),
            3 => delete(self.process.0),
            4 => delete(self.home.unwrap_or(self.process).0),
            // All of its pages and those of the process; only its code; the attachment by which its
            // process shows it.
            5 => delete(self.memory.0),
            6 => unmap(self.server, SERVER_CODE, PAGE),
            _ => self
                .process
                .detach(server::START)
                .or_else(|_| self.home.map_or(Ok(()), |home| home.detach(server::START))),
        })
    }
}

/// Waits for this time.
fn pause(nanoseconds: u64) -> Result<(), Why> {
    good(time::alarm(time::now() + nanoseconds, TIME_IS_UP))?;
    good(ipc::wait(TIME_IS_UP)).map(|_| ())
}

/// Checks that the server that works continues: its count has grown. On a machine that was stopped
/// meanwhile it may need more time.
fn works(worker: &Window, before: u32) -> Result<u32, Why> {
    for pauses in 0..10 {
        pause(AFTERWARDS << pauses)?;
        let count = worker.read(4 * COUNT);
        if count != before {
            return Ok(count);
        }
    }
    Err(format!("the other one stays at {before}"))
}

fn many(bed: &mut Bed) -> Result<(), Why> {
    if !has_servers() {
        return Ok(());
    }
    Life::begin(bed, 0, false, WORKING)?;
    let window =
        |page| Window::open(GRANTS_END + page * PAGE, bed.ram, page * PAGE, PAGE, Rights(1));
    let (counts, dying) = (good(window(1))?, good(window(PAGES + 1))?);
    let mut worked = works(&counts, 0)?;
    // xorshift32.
    let mut random = 0x2545_f491u32;
    let mut midst = 0;
    let lives = if bed.ports.is_some() { LIVES_BESIDE_PORTS } else { LIVES };
    let mut one = Bed { first: bed.next, next: bed.next, ..*bed };
    // This component's tables are as after a life.
    one.clean();
    for life in 0..lives {
        let before = (good(QUOTA.info())?, good(QUOTA.threads())?);
        let (small, how) = (life % 2 == 1, life / 2);
        let lived = Life::begin(&mut one, PAGES, small, DYING)?;
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        pause(u64::from(random % LIFE))?;
        midst += u32::from(dying.read(4 * COUNT) > 0);
        lived.die(how)?;
        // The rest of it continues, or has exceptions.
        pause(AFTERWARDS)?;
        // Delete from both ends.
        let slots = one.first..one.next;
        if how / 8 % 2 == 1 {
            slots.rev().for_each(|slot| {
                let _ = delete(slot);
            });
        }
        one.clean();
        worked = works(&counts, worked).map_err(|why| format!("life {life}: {why}"))?;
        let after = (good(QUOTA.info())?, good(QUOTA.threads())?);
        if after != before {
            return Err(format!("life {life}: quota {before:?} before, {after:?} after"));
        }
    }
    result!(
        "# {lives} servers died, {midst} of them in the midst; the other one had {worked} events meanwhile"
    );
    check("most died in the midst", midst >= lives * 3 / 4)
}
