// SPDX-License-Identifier: MIT OR Apache-2.0
//! A page fault that a pager in user mode handles: it maps a page that is there. What happened is
//! in the message's first three words; the rest is not needed.

use abi::MapRecord;
use abi::arch::ia32::marker::{BEGIN, END, OPCODE, immediate};
use abi::frame::{fault, vector};
use core::arch::global_asm;
use macadamia::cap::copy;
use macadamia::ipc::{map_reply_wait, receive};
use macadamia::map::{Window, map, own, unmap};
use macadamia::{Env, Memory, MessageKind, Quota, Result, Rights, Space, Thread, slot};

const FAULT: u32 = 20;
/// Faults that are handled.
const FAULTS: u32 = 400;

const PAGE: u32 = abi::PAGE_SIZE;
/// The thread's code, and the range that it walks, in the space that is made.
const CODE: u32 = 0x0100_0000;
const RANGE: u32 = 0x1000_0000;
/// Bytes of the range: a power of two.
const BYTES: u32 = 64 * PAGE;
const HALF: u32 = BYTES / 2;
/// Where the pager has the code while it writes it: the offset from the first address that it maps
/// itself.
const VIEW: u32 = 0x0180_0000;
const BADGE: u32 = 7;
const SLOTS: u32 = 16;
const RW: Rights = Rights::READ.union(Rights::WRITE);

/// What the thread executes: it writes to one page after the other, each write an interval; then
/// an invalid instruction. Its registers but ESI begin as 0.
fn program() -> [u8; 36] {
    let mut program = [0; 36];
    let ([a, b, c, d], [e, f, g, h]) =
        (immediate(BEGIN, FAULT).to_le_bytes(), immediate(END, FAULT).to_le_bytes());
    let [i, j, k, l] = (RANGE + BYTES - 1).to_le_bytes();
    program[..7].copy_from_slice(&[OPCODE, a, b, c, d, 0x89, 0x06]); // mov [esi], eax
    program[7..12].copy_from_slice(&[OPCODE, e, f, g, h]);
    program[12..18].copy_from_slice(&[0x81, 0xc6, 0, 0x10, 0, 0]); // add esi, 4096
    program[18..24].copy_from_slice(&[0x81, 0xe6, i, j, k, l]); // and esi, the range's end
    let [m, n, o, p] = FAULTS.to_le_bytes();
    program[24..31].copy_from_slice(&[0x47, 0x81, 0xff, m, n, o, p]); // inc edi; cmp edi, FAULTS
    program[31..35].copy_from_slice(&[0x75, 0xdf, 0x0f, 0x0b]); // jne to the start; ud2
    program
}

fn write_program(code: Memory) -> Result<()> {
    let window = Window::open(own().start + VIEW, code, 0, PAGE, RW)?;
    for (offset, bytes) in (0..).step_by(4).zip(program().chunks(4)) {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        window.write(offset, u32::from_le_bytes(word));
    }
    Ok(())
}

/// Makes the space with the thread, and serves its faults.
pub fn measure(env: &mut Env) -> Result<()> {
    let (quota, frames) = (Quota(slot::QUOTA), env.memory("frames"));
    let code = frames.derive(BYTES, PAGE, env.free_slot(), quota)?;
    let space = quota.create_space(SLOTS, env.free_slot())?;
    write_program(code)?;
    map(space, CODE, code, 0, PAGE, Rights::READ.union(Rights::EXECUTE))?;
    let (thread, _) = quota.create_thread(space, env.free_slot(), None)?;
    let handler = Thread(env.free_slot());
    copy(slot::THREAD, None, handler.0, Rights::CALL, BADGE)?;
    thread.set_handler(Some(handler))?;
    thread.start(CODE, 0, RANGE)?;
    serve(space, frames)?;
    thread.stop()
}

// The pager's code begins with a page and ends in it, wherever the linker puts it: one TLB miss,
// not by luck.
global_asm!(".section .text.pager, \"ax\", @progbits", ".balign {page}", ".text", page = const PAGE);

// SAFETY: the section is one of code, and nothing else is in it.
#[unsafe(link_section = ".text.pager")]
#[inline(never)]
fn serve(space: Space, frames: Memory) -> Result<()> {
    let mut received = receive(None)?;
    for count in 0..FAULTS {
        let [vector, address, error] = received.words;
        let expected = received.kind == MessageKind::Exception
            && received.badge == BADGE
            && vector == vector::PAGE_FAULT
            && error & fault::WRITE != 0
            && address == RANGE + count * PAGE % BYTES;
        assert!(expected, "not the fault that was due: {:?} at {address:#x}", received.kind);
        // At the begin of each half the other half is taken back, within an interval that is no
        // typical one.
        if (address - RANGE).is_multiple_of(HALF) {
            unmap(space, RANGE + (address - RANGE + HALF) % BYTES, HALF)?;
        }
        let page =
            MapRecord::new(MapRecord::MAP, space.0, address, frames.0, address - RANGE, PAGE, RW);
        received = map_reply_wait(received.handle, &page)?;
    }
    assert!(
        received.kind == MessageKind::Exception && received.words[0] == vector::INVALID_OPCODE,
        "not its end"
    );
    Ok(())
}
