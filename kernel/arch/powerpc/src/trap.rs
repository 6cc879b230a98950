// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an entry means, and the way back to a thread.
//!
//! It does not decide which thread that is: `kcore` does.

use crate::contract::{KERNEL, PowerPc};
use crate::{fpu, idle, panic, regs, space, time};
use abi::frame::{fault, program, vector as named};
use abi::{Rights, UserAddr};
use arch_common::words::State;
use kcore::port::CONTEXT_WORDS;
use kcore::{Kernel, Thread};
use plat_amigaone::{PORTS, pic};
use pool::{Link, Ref};
use port_map::PortMap;
use powerpc_context::{access, msr, vector, word};

/// Bits that an exception saves in addition to the thread's own machine state: its cause.
const REASONS: u32 = program::FPU | program::ILLEGAL | program::PRIVILEGED | program::TRAP;

/// Entered from user mode; the current thread's registers are in its context.
pub extern "C" fn enter() {
    // SAFETY: the entry code calls this once an entry, on the only processor, interrupts off; no
    // reference from an earlier entry is alive.
    let (kernel, current) = unsafe { KERNEL.enter() };
    if let Some(space) = kernel.pool[current].space.get() {
        kernel.port.parts().1.came_from(&kernel.pool, space);
    }
    let context = &mut kernel.pool[current].context;
    let reason = context[word::MSR];
    context[word::MSR] = reason & (msr::RUNNING | abi::frame::USER_FLAGS);
    context[word::ERROR] = 0;
    let cause = context[word::VECTOR];
    #[cfg(feature = "kdb")]
    crate::kdb::trace(kernel, current);
    match cause {
        vector::SYSTEM_CALL if !kernel.pool[current].is_alien() => {
            kernel.system_call();
        }
        vector::SYSTEM_CALL => stop(kernel, current, named::SYSTEM_CALL, 0),
        vector::INTERRUPT => take_lines(kernel),
        vector::DECREMENTER => take_tick(kernel),
        vector::DATA => access_failed(kernel, current),
        vector::FETCH => {
            let pc = kernel.pool[current].context[word::PC];
            page_fault(kernel, current, pc, Rights::EXECUTE, fault::FETCH);
        }
        vector::FPU => fpu::take(kernel.port.parts().0, &mut kernel.pool, current),
        named::ALIGNMENT => {
            kernel.pool[current].fault_address = UserAddr(regs::fault_address());
            kernel.exception();
        }
        _ => stop(kernel, current, cause, reason & REASONS),
    }
    leave(kernel);
}

/// The thread's handler gets an exception.
fn stop(kernel: &mut Kernel<PowerPc>, current: Ref<Thread>, why: u32, error: u32) {
    let context = &mut kernel.pool[current].context;
    (context[word::VECTOR], context[word::ERROR]) = (why, error);
    kernel.exception();
}

/// A page could not be accessed. If only its translation was missing, it is there now; otherwise
/// the thread's handler gets the fault.
fn page_fault(
    kernel: &mut Kernel<PowerPc>,
    current: Ref<Thread>,
    address: u32,
    access: Rights,
    error: u32,
) {
    let spaces = kernel.port.parts().1;
    let is_there = kernel.pool[current]
        .space
        .get()
        .is_some_and(|space| spaces.seen(&kernel.pool, space, UserAddr(address)).is_some());
    let context = &mut kernel.pool[current].context;
    context[word::VECTOR] = named::PAGE_FAULT;
    context[word::ERROR] = error | if is_there { fault::PROTECTION } else { 0 };
    kernel.page_fault(UserAddr(address), access);
}

fn access_failed(kernel: &mut Kernel<PowerPc>, current: Ref<Thread>) {
    let (address, status) = (regs::fault_address(), regs::fault_status());
    if used_port(kernel, current, address) {
        return;
    }
    let (access, error) = if status & regs::dsisr::STORE != 0 {
        (Rights::WRITE, fault::WRITE)
    } else {
        (Rights::READ, 0)
    };
    page_fault(kernel, current, address, access, error);
}

/// Makes an access to an I/O port for a thread whose space has the port. Returns whether it was
/// such an access.
fn used_port(kernel: &mut Kernel<PowerPc>, current: Ref<Thread>, address: u32) -> bool {
    let Some(port) = address.checked_sub(PORTS).filter(|port| *port < 1 << 16) else {
        return false;
    };
    let thread = &kernel.pool[current];
    let pc = thread.context[word::PC];
    let Some(space) = thread.space.get() else { return false };
    let Some(map) = Link::<PortMap>::from_value(kernel.pool[space].special).get() else {
        return false;
    };
    // Unless the page was taken away meanwhile.
    let Some(at) = space::place(&kernel.pool, space, UserAddr(pc)) else { return false };
    // SAFETY: it was fetched from there, aligned as a fetch is.
    let instruction = regs::untranslated(|| unsafe { (at as *const u32).read_volatile() });
    let Some(access) = access::decode(instruction) else { return false };
    if !port.is_multiple_of(access.bytes) || !kernel.pool[map].is_open(port, access.bytes) {
        return false;
    }
    let context = &mut kernel.pool[current].context;
    let register = &mut context[word::GPR + access.register];
    plat_amigaone::access_port(port as u16, access.bytes, access.is_write, register);
    context[word::PC] = pc.wrapping_add(4);
    true
}

/// Handles the lines that interrupt now.
fn take_lines(kernel: &mut Kernel<PowerPc>) {
    while let Some(line) = pic::poll() {
        #[cfg(feature = "kdb")]
        if line == plat_amigaone::uart::IRQ && plat_amigaone::uart::took_break() {
            crate::kdb::enter(kernel);
        }
        kernel.interrupt(line);
    }
}

fn take_tick(kernel: &mut Kernel<PowerPc>) {
    // One that was due before the timer was set again comes too early.
    if time::is_up() {
        time::tick_late();
        kernel.tick();
    }
}

/// Makes the processor ready for the thread that runs next; idles until there is one.
pub fn leave(kernel: &mut Kernel<PowerPc>) {
    // Not `leave::next`: to ask the interrupt controller takes two accesses to ports, and who
    // interrupted is known at the entry.
    let next = loop {
        match kernel.current() {
            None => {
                let (idle, spaces) = kernel.port.idle();
                idle::step(idle, spaces, &kernel.pool);
            }
            Some(_) if kernel.carry_on() => {}
            Some(next) => break next,
        }
        take_lines(kernel);
        take_tick(kernel);
        kernel.port.parts().1.looked();
    };
    if let Some(space) = kernel.pool[next].space.get() {
        let (cpu, spaces) = kernel.port.parts();
        spaces.enter(cpu, &mut kernel.pool, space);
    }
    let fpu = if fpu::is_open_to(kernel.port.parts().0, next) { msr::FPU } else { 0 };
    let context = &mut kernel.pool[next].context;
    context[word::MSR] = context[word::MSR] & !msr::FPU | fpu;
}

/// An exception in the kernel: a bug. `saved` are the registers as an entry saves them.
pub extern "C" fn kernel_exception(saved: &[u32; CONTEXT_WORDS]) -> ! {
    let named = [
        ("vector", saved[word::VECTOR]),
        ("pc", saved[word::PC]),
        ("msr", saved[word::MSR]),
        ("lr", saved[word::LR]),
        ("r1", saved[word::GPR + 1]),
        ("r31", saved[word::GPR + 31]),
        ("dar", regs::fault_address()),
        ("dsisr", regs::fault_status()),
    ];
    panic::report(
        &"exception in the kernel",
        State {
            registers: &named,
            pc: Some(saved[word::PC]),
            frame: saved[word::GPR + 31],
            ..State::default()
        },
    )
}
