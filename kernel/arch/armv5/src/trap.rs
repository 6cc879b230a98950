// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an entry means, and the way back to a thread.
//!
//! It does not decide which thread that is: `kcore` does.

use crate::contract::{Armv5, KERNEL};
use crate::{cache, panic, regs, tables, time};
use abi::arch::armv5::frame::{fault, vector as named};
use abi::{Rights, UserAddr};
use arch_common::leave;
use arch_common::words::State;
use armv5_context::abort::{self, Abort};
use armv5_context::{THUMB, restart_helper, vector, word};
use kcore::port::{FaultIn, Translation};
use kcore::{Kernel, Thread};
use plat_versatilepb::{timer, vic};
use pool::Ref;

unsafe extern "C" {
    /// A word that users can read, or 0 if it cannot be read any more (`entry.S`).
    fn read_user(address: u32) -> u32;
}

/// The entry code's word for a fetch that failed.
pub const PREFETCH: u32 = named::BREAKPOINT;
/// The entry code's word for an access to data that failed.
pub const DATA: u32 = named::PAGE_FAULT;
/// `bkpt`, of ARM and of Thumb, without its number.
const BREAKPOINT: (u32, u32) = (0xe120_0070, 0xbe00);

/// Entered from user mode; the current thread's registers are in its context.
pub extern "C" fn enter() {
    // SAFETY: the entry code calls this once an entry, on the only processor, interrupts off; no
    // reference from an earlier entry is alive.
    let (kernel, current) = unsafe { KERNEL.enter() };
    let context = &mut kernel.pool[current].context;
    context[word::ERROR] = 0;
    let cause = context[word::VECTOR];
    // What failed is told by the instruction, and `access_failed` looks at that before a helper
    // begins again.
    if cause != vector::SWI && cause != DATA {
        restart_helper(context);
    }
    match cause {
        vector::SWI if !kernel.pool[current].is_alien() => {
            kernel.system_call();
        }
        vector::SWI => alien_called(kernel, current),
        vector::INTERRUPT => {}
        PREFETCH => fetch_failed(kernel, current),
        DATA => access_failed(kernel, current),
        _ => undefined(kernel, current),
    }
    leave(kernel);
}

/// The address of the instruction before the saved PC.
fn last_instruction(kernel: &Kernel<Armv5>, current: Ref<Thread>) -> u32 {
    let context = &kernel.pool[current].context;
    context[word::PC].wrapping_sub(if context[word::CPSR] & THUMB != 0 { 2 } else { 4 })
}

/// An alien executed `swi`: its handler learns the number.
fn alien_called(kernel: &mut Kernel<Armv5>, current: Ref<Thread>) {
    let at = last_instruction(kernel, current);
    let number = instruction(kernel, current, at);
    let context = &mut kernel.pool[current].context;
    context[word::ERROR] = number & if context[word::CPSR] & THUMB != 0 { 0xff } else { 0xff_ffff };
    kernel.exception();
}

/// The thread's instruction is undefined; the processor saved the address of the next one.
fn undefined(kernel: &mut Kernel<Armv5>, current: Ref<Thread>) {
    kernel.pool[current].context[word::PC] = last_instruction(kernel, current);
    kernel.exception();
}

/// The thread's instruction at an address, if it can still be read; an instruction of Thumb is in
/// the lower half.
fn instruction(kernel: &Kernel<Armv5>, current: Ref<Thread>, pc: u32) -> u32 {
    let context = &kernel.pool[current].context;
    // SAFETY: users could execute it, so it is no register of a device; if it has gone since, the
    // result is 0. The read goes by the address that the thread used.
    let read = unsafe { read_user(pc & !3) };
    if context[word::CPSR] & THUMB != 0 { read >> (8 * (pc & 2)) & 0xffff } else { read }
}

/// A page could not be accessed. If only its table was missing in the directory, the table is
/// installed; otherwise the thread's handler gets the fault.
fn page_fault(
    kernel: &mut Kernel<Armv5>,
    current: Ref<Thread>,
    address: u32,
    access: Rights,
    error: u32,
) {
    let there = kernel.pool[current]
        .space
        .get()
        .and_then(|space| tables::lookup(&kernel.pool, space, UserAddr(address)));
    let context = &mut kernel.pool[current].context;
    context[word::VECTOR] = named::PAGE_FAULT;
    context[word::ERROR] = error
        | if there.is_some_and(|rights| rights != Rights::NONE) { fault::PROTECTION } else { 0 };
    kernel.page_fault(UserAddr(address), access);
}

fn fetch_failed(kernel: &mut Kernel<Armv5>, current: Ref<Thread>) {
    let pc = kernel.pool[current].context[word::PC];
    let readable = kernel.pool[current].space.get().and_then(|space| {
        let there = tables::lookup(&kernel.pool, space, UserAddr(pc))
            .is_some_and(|rights| rights.contains(Rights::EXECUTE));
        let has_come = there
            && kernel.port.fault_in(&mut kernel.pool, space, UserAddr(pc), Rights::EXECUTE)
                == FaultIn::Repaired;
        there.then_some(has_come)
    });
    match readable {
        None => page_fault(kernel, current, pc, Rights::EXECUTE, fault::FETCH),
        // It has come into the directory.
        Some(true) => {}
        // It was there, and could not be fetched, or is an instruction that says so itself.
        Some(false) => {
            let is_thumb = kernel.pool[current].context[word::CPSR] & THUMB != 0;
            let instruction = instruction(kernel, current, pc);
            let (arm, thumb) = BREAKPOINT;
            let is_breakpoint = if is_thumb {
                instruction & 0xff00 == thumb
            } else {
                instruction & 0xfff0_00f0 == arm
            };
            stop(kernel, current, if is_breakpoint { named::BREAKPOINT } else { named::BUS }, pc);
        }
    }
}

fn access_failed(kernel: &mut Kernel<Armv5>, current: Ref<Thread>) {
    // Before the instruction is read, which may fail, too.
    let (address, status) = (regs::fault_address(), regs::data_fault_status());
    let address = kernel.pool[current]
        .space
        .get()
        .map_or(address, |space| tables::unrelocated(&kernel.pool, space, address));
    let is_thumb = kernel.pool[current].context[word::CPSR] & THUMB != 0;
    let instruction = instruction(kernel, current, kernel.pool[current].context[word::PC]);
    restart_helper(&mut kernel.pool[current].context);
    match abort::decode(status) {
        Abort::Page => {
            let is_write = if is_thumb {
                abort::writes_thumb(instruction as u16)
            } else {
                abort::writes(instruction)
            };
            let (access, error) =
                if is_write { (Rights::WRITE, fault::WRITE) } else { (Rights::READ, 0) };
            page_fault(kernel, current, address, access, error);
        }
        Abort::Alignment => stop(kernel, current, named::ALIGNMENT, address),
        Abort::Breakpoint | Abort::Bus => stop(kernel, current, named::BUS, address),
    }
}

/// The thread did something that it cannot do, at an address.
fn stop(kernel: &mut Kernel<Armv5>, current: Ref<Thread>, why: u32, address: u32) {
    kernel.pool[current].context[word::VECTOR] = why;
    kernel.pool[current].fault_address = UserAddr(address);
    kernel.exception();
}

/// Handles the lines that interrupt now.
fn take_interrupts(kernel: &mut Kernel<Armv5>) {
    let mut lines = vic::pending();
    while lines != 0 {
        let line = lines.trailing_zeros();
        if line == timer::LINE {
            timer::acknowledge();
            time::note_half();
            time::tick_in(time::LONGEST);
            kernel.tick();
        } else {
            kernel.interrupt(line);
        }
        lines &= lines - 1;
    }
}

/// Makes the processor ready for the thread that runs next; idles until there is one.
pub fn leave(kernel: &mut Kernel<Armv5>) {
    leave::next(kernel, take_interrupts, || {
        if cache::is_arms_own() { regs::wait_for_interrupt() } else { core::hint::spin_loop() }
    });
}

/// An exception in the kernel: a bug.
pub extern "C" fn kernel_exception(pc: u32, status: u32, lr: u32, frame: u32) -> ! {
    let named = [
        ("pc", pc),
        ("lr", lr),
        ("cpsr", status),
        ("r11", frame),
        ("fsr", regs::data_fault_status()),
        ("far", regs::fault_address()),
        ("pid", regs::process()),
    ];
    panic::report(
        &"exception in the kernel",
        State { registers: &named, pc: Some(pc), frame, thread: 0 },
    )
}
