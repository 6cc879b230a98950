// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's assembly as one unit: its files, and all that they know of Rust.
//!
//! | file | room for |
//! |---|---|
//! | `entry.S` | entry, saving all registers, exit |
//! | `fast.S` | `swi`, and the fast paths of `call`, `reply_wait` and aliens |
//! | `mem.S` | filling and copying memory |
//! | `vectors.S` | exception vectors, helpers of programs |
//!
//! A name in braces in these files is a constant or a symbol of the list below. The compiler refuses a name that is not in the list,
//! and one in the list that nobody uses.

use crate::contract::Armv5;
use crate::layout::{self, POOL_BASE};
use crate::lock::KERNEL;
use crate::panic::CPU;
use crate::trap;
use abi::frame::{self, Frame};
use abi::tag::REGISTER_WORDS;
use abi::{Delivery, MessageKind, Op, Rights, Tag};
use arch_common::shared::{Lines, Shared};
use arch_common::stack::{KERNEL_STACK, PANIC_BYTES, PANIC_STACK, STACK_BYTES};
use armv5_context::{THUMB, USER_MODE, hw, vector, word};
use core::arch::global_asm;
use core::mem::offset_of;
use kcore::fault::EVENT_WORDS;
use kcore::port::CONTEXT_WORDS;
use kcore::space::HEADER_BYTES;
use kcore::thread::{ANCHOR, BYTES, SEQUENCE, flag, gate};
use kcore::{Cpu, Kernel, Slot, Space, Thread};

/// Status: bits of the mode.
const MODE: u32 = 0x1f;
/// Status: interrupts and fast interrupts are off.
const MASKED: u32 = 0xc0;
/// Supervisor mode.
pub const SUPERVISOR: u32 = MASKED | 0x13;
/// The domain access register with all domains open, as the rights of pages say.
const ALL_DOMAINS: u32 = 0x5555_5555;
/// Mode of an abort.
pub const ABORT: u32 = MASKED | 0x17;
/// Mode of an undefined instruction.
pub const UNDEFINED: u32 = MASKED | 0x1b;
/// Mode of an interrupt.
pub const IRQ: u32 = MASKED | 0x12;

/// What an exception saves while it changes to supervisor mode: r0, where, status.
pub static SAVED: Shared<Lines<[u32; 3]>> = Shared::new(Lines([0; 3]));

/// Where a saved register is, from a reference to its Thread: below it.
macro_rules! saved {
    ($name:ident) => {
        (word::$name as i32 - CONTEXT_WORDS as i32) * 4
    };
}

/// Where a word of a Space's that the port keeps is.
macro_rules! hw {
    ($name:ident) => {
        offset_of!(Space, hw) + size_of::<u32>() * hw::$name
    };
}

/// Where a Thread's field is, from a reference to it.
macro_rules! field {
    ($name:ident) => {
        offset_of!(Thread, $name) as i32 - ANCHOR as i32
    };
}

global_asm!(
    include_str!("entry.S"),
    include_str!("fast.S"),
    alien = const flag::ALIEN,
    all_domains = const ALL_DOMAINS,
    bug = sym trap::kernel_exception,
    call_right = const Rights::CALL.0,
    cap_limit = const field!(cap_limit),
    condition = const 0xff00_0000_u32,
    cpsr = const saved!(CPSR),
    cpu = sym CPU,
    current = const offset_of!(Cpu, current),
    dacr = const hw!(DACR),
    data = const trap::DATA,
    delivery_alien = const Delivery::new(MessageKind::Alien, 0, EVENT_WORDS, 0).0,
    delivery_reply = const Delivery::new(MessageKind::Reply, 0, 0, 0).0,
    dirty = const offset_of!(Kernel<Armv5>, port) + Armv5::DIRTY,
    enter = sym trap::enter,
    f_cpsr = const offset_of!(Frame, cpsr),
    f_pc = const offset_of!(Frame, pc),
    flags = const field!(flags),
    gate = const field!(gate),
    gate_alien = const gate::REPLY | gate::ALIEN,
    gate_open = const gate::OPEN,
    gate_ready = const gate::READY,
    gate_reply = const gate::REPLY,
    gate_run = const gate::RUN,
    handle = const field!(handle),
    handler = const field!(handler),
    index_mask = sym layout::INDEX_MASK,
    indifferent = const hw::INDIFFERENT,
    interrupt = const vector::INTERRUPT,
    kernel = sym KERNEL,
    lazy = const field!(lazy),
    mode = const MODE,
    op_call = const Tag::new(Op::Call, 0, 0).0,
    op_reply_wait = const Tag::new(Op::ReplyWait, 0, 0).0,
    op_run = const Tag::new(Op::Run, 0, 0).0,
    panic_stack = sym PANIC_STACK,
    panic_stack_bytes = const PANIC_BYTES,
    partner = const field!(partner),
    pc = const saved!(PC),
    pid = const hw!(PID),
    prefetch = const trap::PREFETCH,
    priority = const field!(priority),
    r0 = const saved!(R0),
    rights = const Rights::ALL.0,
    senders = const field!(senders),
    sequence = const SEQUENCE,
    signals = const field!(signals),
    slot_shift = const size_of::<Slot>().trailing_zeros(),
    slots = const HEADER_BYTES,
    space = const field!(space),
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES,
    supervisor = const SUPERVISOR,
    swi = const vector::SWI,
    thread_pointer = const field!(lazy_state),
    thread_pointer_word = const layout::THREAD_POINTER,
    thread_shift = const BYTES.trailing_zeros(),
    threads = const POOL_BASE + ANCHOR,
    thumb = const THUMB,
    top = const offset_of!(Cpu, top),
    undefined = const abi::frame::vector::UNDEFINED,
    user = const USER_MODE,
    user_flags = const frame::USER_FLAGS,
    utcb = const field!(utcb),
    vector = const saved!(VECTOR),
    words = const REGISTER_WORDS,
);

global_asm!(include_str!("mem.S"), include_str!("vectors.S"), options(raw));

unsafe extern "C" {
    /// Leaves to the thread in `Cpu::current`, whose context is complete.
    pub fn leave_kernel() -> !;
}
