// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that threads may leave in the processor because no rule forbids it: the kernel must handle
//! it.

use super::own::bare;
use crate::exception::{BADGE, create, launch, next, start};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SPACE, Why, check, good};
use abi::frame::vector;
use abi::{Op, Rights, Tag};
use macadamia::cap::{copy, frame};
use macadamia::ipc::{Message, reply_wait};
use macadamia::map::map;
use macadamia::start::fill;
use macadamia::{Frame, Thread, time};

pub const CASES: &[Case] = &[
    ("the_nested_task_flag_does_no_harm", nested_task),
    ("a_handler_needs_no_data_segment", no_data_segment),
    ("a_selector_that_went_away_is_null", stale_selector),
];

/// Code of a system call with the handle or selector in EBX, by `sysenter`, for `address`.
pub fn system_call(op: Op, address: u32) -> [u8; 14] {
    // mov eax, TAG; mov ecx, esp; mov edx, after; sysenter
    let mut code = [0xb8, 0, 0, 0, 0, 0x89, 0xe1, 0xba, 0, 0, 0, 0, 0x0f, 0x34];
    code[1..5].copy_from_slice(&Tag::new(op, 0, 0).0.to_le_bytes());
    code[8..12].copy_from_slice(&(address + 14).to_le_bytes());
    code
}

/// Whether the processor has it.
pub fn has_sysenter() -> bool {
    time::kip().features & abi::arch::ia32::kip::FEATURE_SYSENTER != 0
}

/// `sysenter` does not clear it, and with it `iret` is another instruction.
fn nested_task(bed: &mut Bed) -> Result<(), Why> {
    if !has_sysenter() {
        return Ok(());
    }
    // pushfd; or dword [esp], 0x4000; popfd; xor ebx, ebx
    let mut code = [0x9c, 0x81, 0x0c, 0x24, 0, 0x40, 0, 0, 0x9d, 0x31, 0xdb].to_vec();
    code.extend(system_call(Op::Yield, ADDRESS + code.len() as u32));
    let behind = ADDRESS + code.len() as u32;
    code.extend([0x0f, 0x0b]);
    launch(bed, &code)?;
    let (r, f) = next()?;
    check(
        "it came back from its system call",
        r.words[0] == vector::INVALID_OPCODE && f.eip == behind,
    )
}

/// A thread replies to another's exception with null in DS.
fn no_data_segment(bed: &mut Bed) -> Result<(), Why> {
    if !has_sysenter() {
        return Ok(());
    }
    // xor ebx, ebx; receive; xor ecx, ecx; mov ds, ecx; reply_wait; ud2
    let mut code = [0x31, 0xdb].to_vec();
    code.extend(system_call(Op::Receive, ADDRESS + 2));
    code.extend([0x31, 0xc9, 0x8e, 0xd9]);
    code.extend(system_call(Op::ReplyWait, ADDRESS + code.len() as u32));
    let behind = ADDRESS + code.len() as u32;
    code.extend([0x0f, 0x0b]);
    // In a space without ports nothing is loaded lazily, and the reply takes the fast path.
    let space = bare(bed, &code)?;
    let handler = start(bed, space, 0)?;
    // The other's code is the same `ud2`, which faults again after each reply.
    let (badged, slot) = (bed.slot(), bed.slot());
    good(copy(handler.0, None, badged, Rights::CALL, BADGE))?;
    let (faulter, _) = good(QUOTA.create_thread(space, slot, None))?;
    good(faulter.set_handler(Some(Thread(badged))))?;
    good(faulter.start(behind, ADDRESS + PAGE, 0))?;
    let (r, f) = next()?;
    check(
        "the handler got the second exception",
        r.words[0] == vector::INVALID_OPCODE && f.eip == behind,
    )
}

/// A thread waits with a selector in DS whose descriptor is removed meanwhile.
fn stale_selector(bed: &mut Bed) -> Result<(), Why> {
    // mov eax, 0x33; mov ds, eax; mov es, eax; int3; int3
    let code = [0xb8, 0x33, 0, 0, 0, 0x8e, 0xd8, 0x8e, 0xc0, 0xcc, 0xcc];
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, &code);
    let thread = create(bed, SPACE)?;
    good(thread.set_tls(0, 0, 0xf_ffff | 1 << 20 | 1 << 23))?;
    good(
        thread
            .set_registers(&Frame { eip: ADDRESS, esp: ADDRESS + PAGE, ..Frame::default() }, true),
    )?;
    let (r, f) = next()?;
    check("it has the selector", f.ds_es == 0x33_0033)?;
    good(thread.set_tls(0, 0, 0))?;
    let again = good(reply_wait(r.handle, Message::default()))?;
    let f = frame();
    check("it went on", again.words[0] == 3 && f.eip == ADDRESS + code.len() as u32)?;
    check("with null", f.ds_es == 0)
}
