// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages on a processor that has more than three words in registers.

use crate::object::yield_now;
use crate::{Bed, Case, SELF, Why, check, good};
use abi::tag::REGISTER_WORDS;
use abi::{Delivery, MessageKind, Op, Tag, Word};
use macadamia::ipc::{Message, reply};
use macadamia::{Thread, sys, thread, utcb};

pub const CASES: &[Case] = &[
    ("all_words_are_in_registers_each_way", |bed| echo(bed, REGISTER_WORDS)),
    ("fewer_words_arrive", |bed| (0..REGISTER_WORDS).try_for_each(|count| echo(bed, count))),
    ("words_behind_them_are_in_the_utcb", |bed| echo(bed, 64)),
    ("a_queued_message_has_its_registers", queued),
];

/// Words in registers.
pub const IN_REGISTERS: usize = REGISTER_WORDS as usize;

/// Registers of a message: tag, destination or handle, words.
pub fn message(tag: Tag, to: Word, words: [Word; IN_REGISTERS]) -> sys::Registers {
    let mut registers = sys::registers([tag.0 as Word, to, 0, 0, 0]);
    registers[2..].copy_from_slice(&words);
    registers
}

/// Answers each message with as many words, which have the message's bits inverted.
extern "C" fn invert(_: Word) -> ! {
    let mut registers = message(Tag::new(Op::Receive, 0, 0), 0, [0; IN_REGISTERS]);
    loop {
        sys::raw(&mut registers);
        let count = Delivery(registers[0] as u32).words();
        (IN_REGISTERS..count as usize).for_each(|i| utcb::set_word(i, !utcb::word(i)));
        registers[0] = Tag::new(Op::ReplyWait, count, 0).0 as Word;
        registers[2..].iter_mut().for_each(|word| *word = !*word);
    }
}

fn words() -> [Word; IN_REGISTERS] {
    core::array::from_fn(|i| 0x0101_0101 * (i as Word + 1))
}

/// Calls with this many words; the sender has more in its registers.
fn echo(bed: &mut Bed, count: u32) -> Result<(), Why> {
    let slot = bed.slot();
    let to = good(thread::spawn(invert, 0, slot))?;
    (IN_REGISTERS..64).for_each(|i| utcb::set_word(i, 1000 + i as Word));
    let mut registers = message(Tag::new(Op::Call, count, 0), to.0, words());
    sys::raw(&mut registers);
    let delivery = Delivery(registers[0] as u32);
    check("a reply", delivery.kind() == MessageKind::Reply && delivery.words() == count)?;
    let sent = (count as usize).min(IN_REGISTERS);
    let whole = &registers[2..2 + sent];
    check("its words in registers", whole.iter().zip(words()).all(|(word, sent)| *word == !sent))?;
    check(
        "its words in the UTCB",
        (IN_REGISTERS..count as usize).all(|i| utcb::word(i) == !(1000 + i as Word)),
    )
}

/// Sends its words when no thread receives.
extern "C" fn sender(to: Word) -> ! {
    loop {
        sys::raw(&mut message(Tag::new(Op::Call, REGISTER_WORDS, 0), to, words()));
    }
}

fn queued(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let sender: Thread = good(thread::spawn(sender, SELF.0, slot))?;
    while good(sender.state())? != abi::ThreadState::Sending as Word {
        good(yield_now())?;
    }
    let mut registers = message(Tag::new(Op::Receive, 0, 0), 0, [0; IN_REGISTERS]);
    sys::raw(&mut registers);
    check("a call", Delivery(registers[0] as u32).kind() == MessageKind::Call)?;
    check("all its words", registers[2..] == words())?;
    good(reply(registers[1], Message::default()))
}
