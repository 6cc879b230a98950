// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages. Words 0 to 2 of a message are passed here as an array. The other words are in the UTCB
//! ([`crate::utcb`]), even if the processor passes some of them in registers.
//!
//! A component counts the calls, sends and replies that its threads make, whether they succeed or
//! not, in a word that the root server reads ([`crate::start::Component::messages`]). Notifications
//! are no messages.

use crate::cap::or_none;
use crate::{Result, Thread, arch, sys, utcb};
use abi::call::SystemCall;
use abi::tag::REGISTER_WORDS;
use abi::{Delivery, Error, MapRecord, MessageKind, Op, Selector, Tag, Word, call};
use alloc::string::String;
use alloc::vec::Vec;

/// What arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// What it is.
    pub kind: MessageKind,
    /// Badge of the capability that was used.
    pub badge: u32,
    /// Reply handle, or 0 if no thread waits for a reply.
    pub handle: Word,
    /// Number of words of the message.
    pub count: u32,
    /// Number of capabilities that arrived.
    pub caps: u32,
    /// Words 0 to 2.
    pub words: [Word; 3],
}

/// What to send: words 0 to 2, the number of words, and the number of capabilities.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message {
    /// Words 0 to 2.
    pub words: [Word; 3],
    /// Number of words, at most 64.
    pub count: u32,
    /// Number of capabilities, at most 3; they are in the UTCB.
    pub caps: u32,
}

/// Most bytes of text in a message.
pub const TEXT_BYTES: usize = (abi::tag::MAX_WORDS as usize - TEXT_WORD) * 4;
/// First word of the text: the first after [`Message::words`].
const TEXT_WORD: usize = WORDS;
/// Words that are passed as an array.
const WORDS: usize = 3;

impl Received {
    /// The text of a message that [`Message::text`] made, as much of it as has arrived.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// The same as bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let words = TEXT_WORD..TEXT_WORD.max(self.count as usize);
        words
            .flat_map(|i| (utcb::word(i) as u32).to_ne_bytes())
            .take(self.words[1] as usize)
            .collect()
    }
}

impl Message {
    /// A request with text, of which the first [`TEXT_BYTES`] are sent: word 0 is the request, word
    /// 1 the number of bytes, word 2 zero; the text is in the words from 3 on, as it lies in
    /// memory. The text is written into the UTCB, so nothing else may be written there until the
    /// message is sent.
    #[must_use]
    pub fn text(request: Word, text: &[u8]) -> Self {
        let bytes = text.len().min(TEXT_BYTES);
        for (i, part) in text[..bytes].chunks(4).enumerate() {
            let mut word = [0; 4];
            word[..part.len()].copy_from_slice(part);
            utcb::set_word(TEXT_WORD + i, u32::from_ne_bytes(word) as Word);
        }
        Self {
            words: [request, bytes as Word, 0],
            count: (TEXT_WORD + bytes.div_ceil(4)) as u32,
            caps: 0,
        }
    }

    /// A message of three words.
    #[must_use]
    pub const fn new(words: [Word; 3]) -> Self {
        Self { words, count: 3, caps: 0 }
    }
    const fn tag(&self, op: Op) -> Tag {
        Tag::new(op, self.count, self.caps)
    }
    /// What the array's registers hold: the receiver sees all three, so what is not sent is zero.
    fn registers(&self) -> [Word; 3] {
        let mut words = self.words;
        words.iter_mut().skip(self.count as usize).for_each(|word| *word = 0);
        words
    }
}

/// What of a message of so many words is in registers after the first three, if the processor has
/// so many: users find it in the UTCB.
fn in_registers(count: u32) -> core::ops::Range<usize> {
    WORDS..(count as usize).min(REGISTER_WORDS as usize)
}

/// The registers of a system call that sends what the tag says.
#[inline(always)]
fn registers<C: SystemCall>(tag: Tag, call: C) -> sys::Registers {
    let mut registers = sys::with(tag, call);
    in_registers(tag.words()).for_each(|word| registers[2 + word] = utcb::word(word));
    registers
}

#[inline(always)]
fn exchange<C: SystemCall>(tag: Tag, call: C) -> Result<Received> {
    let mut registers = registers(tag, call);
    sys::raw(&mut registers);
    let [delivery, handle, a, b, c, ..] = registers;
    let delivery = Delivery(delivery as u32);
    in_registers(delivery.words()).for_each(|word| utcb::set_word(word, registers[2 + word]));
    match delivery.kind() {
        MessageKind::Failed => Err(delivery.error().unwrap_or(Error::BadOperation)),
        kind => Ok(Received {
            kind,
            badge: delivery.badge(),
            handle,
            count: delivery.words(),
            caps: delivery.caps(),
            words: [a, b, c],
        }),
    }
}

fn status<C: SystemCall>(tag: Tag, call: C) -> Result<()> {
    arch::count_message();
    let mut registers = registers(tag, call);
    sys::raw(&mut registers);
    match registers[0] {
        0 => Ok(()),
        code => Err(sys::error(code)),
    }
}

#[inline(always)]
fn count_reply(handle: Word) {
    if handle != 0 {
        arch::count_message();
    }
}

/// Sends to a thread and waits for its reply.
///
/// # Errors
/// What the kernel says; `PeerRestarted` means that calling again may work.
pub fn call(to: Thread, message: Message) -> Result<Received> {
    arch::count_message();
    exchange(message.tag(Op::Call), call::Call { receiver: to.into(), words: message.registers() })
}

impl Thread {
    /// Calls with three words and returns the first three of the reply.
    ///
    /// # Errors
    /// As [`call()`].
    pub fn ask(self, words: [Word; 3]) -> Result<[Word; 3]> {
        call(self, Message::new(words)).map(|reply| reply.words)
    }
}

/// Receives for ever, and replies to each message with the words that `answer` returns. If it
/// returns `None`, there is no reply: either no thread waits for one, or `answer` has kept the
/// handle, and replies later.
pub fn serve(mut answer: impl FnMut(&Received) -> Option<[Word; 3]>) -> ! {
    let (mut handle, mut reply) = (0, Message::default());
    loop {
        // An error is the reply's: the caller is gone, or was restarted. On with the next one.
        let received = reply_wait(handle, reply).ok();
        let words = received.and_then(|received| answer(&received));
        handle = received.filter(|_| words.is_some()).map_or(0, |received| received.handle);
        reply = Message::new(words.unwrap_or_default());
    }
}

/// Sends, and returns when the receiver has taken the message.
///
/// # Errors
/// What the kernel says.
pub fn send(to: Thread, message: Message) -> Result<()> {
    status(message.tag(Op::Send), call::Send { receiver: to.into(), words: message.registers() })
}

/// Sends only if the receiver waits.
///
/// # Errors
/// `WouldBlock` if it does not wait.
pub fn send_poll(to: Thread, message: Message) -> Result<()> {
    status(
        Tag(message.tag(Op::Send).0 | Tag::POLL),
        call::Send { receiver: to.into(), words: message.registers() },
    )
}

/// Replies (if `handle` is not 0), and receives from any thread.
///
/// # Errors
/// `BadHandle`, `CapTransfer`: the reply failed and nothing was received.
pub fn reply_wait(handle: Word, message: Message) -> Result<Received> {
    count_reply(handle);
    exchange(message.tag(Op::ReplyWait), call::ReplyWait { handle, words: message.registers() })
}

/// Carries out a record of one page (its length is ignored), replies without words (if `handle` is
/// not 0), and receives from any thread: a pager's answer to a page fault, in one system call.
///
/// # Errors
/// `BadHandle`, or an error of the record as in [`crate::map`]: then nothing was replied or
/// received.
#[inline(always)]
pub fn map_reply_wait(handle: Word, record: &MapRecord) -> Result<Received> {
    let [record @ .., _] = record.0;
    count_reply(handle);
    exchange(Tag::new(Op::MapReplyWait, 0, 0), call::MapReplyWait { handle, record })
}

/// Replies.
///
/// # Errors
/// `BadHandle`, `CapTransfer`.
pub fn reply(handle: Word, message: Message) -> Result<()> {
    status(message.tag(Op::Reply), call::Reply { handle, words: message.registers() })
}

/// Receives from any thread, or only from one.
///
/// # Errors
/// What the kernel says.
pub fn receive(from: Option<Thread>) -> Result<Received> {
    exchange(Tag::new(Op::Receive, 0, 0), call::Receive { sender: or_none(from) })
}

/// Takes a message or an accepted notification if there is one.
///
/// # Errors
/// `WouldBlock` if there is none.
pub fn poll() -> Result<Received> {
    exchange(
        Tag(Tag::new(Op::Receive, 0, 0).0 | Tag::POLL),
        call::Receive { sender: Selector::NONE },
    )
}

/// Waits for at least one of these notification bits, and returns those that have arrived.
///
/// # Errors
/// What the kernel says.
pub fn wait(bits: u32) -> Result<u32> {
    utcb::accept(bits);
    exchange(
        Tag(Tag::new(Op::Receive, 0, 0).0 | Tag::NOTIFICATIONS_ONLY),
        call::Receive { sender: Selector::NONE },
    )
    .map(|r| r.words[0] as u32)
}

/// Resumes an alien and waits for its next event or an accepted notification.
///
/// # Errors
/// What the kernel says.
pub fn run(handle: Word) -> Result<Received> {
    exchange(Tag::new(Op::Run, 0, 0), call::Run { handle })
}

/// Carries out up to 16 records, then does what [`run`] does: an answer to an alien's page fault,
/// in one system call.
///
/// # Errors
/// `BadHandle`, or an error of a record as in [`crate::map`]: then the records before it were
/// carried out, the alien has not run, and its handle is still valid.
pub fn map_run(handle: Word, records: &[MapRecord]) -> Result<Received> {
    let words = records.iter().take(MapRecord::MAX as usize).flat_map(|record| record.0);
    words.enumerate().for_each(|(i, word)| utcb::set_word(i, word));
    exchange(Tag::new(Op::MapRun, 0, 0), call::MapRun { handle, count: records.len() as Word })
}
