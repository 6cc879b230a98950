// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel debugger knows of this processor and its board (`arch_common::kdb`).

use crate::contract::PowerPc;
use crate::panic::AmigaOne;
use crate::regs;
use arch_common::kdb::{self, Debugged, Entry};
use core::fmt::{Result, Write};
use kcore::{Kernel, Thread};
use pool::Ref;
use powerpc_context::word;

impl Debugged for AmigaOne {
    type Port = PowerPc;

    const REGISTERS: [&'static str; 2] = ["r3", "r4"];

    fn time() -> u64 {
        regs::time_base()
    }

    fn get() -> u8 {
        plat_amigaone::uart::get()
    }

    fn show_counts(kernel: &Kernel<PowerPc>, out: &mut dyn Write) -> Result {
        let counts = kernel.port.counts();
        counts.named().into_iter().try_for_each(|(name, count)| writeln!(out, "{name}: {count}"))
    }
}

/// Notes an entry of the current thread.
pub fn trace(kernel: &Kernel<PowerPc>, current: Ref<Thread>) {
    let c = &kernel.pool[current].context;
    let registers = [c[word::GPR + 3], c[word::GPR + 4]];
    kdb::trace::<AmigaOne>(&Entry {
        thread: kernel.threads.index(current),
        vector: c[word::VECTOR],
        registers,
        pc: c[word::PC],
    });
}

/// Takes commands until one of them continues.
pub fn enter(kernel: &mut Kernel<PowerPc>) {
    kdb::enter::<AmigaOne>(kernel);
}
