// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel debugger knows of this processor and its board (`arch_common::kdb`).

use crate::contract::PowerPc;
use crate::panic::AmigaOne;
use crate::regs;
use arch_common::kdb::{self, Debugged, Entry};
use kcore::{Kernel, Thread};
use pool::Ref;
use powerpc_context::word;

impl Debugged for AmigaOne {
    const REGISTERS: [&'static str; 2] = ["r3", "r4"];

    fn time() -> u64 {
        regs::time_base()
    }

    fn get() -> u8 {
        plat_amigaone::uart::get()
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

/// Takes commands until one lets the machine go on.
pub fn enter(kernel: &mut Kernel<PowerPc>) {
    kdb::enter::<_, AmigaOne>(kernel);
}
