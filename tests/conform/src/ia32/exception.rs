// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions that only IA-32 has.

use crate::exception::{WHOLE, expect, launch, next};
use crate::{ADDRESS, Bed, Case, Why, check, good};
use abi::frame::vector;
use macadamia::cap::{frame, set_frame};
use macadamia::ipc::{Message, reply, reply_wait};

pub const CASES: &[Case] = &[
    ("a_division_by_zero_reaches_the_handler", |bed| expect(bed, &[0x31, 0xc9, 0xf7, 0xf1], 0)),
    ("hlt_is_refused", |bed| expect(bed, &[0xf4], vector::GENERAL_PROTECTION)),
    ("cli_is_refused", |bed| expect(bed, &[0xfa], vector::GENERAL_PROTECTION)),
    ("loading_cr3_is_refused", |bed| expect(bed, &[0x0f, 0x22, 0xd8], vector::GENERAL_PROTECTION)),
    ("ports_that_were_not_given_are_refused", |bed| {
        expect(bed, &[0xe4, 0x60], vector::GENERAL_PROTECTION)
    }),
    ("an_unused_interrupt_is_refused", |bed| {
        expect(bed, &[0xcd, 0x41], vector::GENERAL_PROTECTION)
    }),
    ("hostile_registers_do_no_harm", hostile_registers),
    ("single_step_stops_behind_one_instruction", single_step),
];

fn hostile_registers(bed: &mut Bed) -> Result<(), Why> {
    // ud2; then cli (a fault if I/O privilege was not gained)
    launch(bed, &[0x0f, 0x0b, 0xfa])?;
    let (r, mut f) = next()?;
    f.eip += 2;
    f.eflags = 0xffff_feff;
    f.ds_es = 0x0010_0008;
    f.fs_gs = 0xfff0_004b;
    f.changed = u32::MAX;
    set_frame(&f);
    let again = good(reply_wait(r.handle, WHOLE))?;
    let f = frame();
    check("no privilege was gained", again.words[0] == vector::GENERAL_PROTECTION)?;
    check("interrupts are on, no I/O privilege", f.eflags & 0x3200 == 0x200)?;
    check("bad selectors became null", f.ds_es == 0)
}

fn single_step(bed: &mut Bed) -> Result<(), Why> {
    // ud2; nop; nop
    launch(bed, &[0x0f, 0x0b, 0x90, 0x90, 0x0f, 0x0b])?;
    let (r, mut f) = next()?;
    f.eip += 2;
    f.eflags |= 0x100;
    set_frame(&f);
    let stepped = good(reply_wait(r.handle, WHOLE))?;
    let mut f = frame();
    check(
        "a debug exception after one instruction",
        stepped.words[0] == vector::DEBUG && f.eip == ADDRESS + 3,
    )?;
    f.eflags &= !0x100;
    set_frame(&f);
    let on = good(reply_wait(stepped.handle, WHOLE))?;
    check("then it runs on", on.words[0] == vector::INVALID_OPCODE)?;
    good(reply(on.handle, Message::default()))
}
