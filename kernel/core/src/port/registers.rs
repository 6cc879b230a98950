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

/// The registers of threads that do not run. This part needs only a layout of words, and nothing
/// else of the processor, so that tests on another machine can use it.
pub trait Registers {
    /// System-call argument `index`: 0 the tag, 1 to 4 the arguments `a0` to `a3`.
    ///
    /// It is called when a system call begins, and again when the call is continued or taken out of
    /// a queue: the arguments of a thread that waits stay in its context.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | `eax`, `ebx`, `esi`, `edi`, `ebp` | `r0` to `r4` | `r3` to `r7` | `rax`, `rdi`, `rsi`, `rdx`, `r8` | `$2`, `$4` to `$7` | `$0`, `$16` to `$19` |
    fn argument(context: &Context, index: usize) -> Word;
    /// Sets result register `index`, `r0` to `r4`: 0 delivery or status, 1 handle or first result,
    /// and so on.
    ///
    /// It is called when a system call ends, or a thread gets a message.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | the registers of the arguments; `ds` and `es` become flat | those of the arguments | those of the arguments | those of the arguments | those of the arguments | those of the arguments |
    fn set_result(context: &mut Context, index: usize, value: Word);
    /// Word `index` of a message that is sent, below `abi::tag::REGISTER_WORDS`. Words of a thread
    /// that waits to send stay in its context.
    ///
    /// By default the first is the argument `a1`, and the others are the arguments after it.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is | as it is | eight registers, which do not all follow `a1` | as it is | as it is | as it is |
    fn word(context: &Context, index: usize) -> Word {
        Self::argument(context, 2 + index)
    }
    /// Sets word `index` of a message that is received.
    ///
    /// By default the first is the result `r2`, and the others are the results after it.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is | as it is | as `word` | as it is | as it is | as it is |
    fn set_word(context: &mut Context, index: usize, value: Word) {
        Self::set_result(context, 2 + index, value);
    }
    /// The registers as a handler sees them. If the thread stopped for a page fault, `address` is
    /// [`Thread::fault_address`].
    ///
    /// It is called when an exception is delivered, and by `GetRegisters`.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | all general registers, flags and selectors | `r0` to `pc`, and `cpsr` | 32 registers, LR, CTR, CR, XER, and the machine state | all general registers, flags, the base of FS | 32 registers, `hi`, `lo` | 31 registers |
    fn frame(thread: &Thread) -> Frame;
    /// Takes registers from a frame that a user wrote, and that may have any content. Afterwards
    /// the thread has no right that it did not have before. Registers that `Frame::changed` does
    /// not name stay as they are.
    ///
    /// It is called when an exception is answered, and by `SetRegisters`.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | masks flags, replaces selectors that cannot be loaded by null, ignores `cs` and `ss` | masks `cpsr` | masks the machine state | masks flags, takes no base of FS that is no user's | `$0`, and the two that are the kernel's, stay 0 | clears the two lowest bits of the program counter |
    fn load_frame(thread: &mut Thread, frame: &Frame);
    /// Sets the registers of a thread that starts: entry, stack pointer, UTCB address, argument.
    /// All others become zero.
    ///
    /// It is called by `Start`, and when a thread is bound to a Space.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | UTCB in `ebx`, argument in `esi` | UTCB in `r0`, argument in `r1`; an odd entry is Thumb | UTCB in `r3`, argument in `r4` | UTCB in `rdi`, argument in `rsi` | UTCB in `$4`, argument in `$5` | UTCB in `$16`, argument in `$17` |
    fn start(
        context: &mut Context,
        entry: UserAddr,
        stack: UserAddr,
        utcb: UserAddr,
        argument: Word,
    );
    /// Whether the thread, which waits in IPC now, may be resumed by the fast path. The answer goes
    /// into its gate.
    ///
    /// It is called each time that a thread begins to wait. By default the answer is no: there is
    /// no fast path.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | if it entered by `sysenter`, is no alien, and has nothing in `lazy` | if it entered by `swi`, is no alien, and has nothing in `lazy` | if it entered by `sc`, is no alien, and has nothing in `lazy` | if it entered by `syscall`, is no alien, has nothing in `lazy`, and goes not step by step | if it entered by `syscall`, and is no alien | if it entered by `call_pal 0xbf`, and is no alien |
    fn resumes_fast(_thread: &Thread) -> bool {
        false
    }
    /// Sets part `item` of the rarely loaded state of a thread that is not loaded, and
    /// [`Thread::lazy`]. The port defines the parts (`abi::state`); by default there are none. A
    /// value that would affect the kernel, such as a breakpoint at one of its addresses, is
    /// refused. Returns a result that depends on the part.
    ///
    /// It is called by `SetState`, after [`unload`](crate::port::Processor::unload).
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | TLS descriptors, debug registers | the thread pointer | as it is | the bases of FS and GS, debug registers | as it is | as it is |
    ///
    /// # Errors
    /// `BadArgument` if there is no such part, or the value would affect the kernel.
    fn set_state(_thread: &mut Thread, _item: Word, _values: [Word; 2]) -> Result<Word, Error> {
        Err(Error::BadArgument)
    }
}
