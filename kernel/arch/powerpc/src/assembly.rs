// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's assembly as one unit: its files, and every name of Rust that they use.
//!
//! | file | room for |
//! |---|---|
//! | `miss.S` | the TLB misses of a 603 |
//! | `hash.S` | the misses of a 604's hashed table |
//! | `fast/steps.S` | steps that several fast paths make |
//! | `fast/ipc.S` | `sc`, and the fast paths of `call` and `reply_wait` |
//! | `fast/alien.S` | the fast path of aliens, and the way from a fast path of `sc` that gives up to the portable kernel |
//! | `fast/map.S` | the fast paths of answers that map a page |
//! | `fast/page_fault.S` | the fast path of page faults |
//! | `fast/notify.S` | the fast paths of notifications |
//! | `words.S` | alternatives that boot words select |
//! | `mem.S` | filling and copying memory |
//! | `entry.S` | vectors, entry, saving all registers, exit |
//!
//! A name in braces in these files is a constant or a symbol of the list below. The compiler
//! refuses a name that is not in the list, and one in the list that no file uses.

use crate::cache::LINE;
use crate::contract::{KERNEL, PowerPc};
use crate::layout::{CPU, HANDLERS, REACHED, RELOAD, Reload, UNCACHED};
use crate::regs::dsisr;
use crate::trap;
use crate::window::{BLOCK, FIRST, SHOWN, Shown};
use abi::frame::{GENERAL, USER_FLAGS, WORDS, fault, vector as named};
use abi::kip::Clock;
use abi::tag::REGISTER_WORDS;
use abi::utcb::Utcb;
use abi::{Delivery, Error, Frame, Kind, MessageKind, Op, PAGE_SIZE, Rights, Tag};
use arch_common::field;
use arch_common::offsets::{hw, saved};
use arch_common::place::{POOL_PLACE, PoolPlace};
use arch_common::stack::{KERNEL_STACK, PANIC_BYTES, PANIC_STACK, STACK_BYTES};
use core::arch::global_asm;
use core::mem::offset_of;
use kcore::FRAME_OFFSET;
use kcore::fault::EVENT_WORDS;
use kcore::port::CONTEXT_WORDS;
use kcore::sched::{SLICE, place};
use kcore::space::HEADER_BYTES;
use kcore::thread::{ANCHOR, BYTES, SEQUENCE, flag, gate};
use kcore::{Attachment, Cpu, Kernel, Memory, Region, Scheduler, Slot, Space};
use mmu::Format;
use mmu::hash::{SECOND, VALID};
use mmu::powerpc::{NO_WRITE, PowerPc as Tables, bits};
use mmu::vsid::{KEY, SCATTER, SHUT, USER_SEGMENTS};
use powerpc_context::{hw, msr, vector, word};

/// In the upper half of the machine state: r0 to r3 are the registers of a TLB miss (*PowerPC 603e
/// User's Manual*, table 2-2).
const SHADOW: u32 = 1 << 1;
/// Why an access failed, or a fetch, in the upper half of DSISR or SRR1: neither the TLB nor the
/// hashed table has the page.
const NOT_FOUND: u32 = 1 << 14;
// `words.S`: a bit is set where RAM is reached past the cache.
const _: () = assert!(UNCACHED & (REACHED - 1) == 0 && UNCACHED & 0xffff == 0);
/// Bytes at the start of a stack frame: a pointer to the caller's frame, room for a return address,
/// and padding.
const LINKAGE: usize = 16;

/// The offset of the scheduler in the kernel.
const SCHEDULER: usize = offset_of!(Kernel<PowerPc>, sched);

/// The offset of a field of the clock in the kernel.
macro_rules! clock {
    ($name:ident) => {
        offset_of!(Kernel<PowerPc>, port) + PowerPc::CLOCK + offset_of!(Clock, $name)
    };
}
// `notify.S`, as the test that executes it knows the kernel: the scheduler, then the clock.
const _: () = assert!(
    SCHEDULER == 0 && clock!(base) == size_of::<Scheduler>() && clock!(mult) == clock!(base) + 8
);
const _: () = assert!(clock!(shift) == clock!(mult) + 4);

/// A receive that finds nothing and does not wait.
const WOULD_BLOCK: u32 = Delivery::new(MessageKind::Failed, Error::WouldBlock as u32, 0, 0).0;

/// The numbers of a mask's first and last bit as instructions count them: the highest bit is 0.
const fn first_bit(mask: u32) -> u32 {
    mask.leading_zeros()
}
const fn last_bit(mask: u32) -> u32 {
    31 - mask.trailing_zeros()
}
// `alien.S`: a 32 moves to the bit that opens the FPU, and the flags are neighbours.
const _: () = assert!(
    msr::FPU == 32 << 8
        && USER_FLAGS.count_ones() == last_bit(USER_FLAGS) - first_bit(USER_FLAGS) + 1
);
// `hash.S`, `page_fault.S`: one bit becomes the other; what cannot be written can be read.
const _: () = assert!(
    fault::WRITE == 1 << (31 - 30) && dsisr::STORE.is_power_of_two() && bits::READ_ONLY == 3
);
// `page_fault.S`: from LR to the error, a context has what a frame has, each stored at once.
const _: () = assert!(word::ERROR + 1 == word::GPR && word::ERROR - word::LR == 31 - 24);
const _: () = assert!(offset_of!(Frame, error) - offset_of!(Frame, lr) == 4 * (31 - 24));
// `steps.S`: it writes all segments below the window, of which each has a VSID that much higher.
const _: () = assert!(FIRST == 10);
// `alien.S`, `miss.S`: its lower half is zero.
const _: () = assert!(SHUT << 16 == 0);
// `alien.S`: what follows the general registers in a frame is stored at once, and ends it.
const _: () = assert!(
    offset_of!(Frame, lr) == 4 * GENERAL
        && offset_of!(Frame, changed) + 4 == size_of::<Frame>()
        && WORDS as usize - GENERAL == 32 - 22
);

/// An entry of a leaf table for RAM that can be read only, without the address.
const LEAF: u32 = bits::HELD | bits::CHANGED | bits::PRESENT | bits::READ_ONLY;
/// The most pages that `map.S` maps: each takes eight instructions.
const MOST_PAGES: usize = 32;
/// The number of the bit of the right to write, counted from the lowest bit.
const WRITE: u32 = Rights::WRITE.0.trailing_zeros();
// `map.S`: what can be written differs from that in these two bits.
const _: () = assert!(NO_WRITE.is_power_of_two());
/// The address of the thread with index 0.
const THREADS: u32 = kcore::thread::TABLE + ANCHOR;

global_asm!(
    include_str!("miss.S"),
    include_str!("hash.S"),
    include_str!("fast/steps.S"),
    include_str!("fast/ipc.S"),
    include_str!("fast/alien.S"),
    include_str!("fast/map.S"),
    include_str!("fast/page_fault.S"),
    include_str!("fast/notify.S"),
    include_str!("mem.S"),
    include_str!("entry.S"),
    include_str!("words.S"),
    above_brief = const first_bit(flag::BRIEF) - 1,
    above_flags = const first_bit(USER_FLAGS) - 1,
    above_fpu = const first_bit(msr::FPU) - 1,
    above_server = const first_bit(bits::SUPERVISOR) - 1,
    accept = const offset_of!(Utcb, accept),
    area_end = const offset_of!(Space, area_end),
    area_start = const offset_of!(Space, area_start),
    attached = const offset_of!(Region, attached),
    badge_shift = const Delivery::BADGE_SHIFT,
    below_brief = const last_bit(flag::BRIEF) + 1,
    below_flags = const last_bit(USER_FLAGS) + 1,
    below_fpu = const last_bit(msr::FPU) + 1,
    below_server = const last_bit(bits::SUPERVISOR) + 1,
    bit = const offset_of!(Attachment, bit),
    block = sym BLOCK,
    brief = const flag::BRIEF,
    bug = sym trap::kernel_exception,
    call_right = const Rights::CALL.0,
    cap_limit = const field!(cap_limit),
    changing = const offset_of!(Region, changing),
    clock_base = const clock!(base),
    clock_mult = const clock!(mult),
    clock_shift = const clock!(shift),
    context = const -((CONTEXT_WORDS * 4) as i32),
    control = const Rights::CONTROL.0,
    cpu = sym CPU,
    cr = const saved(word::CR),
    ctr = const saved(word::CTR),
    current = const offset_of!(Cpu, current),
    cursor = const offset_of!(Attachment, cursor),
    data = const vector::DATA,
    data_translated = const msr::DATA_TRANSLATED,
    decrementer = const vector::DECREMENTER,
    delivery_alien = const Delivery::new(MessageKind::Alien, 0, EVENT_WORDS, 0).0,
    delivery_exception = const Delivery::new(MessageKind::Exception, 0, REGISTER_WORDS + WORDS, 0).0,
    delivery_notification = const Delivery::new(MessageKind::Notification, 0, 1, 0).0,
    delivery_reply = const Delivery::new(MessageKind::Reply, 0, 0, 0).0,
    directory = const hw(hw::DIRECTORY),
    enter = sym trap::enter,
    entries = const <Tables as Format>::ENTRIES,
    evicts = const offset_of!(Reload, evicts),
    event = const named::SYSTEM_CALL,
    f_address = const offset_of!(Frame, address),
    f_changed = const offset_of!(Frame, changed),
    f_lr = const offset_of!(Frame, lr),
    fault_address = const field!(fault_address),
    fetch = const vector::FETCH,
    fetch_error = const fault::FETCH,
    first_flag = const first_bit(USER_FLAGS),
    fpu_bit = const first_bit(msr::FPU),
    gate = const field!(gate),
    gate_alien = const gate::REPLY | gate::ALIEN,
    gate_exception = const gate::REPLY | gate::EXCEPTION,
    gate_notified = const gate::NOTIFIED,
    gate_open = const gate::OPEN,
    gate_ready = const gate::READY,
    gate_reply = const gate::REPLY,
    gate_run = const gate::RUN,
    gpr = const saved(word::GPR),
    hand = const offset_of!(Reload, hand),
    handlers = const HANDLERS.start,
    handlers_end = const HANDLERS.end,
    handle = const field!(handle),
    handler = const field!(handler),
    heads = const SCHEDULER + place::HEADS,
    index_mask = const offset_of!(PoolPlace, index_mask),
    interrupt = const vector::INTERRUPT,
    kdb = const cfg!(feature = "kdb") as u32,
    kernel = sym KERNEL,
    kernel_msr = const msr::KERNEL,
    key = const KEY >> 16,
    kind_call = const MessageKind::Call as u32,
    kind_exception = const MessageKind::Exception as u32,
    large = const bits::LARGE,
    last_flag = const last_bit(USER_FLAGS),
    lazy = const field!(lazy),
    leaf = const LEAF,
    line = const LINE,
    line_shift = const LINE.trailing_zeros(),
    loaded = const offset_of!(Cpu, loaded),
    lower = const offset_of!(Attachment, lower),
    lr = const saved(word::LR),
    mask = const offset_of!(Reload, mask),
    memory_base = const offset_of!(Memory, base),
    memory_bytes = const offset_of!(Memory, bytes),
    memory_class = const offset_of!(Memory, class),
    memory_dying = const offset_of!(Memory, header.dying),
    message = const FRAME_OFFSET,
    most_bit = const first_bit(bits::MOST_WRITE),
    most_pages = const MOST_PAGES,
    msr = const saved(word::MSR),
    next = const field!(next),
    no_write = const NO_WRITE,
    no_write_bit = const first_bit(NO_WRITE),
    not_found = const NOT_FOUND,
    notifications_only = const Tag::NOTIFICATIONS_ONLY,
    notify_right = const Rights::NOTIFY.0,
    occupied = const SCHEDULER + place::OCCUPIED,
    op_call = const Tag::new(Op::Call, 0, 0).0,
    op_map_high = const Tag::new(Op::Map, 0, 0).0 >> 16,
    op_map_low = const Tag::new(Op::Map, 0, 0).0 & 0xffff,
    op_map_reply_wait = const Tag::new(Op::MapReplyWait, 0, 0).0,
    op_map_run = const Tag::new(Op::MapRun, 0, 0).0,
    op_notify = const Tag::new(Op::Notify, 0, 0).0,
    op_receive = const Tag::new(Op::Receive, 0, 0).0,
    op_reply_wait = const Tag::new(Op::ReplyWait, 0, 0).0,
    op_run = const Tag::new(Op::Run, 0, 0).0,
    page = const PAGE_SIZE,
    page_fault = const named::PAGE_FAULT,
    panic_stack = sym PANIC_STACK,
    panic_stack_bytes = const PANIC_BYTES - LINKAGE,
    partner = const field!(partner),
    pc = const saved(word::PC),
    pending_bits = const offset_of!(Utcb, pending),
    poll = const Tag::POLL,
    pool_place = sym POOL_PLACE,
    port = const offset_of!(Cpu, port),
    present = const bits::PRESENT,
    prev = const field!(prev),
    priority = const field!(priority),
    programmed = const SCHEDULER + place::PROGRAMMED,
    r1 = const saved(word::GPR) + 4,
    r2 = const saved(word::GPR) + 8,
    read_only = const bits::READ_ONLY,
    read_write = const bits::READ_WRITE,
    region_dying = const offset_of!(Region, header.dying),
    region_top = const offset_of!(Region, top),
    reload = sym RELOAD,
    reservation = const saved(word::RESERVATION),
    rights_bits = const Rights::ALL.0.trailing_ones(),
    rwx = const Rights::RWX.0,
    scatter_high = const SCATTER >> 16,
    scatter_low = const SCATTER & 0xffff,
    second = const SECOND,
    running = const msr::RUNNING,
    senders = const field!(senders),
    sending = const field!(sending),
    sequence_high = const SEQUENCE >> 16,
    server = const bits::SUPERVISOR,
    server_shown = const hw(hw::SERVER),
    shadow = const SHADOW,
    shared = const bits::SHARED,
    shown = sym SHOWN,
    shown_server = const offset_of!(Shown, server),
    shown_tables = const offset_of!(Shown, tables),
    shown_token = const offset_of!(Shown, token),
    shown_vsids = const offset_of!(Shown, vsids),
    shut = const SHUT >> 16,
    signals = const field!(signals),
    simple = const hw(hw::SIMPLE),
    slice_end = const SCHEDULER + place::SLICE_END,
    slice_high = const SLICE >> 16,
    slice_left = const field!(slice_left),
    slice_low = const SLICE & 0xffff,
    slice_owner = const SCHEDULER + place::OWNER,
    slot_shift = const size_of::<Slot>().trailing_zeros(),
    slots = const HEADER_BYTES,
    source = const offset_of!(Attachment, source),
    space = const field!(space),
    space_kind = const Kind::Space as u32,
    store_error = const 32 - dsisr::STORE.trailing_zeros() + fault::WRITE.trailing_zeros(),
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES - LINKAGE,
    system_call = const vector::SYSTEM_CALL,
    thread_flags = const field!(flags),
    thread_shift = const BYTES.trailing_zeros(),
    threads_high = const THREADS >> 16,
    threads_low = const THREADS & 0xffff,
    top = const offset_of!(Cpu, top),
    upper = const offset_of!(Attachment, upper),
    uncached = const UNCACHED >> 16,
    user = const msr::USER,
    user_segments = const USER_SEGMENTS,
    valid = const VALID,
    utcb = const field!(utcb),
    vector = const saved(word::VECTOR),
    vsid_0 = const hw(hw::VSID_0),
    vsid_1 = const hw(hw::VSID_1),
    window = const FIRST,
    would_block_high = const WOULD_BLOCK >> 16,
    would_block_low = const WOULD_BLOCK & 0xffff,
    words = const REGISTER_WORDS,
    write_error = const fault::WRITE,
    write_protected = const fault::WRITE | fault::PROTECTION,
    write_to_no_write = const (32 + NO_WRITE.trailing_zeros() - WRITE) % 32,
    write_to_most = const bits::MOST_WRITE.trailing_zeros() - WRITE,
    xer = const saved(word::XER),
);

unsafe extern "C" {
    /// Leaves to the thread in `Cpu::current`, whose context is complete and whose space was
    /// entered.
    pub fn leave_kernel() -> !;
}
