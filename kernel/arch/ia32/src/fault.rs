// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast path of a native thread's page fault: to the pager that waits openly, as `fault.rs` of
//! the portable kernel does it (`raise`, `transfer_exception`). The pager's reply is in `fast.rs`.
//!
//! | F | test | portable form |
//! |---|---|---|
//! | 1 | from user mode: the stack ends at the thread | `enter` |
//! | 2 | FS and GS null, nothing lazily loaded, no step pending | `lazy`, `Cpu::loaded` |
//! | 3 | DS and ES are flat | `frame` |
//! | 4 | the thread has a handler | `raise` |
//! | 5 | which waits openly and may be resumed fast | `receives_from` |
//! | 6 | and is at least as urgent as every ready thread | `settle` |
//!
//! All registers are saved in the thread's context first, where the portable code wants them and the
//! reply finds them.

use crate::fast::{field, lazy_state};
use crate::layout::CPU;
use core::arch::global_asm;
use core::mem::offset_of;
use ia32_context::selector::{FLAT, USER_DATA};
use ia32_context::word;
use kcore::Cpu;
use kcore::port::CONTEXT_WORDS;
use kcore::thread::{SEQUENCE, gate};

/// Where a register is in the faulting thread's context, from a reference to it.
macro_rules! saved {
    ($name:ident) => {
        (word::$name as i32 - CONTEXT_WORDS as i32) * 4
    };
}

/// Where it is in the message, from the receiver's UTCB.
macro_rules! told {
    ($name:ident) => {
        kcore::FRAME_OFFSET + offset_of!(abi::Frame, $name) as u32
    };
}

const DELIVERY: u32 = (abi::MessageKind::Exception as u32) << abi::Delivery::KIND_SHIFT | (abi::tag::REGISTER_WORDS + abi::frame::WORDS);

global_asm!(
    ".section .text.fast, \"ax\", @progbits",
    ".balign 32",
    // The processor pushed SS, ESP, EFLAGS, CS, EIP and the error code.
    ".global native_fault",
    "native_fault:",
    "push {vector}",
    "pushad",
    "lea eax, [esp + {pushed}]", // F1
    "cmp eax, ss:[{current}]",
    "jne entered_saved",
    "mov ecx, fs", // F2
    "mov edx, gs",
    "or ecx, edx",
    "or ecx, ss:[{loaded}]",
    "jnz entered_saved",
    "mov ecx, ds", // F3
    "mov edx, es",
    "shl ecx, 16",
    "or ecx, edx",
    "cmp ecx, {flat}",
    "jne entered_saved",
    "mov edx, ss:[eax + {handler}]", // F4
    "test dl, {call_right}",
    "jz entered_saved",
    "and edx, ~63",
    "cmp dword ptr ss:[edx + {gate}], {open}", // F5
    "jne entered_saved",
    "mov ecx, ss:[{top}]", // F6
    "cmp ecx, ss:[edx + {priority}]",
    "ja entered_saved",
    "push {user_data}",
    "push {user_data}",
    "push 0",
    "push 0",
    "mov esp, eax",
    // A write alone brings no line into a Pentium's cache: the frame's are read first.
    "mov ecx, ss:[edx + {utcb}]",
    "mov eax, ss:[ecx + {t_eax}]",
    "mov eax, ss:[ecx + {t_eax} + 32]",
    "mov eax, ss:[ecx + {t_changed}]",
    "mov ss:[ecx + {t_ebx}], ebx",
    "mov ss:[ecx + {t_esi}], esi",
    "mov ss:[ecx + {t_edi}], edi",
    "mov ss:[ecx + {t_ebp}], ebp",
    "mov eax, [esp + {s_eax}]",
    "mov ss:[ecx + {t_eax}], eax",
    "mov eax, [esp + {s_ecx}]",
    "mov ss:[ecx + {t_ecx}], eax",
    "mov eax, [esp + {s_edx}]",
    "mov ss:[ecx + {t_edx}], eax",
    "mov eax, [esp + {s_esp}]",
    "mov ss:[ecx + {t_esp}], eax",
    "mov eax, [esp + {s_eip}]",
    "mov ss:[ecx + {t_eip}], eax",
    "mov eax, [esp + {s_eflags}]",
    "mov ss:[ecx + {t_eflags}], eax",
    "mov dword ptr ss:[ecx + {t_ds_es}], {flat}",
    "mov eax, [esp + {fs_gs}]",
    "mov ss:[ecx + {t_fs_gs}], eax",
    "mov esi, {vector}",
    "mov edi, cr2",
    "mov ebp, [esp + {s_error}]",
    "mov ss:[ecx + {t_vector}], esi",
    "mov ss:[ecx + {t_address}], edi",
    "mov ss:[ecx + {t_error}], ebp",
    "mov dword ptr ss:[ecx + {t_changed}], 0",
    "mov [esp + {fault_address}], edi",
    "mov dword ptr [esp + {sending}], {exception}",
    "mov eax, [esp + {handler} + 4]",
    "or eax, {delivery}",
    "add dword ptr [esp + {handle}], {sequence}",
    "mov ebx, [esp + {handle}]",
    "mov [esp + {partner}], edx",
    "mov dword ptr [esp + {gate}], {waits}",
    "jmp fast_switch",
    ".global native_fault_end",
    "native_fault_end:",
    vector = const abi::frame::vector::PAGE_FAULT,
    // `pushad`, vector, error code, and the five words of an entry from ring 3.
    pushed = const 32 + 8 + 20,
    current = const CPU + offset_of!(Cpu, current) as u32,
    loaded = const CPU + offset_of!(Cpu, loaded) as u32,
    top = const CPU + offset_of!(Cpu, top) as u32,
    flat = const FLAT,
    handler = const field!(handler),
    call_right = const abi::Rights::CALL.0,
    gate = const field!(gate),
    open = const gate::OPEN,
    waits = const gate::REPLY | gate::EXCEPTION,
    priority = const field!(priority),
    user_data = const USER_DATA,
    utcb = const field!(utcb),
    fs_gs = const lazy_state!(fs_gs),
    fault_address = const field!(fault_address),
    sending = const field!(sending),
    exception = const abi::MessageKind::Exception as u32,
    handle = const field!(handle),
    sequence = const SEQUENCE,
    partner = const field!(partner),
    delivery = const DELIVERY,
    s_eax = const saved!(EAX),
    s_ecx = const saved!(ECX),
    s_edx = const saved!(EDX),
    s_esp = const saved!(ESP),
    s_eip = const saved!(EIP),
    s_eflags = const saved!(EFLAGS),
    s_error = const saved!(ERROR),
    t_eax = const told!(eax),
    t_ebx = const told!(ebx),
    t_ecx = const told!(ecx),
    t_edx = const told!(edx),
    t_esi = const told!(esi),
    t_edi = const told!(edi),
    t_ebp = const told!(ebp),
    t_esp = const told!(esp),
    t_eip = const told!(eip),
    t_eflags = const told!(eflags),
    t_ds_es = const told!(ds_es),
    t_fs_gs = const told!(fs_gs),
    t_vector = const told!(vector),
    t_error = const told!(error),
    t_address = const told!(address),
    t_changed = const told!(changed),
);

// The words that are pushed behind `pushad`'s are those of the context, in its order.
const _: () = assert!(word::DS + 1 == word::EDI && word::GS + 3 == word::DS && word::EAX + 1 == word::VECTOR);
