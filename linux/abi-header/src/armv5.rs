// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5's part of the header.

use crate::Port;
use abi::arch::armv5::{frame, kip, layout, message, place, state};
use core::mem::offset_of;
use frame::Frame;

/// The header's text for ARMv5.
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
    let definitions = vec![
        ("UTCB_SLOTS_A_PAGE", slots_a_page),
        (
            "UTCB_SLOTS",
            (layout::AREA_END - layout::FIRST_SLOT) / abi::PAGE_SIZE as u32 * slots_a_page,
        ),
        ("REGISTER_WORDS", message::REGISTER_WORDS),
        ("KIP_ADDRESS", layout::KIP_ADDRESS),
        ("TIMER_OFFSET", kip::TIMER_OFFSET),
        ("PLACE_RELOCATED", place::RELOCATED),
        ("SLOT_BYTES", layout::SLOT_BYTES),
        ("FAULT_PROTECTION", frame::fault::PROTECTION),
        ("FAULT_WRITE", frame::fault::WRITE),
        ("FAULT_FETCH", frame::fault::FETCH),
        ("VECTOR_UNDEFINED", frame::vector::UNDEFINED),
        ("VECTOR_BREAKPOINT", frame::vector::BREAKPOINT),
        ("VECTOR_PAGE_FAULT", frame::vector::PAGE_FAULT),
        ("VECTOR_ALIGNMENT", frame::vector::ALIGNMENT),
        ("VECTOR_BUS", frame::vector::BUS),
        ("VECTOR_SYSTEM_CALL", frame::vector::SYSTEM_CALL),
        ("STATE_THREAD_POINTER", state::THREAD_POINTER),
    ];
    let frame = vec![
        ("r", offset_of!(Frame, r), 13),
        ("sp", offset_of!(Frame, sp), 1),
        ("lr", offset_of!(Frame, lr), 1),
        ("pc", offset_of!(Frame, pc), 1),
        ("cpsr", offset_of!(Frame, cpsr), 1),
        ("vector", offset_of!(Frame, vector), 1),
        ("error", offset_of!(Frame, error), 1),
        ("address", offset_of!(Frame, address), 1),
        ("changed", offset_of!(Frame, changed), 1),
    ];
    crate::header(&Port { word: ("u32", 4), definitions, frame })
}
