// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel debugger knows of this processor and its board (`arch_common::kdb`).

use crate::contract::X86_64;
use crate::panic::Pc;
use arch_common::kdb::{self, Debugged, Entry};
use kcore::{Kernel, Thread};
use pool::Ref;
use x86_64_context::word;

impl Debugged for Pc {
    type Port = X86_64;

    const REGISTERS: [&'static str; 2] = ["rax", "rdi"];

    fn time() -> u64 {
        plat_pc::tsc::read()
    }

    fn get() -> u8 {
        plat_pc::uart::get()
    }
}

/// Notes an entry of the current thread.
pub fn trace(kernel: &Kernel<X86_64>, current: Ref<Thread>) {
    let c = &kernel.pool[current].context;
    let registers = [c[word::RAX], c[word::RDI]];
    kdb::trace::<Pc>(&Entry {
        thread: kernel.threads.index(current),
        vector: c[word::VECTOR],
        registers,
        pc: c[word::RIP],
    });
}

/// Takes commands until one of them continues.
pub fn enter(kernel: &mut Kernel<X86_64>) {
    kdb::enter::<Pc>(kernel);
}
