// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC's part of the header.

use crate::Port;
use abi::arch::powerpc::{frame, kip, layout, message};
use core::mem::offset_of;
use frame::Frame;

/// The header's text for PowerPC.
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
        ("FPU_OFFSET", layout::FPU_OFFSET),
        ("FPU_SIZE", layout::FPU_SIZE),
        ("KIP_OFFSET", layout::KIP_ADDRESS - layout::AREA_START),
        ("VERSION_OFFSET", kip::VERSION_OFFSET),
        ("TABLE_SPAN", layout::TABLE_SPAN),
        ("FAULT_PROTECTION", frame::fault::PROTECTION),
        ("FAULT_WRITE", frame::fault::WRITE),
        ("FAULT_FETCH", frame::fault::FETCH),
        ("PROGRAM_FPU", frame::program::FPU),
        ("PROGRAM_ILLEGAL", frame::program::ILLEGAL),
        ("PROGRAM_PRIVILEGED", frame::program::PRIVILEGED),
        ("PROGRAM_TRAP", frame::program::TRAP),
        ("VECTOR_MACHINE_CHECK", frame::vector::MACHINE_CHECK),
        ("VECTOR_PAGE_FAULT", frame::vector::PAGE_FAULT),
        ("VECTOR_ALIGNMENT", frame::vector::ALIGNMENT),
        ("VECTOR_PROGRAM", frame::vector::PROGRAM),
        ("VECTOR_TRACE", frame::vector::TRACE),
        ("VECTOR_SYSTEM_CALL", frame::vector::SYSTEM_CALL),
    ];
    let frame = vec![
        ("gpr", offset_of!(Frame, gpr), 32),
        ("lr", offset_of!(Frame, lr), 1),
        ("ctr", offset_of!(Frame, ctr), 1),
        ("xer", offset_of!(Frame, xer), 1),
        ("cr", offset_of!(Frame, cr), 1),
        ("pc", offset_of!(Frame, pc), 1),
        ("msr", offset_of!(Frame, msr), 1),
        ("vector", offset_of!(Frame, vector), 1),
        ("error", offset_of!(Frame, error), 1),
        ("address", offset_of!(Frame, address), 1),
        ("changed", offset_of!(Frame, changed), 1),
    ];
    crate::header(&Port { word: ("u32", 4), definitions, frame })
}
