// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an entry means, and the way back to a thread.
//!
//! It does not decide which thread that is: `kcore` does.

use crate::contract::{Ia32, KERNEL};
use crate::regs::{self, EFLAGS_TF};
use crate::space::{self, Kind};
use crate::{interrupts, panic};
use abi::frame::{fault, vector};
use abi::{Rights, UserAddr};
use arch_common::leave;
use arch_common::words::State;
use ia32_context::{FIXED_FLAGS, word};
use kcore::{Kernel, Thread};
use pool::Ref;

const DEBUG: u32 = 1;
const NMI: u32 = 2;
const NO_FPU: u32 = 7;
const MACHINE_CHECK: u32 = 18;

/// Entered from user mode; the current thread's registers are in its context.
pub extern "C" fn enter() {
    // SAFETY: the entry code calls this once an entry, on the only processor, interrupts off; no
    // reference from an earlier entry is alive.
    let (kernel, current) = unsafe { KERNEL.enter() };
    note_selectors(kernel, current);
    #[cfg(feature = "kdb")]
    crate::kdb::trace(kernel, current);
    let vector = kernel.pool[current].context[word::VECTOR];
    let alien = kernel.pool[current].is_alien();
    match vector {
        vector::SYSENTER | INT_CALL if !alien => {
            // A system call may change what is to be loaded for the thread itself (its ports, say).
            let state = |kernel: &mut Kernel<Ia32>| {
                let tables = space::tables(&kernel.pool, kernel.pool[current].space.get())?;
                Some((kernel.port.parts().0.loaded, kernel.pool[current].lazy, tables))
            };
            let before = state(kernel);
            if kernel.system_call()
                && before.is_some()
                && state(kernel) == before
                && !interrupts::is_pending()
            {
                // It goes on, and its tables and its lazily loaded state are the processor's still.
                return;
            }
        }
        0x20..=0x2f => interrupt(kernel, vector - 0x20),
        NO_FPU => {
            let (pool, port) = (&mut kernel.pool, &mut kernel.port);
            let (cpu, lazy) = port.parts();
            lazy.use_fpu(cpu, pool, current);
        }
        NMI | MACHINE_CHECK => panic!("the machine reports an error (vector {vector})"),
        vector::PAGE_FAULT => page_fault(kernel, current),
        vector::GENERAL_PROTECTION if use_ports(kernel, current) => {}
        _ => {
            if vector == DEBUG {
                ia32_context::state_mut(&mut kernel.pool[current]).debug[4] =
                    regs::take_debug_status();
            }
            kernel.exception();
        }
    }
    leave(kernel);
}

/// Additional words that the processor pushes when it leaves virtual 8086 mode.
pub const VIRTUAL_WORDS: usize = 4;

/// Entered from virtual 8086 mode, for whatever reason: a protection fault of the current
/// thread, whose saved registers lie [`VIRTUAL_WORDS`] too low.
pub extern "C" fn enter_virtual() {
    // SAFETY: as in `enter`.
    let (kernel, current) = unsafe { KERNEL.enter() };
    let context = &mut kernel.pool[current].context;
    context.copy_within(word::EDI - VIRTUAL_WORDS..=word::SS - VIRTUAL_WORDS, word::EDI);
    let cause = context[word::VECTOR];
    // The processor left null selectors in DS, ES, FS and GS.
    [word::DS, word::ES, word::FS, word::GS, word::ERROR]
        .into_iter()
        .for_each(|index| context[index] = 0);
    context[word::EFLAGS] = FIXED_FLAGS;
    context[word::VECTOR] = vector::GENERAL_PROTECTION;
    note_selectors(kernel, current);
    kernel.exception();
    if let 0x20..=0x2f = cause {
        interrupt(kernel, cause - 0x20);
    }
    leave(kernel);
}

/// Words that an exception at `iret` pushes between the words that `iret` loads and the saved
/// registers: EFLAGS, CS and EIP of the kernel.
const IRET_WORDS: usize = 3;

/// The current thread was to continue beyond its code segment, and that faulted in the kernel: it
/// is a protection fault of the thread. Its saved registers, except those that `iret` loads, are
/// [`IRET_WORDS`] words too low.
pub extern "C" fn enter_beyond() {
    // SAFETY: as in `enter`.
    let (kernel, current) = unsafe { KERNEL.enter() };
    let context = &mut kernel.pool[current].context;
    context.copy_within(word::GS - IRET_WORDS..=word::ERROR - IRET_WORDS, word::GS);
    context[word::VECTOR] = vector::GENERAL_PROTECTION;
    note_selectors(kernel, current);
    kernel.exception();
    leave(kernel);
}

const INT_CALL: u32 = abi::arch::ia32::kip::INT_VECTOR;

/// Records what the processor has at an entry from user mode, and fast paths did not record.
fn note_selectors(kernel: &mut Kernel<Ia32>, current: Ref<Thread>) {
    space::arrived(&kernel.pool, kernel.pool[current].space.get());
    let context = &kernel.pool[current].context;
    let fs_gs = context[word::FS] & 0xffff | context[word::GS] << 16;
    let (cpu, lazy) = kernel.port.parts();
    if lazy.entered(cpu, &mut kernel.pool, current, fs_gs) {
        kernel.pool[current].context[word::EFLAGS] |= EFLAGS_TF;
    }
}

/// Whether a protection fault may have been a thread's first use of an I/O port. The thread tries
/// again then.
fn use_ports(kernel: &mut Kernel<Ia32>, current: Ref<Thread>) -> bool {
    let (pool, port) = (&mut kernel.pool, &mut kernel.port);
    let (cpu, lazy) = port.parts();
    pool[current].context[word::ERROR] == 0 && lazy.use_ports(cpu, pool, current)
}

fn page_fault(kernel: &mut Kernel<Ia32>, current: Ref<Thread>) {
    let base = kernel.pool[current].space.get().map_or(0, |space| space::base(&kernel.pool, space));
    let address = regs::read_cr2().wrapping_sub(base);
    let write = kernel.pool[current].context[word::ERROR] & fault::WRITE != 0;
    kernel.page_fault(UserAddr(address), if write { Rights::WRITE } else { Rights::READ });
}

/// A line fired.
fn interrupt(kernel: &mut Kernel<Ia32>, line: u32) {
    if !plat_pc::pic::take(line) {
        return;
    }
    #[cfg(feature = "kdb")]
    if line == plat_pc::uart::IRQ && plat_pc::uart::took_break() {
        crate::kdb::enter(kernel);
    }
    if line == interrupts::TIMER_LINE { kernel.tick() } else { kernel.interrupt(line) }
}

fn take_interrupts(kernel: &mut Kernel<Ia32>) {
    let mut lines = interrupts::take_pending();
    while lines != 0 {
        interrupt(kernel, lines.trailing_zeros());
        lines &= lines - 1;
    }
}

/// Makes the processor ready for the thread that runs next; idles until there is one.
pub fn leave(kernel: &mut Kernel<Ia32>) {
    let next = leave::next(kernel, take_interrupts, || interrupts::open(true));
    let Some(space) = kernel.pool[next].space.get() else {
        panic!("a thread without a space is to run")
    };
    space::enter(&kernel.pool, space);
    let kind = space::kind(&kernel.pool, space);
    let (cpu, lazy) = kernel.port.parts();
    lazy.leave_to(cpu, &mut kernel.pool, next, kind);
    for index in [word::DS, word::ES] {
        let selector = &mut kernel.pool[next].context[index];
        *selector = u32::from(ia32_context::translated(*selector as u16, kind == Kind::Small));
    }
}

/// A fast path leaves to the current thread, whose registers are in its context, in a space that
/// needs more preparation.
pub extern "C" fn leave_with_care() {
    // SAFETY: as in `enter`.
    leave(unsafe { KERNEL.take() });
}

/// An exception in kernel mode: a bug. `registers` is what `pushad` and the
/// processor left.
pub extern "C" fn kernel_exception(registers: &[u32; 13]) -> ! {
    let [edi, esi, ebp, _, ebx, edx, ecx, eax, vector, error, eip, cs, eflags] = *registers;
    let named = [
        ("eax", eax),
        ("ebx", ebx),
        ("ecx", ecx),
        ("edx", edx),
        ("esi", esi),
        ("edi", edi),
        ("ebp", ebp),
        ("eip", eip),
        ("cs", cs),
        ("eflags", eflags),
        ("error", error),
        ("cr2", regs::read_cr2()),
        ("cr3", regs::read_cr3()),
    ];
    let state = State { registers: &named, pc: Some(eip), frame: ebp, thread: 0 };
    panic::report(&format_args!("exception {vector} in the kernel"), state)
}

/// A fault while a fault was delivered: the kernel's stack pointer cannot be trusted.
pub extern "C" fn double_fault() -> ! {
    let named = [("cr2", regs::read_cr2()), ("cr3", regs::read_cr3())];
    panic::report(&"double fault in the kernel", State { registers: &named, ..State::default() })
}
