// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an entry means, and the way back to a thread.
//!
//! It does not decide which thread that is: `kcore` does.

use crate::contract::{KERNEL, X86_64};
use crate::{area, interrupts, panic, regs};
use abi::frame::{USER_FLAGS, fault, vector};
use abi::{Frame, Rights, UserAddr};
use arch_common::leave;
use arch_common::words::State;
use kcore::port::Processor as _;
use kcore::{Kernel, Space, Thread};
use plat_pc::pic;
use pool::Ref;
use x86_64_context::crossing::{self, Who};
use x86_64_context::{FIXED_FLAGS, goes_nowhere, lazy, selector, state_mut, word};

/// The FPU trapped.
const NO_FPU: u64 = 7;
const FIRST_LINE: u64 = pic::FIRST_VECTOR as u64;
const LAST_LINE: u64 = pic::LAST_VECTOR as u64;

/// Entered from user mode; the current thread's registers are in its context. Returns what
/// [`leave`] returns.
pub extern "C" fn enter() -> u64 {
    // SAFETY: the entry code calls this once an entry, on the only processor, interrupts off; no
    // reference from an earlier entry is alive.
    let (kernel, current) = unsafe { KERNEL.enter() };
    let loaded = kernel.port.cpu().loaded;
    kernel.port.lazy().entered(&kernel.pool, loaded, current);
    take(kernel, current)
}

/// Entered through an entry area, which has the registers of the thread that ran: the one to which
/// the kernel was left, or the other one of its pair. Rarely loaded state in the processor is
/// unchanged.
pub extern "C" fn enter_by_area() -> u64 {
    // SAFETY: as of `enter`.
    let (kernel, mut current) = unsafe { KERNEL.enter() };
    let Some((left, who, mut saved, words)) = kernel.port.areas().entered() else {
        panic!("an entry by an area that was not left by")
    };
    if let Some((pair, first)) = left.pair {
        crossing::commit(&mut kernel.pool, pair, first, who, &words);
        current = pair.of(who);
        kernel.port.cpu().current = current.link();
        crossing::mend(&mut saved, area::code(), who, &words);
    }
    let context = &mut kernel.pool[current].context;
    context[word::GENERAL..=word::SS].copy_from_slice(&saved);
    context[word::RFLAGS] = context[word::RFLAGS] & USER_FLAGS | FIXED_FLAGS;
    take(kernel, current)
}

/// Why a thread entered the kernel.
fn take(kernel: &mut Kernel<X86_64>, current: Ref<Thread>) -> u64 {
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
    leave(kernel)
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

/// Makes the processor ready for the thread that runs next; idles until there is one. Returns the
/// value for CR3 if that thread is entered through an entry area; otherwise 0.
pub fn leave(kernel: &mut Kernel<X86_64>) -> u64 {
    loop {
        let next = leave::next(kernel, take_interrupts, || interrupts::open(true));
        let Some(own) = kernel.pool[next].space.get() else {
            panic!("a thread without a space is to run")
        };
        if !goes_nowhere(&kernel.pool[next].context) {
            let tables = leave_by_area(kernel, next).unwrap_or_else(|| {
                leave_by_itself(kernel, next, own);
                0
            });
            kernel.port.clear_buffers();
            return tables;
        }
        // It is the fault of the thread that has gone there, or was sent there.
        let context = &mut kernel.pool[next].context;
        context[word::VECTOR] = vector::GENERAL_PROTECTION;
        context[word::ERROR] = 0;
        kernel.exception();
    }
}

/// Prepares the exit to another thread, of this space.
fn leave_by_itself(kernel: &mut Kernel<X86_64>, next: Ref<Thread>, own: Ref<Space>) {
    kernel.port.areas().pass_by();
    kernel.port.spaces().enter(&mut kernel.pool, own);
    kernel.port.cpu().loaded = kernel.port.lazy().leave_to(&mut kernel.pool, next, None);
}

/// Prepares the exit to a server's thread, or to a server's alien with which it may cross, through
/// their entry area; to any other thread through that of components, if it is to be. `None`: the
/// thread is entered by its space's own tables.
fn leave_by_area(kernel: &mut Kernel<X86_64>, next: Ref<Thread>) -> Option<u64> {
    let pool = &mut kernel.pool;
    let top = kernel.port.cpu().top;
    let way = kernel.port.areas().way(pool, next);
    let bytes = size_of::<Frame>() as u32;
    let fpu_owner = kernel.port.lazy().fpu_owner();
    let is_slow = kernel.port.is_slow();
    let pair = way.and_then(|(index, tables, who)| {
        let pair = kernel.port.areas().pair(pool, index, (tables, next, who))?;
        if is_slow {
            return None;
        }
        let alien = pair.alien;
        let mut frame: Frame = bytemuck::pod_read_unaligned(pool.bytes_at(pool[alien].utcb, bytes));
        let may = crossing::may_cross(pool, pair, who, top, fpu_owner);
        if who == Who::Server {
            return (may && crossing::is_prepared(&frame, &pool[alien])).then_some(pair);
        }
        if may {
            crossing::prepare(&mut frame, &pool[alien]);
            let at = pool[alien].utcb;
            pool.bytes_mut(at, bytes).copy_from_slice(bytemuck::bytes_of(&frame));
        }
        may.then_some(pair)
    });
    let way = way.filter(|(.., who)| *who == Who::Server || pair.is_some());
    let way = way.or_else(|| kernel.port.areas().other_way(pool, next))?;
    let (.., who) = way;
    let (code, data) = match who {
        Who::Server => (selector::SERVER_CODE, selector::SERVER_DATA),
        Who::Alien => (selector::USER_CODE, selector::USER_DATA),
    };
    let t = &mut pool[next];
    (t.context[word::CS], t.context[word::SS]) = (code.into(), data.into());
    if who == Who::Server {
        t.lazy |= lazy::RING1;
    }
    let alien = pair.map(|pair| pair.alien);
    kernel.port.cpu().loaded = kernel.port.lazy().leave_to(&mut kernel.pool, next, alien);
    if let Some(pair) = pair {
        kernel.port.lazy().load_bases(&kernel.pool, pair.alien);
    }
    Some(kernel.port.areas().leave(&mut kernel.pool, way, next, pair))
}

/// An exception that ends the machine came while an entry area's tables were loaded; its registers
/// are at this address of the area.
pub extern "C" fn end_by_area(address: u64) -> ! {
    // SAFETY: nothing else runs any more.
    let kernel = unsafe { KERNEL.take() };
    kernel_exception(&area::ended(kernel.port.areas(), address))
}

/// What `from_kernel` and the stubs of exceptions with stacks of their own save: the general
/// registers in the frame's order, the vector, and what the processor pushed.
type Saved = [u64; 22];

/// An exception in kernel mode, which is a bug, or one that concerns the machine.
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
