// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moving a message from one thread to another: words in registers, words in
//! UTCBs, capabilities. All checks come before the first change.

use crate::port::{Port, Registers};
use crate::{Kernel, Result, Thread};
use abi::tag::REGISTER_WORDS;
use abi::utcb::{CapItem, Utcb};
use abi::{Delivery, Error, MessageKind, Selector, Tag, Word};
use core::mem::offset_of;
use pool::Ref;

const WORDS_OFFSET: u32 = offset_of!(Utcb, words) as u32;
const WORD_BYTES: u32 = size_of::<Word>() as u32;
/// Words of a message that travel in registers.
pub(crate) const REGISTERS: usize = REGISTER_WORDS as usize;
const _: () = assert!(REGISTERS >= 3, "what an exception's message has");

impl<P: Port> Kernel<P> {
    /// The message of which only these words, in registers, are not zero.
    pub(crate) fn registers(words: [Word; 3]) -> [Word; REGISTERS] {
        core::array::from_fn(|i| words.get(i).copied().unwrap_or_default())
    }

    /// Writes the results of an IPC system call.
    pub(crate) fn set_results(
        &mut self,
        thread: Ref<Thread>,
        delivery: u32,
        handle: u32,
        words: [Word; REGISTERS],
    ) {
        let context = &mut self.pool[thread].context;
        P::Registers::set_result(context, 0, delivery as Word);
        P::Registers::set_result(context, 1, handle as Word);
        for (i, word) in words.into_iter().enumerate() {
            P::Registers::set_word(context, i, word);
        }
    }

    /// Writes a failure as the result of an IPC system call.
    pub(crate) fn set_failed(&mut self, thread: Ref<Thread>, error: Error) {
        self.set_results(
            thread,
            Delivery::new(MessageKind::Failed, error as u32, 0, 0).0,
            0,
            [0; REGISTERS],
        );
    }

    /// Moves the message that `from` sends (its tag and words are in its registers) to
    /// `to`, which gets it as the result of its receive or call.
    ///
    /// # Errors
    /// `CapTransfer`, `TooDeep`: nothing was moved; the sender has to know.
    pub(crate) fn transfer(
        &mut self,
        from: Ref<Thread>,
        to: Ref<Thread>,
        kind: MessageKind,
        badge: u32,
        handle: u32,
    ) -> Result<()> {
        let context = &self.pool[from].context;
        let tag = Tag::of_word(P::Registers::argument(context, 0));
        let words: [Word; REGISTERS] = core::array::from_fn(|i| P::Registers::word(context, i));
        if tag.caps() != 0 {
            self.transfer_caps(from, to, tag.caps())?;
        }
        if tag.words() > REGISTER_WORDS {
            self.copy_words(from, to, REGISTER_WORDS, tag.words());
        }
        self.set_results(to, Delivery::new(kind, badge, tag.words(), tag.caps()).0, handle, words);
        Ok(())
    }

    /// Copies UTCB words `first..end` between native threads.
    fn copy_words(&mut self, from: Ref<Thread>, to: Ref<Thread>, first: u32, end: u32) {
        let mut buffer = [0; (abi::tag::MAX_WORDS * WORD_BYTES) as usize];
        let bytes = (end - first) * WORD_BYTES;
        let source = self.pool[from].utcb + WORDS_OFFSET + first * WORD_BYTES;
        let target = self.pool[to].utcb + WORDS_OFFSET + first * WORD_BYTES;
        if let Some(buffer) = buffer.get_mut(..bytes as usize) {
            buffer.copy_from_slice(self.pool.bytes_at(source, bytes));
            self.pool.bytes_mut(target, bytes).copy_from_slice(buffer);
        }
    }

    /// Copies capabilities as the sender's `send_caps` and the receiver's
    /// `receive_slot` say: all or none.
    fn transfer_caps(&mut self, from: Ref<Thread>, to: Ref<Thread>, count: u32) -> Result<()> {
        let (Some(sender), Some(receiver)) =
            (self.pool[from].space.get(), self.pool[to].space.get())
        else {
            return Err(Error::CapTransfer);
        };
        let first = self.utcb_word(to, offset_of!(Utcb, receive_slot));
        let mut pairs = [None; abi::tag::MAX_CAPS as usize];
        for (i, pair) in pairs.iter_mut().enumerate().take(count as usize) {
            let item = CapItem(self.utcb_word(from, offset_of!(Utcb, send_caps) + i * 4));
            let (source, _) = self.cap(sender, item.selector()).map_err(|_| Error::CapTransfer)?;
            self.may_derive(source)?;
            let slot = first.checked_add(i as u32).ok_or(Error::CapTransfer)?;
            let target = self
                .empty_slot(receiver, Selector(slot as Word))
                .map_err(|_| Error::CapTransfer)?;
            *pair = Some((source, target, item));
        }
        for (source, target, item) in pairs.into_iter().flatten() {
            self.copy(source, target, item.rights(), 0)?;
        }
        Ok(())
    }
}
