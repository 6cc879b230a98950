// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an entry means, and the way back to a thread.
//!
//! It does not decide which thread that is: `kcore` does.

use crate::contract::{KERNEL, Mips};
use crate::layout::{REACHED, reached};
use crate::{panic, regs, space, time};
use abi::frame::{DELAY_SLOT, fault, vector};
use abi::{Rights, UserAddr};
use arch_common::words::State;
use arch_common::{leave, shared};
use kcore::port::Processor;
use kcore::{Kernel, Thread};
use mips_context::cause::{self, code};
use mips_context::{access, word};
use plat_malta::{PORTS, access_port, pic};
use pool::{Link, Ref};
use port_map::PortMap;

/// Bytes of an instruction.
const INSTRUCTION: u64 = 4;

/// Entered from user mode, with Cause and the address that could not be accessed; the current
/// thread's registers are in its context.
pub extern "C" fn enter(why: u32, bad: u64) {
    // SAFETY: the entry code calls this once an entry, on the only processor, interrupts off; no
    // reference from an earlier entry is alive.
    let (kernel, current) = unsafe { KERNEL.enter() };
    if let Some(space) = kernel.pool[current].space.get() {
        kernel.port.spaces().came_from(space);
    }
    let context = &mut kernel.pool[current].context;
    let is_delayed = why & cause::DELAY_SLOT != 0;
    let delayed = if is_delayed { DELAY_SLOT } else { 0 };
    let number = (why & cause::CODE) >> cause::CODE_SHIFT;
    (context[word::VECTOR], context[word::ERROR]) = (number.into(), delayed);
    match number {
        code::INTERRUPT => {}
        code::SYSTEM_CALL if !is_delayed => {
            context[word::PC] = context[word::PC].wrapping_add(INSTRUCTION);
            context[word::VECTOR] = vector::SYSTEM_CALL;
            if kernel.pool[current].is_alien() {
                kernel.exception();
            } else {
                kernel.system_call();
            }
        }
        code::MODIFIED | code::STORE => {
            page_fault(kernel, current, bad, Rights::WRITE, delayed | fault::WRITE);
        }
        code::LOAD => {
            let pc = context[word::PC];
            let fetched = if is_delayed { pc.wrapping_add(INSTRUCTION) } else { pc };
            let (access, error) = if bad == pc || bad == fetched {
                (Rights::EXECUTE, fault::FETCH)
            } else {
                (Rights::READ, 0)
            };
            page_fault(kernel, current, bad, access, delayed | error);
        }
        code::ADDRESS_LOAD | code::ADDRESS_STORE => {
            if is_delayed || !used_port(kernel, current, bad) {
                let write = if number == code::ADDRESS_STORE { fault::WRITE } else { 0 };
                let fetch = if number == code::ADDRESS_LOAD && bad == context_pc(kernel, current) {
                    fault::FETCH
                } else {
                    0
                };
                refuse_address(kernel, current, bad, delayed | write | fetch);
            }
        }
        code::COPROCESSOR if !is_delayed && read_count(kernel, current) => {}
        _ => kernel.exception(),
    }
    leave(kernel);
}

/// The current thread's handler gets an address error.
fn refuse_address(kernel: &mut Kernel<Mips>, current: Ref<Thread>, address: u64, error: u64) {
    let thread = &mut kernel.pool[current];
    thread.context[word::VECTOR] = vector::ADDRESS;
    thread.context[word::ERROR] = error;
    thread.fault_address = UserAddr(address);
    kernel.exception();
}

/// Where a thread stopped.
fn context_pc(kernel: &Kernel<Mips>, current: Ref<Thread>) -> u64 {
    kernel.pool[current].context[word::PC]
}

/// A page could not be accessed. If only the TLB lacked it, or had it with fewer rights, the TLB
/// has it now; otherwise the thread's handler gets the fault.
fn page_fault(
    kernel: &mut Kernel<Mips>,
    current: Ref<Thread>,
    address: u64,
    access: Rights,
    error: u64,
) {
    let is_there = kernel.pool[current]
        .space
        .get()
        .is_some_and(|space| space::is_there(&kernel.pool, space, UserAddr(address)));
    let context = &mut kernel.pool[current].context;
    context[word::VECTOR] = vector::PAGE_FAULT;
    context[word::ERROR] = error | if is_there { fault::PROTECTION } else { 0 };
    kernel.page_fault(UserAddr(address), access);
}

/// The instruction at which a thread stopped, unless its page was unmapped meanwhile or is not RAM.
fn instruction(kernel: &Kernel<Mips>, current: Ref<Thread>) -> Option<u32> {
    let thread = &kernel.pool[current];
    let pc = thread.context[word::PC];
    let at = space::place(&kernel.pool, thread.space.get()?, UserAddr(pc))?;
    let at = u32::try_from(at).ok().filter(|at| *at < REACHED)?;
    // SAFETY: RAM in kseg0, aligned as the fetch was; users may write it meanwhile.
    Some(unsafe { shared::at::<u32>(reached(at)).read_volatile() })
}

/// Makes a thread continue after the instruction at which it stopped, with this value in a
/// register.
fn done(kernel: &mut Kernel<Mips>, current: Ref<Thread>, result: Option<(usize, u64)>) {
    let context = &mut kernel.pool[current].context;
    // $26 and $27 are the kernel's, and 0 whenever a user looks.
    if let Some((register, value)) = result.filter(|(register, _)| ![0, 26, 27].contains(register))
    {
        context[word::GPR + register] = value;
    }
    context[word::PC] = context[word::PC].wrapping_add(INSTRUCTION);
}

/// Reads the clock's counter for a thread. Returns whether that was what the instruction asked for.
fn read_count(kernel: &mut Kernel<Mips>, current: Ref<Thread>) -> bool {
    let Some(register) = instruction(kernel, current).and_then(access::reads_count) else {
        return false;
    };
    done(kernel, current, Some((register, time::ticks())));
    true
}

/// Makes an access to an I/O port for a thread whose space has the port. Returns whether it was
/// such an access.
fn used_port(kernel: &mut Kernel<Mips>, current: Ref<Thread>, address: u64) -> bool {
    let Some(port) = address.checked_sub(PORTS).filter(|port| *port < 1 << 16) else {
        return false;
    };
    let port = port as u32;
    let Some(space) = kernel.pool[current].space.get() else { return false };
    let Some(map) = Link::<PortMap>::from_value(kernel.pool[space].special).get() else {
        return false;
    };
    let Some(access) = instruction(kernel, current).and_then(access::decode) else {
        return false;
    };
    if !port.is_multiple_of(access.bytes) || !kernel.pool[map].is_open(port, access.bytes) {
        return false;
    }
    let written = kernel.pool[current].context[word::GPR + access.register] as u32;
    let read = access_port(port as u16, access.bytes, access.is_write.then_some(written));
    done(kernel, current, read.map(|value| (access.register, value.into())));
    true
}

/// Handles the lines that interrupt now, and the timer.
fn take_interrupts(kernel: &mut Kernel<Mips>) {
    if regs::cause() & cause::LINES != 0 {
        while let Some(line) = pic::poll() {
            kernel.interrupt(line);
        }
    }
    if time::is_up() {
        time::tick_late();
        kernel.tick();
    }
}

/// Makes the processor ready for the thread that runs next; waits until there is one.
pub fn leave(kernel: &mut Kernel<Mips>) {
    loop {
        let next = leave::next(kernel, take_interrupts, regs::wait);
        let Some(space) = kernel.pool[next].space.get() else {
            panic!("a thread without a space is to run")
        };
        let pc = context_pc(kernel, next);
        if pc.is_multiple_of(INSTRUCTION) {
            kernel.port.spaces().enter(&mut kernel.pool, space);
            // No fast path takes an alien's system call.
            let is_alien = kernel.pool[next].is_alien();
            kernel.port.cpu().loaded = if is_alien { next.address() } else { 0 };
            return;
        }
        // The fetch would be refused. QEMU 10 takes an odd address for one of instructions that
        // have 16 bits, which this processor has not, and ends at an assertion.
        refuse_address(kernel, next, pc, fault::FETCH);
    }
}

/// An exception in the kernel: a bug. The arguments are Cause, EPC, the address that could not be
/// accessed, and the registers.
pub extern "C" fn kernel_exception(why: u32, pc: u64, bad: u64, ra: u64, sp: u64, frame: u64) -> ! {
    let named =
        [("cause", why.into()), ("pc", pc), ("bad", bad), ("ra", ra), ("sp", sp), ("fp", frame)];
    panic::report(
        &"exception in the kernel",
        State { registers: &named, pc: Some(pc as u32), frame: frame as u32, ..State::default() },
    )
}
