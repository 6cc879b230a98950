// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages, notifications, and waiting for them.

use super::call::calls;
use crate::{Selector, Word};

calls! {
    /// Send a message to a thread, and wait for its reply.
    ///
    /// The caller waits until the receiver takes the message, and then until the receiver replies.
    /// The receiver gets a reply handle. The capability is checked when the call begins, and again
    /// when the receiver takes the message. An alien never takes a message.
    ///
    /// # Arguments
    /// * Tag: number of words and capabilities; `POLL`.
    /// * UTCB: Words from 3 on; `send_caps`, the capabilities to send.
    ///
    /// # Returns
    /// A delivery of kind `Reply`. Capabilities of the reply are in the slots from `receive_slot`
    /// of the UTCB on.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words, or the flag `NOTIFICATIONS_ONLY`.
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `receiver`. `NoCapability` also if the caller
    ///   waited in the receiver's queue, and `receiver` is by then empty or another capability.
    /// * `BadArgument`: the receiver is the caller.
    /// * `WouldBlock`: `POLL` is set and the receiver does not wait for a message of the caller. (A
    ///   reply is waited for even with `POLL`.)
    /// * `CapTransfer`: a capability could not be placed. Nothing was sent; the receiver goes on
    ///   waiting.
    /// * `TooDeep`: the copy of a capability would lie deeper than 255 in its tree. Nothing was
    ///   sent.
    /// * `PeerGone`: the receiver has no Space, or was deleted or lost its Space while the caller
    ///   waited.
    /// * `PeerRestarted`: the receiver was reset while the caller waited.
    /// * `Interrupted`: the caller was stopped while it waited.
    Call {
        /// Thread (`CALL`), the receiver.
        receiver: Selector,
        /// Words 0 to 2. They arrive as they are, whatever the number of words is.
        words: [Word; 3],
    }

    /// Reply to a caller, then receive from any thread.
    ///
    /// The handle may be that of a call or of an exception. Any thread of the Space that received
    /// the handle may use it, once.
    ///
    /// # Arguments
    /// * Tag: number of words and capabilities of the reply; `POLL`.
    /// * UTCB: As for `Call`. The reply to a native thread's exception sets its registers if it has
    ///   19 words or more: the frame is in the first words that are in no register (IA-32: 3 to
    ///   18).
    ///
    /// # Returns
    /// A delivery, as `Receive`.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words, or the flag `NOTIFICATIONS_ONLY`.
    /// * `BadHandle`: no thread waits under this handle for a reply of this Space. Nothing was
    ///   received.
    /// * `CapTransfer`: a capability could not be placed in the caller's table. Nothing was replied
    ///   or received, and the handle stays good.
    /// * `TooDeep`: the copy of a capability would lie deeper than 255 in its tree. As
    ///   `CapTransfer`.
    /// * `WouldBlock`: `POLL` is set and there is nothing to receive. The reply was given.
    /// * `Interrupted`: the thread was stopped while it waited. The reply was given.
    ReplyWait {
        /// The reply handle, or 0 to reply to nobody.
        handle: Word,
        /// Words 0 to 2 of the reply.
        words: [Word; 3],
    }

    /// Send a message to a thread, without waiting for a reply.
    ///
    /// The sender waits until the receiver takes the message. The receiver gets no reply handle.
    /// The capability is checked when the call begins, and again when the receiver takes the
    /// message. An alien never takes a message.
    ///
    /// # Arguments
    /// * Tag: number of words and capabilities; `POLL`.
    /// * UTCB: As for `Call`.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words, or the flag `NOTIFICATIONS_ONLY`.
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `receiver`. `NoCapability` also if the sender
    ///   waited in the receiver's queue, and `receiver` is by then empty or another capability.
    /// * `BadArgument`: the receiver is the sender.
    /// * `WouldBlock`: `POLL` is set and the receiver does not wait for a message of the sender.
    /// * `CapTransfer`: a capability could not be placed. Nothing was sent; the receiver goes on
    ///   waiting.
    /// * `TooDeep`: the copy of a capability would lie deeper than 255 in its tree. Nothing was
    ///   sent.
    /// * `PeerGone`: the receiver has no Space, or was deleted or lost its Space while the sender
    ///   waited.
    /// * `PeerRestarted`: the receiver was reset while the sender waited.
    /// * `Interrupted`: the sender was stopped while it waited.
    Send {
        /// Thread (`CALL`), the receiver.
        receiver: Selector,
        /// Words 0 to 2.
        words: [Word; 3],
    }

    /// Receive a message or notification bits.
    ///
    /// Bits that `accept` of the UTCB names are delivered before any message. If a sender's
    /// capabilities cannot be placed, the sender's call fails, and the receiver continues to wait.
    ///
    /// # Arguments
    /// * Tag: `POLL`, not to wait; `NOTIFICATIONS_ONLY`, to take no message.
    /// * UTCB: `accept`; `receive_slot`, the first slot for received capabilities.
    ///
    /// # Returns
    /// A delivery of one of these kinds:
    /// * `Call`: words 0 to 2 in `r2` to `r4`, a reply handle in `r1`.
    /// * `Send`: words 0 to 2 in `r2` to `r4`.
    /// * `Notification`: the bits in `r2`.
    /// * `Exception` or `Alien`: vector, fault address and error code in `r2` to `r4`, a reply
    ///   handle in `r1`. A native thread's frame is in the first words that are in no register
    ///   (IA-32: UTCB words 3 to 18), an alien's in its own UTCB slot.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `sender`.
    /// * `BadArgument`: `sender` is the caller itself.
    /// * `WouldBlock`: `POLL` is set and there is nothing to receive.
    /// * `PeerGone`: the thread in `sender` has no Space, or was deleted or lost its Space while
    ///   the caller waited for it.
    /// * `PeerRestarted`: the thread in `sender` was reset while the caller waited for it.
    /// * `Interrupted`: the caller was stopped while it waited.
    Receive {
        /// 0 to receive from anybody, or Thread (`CALL`) to receive from that thread only.
        sender: Selector,
    }

    /// Reply to a caller, without receiving.
    ///
    /// It never waits.
    ///
    /// # Arguments
    /// * Tag: number of words and capabilities.
    /// * UTCB: As for `ReplyWait`.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words, or the flag `NOTIFICATIONS_ONLY`.
    /// * `BadHandle`: no thread waits under this handle for a reply of this Space.
    /// * `CapTransfer`: a capability could not be placed in the caller's table. The handle stays
    ///   good.
    /// * `TooDeep`: the copy of a capability would lie deeper than 255 in its tree. The handle
    ///   stays good.
    Reply {
        /// The reply handle.
        handle: Word,
        /// Words 0 to 2.
        words: [Word; 3],
    }

    /// Resume an alien, and wait for its next event.
    ///
    /// The kernel takes the alien's registers from its UTCB slot. An accepted notification ends the
    /// wait: the kernel stops the alien. If the bits were there before the alien ran, the alien
    /// does not run. The alien's events go to its handler, so a caller that is not the handler gets
    /// only notifications.
    ///
    /// # Arguments
    /// * Tag: no flags. Words and capabilities are not looked at.
    /// * UTCB: `accept`.
    ///
    /// # Returns
    /// A delivery of one of these kinds:
    /// * `Alien`: vector, fault address and error code in `r2` to `r4`, the new handle in `r1`.
    ///   Notification bits that came at the same time stay pending.
    /// * `Interrupted`: the bits in `r2`, the alien's handle in `r1`.
    /// * `Notification`: the bits in `r2`. The caller does not wait for the alien any more: the
    ///   alien has halted, or another thread has its handle.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words, or the flag `NOTIFICATIONS_ONLY`.
    /// * `BadHandle`: no thread waits under this handle for a reply of this Space.
    /// * `BadState`: the handle is that of a native thread; or the alien raised an event and has no
    ///   handler.
    /// * `PeerGone`: the alien was deleted or lost its Space.
    /// * `PeerRestarted`: the alien was reset.
    /// * `Interrupted`: the caller was stopped while it waited.
    Run {
        /// The alien's reply handle.
        handle: Word,
    }

    /// Set notification bits of a thread.
    ///
    /// The bits are the capability's badge. The call never waits.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `thread`.
    /// * `PeerGone`: the thread has no Space.
    Notify {
        /// Thread (`NOTIFY`).
        thread: Selector,
    }

    /// Give up the rest of the time slice.
    ///
    /// Ready threads of the same priority run first.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * None.
    Yield {}

    /// Map one page, then reply, then receive: a pager's answer to a page fault.
    ///
    /// It is `Map` with one record of one page, then `ReplyWait` without words or capabilities.
    ///
    /// # Arguments
    /// * Tag: `POLL`. No words and no capabilities.
    ///
    /// # Returns
    /// A delivery, as `Receive`.
    ///
    /// # Errors
    /// * `BadOperation`: words, capabilities, or the flag `NOTIFICATIONS_ONLY`.
    /// * `BadHandle`: no thread waits under this handle for a reply of this Space. Nothing was
    ///   mapped.
    /// * `NoCapability`, `WrongKind`, `NoRight`, `BadArgument`, `BadAddress`, `BadState`,
    ///   `Occupied`, `QuotaExceeded`, `PoolExhausted`: of the record, as for `Map`. Nothing was
    ///   replied or received, and the handle stays good.
    /// * `WouldBlock`: `POLL` is set and there is nothing to receive. The page was mapped and the
    ///   reply given.
    /// * `Interrupted`: the thread was stopped while it waited. The page was mapped and the reply
    ///   given.
    MapReplyWait {
        /// The reply handle, or 0 to reply to nobody.
        handle: Word,
        /// Words 0 to 2 of the record.
        record: [Word; 3],
    }

    /// Carry out records, then resume an alien: an answer to its page fault.
    ///
    /// It is `Map`, then `Run`. Pending notification bits are delivered after the records.
    ///
    /// # Arguments
    /// * Tag: as for `Run`.
    /// * UTCB: The records, in words 0 to 63; `accept`.
    ///
    /// # Returns
    /// A delivery, as `Run`. If a record fails, `r2` is the number of records done.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words in the tag, or the flag `NOTIFICATIONS_ONLY`.
    /// * `BadHandle`: no thread waits under this handle for a reply of this Space. Nothing was
    ///   mapped.
    /// * `BadArgument`: the number of records is not 1 to 16; or of a record, as for `Map`.
    /// * `NoCapability`, `WrongKind`, `NoRight`, `BadAddress`, `Occupied`, `QuotaExceeded`,
    ///   `PoolExhausted`: of a record, as for `Map`. The alien did not run, and its handle stays
    ///   good.
    /// * `BadState`: the handle is that of a native thread; or of a record, as for `Map`; or the
    ///   alien raised an event and has no handler.
    /// * `PeerGone`: the alien was deleted or lost its Space.
    /// * `PeerRestarted`: the alien was reset.
    /// * `Interrupted`: the caller was stopped while it waited.
    MapRun {
        /// The alien's reply handle.
        handle: Word,
        /// Number of records, 1 to 16.
        count: Word,
    }
}
