// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages whose words 3 to 7 are in registers, too.

use crate::exception::{BADGE, create};
use crate::object::yield_now;
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, check, fill, good};
use abi::frame::vector;
use abi::tag::REGISTER_WORDS;
use abi::{Delivery, Frame, MessageKind, Op, Rights, Tag, Word};
use macadamia::cap::{copy, frame, set_frame};
use macadamia::ipc::{Message, receive, reply};
use macadamia::map::map;
use macadamia::{Thread, sys, thread, utcb};
use processor::code;

pub const CASES: &[Case] = &[
    ("eight_words_are_in_registers_each_way", |bed| echo(bed, REGISTER_WORDS)),
    ("fewer_words_arrive", |bed| (0..REGISTER_WORDS).try_for_each(|count| echo(bed, count))),
    ("words_behind_them_are_in_the_utcb", |bed| echo(bed, 64)),
    ("a_queued_message_has_its_registers", queued),
    ("a_call_of_another_space_changes_its_words_alone", |bed| kept(bed, true)),
    ("a_call_within_a_space_changes_its_words_alone", |bed| kept(bed, false)),
];

const IN_REGISTERS: usize = REGISTER_WORDS as usize;

/// Registers of a message: tag, destination or handle, words.
fn message(tag: Tag, to: Word, words: [Word; IN_REGISTERS]) -> sys::Registers {
    let mut registers = sys::registers([tag.0, to, 0, 0, 0]);
    registers[2..].copy_from_slice(&words);
    registers
}

/// Answers each message with its words, each with its bits inverted, and as many.
extern "C" fn invert(_: u32) -> ! {
    let mut registers = message(Tag::new(Op::Receive, 0, 0), 0, [0; IN_REGISTERS]);
    loop {
        sys::raw(&mut registers);
        let count = Delivery(registers[0]).words();
        (IN_REGISTERS..count as usize).for_each(|i| utcb::set_word(i, !utcb::word(i)));
        registers[0] = Tag::new(Op::ReplyWait, count, 0).0;
        registers[2..].iter_mut().for_each(|word| *word = !*word);
    }
}

fn words() -> [Word; IN_REGISTERS] {
    core::array::from_fn(|i| 0x0101_0101 * (i as Word + 1))
}

/// Calls with so many words; the sender has more in its registers.
fn echo(bed: &mut Bed, count: u32) -> Result<(), Why> {
    let slot = bed.slot();
    let to = good(thread::spawn(invert, 0, slot))?;
    (IN_REGISTERS..64).for_each(|i| utcb::set_word(i, 1000 + i as Word));
    let mut registers = message(Tag::new(Op::Call, count, 0), to.0, words());
    sys::raw(&mut registers);
    let delivery = Delivery(registers[0]);
    check("a reply", delivery.kind() == MessageKind::Reply && delivery.words() == count)?;
    let sent = (count as usize).min(IN_REGISTERS);
    let whole = &registers[2..2 + sent];
    check("its words in registers", whole.iter().zip(words()).all(|(word, sent)| *word == !sent))?;
    check("its words in the UTCB", (IN_REGISTERS..count as usize).all(|i| utcb::word(i) == !(1000 + i as Word)))
}

/// Sends its words when nobody receives.
extern "C" fn sender(to: u32) -> ! {
    loop {
        sys::raw(&mut message(Tag::new(Op::Call, REGISTER_WORDS, 0), to, words()));
    }
}

fn queued(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let sender: Thread = good(thread::spawn(sender, SELF.0, slot))?;
    while good(sender.state())? != abi::ThreadState::Sending as u32 {
        good(yield_now())?;
    }
    let mut registers = message(Tag::new(Op::Receive, 0, 0), 0, [0; IN_REGISTERS]);
    sys::raw(&mut registers);
    check("a call", Delivery(registers[0]).kind() == MessageKind::Call)?;
    check("all its words", registers[2..] == words())?;
    good(reply(registers[1], Message::default()))
}

/// A thread calls with eight words, and with all else in its registers, thrice: what is no word of the answer is kept.
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
        check("its call", Delivery(registers[0]).badge() == BADGE + 1 && registers[2..] == f.r[2..10])?;
        // The answer and the wait for the exception are one system call, which fast paths do.
        let answer = core::array::from_fn(|i| turn << 16 | i as Word);
        registers = message(Tag::new(Op::ReplyWait, REGISTER_WORDS, 0), registers[1], answer);
        sys::raw(&mut registers);
        let after = frame();
        check("its exception", registers[2] == vector::UNDEFINED && after.pc == ADDRESS + code::system_call().len() as u32)?;
        check("the answer", Delivery(after.r[0]).kind() == MessageKind::Reply && after.r[2..10] == answer)?;
        check("r10 to r12 are kept", after.r[10..] == r[10..])?;
        check("stack pointer, link register and flags are kept", (after.sp, after.lr, after.cpsr) == (0x100d, 0x100e, FLAGS))?;
        f = Frame { pc: ADDRESS, ..after };
        (f.r[0], f.r[1]) = (r[0], to);
        set_frame(&f);
        let mut registers = message(Tag::new(Op::Reply, crate::exception::WHOLE.count, 0), registers[1], [0; IN_REGISTERS]);
        sys::raw(&mut registers);
        check("it goes on", registers[0] == 0)?;
    }
    good(receive(None)).map(|_| ())
}
