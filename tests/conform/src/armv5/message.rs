// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a message changes of ARM's registers, among which are words 3 to 7.

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
    ("a_call_of_another_space_changes_its_words_alone", |bed| kept(bed, true)),
    ("a_call_within_a_space_changes_its_words_alone", |bed| kept(bed, false)),
];

/// A thread calls three times with eight words, and other values in its other registers: registers
/// that are no words of the answer are kept.
fn kept(bed: &mut Bed, elsewhere: bool) -> Result<(), Why> {
    const FLAGS: u32 = 0xa800_0010;
    let (slot, to) = (bed.slot(), bed.slot());
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights(3)))?;
    fill(ADDRESS, PAGE, &[code::system_call(), code::invalid()].concat());
    let space = if elsewhere { good(QUOTA.create_space(to + 1, slot))? } else { SPACE };
    if elsewhere {
        good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights::READ))?;
    }
    let thread = create(bed, space)?;
    good(copy(SELF.0, Some(space), to, Rights::CALL, BADGE + 1))?;
    let mut r: [u32; 13] = core::array::from_fn(|i| 0x1000 + i as u32);
    (r[0], r[1]) = (Tag::new(Op::Call, REGISTER_WORDS, 0).0, to);
    let mut f = Frame { r, sp: 0x100d, lr: 0x100e, pc: ADDRESS, cpsr: FLAGS, ..Frame::default() };
    good(thread.set_registers(&f, true))?;
    for turn in 1..=3 {
        let mut registers = message(Tag::new(Op::Receive, 0, 0), 0, [0; IN_REGISTERS]);
        sys::raw(&mut registers);
        check(
            "its call",
            Delivery(registers[0]).badge() == BADGE + 1 && registers[2..] == f.r[2..10],
        )?;
        // The answer and the wait for the exception are one system call, which fast paths do.
        let answer = core::array::from_fn(|i| turn << 16 | i as Word);
        registers = message(Tag::new(Op::ReplyWait, REGISTER_WORDS, 0), registers[1], answer);
        sys::raw(&mut registers);
        let after = frame();
        check(
            "its exception",
            registers[2] == vector::UNDEFINED
                && after.pc == ADDRESS + code::system_call().len() as u32,
        )?;
        check(
            "the answer",
            Delivery(after.r[0]).kind() == MessageKind::Reply && after.r[2..10] == answer,
        )?;
        check("r10 to r12 are kept", after.r[10..] == r[10..])?;
        check(
            "stack pointer, link register and flags are kept",
            (after.sp, after.lr, after.cpsr) == (0x100d, 0x100e, FLAGS),
        )?;
        f = Frame { pc: ADDRESS, ..after };
        (f.r[0], f.r[1]) = (r[0], to);
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
