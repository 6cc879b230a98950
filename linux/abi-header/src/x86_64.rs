// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64's part of the header.

use crate::Port;
use abi::arch::x86_64::{frame, layout, message, state};
use core::mem::offset_of;
use frame::Frame;

/// The names of the general registers, in the frame's order.
const GENERAL: [&str; frame::GENERAL] = [
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];

/// The header's text for x86-64.
///
/// # Panics
/// If the fields of a frame are not words in the order of the structure that it declares.
#[must_use]
pub fn header() -> String {
    let slots_a_page = abi::utcb::slots_a_page(
        layout::SLOT_START,
        layout::SLOT_SIZE,
        layout::FPU_OFFSET + layout::FPU_SIZE,
    );
    let pages = (layout::AREA_END - layout::FIRST_SLOT) / abi::PAGE_SIZE as u64;
    let definitions = vec![
        ("UTCB_SLOTS_A_PAGE", slots_a_page),
        ("UTCB_SLOTS", pages as u32 * slots_a_page),
        ("REGISTER_WORDS", message::REGISTER_WORDS),
        ("FPU_OFFSET", layout::FPU_OFFSET),
        ("FPU_SIZE", layout::FPU_SIZE),
        ("KIP_OFFSET", (layout::KIP_ADDRESS - layout::AREA_START) as u32),
        ("FAULT_PROTECTION", frame::fault::PROTECTION as u32),
        ("FAULT_WRITE", frame::fault::WRITE as u32),
        ("FAULT_FETCH", frame::fault::FETCH as u32),
        ("VECTOR_PAGE_FAULT", frame::vector::PAGE_FAULT as u32),
        ("VECTOR_SYSTEM_CALL", frame::vector::SYSTEM_CALL as u32),
        ("CHANGED_STATE", frame::CHANGED_STATE as u32),
        ("STATE_GS_BASE", state::GS_BASE),
        ("STATE_DEBUG", state::DEBUG),
    ];
    let mut frame: Vec<_> = GENERAL
        .iter()
        .enumerate()
        .map(|(at, name)| (*name, offset_of!(Frame, r) + at * size_of::<u64>(), 1))
        .collect();
    frame.extend([
        ("rsp", offset_of!(Frame, rsp), 1),
        ("rip", offset_of!(Frame, rip), 1),
        ("rflags", offset_of!(Frame, rflags), 1),
        ("fs_base", offset_of!(Frame, fs_base), 1),
        ("vector", offset_of!(Frame, vector), 1),
        ("error", offset_of!(Frame, error), 1),
        ("address", offset_of!(Frame, address), 1),
        ("changed", offset_of!(Frame, changed), 1),
    ]);
    crate::header(&Port { word: ("unsigned long", 8), definitions, frame })
}
