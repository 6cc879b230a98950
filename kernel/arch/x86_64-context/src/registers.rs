// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implements the port contract's `Registers` on this layout.

use crate::saved::{FIXED_FLAGS, hw, lazy, selector, word};
use abi::frame::{self, CHANGED_STATE, GENERAL, USER_FLAGS};
use abi::state::{DEBUG, GS_BASE, THREAD_POINTER};
use abi::{Error, Frame, USER_END, UserAddr, Word};
use bytemuck::{Pod, Zeroable};
use kcore::Thread;
use kcore::port::{CONTEXT_WORDS, Context, Registers, STATE_WORDS};
use kcore::space::HW_WORDS;
use mmu::debug;

/// Where the words of a system call are: the tag, `a0`, and the words of a message.
const CALL: [usize; 10] = [
    word::RAX,
    word::RDI,
    word::RSI,
    word::RDX,
    word::R8,
    word::R8 + 1,
    word::R8 + 2,
    word::R8 + 4,
    word::R8 + 5,
    word::R8 + 6,
];

// `entry.S`: the general registers are pushed below what stubs and the processor push.
const _: () = assert!(
    word::GENERAL + GENERAL == word::VECTOR
        && word::SS + 1 == CONTEXT_WORDS
        && hw::TABLE + 1 == hw::HIGH
        && hw::LAST + 1 == HW_WORDS
        && CALL.len() == 2 + abi::tag::REGISTER_WORDS as usize
);

/// In the flags: an exception after each instruction.
const TRAP_FLAG: u64 = 1 << 8;

/// The rarely loaded state of a thread.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct State {
    /// The base of FS.
    pub fs_base: u64,
    /// The base of GS.
    pub gs_base: u64,
    /// Debug registers 0 to 3, 6 and 7.
    pub debug: debug::Registers,
}
const _: () = assert!(size_of::<State>() == STATE_WORDS * size_of::<Word>());

/// A thread's rarely loaded state.
#[must_use]
pub fn state(thread: &Thread) -> &State {
    bytemuck::cast_ref(&thread.lazy_state)
}

/// A thread's rarely loaded state, for writing. The code that changes it also has to set
/// `Thread::lazy`.
pub fn state_mut(thread: &mut Thread) -> &mut State {
    bytemuck::cast_mut(&mut thread.lazy_state)
}

fn set_part(thread: &mut Thread, part: u32, present: bool) {
    thread.lazy = thread.lazy & !part | if present { part } else { 0 };
}

/// Sets the base of FS. An address above the users' is refused: the processor accepts only
/// canonical ones.
fn set_fs_base(thread: &mut Thread, base: u64) -> Result<(), Error> {
    if base >= USER_END {
        return Err(Error::BadArgument);
    }
    state_mut(thread).fs_base = base;
    set_part(thread, lazy::FS, base != 0);
    Ok(())
}

/// Sets the base of GS, as `set_fs_base` does that of FS.
fn set_gs_base(thread: &mut Thread, base: u64) -> Result<(), Error> {
    if base >= USER_END {
        return Err(Error::BadArgument);
    }
    state_mut(thread).gs_base = base;
    set_part(thread, lazy::GS, base != 0);
    Ok(())
}

/// Sets a debug register, and returns and clears the status register.
fn set_debug(thread: &mut Thread, index: u64, value: u64) -> Result<u64, Error> {
    let registers = &mut state_mut(thread).debug;
    let status = debug::set(registers, index, value)?;
    let used = debug::are_used(registers);
    set_part(thread, lazy::DEBUG, used);
    Ok(status)
}

/// Whether no user's instruction can be where a thread is to go on: `iretq` and `sysretq` would
/// fault in the kernel.
#[must_use]
pub const fn goes_nowhere(context: &Context) -> bool {
    context[word::RIP] >= USER_END
}

/// Whether a thread stops after each instruction.
#[must_use]
pub const fn goes_by_steps(context: &Context) -> bool {
    context[word::RFLAGS] & TRAP_FLAG != 0
}

/// The layout of a thread's registers.
#[derive(Clone, Copy, Debug)]
pub struct X86_64;

impl Registers for X86_64 {
    fn argument(context: &Context, index: usize) -> u64 {
        context[CALL[index]]
    }

    fn set_result(context: &mut Context, index: usize, value: u64) {
        context[CALL[index]] = value;
    }

    fn frame(thread: &Thread) -> Frame {
        let c = &thread.context;
        let is_fault = c[word::VECTOR] == frame::vector::PAGE_FAULT;
        Frame {
            r: core::array::from_fn(|index| c[word::GENERAL + index]),
            rsp: c[word::RSP],
            rip: c[word::RIP],
            rflags: c[word::RFLAGS],
            fs_base: state(thread).fs_base,
            vector: c[word::VECTOR],
            error: c[word::ERROR],
            address: if is_fault { thread.fault_address.0 } else { 0 },
            changed: 0,
        }
    }

    fn load_frame(thread: &mut Thread, frame: &Frame) {
        let c = &mut thread.context;
        c[word::GENERAL..word::VECTOR].copy_from_slice(&frame.r);
        for (index, value) in [
            (word::RSP, frame.rsp),
            (word::RIP, frame.rip),
            (word::RFLAGS, frame.rflags & USER_FLAGS | FIXED_FLAGS),
            (word::VECTOR, frame.vector),
            (word::ERROR, frame.error),
        ] {
            c[index] = value;
        }
        if frame.changed & CHANGED_STATE != 0 {
            // A base that is no user's is as if it had not been changed.
            let _ = set_fs_base(thread, frame.fs_base);
        }
    }

    fn start(
        context: &mut Context,
        entry: UserAddr,
        stack: UserAddr,
        utcb: UserAddr,
        argument: u64,
    ) {
        *context = [0; CONTEXT_WORDS];
        for (index, value) in [
            (word::RIP, entry.0),
            (word::CS, selector::USER_CODE.into()),
            (word::RFLAGS, FIXED_FLAGS),
            (word::RSP, stack.0),
            (word::SS, selector::USER_DATA.into()),
            (word::RDI, utcb.0),
            (word::RSI, argument),
            (word::VECTOR, frame::vector::CREATED),
        ] {
            context[index] = value;
        }
    }

    fn resumes_fast(thread: &Thread) -> bool {
        thread.context[word::VECTOR] == frame::vector::SYSTEM_CALL
            && thread.lazy == 0
            && !thread.is_alien()
            && !goes_by_steps(&thread.context)
    }

    fn set_state(thread: &mut Thread, item: u64, values: [u64; 2]) -> Result<u64, Error> {
        const POINTER: u64 = THREAD_POINTER as u64;
        const OTHER: u64 = GS_BASE as u64;
        const FIRST: u64 = DEBUG as u64;
        match item {
            POINTER => set_fs_base(thread, values[0]).map(|()| 0),
            OTHER => set_gs_base(thread, values[0]).map(|()| 0),
            FIRST.. => set_debug(thread, item - FIRST, values[0]),
            _ => Err(Error::BadArgument),
        }
    }
}
