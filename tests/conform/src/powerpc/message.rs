// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a message changes of PowerPC's registers, among which are words 3 to 7. A system call keeps
//! only two registers.

use crate::exception::{BADGE, create};
use crate::message::{IN_REGISTERS, message};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, check, fill, good};
use abi::frame::vector;
use abi::tag::REGISTER_WORDS;
use abi::{Delivery, Frame, MessageKind, Op, Rights, Tag, Word};
use macadamia::cap::{copy, frame, set_frame};
use macadamia::ipc::receive;
use macadamia::map::map;
use macadamia::sys;
use processor::code;

pub const CASES: &[Case] = &[
    ("a_call_of_another_space_keeps_two_registers_and_tells_nothing", |bed| kept(bed, true)),
    ("a_call_within_a_space_keeps_two_registers_and_tells_nothing", |bed| kept(bed, false)),
];

/// A thread calls three times with eight words, and other values in its other registers: it still
/// has its stack pointer and r2, the words of the answer, and no value of another thread.
fn kept(bed: &mut Bed, elsewhere: bool) -> Result<(), Why> {
    let (slot, to) = (bed.slot(), bed.slot());
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights(3)))?;
    fill(ADDRESS, PAGE, &[code::system_call(), code::invalid()].concat());
    let space = if elsewhere { good(QUOTA.create_space(to + 1, slot))? } else { SPACE };
    if elsewhere {
        good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights::READ))?;
    }
    let thread = create(bed, space)?;
    good(copy(SELF.0, Some(space), to, Rights::CALL, BADGE + 1))?;
    let mut gpr: [u32; 32] = core::array::from_fn(|i| 0x1000 + i as u32);
    (gpr[3], gpr[4]) = (Tag::new(Op::Call, REGISTER_WORDS, 0).0, to);
    let mut f = Frame {
        gpr,
        lr: 0x100c,
        ctr: 0x100d,
        xer: 0x7f,
        cr: 0x8000_0001,
        pc: ADDRESS,
        ..Frame::default()
    };
    let own = [f.lr, f.ctr, f.xer, f.cr];
    let words = |f: &Frame| -> [Word; IN_REGISTERS] {
        core::array::from_fn(|i| f.gpr[if i < 6 { 5 + i } else { 8 + i }])
    };
    good(thread.set_registers(&f, true))?;
    for turn in 1..=3 {
        let mut registers = message(Tag::new(Op::Receive, 0, 0), 0, [0; IN_REGISTERS]);
        sys::raw(&mut registers);
        check(
            "its call",
            Delivery(registers[0]).badge() == BADGE + 1 && registers[2..] == words(&f),
        )?;
        // The answer and the wait for the exception are one system call, which fast paths do.
        let answer = core::array::from_fn(|i| turn << 16 | i as Word);
        registers = message(Tag::new(Op::ReplyWait, REGISTER_WORDS, 0), registers[1], answer);
        sys::raw(&mut registers);
        let after = frame();
        check(
            "its exception",
            registers[2] == vector::PROGRAM
                && after.pc == ADDRESS + code::system_call().len() as u32,
        )?;
        check(
            "the answer",
            Delivery(after.gpr[3]).kind() == MessageKind::Reply && words(&after) == answer,
        )?;
        check("r1 and r2 are kept", after.gpr[1..3] == gpr[1..3])?;
        let lost = [0, 11, 12, 13].into_iter().chain(16..32);
        // A fast path clears these. If only the call took a fast path, the thread finds the values
        // of the last time when all registers were saved.
        let special = |f: &Frame| [f.lr, f.ctr, f.xer, f.cr];
        let is_own = |(now, own): (u32, u32)| now == 0 || now == own;
        let pairs = lost
            .into_iter()
            .map(|i| (after.gpr[i], gpr[i]))
            .chain(special(&after).into_iter().zip(own));
        check("what is lost is zero or its own", pairs.into_iter().all(is_own))?;
        f = Frame { pc: ADDRESS, ..after };
        (f.gpr[3], f.gpr[4]) = (gpr[3], to);
        set_frame(&f);
        let mut registers = message(
            Tag::new(Op::Reply, crate::exception::WHOLE.count, 0),
            registers[1],
            [0; IN_REGISTERS],
        );
        sys::raw(&mut registers);
        check("it goes on", registers[0] == 0)?;
    }
    good(receive(None)).map(|_| ())
}
