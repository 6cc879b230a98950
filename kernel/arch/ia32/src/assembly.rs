// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's assembly as one unit: its files, every name of Rust that they use, and the labels
//! that Rust uses.
//!
//! | file | room for |
//! |---|---|
//! | `switch.S` | switching to a thread and its space |
//! | `entry.S` | entry by interrupt, trap and `int`; saving all registers; exit |
//! | `fast/steps.S` | steps that several fast paths make |
//! | `fast/ipc.S` | `sysenter`, and the fast path of `call` and `reply_wait` |
//! | `fast/alien.S` | the fast path of an alien's system calls and page faults, and of `run` |
//! | `fast/page_fault.S` | the fast path of a native thread's page fault to its pager |
//! | `fast/small.S` | the additional work of `fast/alien.S` for aliens in small spaces |
//! | `fast/notify.S` | the fast path of `notify` and `receive` |
//! | `fast/map.S` | the fast path of `map_reply_wait` and `map_run`, which map the page |
//! | `mem.S` | filling and copying memory |
//!
//! A name in braces in these files is a constant or a symbol of the list below. The compiler
//! refuses a name that is not in the list, and one in the list that no file uses.
//!
//! A jump to a `.global` label always has the long form, which the linker fills in. So adding or
//! removing `.global` moves code from one cache line to another.

use crate::contract::{Ia32, KERNEL};
use crate::layout::{CPU, KERNEL_BASE};
use crate::regs::{EFLAGS_IF, EFLAGS_RF, EFLAGS_TF};
use crate::space::{self, Ways};
use crate::{gdt, interrupts, trap};
use abi::frame::{self, vector};
use abi::kip::Clock;
use abi::tag::REGISTER_WORDS;
use abi::utcb::Utcb;
use abi::{Delivery, Error, Kind, MessageKind, Op, Rights, Tag};
use arch_common::field;
use arch_common::offsets::{hw, saved};
use arch_common::place::{POOL_PLACE, PoolPlace};
use arch_common::stack::{KERNEL_STACK, PANIC_STACK};
use core::arch::{asm, global_asm};
use core::mem::offset_of;
use ia32_context::{FIXED_FLAGS, hw, lazy, loaded, selector, word};
use kcore::memory::class;
use kcore::sched::{SLICE, place};
use kcore::space::HEADER_BYTES;
use kcore::thread::{ANCHOR, BYTES, SEQUENCE, flag, gate};
use kcore::{Attachment, Cpu, Kernel, Memory, Scheduler, Space, Thread};
use mmu::descriptor;
use mmu::ia32::bits;
use plat_pc::pic;

/// The offset of a part of a Thread's rarely loaded state from a reference to the Thread.
macro_rules! lazy_state {
    ($name:ident) => {
        field!(lazy_state) + offset_of!(ia32_context::State, $name) as i32
    };
}

/// Linear address of a word of the processor's.
macro_rules! cpu {
    ($name:ident) => {
        CPU + offset_of!(Cpu, $name) as u32
    };
}

/// The offset of the scheduler in the kernel.
const SCHEDULER: usize = offset_of!(Kernel<Ia32>, sched);

/// The offset of a field of the clock in the kernel.
macro_rules! clock {
    ($name:ident) => {
        offset_of!(Kernel<Ia32>, port) + Ia32::CLOCK + offset_of!(Clock, $name)
    };
}

/// Where a register is in a frame.
macro_rules! frame {
    ($name:ident) => {
        offset_of!(abi::Frame, $name)
    };
}

/// The tag of a system call without words, capabilities and flags.
const fn tag(operation: Op) -> u32 {
    Tag::new(operation, 0, 0).0
}

/// A delivery of this kind and this many words, to which a badge is added.
const fn delivery(kind: MessageKind, words: u32) -> u32 {
    (kind as u32) << Delivery::KIND_SHIFT | words
}

/// A bit that is set in the selectors of small spaces, and clear in those of large ones except that
/// of the last TLS descriptor. Servers' selectors have it, too.
const SMALL_BIT: u16 = 1 << 6;
const _: () = assert!(
    selector::SMALL_CODE & selector::SMALL_DATA & SMALL_BIT != 0
        && (selector::USER_CODE | selector::USER_DATA) & SMALL_BIT == 0
);
/// CF PF AF ZF SF OF.
const ARITHMETIC_FLAGS: u32 = 0x8d5;
/// The bits that distinguish upper-level entries, and their values in the entry of an owner's own
/// table.
const TABLE: u32 = bits::PRESENT | bits::WRITABLE | bits::USER;
const TABLE_KIND: u32 = TABLE | bits::LARGE | bits::SHARED;
/// Bytes that are pushed at an entry from ring 3: by `pushad`, vector, error code, and by the
/// processor.
const PUSHED: usize = PUSHALL + 4 + 4 + 20;
/// Bytes that `pushad` pushes.
const PUSHALL: usize = 32;
/// Vectors that have a stub: exceptions, interrupt lines, and the system call by `int`.
const VECTORS: usize = abi::arch::ia32::kip::INT_VECTOR as usize + 1;

global_asm!(
    include_str!("switch.S"),
    include_str!("fast/steps.S"),
    include_str!("fast/small.S"),
    include_str!("fast/alien.S"),
    include_str!("fast/map.S"),
    include_str!("entry.S"),
    include_str!("fast/ipc.S"),
    include_str!("fast/page_fault.S"),
    include_str!("fast/notify.S"),
    include_str!("mem.S"),
    kdb = const cfg!(feature = "kdb") as u32,
    // --- The processor's words, and where threads are -------------------------------------
    current = const cpu!(current),
    loaded = const cpu!(loaded),
    top = const cpu!(top),
    pool = sym POOL_PLACE,
    index_mask = const offset_of!(PoolPlace, index_mask),
    thread_shift = const BYTES.trailing_zeros(),
    threads = const kcore::thread::TABLE + ANCHOR,
    pool_offset = const offset_of!(PoolPlace, offset),
    directory_of = const space::DIRECTORY_OF,
    small_home = const space::SMALL_HOME,
    // --- The scheduler's words, and the clock ------------------------------------------------
    kernel = sym KERNEL,
    clock_base = const clock!(base),
    clock_mult = const clock!(mult),
    clock_shift = const clock!(shift),
    heads = const SCHEDULER + place::HEADS,
    occupied = const SCHEDULER + place::OCCUPIED,
    programmed = const SCHEDULER + place::PROGRAMMED,
    slice = const SLICE,
    slice_end = const SCHEDULER + place::SLICE_END,
    slice_owner = const SCHEDULER + place::OWNER,
    // --- Fields of a Thread ----------------------------------------------------------------
    cap_limit = const field!(cap_limit),
    fault_address = const field!(fault_address),
    fs_gs = const lazy_state!(fs_gs),
    gate = const field!(gate),
    handle = const field!(handle),
    handler = const field!(handler),
    lazy = const field!(lazy),
    next = const field!(next),
    partner = const field!(partner),
    prev = const field!(prev),
    priority = const field!(priority),
    senders = const field!(senders),
    sending = const field!(sending),
    signals = const field!(signals),
    shown = const lazy_state!(shown),
    shown_in = const lazy_state!(shown_in),
    slice_left = const field!(slice_left),
    space = const field!(space),
    thread_flags = const field!(flags),
    tls = const lazy_state!(tls),
    utcb = const field!(utcb),
    saved_eax = const saved(word::EAX),
    saved_ebx = const saved(word::EBX),
    saved_esi = const saved(word::ESI),
    saved_edi = const saved(word::EDI),
    saved_ebp = const saved(word::EBP),
    saved_ds = const saved(word::DS),
    saved_es = const saved(word::ES),
    saved_ecx = const saved(word::ECX),
    saved_edx = const saved(word::EDX),
    saved_error = const saved(word::ERROR),
    saved_eip = const saved(word::EIP),
    saved_eflags = const saved(word::EFLAGS),
    saved_esp = const saved(word::ESP),
    // Words of the saved registers that every slow entry writes again.
    scratch_1 = const saved(word::EAX),
    scratch_2 = const saved(word::ERROR),
    frame_bytes = const -saved(word::GS),
    // --- Their values ----------------------------------------------------------------------
    alien_flag = const flag::ALIEN,
    brief = const flag::BRIEF,
    gate_alien = const gate::REPLY | gate::ALIEN,
    gate_exception = const gate::REPLY | gate::EXCEPTION,
    gate_notified = const gate::NOTIFIED,
    gate_open = const gate::OPEN,
    gate_ready = const gate::READY,
    gate_reply = const gate::REPLY,
    gate_run = const gate::RUN,
    kind_call = const MessageKind::Call as u32,
    kind_exception = const MessageKind::Exception as u32,
    away = const loaded::AWAY,
    // The low byte of each reference to a thread is the same.
    away_alone = const loaded::AWAY | ANCHOR,
    loaded_flags = const loaded::FLAGS,
    more_lazy = const !(lazy::SEGMENTS | lazy::TLS),
    sequence = const SEQUENCE,
    step = const loaded::STEP_PENDING,
    // --- Fields of other objects -----------------------------------------------------------
    area = const hw(hw::AREA),
    attached = const offset_of!(Space, region.attached),
    bit = const offset_of!(Attachment, bit),
    cursor = const offset_of!(Attachment, cursor),
    directory = const hw(hw::DIRECTORY),
    enter_space = const hw(hw::ENTER),
    event_way = const hw(hw::EVENT),
    home = const hw(hw::HOME),
    lower = const offset_of!(Attachment, lower),
    memory_base = const offset_of!(Memory, base),
    memory_bytes = const offset_of!(Memory, bytes),
    memory_class = const offset_of!(Memory, class),
    memory_dying = const offset_of!(Memory, header.dying),
    region_low = const hw(hw::REGION_LOW),
    region_high = const hw(hw::REGION_HIGH),
    segments = const hw(hw::SEGMENTS),
    server = const hw(hw::SERVER),
    slots = const HEADER_BYTES,
    source = const offset_of!(Attachment, source),
    space_dying = const offset_of!(Space, region.header.dying),
    space_top = const offset_of!(Space, region.top),
    upper = const offset_of!(Attachment, upper),
    // --- Capabilities, tags and deliveries ----------------------------------------------------
    rights = const Rights::ALL.0,
    badge_shift = const Delivery::BADGE_SHIFT,
    call_right = const Rights::CALL.0,
    control = const Rights::CONTROL.0,
    memory = const Kind::Memory as u32,
    notifications_only = const Tag::NOTIFICATIONS_ONLY,
    notify_right = const Rights::NOTIFY.0,
    poll = const Tag::POLL,
    rwx = const Rights::RWX.0,
    space_kind = const Kind::Space as u32,
    write = const Rights::WRITE.0,
    op_call = const tag(Op::Call),
    op_map_reply_wait = const tag(Op::MapReplyWait),
    op_map_run = const tag(Op::MapRun),
    op_notify = const tag(Op::Notify),
    op_receive = const tag(Op::Receive),
    op_reply_wait = const tag(Op::ReplyWait),
    op_run = const tag(Op::Run),
    delivery_alien = const delivery(MessageKind::Alien, REGISTER_WORDS),
    delivery_exception = const delivery(MessageKind::Exception, REGISTER_WORDS + frame::WORDS),
    delivery_notification = const delivery(MessageKind::Notification, 1),
    delivery_reply = const delivery(MessageKind::Reply, 0),
    delivery_would_block = const Delivery::new(MessageKind::Failed, Error::WouldBlock as u32, 0, 0).0,
    // --- A UTCB --------------------------------------------------------------------------------
    accept = const offset_of!(Utcb, accept),
    pending_bits = const offset_of!(Utcb, pending),
    // --- A frame -------------------------------------------------------------------------------
    message = const kcore::FRAME_OFFSET,
    f_eax = const frame!(eax),
    f_ebx = const frame!(ebx),
    f_ecx = const frame!(ecx),
    f_edx = const frame!(edx),
    f_esi = const frame!(esi),
    f_edi = const frame!(edi),
    f_ebp = const frame!(ebp),
    f_esp = const frame!(esp),
    f_eip = const frame!(eip),
    f_eflags = const frame!(eflags),
    f_ds_es = const frame!(ds_es),
    f_fs_gs = const frame!(fs_gs),
    f_vector = const frame!(vector),
    f_error = const frame!(error),
    f_address = const frame!(address),
    f_changed = const frame!(changed),
    by_sysexit = const frame::BY_SYSEXIT,
    user_flags = const frame::USER_FLAGS,
    control_flags = const frame::USER_FLAGS & !ARITHMETIC_FLAGS,
    // --- Vectors, flags and selectors --------------------------------------------------------
    vector_alien_call = const interrupts::ALIEN_CALL,
    vector_debug = const vector::DEBUG,
    vector_invalid_tss = const 10,
    vector_not_present = const 11,
    vector_page_fault = const vector::PAGE_FAULT,
    vector_protection = const vector::GENERAL_PROTECTION,
    vector_sysenter = const vector::SYSENTER,
    vectors = const VECTORS,
    first_line = const pic::FIRST_VECTOR,
    last_line = const pic::LAST_VECTOR,
    fixed_flags = const FIXED_FLAGS,
    interrupt_flag = const EFLAGS_IF,
    iret_flags = const EFLAGS_TF | EFLAGS_RF,
    trap_flag = const EFLAGS_TF,
    // The number of a bit.
    nested_task = const 14,
    flat = const selector::FLAT,
    kernel_data = const gdt::KERNEL_DATA,
    access = const gdt::ACCESS_BYTE,
    user_low = const descriptor::region(0, KERNEL_BASE)[0],
    user_code_high = const descriptor::region(0, KERNEL_BASE)[1] | descriptor::CODE,
    user_data_high = const descriptor::region(0, KERNEL_BASE)[1],
    user_code = const selector::USER_CODE,
    user_code_offset = const selector::USER_CODE & !7,
    user_data = const selector::USER_DATA,
    user_data_offset = const selector::USER_DATA & !7,
    code_access = const gdt::USER_ACCESS[0],
    data_access = const gdt::USER_ACCESS[1],
    small_code = const selector::SMALL_CODE,
    small_data = const selector::SMALL_DATA,
    small_data_offset = const selector::SMALL_DATA & !7,
    code_bit = const descriptor::CODE,
    small_bit = const SMALL_BIT,
    // In the selectors of FS or GS.
    small_bits = const (SMALL_BIT as u32) * 0x1_0001,
    small_flat = const (selector::SMALL_DATA as u32) * 0x1_0001,
    tls_selector = const selector::TLS,
    gdt = sym gdt::GDT,
    present = const 1 << 15,
    tls_offset = const selector::TLS & !7,
    // --- Entries of translation tables -------------------------------------------------------
    leaf = const bits::HELD | bits::PRESENT | bits::USER,
    // Bits of an address within a page.
    low = const abi::PAGE_SIZE - 1,
    most_shift = const (bits::MOST_WRITE / bits::WRITABLE).trailing_zeros(),
    page = const abi::PAGE_SIZE,
    table = const TABLE,
    table_kind = const TABLE_KIND,
    // --- What an entry from kernel mode leaves on the stack, and what lies after it ----------
    kernel_vector = const PUSHALL,
    kernel_eip = const PUSHALL + 8,
    kernel_eflags = const PUSHALL + 16,
    kernel_next = const PUSHALL + 20,
    kernel_eax = const PUSHALL - 4,
    // --- What is called, and on which stack ---------------------------------------------------
    bug = sym trap::kernel_exception,
    double_fault = sym trap::double_fault,
    enter = sym trap::enter,
    enter_beyond = sym trap::enter_beyond,
    enter_virtual = sym trap::enter_virtual,
    leave_with_care = sym trap::leave_with_care,
    panic_stack = sym PANIC_STACK,
    panic_stack_bytes = const size_of_val(&PANIC_STACK),
    pending = sym interrupts::PENDING,
    pushed = const PUSHED,
    stack = sym KERNEL_STACK,
    stack_bytes = const size_of_val(&KERNEL_STACK),
    virtual_bytes = const trap::VIRTUAL_WORDS * 4,
);

unsafe extern "C" {
    /// Leaves to the thread in `Cpu::current`.
    pub fn leave_kernel() -> !;
    /// Where `sysenter` enters.
    pub fn sysenter_entry();
    fn enter_large();
    fn enter_server();
    fn enter_small();
    fn event_large();
    fn event_server();
    fn event_small();
    fn limit_probe_entry();
    fn alien_entry();
    fn alien_fault();
    fn double_fault();
    static vector_table: [u32; VECTORS];
}

/// Whether a read through FS at an offset faults. Exceptions must enter the kernel's entry code by
/// then.
pub fn read_faults(offset: u32) -> bool {
    let faulted: u32;
    // SAFETY: a read has no effect; if it is refused, `from_kernel` goes on after it.
    unsafe {
        asm!("call {}", sym limit_probe_entry, out("eax") faulted, out("ecx") _, in("edx") offset);
    }
    faulted != 0
}

/// The ways into a space of each kind (`switch.S`).
pub fn ways() -> Ways {
    let large = [enter_large as *const () as u32, event_large as *const () as u32];
    let server = [enter_server as *const () as u32, event_server as *const () as u32];
    Ways {
        large,
        server,
        small: [enter_small as *const () as u32, event_small as *const () as u32],
    }
}

/// Entry points for the interrupt table, and of the double fault's task.
pub fn handlers() -> ([u32; 256], u32) {
    let mut all = [0; 256];
    // SAFETY: a constant table that the assembly lays down.
    let stubs = unsafe { &vector_table };
    all[..stubs.len()].copy_from_slice(stubs);
    all[usize::from(interrupts::ALIEN_CALL)] = alien_entry as *const () as u32;
    all[vector::PAGE_FAULT as usize] = alien_fault as *const () as u32;
    (all, double_fault as *const () as u32)
}

// `context` ends where a reference to the Thread points.
const _: () = assert!(field!(context) == -128 && offset_of!(Thread, context) == 0);
// `alien.S`: `test dl` sees all flags of `Cpu::loaded`, and without them the word is the thread.
const _: () = assert!(
    loaded::FLAGS < ANCHOR
        && loaded::FLAGS <= 0xff
        && ANCHOR.is_power_of_two()
        && BYTES.is_multiple_of(ANCHOR)
);
const _: () = assert!(
    ANCHOR < 1 << 8 && BYTES.is_multiple_of(1 << 8) && kcore::thread::TABLE.is_multiple_of(1 << 8)
);
// Selectors that a user can load have one of the bits 4 to 6, which no flag has, and nothing above.
const _: () = assert!(
    selector::USER_CODE >> 4 != 0 && selector::SMALL_DATA < 1 << 7 && loaded::FLAGS < 1 << 4
);
// `map.S`: the kernel's part of a space is one entry of its directory.
const _: () = assert!(abi::utcb::AREA_END - abi::utcb::AREA_START == abi::TABLE_SPAN);
// `map.S`: a Memory of RAM is told by a zero, and the right to write is the bit of an entry that
// allows it.
const _: () = assert!(class::RAM == 0 && Rights::WRITE.0 == bits::WRITABLE);
// `page_fault.S`: what is pushed after `pushad`'s registers are words of the context, in its
// order.
const _: () =
    assert!(word::DS + 1 == word::EDI && word::GS + 3 == word::DS && word::EAX + 1 == word::VECTOR);
// `notify.S`, as the test that executes it knows the kernel: the scheduler, then the clock.
const _: () = assert!(
    SCHEDULER == 0 && clock!(base) == size_of::<Scheduler>() && clock!(mult) == clock!(base) + 8
);
const _: () = assert!(clock!(shift) == clock!(mult) + 4);
// `switch.S`: the descriptors of a small space are pushed.
const _: () = assert!(selector::SMALL_CODE + 8 == selector::SMALL_DATA);
