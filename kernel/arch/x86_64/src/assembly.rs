// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's assembly, every name of Rust that it uses, and the labels that Rust uses.
//!
//! | file | room for |
//! |---|---|
//! | `fast/ipc.S` | `syscall`, and the fast path of `call` and `reply_wait` |
//! | `fast/notify.S` | the fast paths of `notify` and `receive` |
//! | `entry.S` | entry by interrupt and exception; saving all registers; exit |
//! | `fast/alien.S` | the fast path of an alien's system calls and page faults, and of `run` |
//! | `fast/page_fault.S` | the fast path of a native thread's page fault to its pager |
//! | `area.S` | the entry area's code (`mmu::area`) |
//! | `fast/map.S` | the fast path of `map_reply_wait` and `map_run`, which map the page |
//!
//! A name in braces in these files is a constant or a symbol of the list below. The compiler
//! refuses a name that is not in the list, and one in the list that no file uses.

use crate::area::{Constants, Own, RUNS};
use crate::contract::{KERNEL, X86_64};
use crate::interrupts::{self, VECTORS};
use crate::layout::{AREA, CPU, SCRATCH, TSS, wide};
use crate::regs::{self, RFLAGS_IF, RFLAGS_RF, RFLAGS_TF, RFLAGS_VM};
use crate::trap;
use abi::frame::{self, GENERAL, USER_FLAGS, vector};
use abi::kip::Clock;
use abi::tag::REGISTER_WORDS;
use abi::utcb::Utcb;
use abi::{Delivery, Error, Frame, Kind, MessageKind, Op, PAGE_SIZE, Rights, Tag, USER_END};
use arch_common::field;
use arch_common::offsets::hw;
use arch_common::place::{POOL_PLACE, PoolPlace};
use arch_common::stack::{KERNEL_STACK, PANIC_STACK};
use core::arch::global_asm;
use core::mem::offset_of;
use kcore::fault::EVENT_WORDS;
use kcore::memory::class;
use kcore::port::CONTEXT_WORDS;
use kcore::sched::{SLICE, place};
use kcore::space::HEADER_BYTES;
use kcore::thread::{ANCHOR, BYTES, SEQUENCE, flag, gate};
use kcore::{Attachment, Cpu, Kernel, Memory, Scheduler, Slot, Space, Thread};
use mmu::Format;
use mmu::area::Page as Part;
use mmu::pcid::KEEP;
use mmu::x86_64::{X86_64 as X86_64Format, bits};
use plat_pc::pic;
use x86_64_context::{FIXED_FLAGS, State, hw, lazy, loaded, selector, word};

/// The offset of the scheduler in the kernel.
const SCHEDULER: usize = offset_of!(Kernel<X86_64>, sched);

/// The offset of a field of the clock in the kernel.
macro_rules! clock {
    ($name:ident) => {
        offset_of!(Kernel<X86_64>, port) + X86_64::CLOCK + offset_of!(Clock, $name)
    };
}

/// Address of a word of the processor's, as an operand: 32 bits that are extended by their sign.
const fn word_at(address: u32) -> i32 {
    address as i32
}

/// The address of a word of an entry area, as an operand.
macro_rules! area {
    ($page:ident, $of:ty, $name:ident) => {
        word_at(Part::$page.address() as u32 + offset_of!($of, $name) as u32)
    };
}

/// The offset of a saved register from the last one that an entry pushes.
const fn saved(word: usize) -> usize {
    (word - word::GENERAL) * 8
}

/// Where a part of a Frame is.
macro_rules! frame {
    ($name:ident) => {
        offset_of!(Frame, $name)
    };
    (r, $word:expr) => {
        offset_of!(Frame, r) + ($word - word::GENERAL) * 8
    };
}

/// The same from a reference to the thread: below it.
const fn offset(word: usize) -> i32 {
    (word as i32 - CONTEXT_WORDS as i32) * 8
}

/// The bits of an upper-level entry that names an owner's own table.
const TABLE: u64 = bits::PRESENT | bits::WRITABLE | bits::USER;
/// Entries of a table, and how many bits of an address say which.
const TABLE_ENTRIES: usize = <X86_64Format as Format>::ENTRIES;
const INDEX_BITS: u32 = TABLE_ENTRIES.trailing_zeros();
/// Where the bits of the leaf begin.
const LEAF_SHIFT: u32 = PAGE_SIZE.trailing_zeros();

/// Flags that only `iretq` restores.
const BY_IRET: u64 = RFLAGS_TF | RFLAGS_RF;

global_asm!(
    include_str!("fast/ipc.S"),
    include_str!("fast/notify.S"),
    include_str!("entry.S"),
    include_str!("fast/alien.S"),
    include_str!("fast/page_fault.S"),
    include_str!("fast/map.S"),
    include_str!("area.S"),
    // --- The processor's words ---------------------------------------------------------------
    current = const word_at(CPU + offset_of!(Cpu, current) as u32),
    loaded = const word_at(CPU + offset_of!(Cpu, loaded) as u32),
    top = const word_at(CPU + offset_of!(Cpu, top) as u32),
    pool = sym POOL_PLACE,
    pool_offset = const offset_of!(PoolPlace, offset),
    index_mask = const offset_of!(PoolPlace, index_mask),
    thread_shift = const BYTES.trailing_zeros(),
    threads = const word_at(kcore::thread::TABLE + ANCHOR),
    scratch = const word_at(SCRATCH),
    stack_of_ring_0 = const word_at(TSS + 4),
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
    // --- The entry area ----------------------------------------------------------------------
    area = const word_at(AREA),
    area_delivery = const area!(Constants, Constants, delivery),
    area_frame = const area!(Constants, Constants, frame),
    area_kernel = const area!(Constants, Constants, kernel),
    area_registers = const area!(Constants, Constants, registers),
    area_users_end = const area!(Constants, Constants, users_end),
    area_handle = const area!(Words, Own, handle),
    area_rip = const area!(Words, Own, rip),
    area_rsp = const area!(Words, Own, rsp),
    area_runs = const area!(Words, Own, runs),
    area_scratch = const area!(Words, Own, scratch),
    area_stack = const word_at((Part::Words.address() + PAGE_SIZE) as u32),
    alien_runs = const RUNS[1],
    server_runs = const RUNS[0],
    server_code = const selector::SERVER_CODE,
    server_data = const selector::SERVER_DATA,
    enter_by_area = sym trap::enter_by_area,
    end_by_area = sym trap::end_by_area,
    // --- Saved registers ---------------------------------------------------------------------
    pushed = const saved(CONTEXT_WORDS),
    rcx = const saved(word::RCX),
    r11 = const saved(word::R11),
    vector = const saved(word::VECTOR),
    rip = const saved(word::RIP),
    cs = const saved(word::CS),
    rflags = const saved(word::RFLAGS),
    rsp = const saved(word::RSP),
    ss = const saved(word::SS),
    // The same from a reference to a Thread.
    saved_rip = const offset(word::RIP),
    saved_rflags = const offset(word::RFLAGS),
    saved_rsp = const offset(word::RSP),
    saved_error = const offset(word::ERROR),
    saved_vector = const offset(word::VECTOR),
    saved_rax = const offset(word::RAX),
    saved_rbx = const offset(word::RAX + 1),
    saved_rcx = const offset(word::RCX),
    saved_rdi = const offset(word::RDI),
    saved_rsi = const offset(word::RSI),
    saved_rdx = const offset(word::RDX),
    saved_r8 = const offset(word::R8),
    saved_r9 = const offset(word::R8 + 1),
    saved_r10 = const offset(word::R8 + 2),
    saved_r12 = const offset(word::R8 + 4),
    saved_r13 = const offset(word::R8 + 5),
    saved_r14 = const offset(word::R8 + 6),
    saved_r15 = const offset(word::R8 + 7),
    above_r15 = const -offset(word::R8 + 7),
    // --- Fields of a Thread and a Space, and their values -------------------------------------
    cap_limit = const field!(cap_limit),
    fault_address = const field!(fault_address),
    fs_base = const field!(lazy_state) + offset_of!(State, fs_base) as i32,
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
    slice_left = const field!(slice_left),
    space = const field!(space),
    thread_flags = const field!(flags),
    utcb = const field!(utcb),
    accept = const offset_of!(Utcb, accept),
    pending_bits = const offset_of!(Utcb, pending),
    alien_flag = const flag::ALIEN,
    brief = const flag::BRIEF,
    gate_exception = const gate::REPLY | gate::EXCEPTION,
    gate_alien = const gate::REPLY | gate::ALIEN,
    gate_notified = const gate::NOTIFIED,
    gate_open = const gate::OPEN,
    gate_ready = const gate::READY,
    gate_reply = const gate::REPLY,
    gate_run = const gate::RUN,
    lazy_fs = const lazy::FS,
    loaded_flags = const loaded::FLAGS,
    loaded_fpu = const loaded::FPU,
    loaded_slow = const loaded::SLOW,
    sequence = const SEQUENCE,
    slots = const HEADER_BYTES,
    tables = const hw(hw::TABLE),
    // The bit of the upper half.
    keep = const (KEEP >> 32) as u32,
    // --- A Memory, an attachment, and more of a Space -----------------------------------------
    area_end = const offset_of!(Space, area_end),
    attached = const offset_of!(Space, region.attached),
    bit = const offset_of!(Attachment, bit),
    cursor = const offset_of!(Attachment, cursor),
    lower = const offset_of!(Attachment, lower),
    memory_base = const offset_of!(Memory, base),
    memory_bytes = const offset_of!(Memory, bytes),
    memory_class = const offset_of!(Memory, class),
    memory_dying = const offset_of!(Memory, header.dying),
    region_end = const offset_of!(Space, region.end),
    source = const offset_of!(Attachment, source),
    space_dying = const offset_of!(Space, region.header.dying),
    space_top = const offset_of!(Space, region.top),
    upper = const offset_of!(Attachment, upper),
    // --- Capabilities, tags and deliveries ----------------------------------------------------
    badge_shift = const Delivery::BADGE_SHIFT,
    call_right = const Rights::CALL.0,
    control = const Rights::CONTROL.0,
    delivery_alien = const Delivery::new(MessageKind::Alien, 0, EVENT_WORDS, 0).0,
    delivery_exception = const Delivery::new(MessageKind::Exception, 0, REGISTER_WORDS + frame::WORDS, 0).0,
    delivery_notification = const Delivery::new(MessageKind::Notification, 0, 1, 0).0,
    delivery_reply = const Delivery::new(MessageKind::Reply, 0, 0, 0).0,
    delivery_would_block = const Delivery::new(MessageKind::Failed, Error::WouldBlock as u32, 0, 0).0,
    execute = const Rights::EXECUTE.0,
    kind_call = const MessageKind::Call as u32,
    kind_exception = const MessageKind::Exception as u32,
    memory = const Kind::Memory as u32,
    notifications_only = const Tag::NOTIFICATIONS_ONLY,
    notify_right = const Rights::NOTIFY.0,
    op_call = const Tag::new(Op::Call, 0, 0).0,
    op_map_reply_wait = const Tag::new(Op::MapReplyWait, 0, 0).0,
    op_map_run = const Tag::new(Op::MapRun, 0, 0).0,
    op_notify = const Tag::new(Op::Notify, 0, 0).0,
    op_receive = const Tag::new(Op::Receive, 0, 0).0,
    op_reply_wait = const Tag::new(Op::ReplyWait, 0, 0).0,
    op_run = const Tag::new(Op::Run, 0, 0).0,
    poll = const Tag::POLL,
    rights = const Rights::ALL.0,
    rwx = const Rights::RWX.0,
    space_kind = const Kind::Space as u32,
    write = const Rights::WRITE.0,
    slot_shift = const size_of::<Slot>().trailing_zeros(),
    words = const REGISTER_WORDS,
    // --- A frame ------------------------------------------------------------------------------
    frame_bytes = const size_of::<Frame>(),
    message = const kcore::FRAME_OFFSET,
    f_address = const frame!(address),
    f_changed = const frame!(changed),
    f_error = const frame!(error),
    f_fs_base = const frame!(fs_base),
    f_vector = const frame!(vector),
    f_rax = const frame!(r, word::RAX),
    f_rbx = const frame!(r, word::RAX + 1),
    f_rcx = const frame!(r, word::RCX),
    f_rdx = const frame!(r, word::RDX),
    f_rsi = const frame!(r, word::RSI),
    f_rdi = const frame!(r, word::RDI),
    f_rbp = const frame!(r, word::RDI + 1),
    f_r8 = const frame!(r, word::R8),
    f_r9 = const frame!(r, word::R8 + 1),
    f_r10 = const frame!(r, word::R8 + 2),
    f_r11 = const frame!(r, word::R11),
    f_r12 = const frame!(r, word::R8 + 4),
    f_r13 = const frame!(r, word::R8 + 5),
    f_r14 = const frame!(r, word::R8 + 6),
    f_r15 = const frame!(r, word::R8 + 7),
    f_rflags = const frame!(rflags),
    f_rip = const frame!(rip),
    f_rsp = const frame!(rsp),
    // --- Vectors, flags and selectors --------------------------------------------------------
    vectors = const VECTORS,
    vector_call = const vector::SYSTEM_CALL,
    vector_page_fault = const vector::PAGE_FAULT,
    first_line = const pic::FIRST_VECTOR,
    last_line = const pic::LAST_VECTOR,
    interrupt_flag = const RFLAGS_IF,
    trap_flag = const RFLAGS_TF,
    vm_flag = const RFLAGS_VM,
    user_flags = const USER_FLAGS,
    fixed_flags = const FIXED_FLAGS,
    kernel_code = const selector::KERNEL_CODE,
    msr_fs_base = const regs::FS_BASE,
    not_by_sysret = const BY_IRET,
    // What a user has besides the fixed ones while it goes on by `sysretq`.
    sysret_flags = const USER_FLAGS & !BY_IRET,
    task_switched = const regs::CR0_TS,
    users_end = const USER_END,
    user_code = const selector::USER_CODE,
    user_data = const selector::USER_DATA,
    // --- Entries of translation tables -------------------------------------------------------
    leaf = const bits::HELD | bits::PRESENT | bits::USER,
    // Bits of an address within a page.
    low = const PAGE_SIZE - 1,
    most_execute = const bits::MOST_EXECUTE,
    most_shift = const (bits::MOST_WRITE / bits::WRITABLE).trailing_zeros(),
    no_execute = const bits::NO_EXECUTE,
    page = const PAGE_SIZE,
    table = const TABLE,
    table_entries = const TABLE_ENTRIES,
    table_kind = const TABLE | bits::LARGE | bits::SHARED,
    leaf_shift = const LEAF_SHIFT,
    directory_shift = const LEAF_SHIFT + INDEX_BITS,
    upper_shift = const LEAF_SHIFT + 2 * INDEX_BITS,
    top_shift = const LEAF_SHIFT + 3 * INDEX_BITS,
    // --- What is called, and on which stack --------------------------------------------------
    bug = sym trap::kernel_exception,
    enter = sym trap::enter,
    panic_stack = sym PANIC_STACK,
    panic_stack_bytes = const size_of_val(&PANIC_STACK),
    pending = sym interrupts::PENDING,
    stack = sym KERNEL_STACK,
    stack_bytes = const size_of_val(&KERNEL_STACK),
);

unsafe extern "C" {
    /// Leaves to the thread in `Cpu::current`, by what `trap::leave` has returned.
    pub fn leave_first(tables: u64) -> !;
    fn syscall_entry();
    static vector_table: [u64; VECTORS];
}

/// Entry points for the interrupt table.
pub fn handlers() -> &'static [u64; VECTORS] {
    // SAFETY: a constant table that the assembly lays down.
    unsafe { &vector_table }
}

/// Lets users enter by `syscall`.
///
/// # Safety
/// Once, at boot: the descriptors are loaded, and `Cpu::current` is set before user mode is
/// entered.
pub unsafe fn open_syscall() {
    let segments = u64::from(selector::USER_BASE) << 48 | u64::from(selector::KERNEL_CODE) << 32;
    let cleared = [
        RFLAGS_TF,
        RFLAGS_IF,
        RFLAGS_RF,
        RFLAGS_VM,
        regs::RFLAGS_DF,
        regs::RFLAGS_IOPL,
        regs::RFLAGS_NT,
        regs::RFLAGS_AC,
    ]
    .into_iter()
    .fold(0, |all, flag| all | flag);
    let entry = syscall_entry as *const () as u64;
    for (register, value) in [
        (regs::STAR, segments),
        (regs::LSTAR, entry),
        // Nobody has code that is not of 64 bits, but QEMU 10 lets users load any selector into CS.
        (regs::CSTAR, entry),
        (regs::FMASK, cleared),
    ] {
        // SAFETY: every processor with `syscall` has them; the entry is the kernel's, and is ready.
        unsafe { regs::write_msr(register, value) };
    }
    // SAFETY: as above. Boot has set the other bits, and looked whether the processor has this one.
    unsafe { regs::write_msr(regs::EFER, regs::read_msr(regs::EFER) | regs::EFER_SCE) };
}

// The upper half of ring 0's stack pointer is ones.
const _: () = assert!(wide(CPU) as i64 == word_at(CPU) as i64);
// `fast/ipc.S`: both are tested at once, and so are a tag's words and what is above them.
const _: () = assert!(
    offset_of!(Thread, senders) == offset_of!(Thread, signals) + 4
        && REGISTER_WORDS < 1 << Delivery::BADGE_SHIFT
);
// `fast/alien.S` pushes a frame's words in this order, and pops them from its start. The word `loaded` without flags is a thread.
const _: () = {
    const WORDS: [usize; 9] = [
        frame!(r),
        frame!(rsp),
        frame!(rip),
        frame!(rflags),
        frame!(fs_base),
        frame!(vector),
        frame!(error),
        frame!(address),
        frame!(changed),
    ];
    assert!(WORDS[0] == 0 && WORDS[1] == GENERAL * 8 && frame!(changed) + 8 == size_of::<Frame>());
    let mut word = 2;
    while word < WORDS.len() {
        assert!(WORDS[word] == WORDS[word - 1] + 8);
        word += 1;
    }
    assert!(loaded::FLAGS < ANCHOR && ANCHOR.is_power_of_two() && BYTES.is_multiple_of(ANCHOR));
};
// `fast/map.S`: a Memory of RAM is told by a zero, and the right to write is the bit of an entry that allows it.
const _: () = assert!(class::RAM == 0 && Rights::WRITE.0 as u64 == bits::WRITABLE);
// `fast/notify.S`, as the test that executes it knows the kernel: the scheduler, then the clock.
const _: () = assert!(
    SCHEDULER == 0 && clock!(base) == size_of::<Scheduler>() && clock!(mult) == clock!(base) + 8
);
const _: () = assert!(clock!(shift) == clock!(mult) + 4);
