// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an entry means, and the way back to a thread.
//!
//! It does not decide which thread that is: `kcore` does.

use crate::contract::{Alpha, KERNEL};
use crate::layout::HOT;
use crate::{panic, regs, space, time};
use abi::frame::{fault, vector};
use abi::{Rights, UserAddr};
use alpha_context::{CALL, word};
use arch_common::leave;
use arch_common::words::State;
use kcore::port::Processor;
use kcore::{Kernel, Thread};
use plat_clipper::{access_port, pic};
use pool::{Link, Ref};
use port_map::PortMap;

/// Bytes of an instruction.
const INSTRUCTION: u64 = 4;
/// An interrupt of the clock, and one of a device, by the order of PALcode's entries.
const CLOCK: u64 = 3;
const DEVICE: u64 = 4;
/// What the processor says of a fault: it was a read, or a write; else a fetch.
const READ: u64 = 0;
const WRITE: u64 = 1;

/// Entered from user mode, by the thread whose reference is given. The processor's words on a fault
/// are the address and what the access was.
#[unsafe(no_mangle)]
extern "C" fn kernel_enter(why: u64, address: u64, access: u64, current: u64) {
    // SAFETY: the word is plain data, and no reference from an earlier entry is alive.
    unsafe { (*HOT.get()).0.current = Link::from_value(current as u32) };
    // SAFETY: the entry code calls this once an entry, on the only processor, interrupts off; no
    // reference from an earlier entry is alive.
    let (kernel, current) = unsafe { KERNEL.enter() };
    let thread = &mut kernel.pool[current];
    (thread.context[word::VECTOR], thread.context[word::ERROR]) = (why, 0);
    thread.fault_address = UserAddr(0);
    match why {
        CLOCK | DEVICE => {}
        vector::SYSTEM_CALL => {
            if thread.is_alien() {
                kernel.exception();
            } else {
                kernel.system_call();
            }
        }
        vector::PAGE_FAULT => page_fault(kernel, current, address, access),
        vector::UNALIGNED => {
            thread.fault_address = UserAddr(address);
            kernel.exception();
        }
        // QEMU says where it would go on.
        vector::RESERVED | vector::FPU => {
            let pc = &mut thread.context[word::PC];
            *pc = pc.wrapping_sub(INSTRUCTION);
            kernel.exception();
        }
        vector::PORT_READ | vector::PORT_WRITE
            if use_port(kernel, current, why == vector::PORT_WRITE) => {}
        _ => kernel.exception(),
    }
    leave(kernel)
}

/// The thread's handler has to know that a page could not be accessed.
fn page_fault(kernel: &mut Kernel<Alpha>, current: Ref<Thread>, address: u64, access: u64) {
    let (right, mut error) = match access {
        READ => (Rights::READ, 0),
        WRITE => (Rights::WRITE, fault::WRITE),
        _ => (Rights::EXECUTE, fault::FETCH),
    };
    let space = kernel.pool[current].space.get();
    if space.is_some_and(|space| space::is_there(&kernel.pool, space, UserAddr(address))) {
        error |= fault::PROTECTION;
    }
    kernel.pool[current].context[word::ERROR] = error;
    kernel.page_fault(UserAddr(address), right);
}

/// Makes an access to an I/O port for a thread whose space was given it. Whether that was it.
fn use_port(kernel: &mut Kernel<Alpha>, current: Ref<Thread>, is_write: bool) -> bool {
    let context = &kernel.pool[current].context;
    let [port, bytes, written] = [CALL[1], CALL[2], CALL[3]].map(|register| context[register]);
    if port >= 1 << 16 || !matches!(bytes, 1 | 2 | 4) || !port.is_multiple_of(bytes) {
        return false;
    }
    let Some(space) = kernel.pool[current].space.get() else { return false };
    let Some(map) = Link::<PortMap>::from_value(kernel.pool[space].special).get() else {
        return false;
    };
    if !kernel.pool[map].is_open(port as u32, bytes as u32) {
        return false;
    }
    let read = access_port(port as u16, bytes as u32, is_write.then_some(written as u32));
    if let Some(value) = read {
        kernel.pool[current].context[CALL[0]] = value.into();
    }
    true
}

/// Handles the lines that interrupt now, and the timer.
fn take_interrupts(kernel: &mut Kernel<Alpha>) {
    while let Some(line) = pic::poll() {
        kernel.interrupt(line);
    }
    if time::took_tick() {
        kernel.tick();
    }
}

/// To the thread that runs next; waits until there is one.
pub fn leave(kernel: &mut Kernel<Alpha>) -> ! {
    let next = leave::next(kernel, take_interrupts, regs::wait);
    let Some(space) = kernel.pool[next].space.get() else {
        panic!("a thread without a space is to run")
    };
    let table = kernel.port.shadow().table(&kernel.pool, space);
    // No fast path takes an alien's system call.
    let is_alien = kernel.pool[next].is_alien();
    let cpu = kernel.port.cpu();
    cpu.loaded = if is_alien { next.address() } else { 0 };
    // SAFETY: the current thread's context is complete: it was saved at its entry, or
    // `Registers::start` made it.
    unsafe { regs::leave(next, table, cpu) }
}

/// An exception in the kernel: a bug. Which, where, and registers as they were.
#[unsafe(no_mangle)]
extern "C" fn kernel_exception(why: u64, pc: u64, address: u64, ra: u64, sp: u64) {
    let named = [("why", why), ("pc", pc), ("bad", address), ("ra", ra), ("sp", sp)];
    panic::report(
        &"exception in the kernel",
        State { registers: &named, pc: Some(pc as u32), ..State::default() },
    )
}
