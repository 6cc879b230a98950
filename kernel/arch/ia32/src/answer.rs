// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast paths of answers to page faults: `map_reply_wait` of one page of RAM, to a thread that waits for
//! the end of its exception, and `map_run` of one such page. They do what `map.rs` of the portable kernel does when nothing
//! has to be made or flushed, and then what `fast.rs` does for a reply or `alien.rs` for a `run`; on any doubt they go to `slow`.
//!
//! T1 and T7 to T10 are those of `fast.rs`, R2 to R8 those of `alien.rs`.
//!
//! | M | test | portable form |
//! |---|---|---|
//! | 1 | no words, capabilities or flags; one record, of one page | `map_reply_wait`, `map_run` |
//! | 2 | the memory's selector names a Memory | `record_memory` |
//! | 3 | to map, with rights, all of which the capability has | `request` |
//! | 4 | RAM that does not die, and the page lies in it | `request` |
//! | 5 | the space's selector names a Space with the right to control it, which does not die | `request` |
//! | 6 | that has mapped this Memory before | `note_use` |
//! | 7 | the address is above the UTCBs, and the space has a table of its own there | `request`, `own_table` |
//! | 8 | in which nothing is mapped there; or it is not this thread's, so no TLB has its translations (`map_run`) | `write_leaves`, `invalidate` |
//!
//! An upper-level entry above the user's part is never one that a user may use, so T7 refuses it.

use crate::alien::may_run;
use crate::fast::{below, field};
use crate::layout::{CPU, POOL_BASE};
use crate::lazy::FLAGS;
use abi::{Kind, Rights};
use core::arch::global_asm;
use core::mem::offset_of;
use ia32_context::selector::FLAT;
use ia32_context::word;
use kcore::memory::class;
use kcore::space::HEADER_BYTES;
use kcore::thread::{ANCHOR, BYTES, gate};
use kcore::{Attachment, Cpu, Memory, Space};
use mmu::ia32::bits;

const REPLY_WAIT: u32 = abi::Tag::new(abi::Op::ReplyWait, 0, 0).0;
const MAP_REPLY_WAIT: u32 = abi::Tag::new(abi::Op::MapReplyWait, 0, 0).0;
/// What an upper-level entry of an owner's own table has, and of that and others the bits that tell them apart.
const TABLE: u32 = bits::PRESENT | bits::WRITABLE | bits::USER;
const TABLE_KIND: u32 = TABLE | bits::LARGE | bits::SHARED;
/// Bits of a record's address word that are no address.
const LOW: u32 = abi::PAGE_SIZE - 1;

global_asm!(
    ".section .text.fast, \"ax\", @progbits",
    // Carries out the record of one page whose words are in ESI, EDI and EBP; keeps EBX and EDX. At 9 it
    // has changed nothing but registers.
    ".macro MAP_PAGE replaces",
    "mov ecx, esi", // M2; the kind's word is a badge, too, which no Memory and no Space has
    "shr ecx, 16",
    "cmp ecx, [esp + {cap_limit}]",
    "jae 9f",
    "shl ecx, 4",
    "add ecx, [esp + {space}]",
    "cmp dword ptr ss:[ecx + {slots} + 4], {memory}",
    "jne 9f",
    "mov eax, ss:[ecx + {slots}]",
    "mov ecx, eax", // M3
    "and ecx, {rwx}",
    "xor ecx, {low}",
    "test ecx, edi",
    "jnz 9f",
    "test edi, {rwx}",
    "jz 9f",
    "and eax, ~63",
    "mov ecx, ss:[eax + {memory_class}]", // M4
    "or ecx, ss:[eax + {memory_dying}]",
    "jnz 9f",
    "cmp ebp, ss:[eax + {memory_bytes}]",
    "jae 9f",
    "add ebp, ss:[eax + {memory_base}]",
    "test ebp, {low}",
    "jnz 9f",
    "movzx esi, si", // M5
    "cmp esi, [esp + {cap_limit}]",
    "jae 9f",
    "shl esi, 4",
    "add esi, [esp + {space}]",
    "cmp dword ptr ss:[esi + {slots} + 4], {space_kind}",
    "jne 9f",
    "mov esi, ss:[esi + {slots}]",
    "xor esi, {control}",
    "test esi, 63",
    "jnz 9f",
    "cmp dword ptr ss:[esi + {space_dying}], 0",
    "jne 9f",
    ".if \\replaces",
    "cmp esi, [esp + {space}]", // M8
    "je 9f",
    ".endif",
    "mov ecx, ss:[esi + {attached}]", // M6
    "2:",
    "test ecx, ecx",
    "jz 9f",
    "cmp ss:[ecx + {source}], eax",
    "jne 8f",
    "cmp edi, {area_end}", // M7
    "jb 9f",
    "mov eax, edi",
    "shr eax, 22",
    "mov esi, ss:[esi + {space_top}]",
    "mov esi, ss:[esi + eax*4]",
    "xor esi, {table}",
    "test esi, {table_kind}",
    "jnz 9f",
    "mov eax, edi", // M8
    "shr eax, 10",
    "and eax, {low} & ~3",
    "and esi, ~{low}",
    "add esi, eax",
    "sub esi, ss:[{pool_offset}]",
    ".if \\replaces == 0",
    "cmp dword ptr ss:[esi], 0",
    "jne 9f",
    ".endif",
    // Nothing can fail any more. The right to write is the bit that allows it.
    "mov dword ptr ss:[ecx + {cursor}], 0",
    "and edi, {write}",
    "lea ebp, [ebp + edi + {leaf}]",
    "shl edi, {most_shift}",
    "or ebp, edi",
    "mov ss:[esi], ebp",
    ".endm",
    // Behind it: the way down the tree of what was mapped.
    ".macro SEARCH",
    "8:",
    "test eax, ss:[ecx + {bit}]",
    "jnz 7f",
    "mov ecx, ss:[ecx + {lower}]",
    "jmp 2b",
    "7:",
    "mov ecx, ss:[ecx + {upper}]",
    "jmp 2b",
    ".endm",
    ".balign 32",
    // From `reply_wait`'s T2: ESP the thread, EAX the tag in difference to that of `reply_wait`.
    ".global answer",
    "answer:",
    "cmp eax, {reply_wait} ^ {map_reply_wait}", // M1
    "jne slow_answer",
    "mov edx, ss:[{index_mask}]", // T7
    "and edx, ebx",
    "shl edx, {thread_shift}",
    "add edx, {threads}",
    "cmp dword ptr ss:[edx + {gate}], {exception}", // T8
    "jne slow_answer",
    "cmp ebx, ss:[edx + {handle}]", // T9
    "jne slow_answer",
    "cmp ss:[edx + {partner}], esp",
    "jne slow_answer",
    "mov ecx, [esp + {senders}]", // T10
    "or ecx, [esp + {signals}]",
    "jnz slow_answer",
    "mov ecx, ss:[{top}]", // T6
    "cmp ecx, ss:[edx + {priority}]",
    "ja slow_answer",
    // Words that the slow way writes anew.
    "mov [esp - {esi_slot}], esi",
    "mov [esp - {ebp_slot}], ebp",
    "MAP_PAGE 0",
    "jmp resume_exception",
    "SEARCH",
    "9:",
    "mov esi, [esp - {esi_slot}]",
    "mov ebp, [esp - {ebp_slot}]",
    "mov eax, {map_reply_wait}",
    "jmp slow",
    // --- map_run: from alien_sysenter, ESP the thread, EAX and EBX as the user had them ---
    ".balign 32",
    ".global map_run",
    "map_run:",
    "cmp eax, {map_run_op}", // M1
    "jne slow",
    "cmp esi, 1",
    "jne slow",
    may_run!("slow", "5f"),
    "cmp dword ptr ss:[eax + {f_ds_es}], {flat}", // R7
    "jne 5f",
    "cmp dword ptr ss:[eax + {f_changed}], 0",
    "je 4f",
    "cmp dword ptr ss:[eax + {f_changed}], {by_sysexit}",
    "jne 5f",
    "test dword ptr ss:[eax + {f_eflags}], {iret_flags}", // R8
    "jnz 5f",
    "4:",
    "mov [esp - {esi_slot}], edi",
    "mov [esp - {ebp_slot}], ebp",
    "mov ecx, [esp + {utcb}]",
    "mov esi, ss:[ecx]",
    "mov edi, ss:[ecx + 4]",
    "mov ebp, ss:[ecx + 8]",
    "cmp dword ptr ss:[ecx + 12], {page}", // M1
    "jne 9f",
    "MAP_PAGE 1",
    "mov eax, ss:[edx + {utcb}]",
    "jmp resume_alien",
    "SEARCH",
    "9:",
    "mov esi, 1",
    "mov edi, [esp - {esi_slot}]",
    "mov ebp, [esp - {ebp_slot}]",
    "5:",
    "mov eax, {map_run_op}",
    "jmp slow",
    ".global answer_end",
    "answer_end:",
    reply_wait = const REPLY_WAIT,
    map_reply_wait = const MAP_REPLY_WAIT,
    map_run_op = const abi::Tag::new(abi::Op::MapRun, 0, 0).0,
    loaded = const CPU + offset_of!(Cpu, loaded) as u32,
    loaded_flags = const FLAGS,
    reply_alien = const gate::REPLY | gate::ALIEN,
    utcb = const field!(utcb),
    f_fs_gs = const offset_of!(abi::Frame, fs_gs),
    f_ds_es = const offset_of!(abi::Frame, ds_es),
    f_changed = const offset_of!(abi::Frame, changed),
    f_eflags = const offset_of!(abi::Frame, eflags),
    flat = const FLAT,
    by_sysexit = const abi::frame::BY_SYSEXIT,
    iret_flags = const crate::regs::EFLAGS_TF | crate::regs::EFLAGS_RF,
    page = const abi::PAGE_SIZE,
    index_mask = sym crate::port::INDEX_MASK,
    thread_shift = const BYTES.trailing_zeros(),
    threads = const POOL_BASE + ANCHOR,
    gate = const field!(gate),
    exception = const gate::REPLY | gate::EXCEPTION,
    handle = const field!(handle),
    partner = const field!(partner),
    senders = const field!(senders),
    signals = const field!(signals),
    top = const CPU + offset_of!(Cpu, top) as u32,
    priority = const field!(priority),
    esi_slot = const below(word::SS),
    ebp_slot = const below(word::CS),
    cap_limit = const field!(cap_limit),
    space = const field!(space),
    slots = const HEADER_BYTES,
    memory = const Kind::Memory as u32,
    rwx = const Rights::RWX.0,
    low = const LOW,
    memory_class = const offset_of!(Memory, class),
    memory_dying = const offset_of!(Memory, header.dying),
    memory_bytes = const offset_of!(Memory, bytes),
    memory_base = const offset_of!(Memory, base),
    space_kind = const Kind::Space as u32,
    control = const Rights::CONTROL.0,
    space_dying = const offset_of!(Space, region.header.dying),
    attached = const offset_of!(Space, region.attached),
    source = const offset_of!(Attachment, source),
    bit = const offset_of!(Attachment, bit),
    lower = const offset_of!(Attachment, lower),
    upper = const offset_of!(Attachment, upper),
    cursor = const offset_of!(Attachment, cursor),
    area_end = const abi::utcb::AREA_END,
    space_top = const offset_of!(Space, region.top),
    table = const TABLE,
    table_kind = const TABLE_KIND,
    pool_offset = sym crate::port::POOL_OFFSET,
    write = const Rights::WRITE.0,
    leaf = const bits::HELD | bits::PRESENT | bits::USER,
    most_shift = const (bits::MOST_WRITE / bits::WRITABLE).trailing_zeros(),
);

const _: () = assert!(class::RAM == 0 && Rights::WRITE.0 == bits::WRITABLE);
