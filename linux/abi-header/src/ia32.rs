// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32's part of the header.

use crate::Port;
use abi::arch::ia32::{frame, kip, layout, message, state};
use core::mem::offset_of;
use frame::Frame;

/// The header's text for IA-32.
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
        ("TABLE_SPAN", layout::TABLE_SPAN),
        ("HOME", abi::HOME),
        ("FAULT_PROTECTION", frame::fault::PROTECTION),
        ("FAULT_WRITE", frame::fault::WRITE),
        ("VECTOR_PAGE_FAULT", frame::vector::PAGE_FAULT),
        ("VECTOR_SYSTEM_CALL", frame::vector::SYSTEM_CALL),
        ("VECTOR_SYSENTER", frame::vector::SYSENTER),
        ("STATE_TLS", state::TLS),
        ("STATE_DEBUG", state::DEBUG),
        ("TLS_PAGES", state::tls::PAGES),
        ("TLS_READ_ONLY", state::tls::READ_ONLY),
        ("TLS_SIXTEEN_BIT", state::tls::SIXTEEN_BIT),
        ("TLS_PRESENT", state::tls::PRESENT),
        ("FEATURE_SYSENTER", kip::FEATURE_SYSENTER),
        ("FEATURE_FXSR", kip::FEATURE_FXSR),
        ("FEATURE_SSE", kip::FEATURE_SSE),
        ("INT_VECTOR", kip::INT_VECTOR),
        ("CHANGED_SEGMENTS", frame::CHANGED_SEGMENTS),
        ("BY_SYSEXIT", frame::BY_SYSEXIT),
    ];
    let frame = vec![
        ("eax", offset_of!(Frame, eax), 1),
        ("ebx", offset_of!(Frame, ebx), 1),
        ("ecx", offset_of!(Frame, ecx), 1),
        ("edx", offset_of!(Frame, edx), 1),
        ("esi", offset_of!(Frame, esi), 1),
        ("edi", offset_of!(Frame, edi), 1),
        ("ebp", offset_of!(Frame, ebp), 1),
        ("esp", offset_of!(Frame, esp), 1),
        ("eip", offset_of!(Frame, eip), 1),
        ("eflags", offset_of!(Frame, eflags), 1),
        ("ds_es", offset_of!(Frame, ds_es), 1),
        ("fs_gs", offset_of!(Frame, fs_gs), 1),
        ("vector", offset_of!(Frame, vector), 1),
        ("error", offset_of!(Frame, error), 1),
        ("address", offset_of!(Frame, address), 1),
        ("changed", offset_of!(Frame, changed), 1),
    ];
    crate::header(&Port { word: ("u32", 4), definitions, frame })
}
