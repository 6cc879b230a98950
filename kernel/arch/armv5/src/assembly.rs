// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's assembly as one unit: its files, and every name of Rust that they use.
//!
//! | file | room for |
//! |---|---|
//! | `entry.S` | entry, saving all registers, exit |
//! | `fast/steps.S` | steps that several fast paths make |
//! | `fast/ipc.S` | `swi`, and the fast paths of `call` and `reply_wait` |
//! | `fast/page_fault.S` | the fast path of a page fault |
//! | `fast/map.S` | the fast path of mapping, mostly as the answer to a page fault |
//! | `fast/cache.S` | the fast path of `cache` |
//! | `fast/alien.S` | the fast paths of aliens |
//! | `mem.S` | filling and copying memory |
//! | `vectors.S` | exception vectors, helpers of programs |
//!
//! A name in braces in these files is a constant or a symbol of the list below. The compiler
//! refuses a name that is not in the list, and one in the list that no file uses.

use crate::cache::LINE;
use crate::layout::{self, CPU};
use crate::shadow::COPIES;
use crate::space::{DIRECTORY, Directory};
use crate::trap;
use abi::arch::armv5::layout::SLOT_BYTES;
use abi::frame::{self, Frame};
use abi::tag::REGISTER_WORDS;
use abi::{CacheOp, Delivery, Kind, MapRecord, MessageKind, Op, PAGE_SIZE, Rights, Tag};
use arch_common::field;
use arch_common::offsets::{hw, saved};
use arch_common::place::{POOL_PLACE, PoolPlace};
use arch_common::shared::{Lines, Shared};
use arch_common::stack::{KERNEL_STACK, PANIC_BYTES, PANIC_STACK, STACK_BYTES};
use armv5_context::{THUMB, USER_MODE, hw, vector, word};
use core::arch::global_asm;
use core::mem::offset_of;
use kcore::fault::EVENT_WORDS;
use kcore::space::HEADER_BYTES;
use kcore::thread::{ANCHOR, BYTES, SEQUENCE, flag, gate};
use kcore::{Attachment, Cpu, Memory, Region, Slot, Space};
use mmu::Format;
use mmu::armv5::{bits, directory};

/// Status: bits of the mode that are all set in each mode that the kernel uses, and all clear in
/// user mode (DDI 0100I, A2.2).
const PRIVILEGED: u32 = 0xf;
/// Status: interrupts and fast interrupts are disabled.
const MASKED: u32 = 0xc0;
/// Supervisor mode.
pub const SUPERVISOR: u32 = MASKED | 0x13;
/// The domain access register with all domains open, with the rights of their pages.
const ALL_DOMAINS: u32 = 0x5555_5555;
/// Mode of an abort.
pub const ABORT: u32 = MASKED | 0x17;
/// Mode of an undefined instruction.
pub const UNDEFINED: u32 = MASKED | 0x1b;
/// Mode of an interrupt.
pub const IRQ: u32 = MASKED | 0x12;

/// The bits of a fault's status that have the kind, and the domain; and the kind of an empty entry
/// of a coarse table (DDI 0100I, B4.6.1).
const STATUS: u32 = 0xf;
/// See [`STATUS`].
const STATUS_DOMAIN: u32 = 0xf0;
/// See [`STATUS`].
const PAGE_MISSING: u32 = 7;
/// The bits that are also set if the entry is not empty, but does not allow the access.
const STATUS_PROTECTION: u32 = 8;

/// The most pages that the fast path maps: more would take too long without a check for interrupts.
const MOST_PAGES: u32 = 32;

/// An entry of a leaf table for RAM, without the address.
const fn leaf(rights: Rights) -> u32 {
    let access = if rights.contains(Rights::WRITE) {
        bits::READ_WRITE | bits::BUFFERED
    } else {
        bits::READ_ONLY
    };
    bits::SMALL | bits::CACHED | access
}

/// What an exception saves while it changes to supervisor mode: r0, the return address, the status.
pub static SAVED: Shared<Lines<[u32; 3]>> = Shared::new(Lines([0; 3]));

global_asm!(
    include_str!("entry.S"),
    include_str!("fast/steps.S"),
    include_str!("fast/ipc.S"),
    include_str!("fast/map.S"),
    include_str!("fast/cache.S"),
    include_str!("fast/page_fault.S"),
    include_str!("fast/alien.S"),
    access = const bits::READ_WRITE,
    access_write = const bits::READ_WRITE ^ bits::READ_ONLY,
    alien = const flag::ALIEN,
    all_domains = const ALL_DOMAINS,
    attached = const offset_of!(Region, attached),
    attached_to = const offset_of!(Attachment, owner),
    bit = const offset_of!(Attachment, bit),
    buffered = const bits::BUFFERED,
    bug = sym trap::kernel_exception,
    cached = const bits::CACHED,
    call_right = const Rights::CALL.0,
    cap_limit = const field!(cap_limit),
    changing = const offset_of!(Region, changing),
    class = const 7 << 25,
    condition = const 0xff00_0000_u32,
    control = const Rights::CONTROL.0,
    copies = sym COPIES,
    cpsr = const saved(word::CPSR),
    cpu = sym CPU,
    current = const offset_of!(Cpu, current),
    cursor = const offset_of!(Attachment, cursor),
    dacr = const hw(hw::DACR),
    data = const trap::DATA,
    delivery_alien = const Delivery::new(MessageKind::Alien, 0, EVENT_WORDS, 0).0,
    delivery_exception = const Delivery::new(MessageKind::Exception, 0, REGISTER_WORDS + frame::WORDS, 0).0,
    delivery_reply = const Delivery::new(MessageKind::Reply, 0, 0, 0).0,
    directory = sym DIRECTORY,
    dirty = const Directory::DIRTY,
    domain = const hw(hw::DOMAIN),
    drop = const CacheOp::CleanAndInvalidate as u32,
    enter = sym trap::enter,
    entries = const <mmu::armv5::Armv5 as Format>::ENTRIES,
    error = const saved(word::ERROR),
    f_cpsr = const offset_of!(Frame, cpsr),
    f_pc = const offset_of!(Frame, pc),
    fault_address = const field!(fault_address),
    fetch_error = const frame::fault::FETCH,
    flags = const field!(flags),
    gate = const field!(gate),
    gate_alien = const gate::REPLY | gate::ALIEN,
    gate_exception = const gate::REPLY | gate::EXCEPTION,
    gate_open = const gate::OPEN,
    gate_ready = const gate::READY,
    gate_reply = const gate::REPLY,
    gate_run = const gate::RUN,
    handle = const field!(handle),
    handler = const field!(handler),
    helpers = const layout::VECTORS,
    index_mask = const offset_of!(PoolPlace, index_mask),
    indifferent = const hw::INDIFFERENT,
    interrupt = const vector::INTERRUPT,
    kind_call = const MessageKind::Call as u32,
    kind_exception = const MessageKind::Exception as u32,
    lazy = const field!(lazy),
    leaf = const leaf(Rights::READ),
    leaf_write_high = const (leaf(Rights::READ) ^ leaf(Rights::RWX)) & 0xff0,
    leaf_write_low = const (leaf(Rights::READ) ^ leaf(Rights::RWX)) & 0xf,
    line = const LINE,
    load = const 1 << 20,
    lower = const offset_of!(Attachment, lower),
    memory_base = const offset_of!(Memory, base),
    memory_bytes = const offset_of!(Memory, bytes),
    memory_class = const offset_of!(Memory, class),
    memory_dying = const offset_of!(Memory, header.dying),
    message = const kcore::FRAME_OFFSET,
    most_pages = const MOST_PAGES,
    op_cache = const Tag::new(Op::Cache, 0, 0).0,
    op_call = const Tag::new(Op::Call, 0, 0).0,
    op_map = const Tag::new(Op::Map, 0, 0).0,
    op_map_reply_wait = const Tag::new(Op::MapReplyWait, 0, 0).0,
    op_map_run = const Tag::new(Op::MapRun, 0, 0).0,
    op_reply_wait = const Tag::new(Op::ReplyWait, 0, 0).0,
    op_run = const Tag::new(Op::Run, 0, 0).0,
    page = const PAGE_SIZE,
    page_fault = const frame::vector::PAGE_FAULT,
    page_missing = const PAGE_MISSING,
    panic_stack = sym PANIC_STACK,
    panic_stack_bytes = const PANIC_BYTES,
    partner = const field!(partner),
    pc = const saved(word::PC),
    pid = const hw(hw::PID),
    place = const offset_of!(Attachment, index),
    pool = sym POOL_PLACE,
    pool_offset = const offset_of!(PoolPlace, offset),
    prefetch = const trap::PREFETCH,
    priority = const field!(priority),
    privileged = const PRIVILEGED,
    protection_shift = const STATUS_PROTECTION.trailing_zeros() - frame::fault::PROTECTION.trailing_zeros(),
    r0 = const saved(word::R0),
    region_dying = const offset_of!(Region, header.dying),
    region_end = const offset_of!(Region, end),
    region_top = const offset_of!(Region, top),
    rights = const Rights::ALL.0,
    rwx = const Rights::RWX.0,
    segment_kind = const Kind::Segment as u32,
    segments = const offset_of!(Space, segments),
    senders = const field!(senders),
    sending = const field!(sending),
    sequence = const SEQUENCE,
    signals = const field!(signals),
    slot = const !(SLOT_BYTES - 1),
    slot_bytes = const SLOT_BYTES,
    slot_shift = const size_of::<Slot>().trailing_zeros(),
    slots = const HEADER_BYTES,
    source = const offset_of!(Attachment, source),
    source_next = const offset_of!(Attachment, source_next),
    space = const field!(space),
    space_kind = const Kind::Space as u32,
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES,
    status = const STATUS,
    status_domain = const STATUS_DOMAIN,
    status_protection = const STATUS_PROTECTION,
    supervisor = const SUPERVISOR,
    swi = const vector::SWI,
    table = const directory::TABLE,
    table_kind = const directory::TABLE | directory::LARGE | directory::SHARED | directory::NO_WRITE,
    thread_pointer = const field!(lazy_state),
    thread_pointer_word = const layout::THREAD_POINTER,
    thread_shift = const BYTES.trailing_zeros(),
    threads = const kcore::thread::TABLE + ANCHOR,
    thumb = const THUMB,
    top = const offset_of!(Cpu, top),
    undefined = const abi::frame::vector::UNDEFINED,
    uncached = const MapRecord::UNCACHED,
    upper = const offset_of!(Attachment, upper),
    user = const USER_MODE,
    user_flags = const frame::USER_FLAGS,
    uses = const offset_of!(Region, uses),
    utcb = const field!(utcb),
    utcbs = const layout::UTCBS,
    vector = const saved(word::VECTOR),
    words = const REGISTER_WORDS,
    words_class = const 2 << 25,
    write = const Rights::WRITE.0,
    write_error = const frame::fault::WRITE,
);

global_asm!(include_str!("mem.S"), include_str!("vectors.S"), options(raw));

unsafe extern "C" {
    /// Leaves to the thread in `Cpu::current`, whose context is complete.
    pub fn leave_kernel() -> !;
}
