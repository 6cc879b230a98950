// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel entry by `sysenter` and the IPC fast path.
//!
//! The fast path does what `ipc.rs` would do for the common case and nothing else:
//! it changes no word before its last test, and on any doubt goes to `slow` with all
//! registers as the user had them. Interrupts are off from entry to `sysexit`.
//!
//! Tests, in the order in which they are made (the same numbers stand beside the code):
//!
//! | T | test | portable form |
//! |---|---|---|
//! | 1 | FS and GS null, nothing lazily loaded, no step pending | `lazy`, `Cpu::loaded` |
//! | 2 | operation, 0 to 3 words, no capabilities, no flags | `check_tag` |
//! | 3 | selector below the table's size (0 for an alien) | `slot` |
//! | 4 | a Thread capability with the right to call | `slot_of` |
//! | 5 | receiver waits openly and may be resumed fast | `receives_from` |
//! | 6 | receiver at least as urgent as every ready thread | `settle` |
//! | 7 | the handle's index, which is always one of the table | `waiting_caller` |
//! | 8 | that thread waits for a reply, or for the end of its exception, and may be resumed fast | `waiting_caller` |
//! | 9 | under this handle, from this very thread | `waiting_caller` |
//! | 10 | this thread has no sender and no notification waiting | `receive` |
//!
//! What fails T1 may be `run`, whose alien's state is loaded: `alien.rs`.
//!
//! Slot 0 of a table is always empty, so it has no right to call and T3 need not
//! look for it. Receiver and sender cannot be the same thread: the sender runs, so its gate
//! is not `OPEN`.
//!
//! Data is addressed through SS, which `sysenter` makes flat; DS and ES are the
//! user's until they are made flat for the receiver, if they are not.

use crate::layout::{CPU, ENTRY_STACK_TOP, POOL_BASE};
use core::arch::global_asm;
use core::mem::offset_of;
use kcore::Cpu;
use kcore::thread::{ANCHOR, BYTES, SEQUENCE, gate};

/// Offset of a Thread's field from a reference to it.
macro_rules! field {
    ($name:ident) => {
        core::mem::offset_of!(kcore::thread::Thread, $name) as i32 - kcore::thread::ANCHOR as i32
    };
}
pub(crate) use field;

/// Offset of a part of a Thread's rarely loaded state from a reference to it.
macro_rules! lazy_state {
    ($name:ident) => {
        crate::fast::field!(lazy_state) + core::mem::offset_of!(ia32_context::State, $name) as i32
    };
}
pub(crate) use lazy_state;

/// Where a word of the context is: bytes below a thread's reference.
pub(crate) const fn below(index: usize) -> usize {
    (kcore::port::CONTEXT_WORDS - index) * 4
}
/// Of the user's stack pointer.
pub(crate) const ESP_SLOT: usize = below(ia32_context::word::ESP);
/// Of its instruction pointer.
pub(crate) const EIP_SLOT: usize = below(ia32_context::word::EIP);

const CALL_OP: u32 = (abi::Op::Call as u32) << abi::Tag::OP_SHIFT;
const REPLY_WAIT_OP: u32 = (abi::Op::ReplyWait as u32) << abi::Tag::OP_SHIFT;
const REPLY_KIND: u32 = (abi::MessageKind::Reply as u32) << abi::Delivery::KIND_SHIFT;

global_asm!(
    ".section .text.fast, \"ax\", @progbits",
    // The thread in EDX waits under the handle in EBX for this very thread, which may wait then.
    ".macro MAY_REPLY",
    "cmp ebx, ss:[edx + {handle}]", // T9
    "jne slow_reply",
    "cmp ss:[edx + {partner}], esp",
    "jne slow_reply",
    "mov ecx, [esp + {senders}]", // T10
    "or ecx, [esp + {signals}]",
    "jnz slow_reply",
    "mov ecx, ss:[{top}]", // T6
    "cmp ecx, ss:[edx + {priority}]",
    "ja slow_reply",
    ".endm",
    ".balign 32",
    ".global sysenter_entry",
    "sysenter_entry:",
    "mov esp, ss:[{current}]",
    "mov [esp - {esp_slot}], ecx",
    "mov [esp - {eip_slot}], edx",
    "mov dword ptr [esp - {eflags_slot}], {flags}",
    ".if {kdb}",
    "jmp slow",
    ".endif",
    "mov ecx, fs", // T1
    "mov edx, gs",
    "or ecx, edx",
    "or ecx, ss:[{loaded}]",
    "jnz try_run",
    "xor eax, {call}", // T2
    "test eax, ~3",
    "jnz 3f",
    // --- call -----------------------------------------------------------------
    "cmp ebx, [esp + {cap_limit}]", // T3
    "jae slow_call",
    "mov ecx, [esp + {space}]",
    "shl ebx, 4",
    "mov edx, ss:[ecx + ebx + {slots}]",
    "test edx, {call_right}", // T4; three bytes longer than of DL, which puts fast_switch at a line's start
    "jz slow_slot",
    "and edx, ~63",
    "cmp dword ptr ss:[edx + {gate}], {open}", // T5
    "jne slow_slot",
    "mov ecx, ss:[{top}]", // T6
    "cmp ecx, ss:[edx + {priority}]",
    "ja slow_slot",
    // Nothing can fail any more. The badge word of a Thread capability has zeros below the badge.
    "mov ecx, [esp + {space}]",
    "or eax, ss:[ecx + ebx + {slots} + 4]",
    "add dword ptr [esp + {handle}], {sequence}",
    "mov ebx, [esp + {handle}]",
    "mov [esp + {partner}], edx",
    "mov dword ptr [esp + {gate}], {reply}",
    // --- switch from esp to edx -------------------------------------------------
    ".global fast_switch",
    "fast_switch:",
    "mov dword ptr ss:[edx + {gate}], {ready}",
    "mov ss:[{current}], edx",
    "mov ecx, ss:[edx + {space}]",
    "cmp ecx, [esp + {space}]",
    "je 4f",
    "mov ecx, ss:[ecx + {directory}]",
    "mov cr3, ecx",
    // Loading a selector reads its descriptor: a cache line, and slow on every processor.
    "4:",
    "mov ecx, ds",
    "cmp cx, {user_data}",
    "jne 6f",
    "mov ecx, es",
    "cmp cx, {user_data}",
    "jne 6f",
    "5:",
    "mov ecx, ss:[edx - {esp_slot}]",
    "mov edx, ss:[edx - {eip_slot}]",
    "push 2",
    "popfd",
    "sti",
    "sysexit",
    "6:",
    "mov ecx, {user_data}",
    "mov ds, ecx",
    "mov es, ecx",
    "jmp 5b",
    // --- reply_wait ---------------------------------------------------------------
    ".balign 32",
    "3:",
    "xor eax, {call} ^ {reply_wait}", // T2
    "test eax, ~3",
    "jnz 8f",
    "mov edx, ss:[{index_mask}]", // T7
    "and edx, ebx",
    "shl edx, {thread_shift}",
    "add edx, {threads}",
    "cmp dword ptr ss:[edx + {gate}], {reply}", // T8
    "jne 7f",
    "MAY_REPLY",
    "or eax, {reply_kind}",
    "xor ebx, ebx",
    "mov dword ptr [esp + {gate}], {open}",
    "jmp fast_switch",
    // In reach of a short jump.
    "7:",
    "jmp reply_to_exception",
    "8:",
    "jmp answer",
    // --- not for us: give back what was changed ------------------------------------
    "slow_slot:",
    "shr ebx, 4",
    "slow_call:",
    "xor eax, {call}",
    "jmp slow",
    // A label that is seen elsewhere is out of reach of short jumps.
    ".global slow_answer",
    "slow_answer:",
    "slow_reply:",
    "xor eax, {reply_wait}",
    ".global slow",
    "slow:",
    "mov dword ptr [esp - 4], {user_data}",
    "lea esp, [esp - 8]",
    "pushfd",
    "or dword ptr [esp], {interrupt_flag}",
    "push {user_code}",
    "lea esp, [esp - 4]",
    "push 0",
    "push {sysenter_vector}",
    "mov edx, [esp + 8]",
    "mov ecx, [esp + 20]",
    "jmp save_registers",
    // --- reply_wait to a thread that waits for the end of its exception: all registers are its own -----
    "reply_to_exception:",
    "cmp dword ptr ss:[edx + {gate}], {exception}", // T8
    "jne slow_reply",
    "MAY_REPLY",
    ".global resume_exception",
    "resume_exception:",
    "mov dword ptr [esp + {gate}], {open}",
    "mov dword ptr ss:[edx + {gate}], {ready}",
    "mov dword ptr ss:[edx + {sending}], {call_kind}",
    "mov ss:[{current}], edx",
    "mov ecx, ss:[edx + {space}]",
    "cmp ecx, [esp + {space}]",
    "je leave_kernel",
    "mov ecx, ss:[ecx + {directory}]",
    "mov cr3, ecx",
    "jmp leave_kernel",
    ".global fast_end",
    "fast_end:",
    current = const CPU + offset_of!(Cpu, current) as u32,
    kdb = const cfg!(feature = "kdb") as u32,
    loaded = const CPU + offset_of!(Cpu, loaded) as u32,
    top = const CPU + offset_of!(Cpu, top) as u32,
    index_mask = sym crate::port::INDEX_MASK,
    esp_slot = const ESP_SLOT,
    eip_slot = const EIP_SLOT,
    eflags_slot = const below(ia32_context::word::EFLAGS),
    flags = const ia32_context::FIXED_FLAGS,
    call = const CALL_OP,
    reply_wait = const REPLY_WAIT_OP,
    reply_kind = const REPLY_KIND,
    cap_limit = const field!(cap_limit),
    space = const field!(space),
    gate = const field!(gate),
    priority = const field!(priority),
    handle = const field!(handle),
    partner = const field!(partner),
    senders = const field!(senders),
    signals = const field!(signals),
    slots = const kcore::space::HEADER_BYTES,
    directory = const offset_of!(kcore::Space, hw),
    call_right = const abi::Rights::CALL.0,
    open = const gate::OPEN,
    reply = const gate::REPLY,
    exception = const gate::REPLY | gate::EXCEPTION,
    sending = const field!(sending),
    call_kind = const abi::MessageKind::Call as u32,
    ready = const gate::READY,
    sequence = const SEQUENCE,
    thread_shift = const BYTES.trailing_zeros(),
    threads = const POOL_BASE + ANCHOR,
    user_data = const ia32_context::selector::USER_DATA as u32,
    user_code = const ia32_context::selector::USER_CODE as u32,
    interrupt_flag = const crate::regs::EFLAGS_IF,
    sysenter_vector = const abi::frame::vector::SYSENTER,
);

const _: () = assert!(ENTRY_STACK_TOP.is_multiple_of(4));

unsafe extern "C" {
    /// Where `sysenter` enters.
    pub fn sysenter_entry();
}
