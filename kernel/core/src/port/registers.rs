// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's registers, as words in memory.

use crate::Thread;
use abi::{Error, Frame, UserAddr, Word};
pub use sizes::{CONTEXT_WORDS, STATE_WORDS};

/// A thread's saved registers, in the port's own layout.
pub type Context = [Word; CONTEXT_WORDS];

/// A thread's rarely loaded state, in the port's own layout: what is loaded only for a thread that
/// has any of it. All zeros is none.
pub type State = [Word; STATE_WORDS];

/// The registers of threads that do not run: what of a processor is only a layout of words, so that
/// a test on another machine can have it, too.
pub trait Registers {
    /// System-call argument `index`: 0 the tag, 1 to 4 the arguments `a0` to `a3`.
    fn argument(context: &Context, index: usize) -> Word;
    /// Sets result register `index`, `r0` to `r4`: 0 delivery or status, 1 handle or first result,
    /// and so on.
    fn set_result(context: &mut Context, index: usize, value: Word);
    /// Word `index` of a message that is sent, below `abi::tag::REGISTER_WORDS`.
    ///
    /// By default the first is the argument `a1`, and the others are the arguments after it.
    fn word(context: &Context, index: usize) -> Word {
        Self::argument(context, 2 + index)
    }
    /// Sets word `index` of a message that is received.
    ///
    /// By default the first is the result `r2`, and the others are the results after it.
    fn set_word(context: &mut Context, index: usize, value: Word) {
        Self::set_result(context, 2 + index, value);
    }
    /// The registers as a handler sees them. If the thread stopped for a page fault, `address` is
    /// [`Thread::fault_address`].
    fn frame(thread: &Thread) -> Frame;
    /// Takes registers from a frame that a user wrote: masks flags, replaces what cannot be loaded.
    /// Whatever `Frame::changed` does not name stays as it is.
    fn load_frame(thread: &mut Thread, frame: &Frame);
    /// Registers of a thread that starts: entry, stack pointer, UTCB address, argument.
    fn start(
        context: &mut Context,
        entry: UserAddr,
        stack: UserAddr,
        utcb: UserAddr,
        argument: Word,
    );
    /// Whether the thread, now waiting in IPC, may be resumed by the fast path.
    ///
    /// By default no: there is no fast path.
    fn resumes_fast(_thread: &Thread) -> bool {
        false
    }
    /// Sets part `item` of the rarely loaded state of a thread that is not loaded, and
    /// [`Thread::lazy`]. The parts are the port's own (`abi::state`); by default there are none.
    /// Returns a result of the part's.
    ///
    /// # Errors
    /// `BadArgument` if there is no such part, or the value could reach the kernel.
    fn set_state(_thread: &mut Thread, _item: Word, _values: [Word; 2]) -> Result<Word, Error> {
        Err(Error::BadArgument)
    }
}
