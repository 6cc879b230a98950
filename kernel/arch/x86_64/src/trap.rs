// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an entry means, and the way back to a thread.

use crate::contract::{KERNEL, X86_64};
use crate::{interrupts, panic, regs};
use abi::frame::{fault, vector};
use abi::{Rights, UserAddr};
use arch_common::leave;
use arch_common::words::State;
use kcore::port::Processor as _;
use kcore::{Kernel, Thread};
use plat_pc::pic;
use pool::Ref;
use x86_64_context::{goes_nowhere, state_mut, word};

/// The FPU trapped.
const NO_FPU: u64 = 7;
const FIRST_LINE: u64 = pic::FIRST_VECTOR as u64;
const LAST_LINE: u64 = pic::LAST_VECTOR as u64;

/// Entered from user mode; the current thread's registers are in its context.
pub extern "C" fn enter() {
    // SAFETY: the entry code calls this once an entry, on the only processor, interrupts off; no
    // reference from an earlier entry is alive.
    let (kernel, current) = unsafe { KERNEL.enter() };
    let loaded = kernel.port.cpu().loaded;
    kernel.port.lazy().entered(&kernel.pool, loaded, current);
    #[cfg(feature = "kdb")]
    crate::kdb::trace(kernel, current);
    let alien = kernel.pool[current].is_alien();
    let cause = kernel.pool[current].context[word::VECTOR];
    match cause {
        vector::SYSTEM_CALL if !alien => {
            kernel.system_call();
        }
        FIRST_LINE..=LAST_LINE => interrupt(kernel, (cause - FIRST_LINE) as u32),
        NO_FPU => {
            let (pool, port) = (&mut kernel.pool, &mut kernel.port);
            port.lazy().use_fpu(pool, current);
        }
        vector::PAGE_FAULT => page_fault(kernel, current),
        vector::GENERAL_PROTECTION if use_ports(kernel, current) => {}
        _ => {
            if cause == vector::DEBUG {
                state_mut(&mut kernel.pool[current]).debug[4] = regs::take_debug_status();
            }
            kernel.exception();
        }
    }
    leave(kernel);
}

/// Whether a protection fault may have been a thread's first use of an I/O port. The thread tries
/// again then.
fn use_ports(kernel: &mut Kernel<X86_64>, current: Ref<Thread>) -> bool {
    let (pool, port) = (&mut kernel.pool, &mut kernel.port);
    pool[current].context[word::ERROR] == 0 && port.lazy().use_ports(pool, current)
}

fn page_fault(kernel: &mut Kernel<X86_64>, current: Ref<Thread>) {
    let error = kernel.pool[current].context[word::ERROR];
    let access = if error & fault::WRITE != 0 {
        Rights::WRITE
    } else if error & fault::FETCH != 0 {
        Rights::EXECUTE
    } else {
        Rights::READ
    };
    kernel.page_fault(UserAddr(regs::read_cr2()), access);
}

/// A line fired.
fn interrupt(kernel: &mut Kernel<X86_64>, line: u32) {
    if !interrupts::take(line) {
        return;
    }
    #[cfg(feature = "kdb")]
    if line == plat_pc::uart::IRQ && plat_pc::uart::took_break() {
        crate::kdb::enter(kernel);
    }
    if line == interrupts::TIMER_LINE { kernel.tick() } else { kernel.interrupt(line) }
}

fn take_interrupts(kernel: &mut Kernel<X86_64>) {
    let mut lines = interrupts::take_pending();
    while lines != 0 {
        interrupt(kernel, lines.trailing_zeros());
        lines &= lines - 1;
    }
}

/// Makes the processor ready for the thread that runs next; idles until there is one.
pub fn leave(kernel: &mut Kernel<X86_64>) {
    loop {
        let next = leave::next(kernel, take_interrupts, || interrupts::open(true));
        let Some(own) = kernel.pool[next].space.get() else {
            panic!("a thread without a space is to run")
        };
        if !goes_nowhere(&kernel.pool[next].context) {
            kernel.port.spaces().enter(&mut kernel.pool, own);
            kernel.port.cpu().loaded = kernel.port.lazy().leave_to(&kernel.pool, next);
            return;
        }
        // It is the fault of the thread that has gone there, or was sent there.
        let context = &mut kernel.pool[next].context;
        context[word::VECTOR] = vector::GENERAL_PROTECTION;
        context[word::ERROR] = 0;
        kernel.exception();
    }
}

/// What `from_kernel` and the stubs of exceptions with stacks of their own leave of an entry: the
/// general registers in the frame's order, the vector, and what the processor pushed.
type Saved = [u64; 22];

/// An exception in kernel mode, which is a bug, or one that is the machine's.
pub extern "C" fn kernel_exception(saved: &Saved) -> ! {
    let [rax, rbx, rcx, rdx, rsi, rdi, rbp, ..] = *saved;
    let [.., vector, error, rip, cs, rflags, rsp, _] = *saved;
    let named = [
        ("rax", rax),
        ("rbx", rbx),
        ("rcx", rcx),
        ("rdx", rdx),
        ("rsi", rsi),
        ("rdi", rdi),
        ("rbp", rbp),
        ("rsp", rsp),
        ("rip", rip),
        ("cs", cs),
        ("rflags", rflags),
        ("error", error),
        ("cr2", regs::read_cr2()),
        ("cr3", regs::read_cr3()),
    ];
    let state =
        State { registers: &named, pc: Some(rip as u32), frame: rbp as u32, ..State::default() };
    match vector as usize {
        interrupts::NMI | interrupts::MACHINE_CHECK => {
            panic::report(&format_args!("the machine reports an error (vector {vector})"), state)
        }
        interrupts::DOUBLE_FAULT => panic::report(&"double fault in the kernel", state),
        _ => panic::report(&format_args!("exception {vector} in the kernel"), state),
    }
}
