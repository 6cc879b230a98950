// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's assembly as one unit: its files, and every name of Rust that they use.
//!
//! | file | room for |
//! |---|---|
//! | `refill.S` | vectors, and the TLB misses of users |
//! | `fast/ipc.S` | all other exceptions, and the fast path of `call` and `reply_wait` |
//! | `fast/notify.S` | the fast paths of `notify` and `receive` |
//! | `entry.S` | entry, saving all registers, exit |
//! | `mem.S` | filling and copying memory |
//!
//! A name in braces in these files is a constant or a symbol of the list below. The compiler
//! refuses a name that is not in the list, and one in the list that no file uses.

use crate::contract::{KERNEL, Mips};
use crate::layout::{HOT, Hot, KSEG0};
use crate::regs::status;
use crate::trap;
use abi::tag::REGISTER_WORDS;
use abi::utcb::Utcb;
use abi::{Delivery, MessageKind, Op, PAGE_SIZE, Rights, Tag, USER_END};
use arch_common::field;
use arch_common::offsets::hw;
use arch_common::place::{POOL_PLACE, PoolPlace};
use arch_common::shared::{self, Lines};
use arch_common::stack::{KERNEL_STACK, PANIC_BYTES, PANIC_STACK, STACK_BYTES};
use core::arch::global_asm;
use core::mem::offset_of;
use kcore::port::CONTEXT_WORDS;
use kcore::sched::place;
use kcore::space::HEADER_BYTES;
use kcore::thread::{ANCHOR, BYTES, SEQUENCE, TABLE, gate};
use kcore::{Cpu, Kernel, Slot, Thread};
use mips_context::cause::{self, code};
use mips_context::{hw, word};
use mmu::Format;
use mmu::mips::Mips as Tables;
use mmu::mips::bits::FOLLOWED;

/// The offset of a saved register, a word of the context, from a reference to its Thread. It is
/// negative.
const fn saved(word: usize) -> i32 {
    (word as i32 - CONTEXT_WORDS as i32) * 8
}

/// The offset of the scheduler in the kernel.
const SCHEDULER: usize = offset_of!(Kernel<Mips>, sched);

/// The reference to the first thread of the table.
const THREADS: u32 = TABLE + ANCHOR;

/// By how many bits an address is shifted to the right to make it the offset of its entry in a
/// table of this level.
const fn shift(level: u32) -> u32 {
    let index = Tables::ENTRIES.trailing_zeros();
    PAGE_SIZE.trailing_zeros() + level * index - ENTRY.trailing_zeros()
}
/// Bytes of an entry.
const ENTRY: usize = size_of::<<Tables as Format>::Entry>();
/// The bits of such an offset.
const INDEX: usize = (Tables::ENTRIES - 1) * ENTRY;

global_asm!(
    include_str!("refill.S"),
    include_str!("fast/ipc.S"),
    include_str!("fast/notify.S"),
    include_str!("entry.S"),
    include_str!("mem.S"),
    accept = const offset_of!(Utcb, accept),
    bad_bits = const USER_END.trailing_zeros() - 32,
    badge_shift = const Delivery::BADGE_SHIFT,
    bug = sym trap::kernel_exception,
    call_code = const code::SYSTEM_CALL << cause::CODE_SHIFT,
    call_right = const Rights::CALL.0,
    cap_limit = const field!(cap_limit),
    closed = const status::CLOSED,
    code = const cause::CODE,
    current = const offset_of!(Hot, cpu) + offset_of!(Cpu, current),
    delivery_notification = const Delivery::new(MessageKind::Notification, 0, 1, 0).0,
    delivery_reply = const Delivery::new(MessageKind::Reply, 0, 0, 0).0,
    enter = sym trap::enter,
    entry = const ENTRY,
    gate = const field!(gate),
    gate_notified = const gate::NOTIFIED,
    gate_open = const gate::OPEN,
    gate_ready = const gate::READY,
    gate_reply = const gate::REPLY,
    gpr = const saved(word::GPR),
    handle = const field!(handle),
    heads = const SCHEDULER + place::HEADS,
    hi = const saved(word::HI),
    hot = sym HOT,
    asid = const hw(hw::ASID),
    index = const INDEX,
    index_mask = const offset_of!(PoolPlace, index_mask),
    interrupts = const status::INTERRUPTS,
    kernel = const status::KERNEL,
    kernel_place = sym KERNEL,
    leaf_shift = const shift(0),
    leaving = const status::LEAVING,
    lo = const saved(word::LO),
    loaded = const offset_of!(Hot, cpu) + offset_of!(Cpu, loaded),
    next = const field!(next),
    notifications_only = const Tag::NOTIFICATIONS_ONLY,
    notify_right = const Rights::NOTIFY.0,
    occupied = const SCHEDULER + place::OCCUPIED,
    op_call = const Tag::new(Op::Call, 0, 0).0,
    op_notify = const Tag::new(Op::Notify, 0, 0).0,
    op_receive = const Tag::new(Op::Receive, 0, 0).0,
    op_reply_wait = const Tag::new(Op::ReplyWait, 0, 0).0,
    pair = const INDEX - ENTRY,
    panic_bytes = const PANIC_BYTES,
    panic_stack = sym PANIC_STACK,
    partner = const field!(partner),
    pc = const saved(word::PC),
    pending_bits = const offset_of!(Utcb, pending),
    poll = const Tag::POLL,
    pool = sym POOL_PLACE,
    prev = const field!(prev),
    priority = const field!(priority),
    rights = const Rights::ALL.0,
    sequence = const SEQUENCE,
    signals = const field!(signals),
    slot_shift = const size_of::<Slot>().trailing_zeros(),
    slots = const HEADER_BYTES,
    sp = const saved(word::GPR + abi::frame::STACK),
    space = const field!(space),
    directory_shift = const shift(1),
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES,
    tables = const hw(hw::TABLE),
    thread_shift = const BYTES.trailing_zeros(),
    threads_high = const (THREADS + 0x8000) >> 16,
    threads_low = const THREADS as i16,
    top = const offset_of!(Hot, top),
    top_shift = const shift(2),
    urgent = const offset_of!(Hot, cpu) + offset_of!(Cpu, top),
    user = const status::USER,
    utcb = const field!(utcb),
    words = const REGISTER_WORDS,
);

// `refill.S`: a table that can be followed is a negative address, and there are three levels.
const _: () = assert!(FOLLOWED == 1 << 63 && Tables::LEVELS == 3 && USER_END.is_power_of_two());

// `fast/ipc.S`: signals and senders are looked at at once; constants fit into instructions; the hot
// words are reached from one upper half.
const _: () = assert!(
    offset_of!(Thread, senders) == offset_of!(Thread, signals) + 4
        && field!(signals) % 8 == 0
        && SEQUENCE.trailing_zeros() >= 16
        && Tag::new(Op::ReplyWait, 0, 0).0 < 1 << 16
        && Tag::new(Op::Notify, 0, 0).0 < 1 << 16
        && Tag::new(Op::Receive, 0, 0).0 < 1 << 16
        && Tag::POLL < 1 << 16
        && Tag::NOTIFICATIONS_ONLY < 1 << 16
        && Delivery::new(MessageKind::Notification, 0, 1, 0).0 < 1 << 16
        && Delivery::new(MessageKind::Reply, 0, 0, 0).0 < 1 << 16
        && REGISTER_WORDS < 1 << Delivery::BADGE_SHIFT
        && size_of::<Hot>() <= align_of::<Lines<Hot>>()
);

unsafe extern "C" {
    /// Leaves to the thread in `Cpu::current`, whose context is complete and whose space was
    /// entered.
    pub fn leave_kernel() -> !;
    static vectors: u8;
    static vectors_end: u8;
}

/// Copies the vectors to where the processor enters them.
///
/// # Safety
/// Once, at boot, when nothing else uses the first page of RAM.
pub unsafe fn set_vectors() {
    let bytes = (&raw const vectors_end).addr() - (&raw const vectors).addr();
    // SAFETY: the code of the assembly goes to RAM that is the kernel's.
    unsafe { (&raw const vectors).copy_to(shared::at(KSEG0), bytes) };
}
