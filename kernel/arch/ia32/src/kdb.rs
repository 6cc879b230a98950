// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel debugger knows of this processor and its board (`arch_common::kdb`).

use crate::contract::Ia32;
use crate::panic::Pc;
use arch_common::kdb::{self, Debugged, Entry};
use ia32_context::word;
use kcore::{Kernel, Thread};
use pool::Ref;

impl Debugged for Pc {
    type Port = Ia32;

    const REGISTERS: [&'static str; 2] = ["eax", "ebx"];

    fn time() -> u64 {
        plat_pc::tsc::read()
    }

    fn get() -> u8 {
        plat_pc::uart::get()
    }
}

/// Notes an entry of the current thread.
pub fn trace(kernel: &Kernel<Ia32>, current: Ref<Thread>) {
    let c = &kernel.pool[current].context;
    let registers = [c[word::EAX], c[word::EBX]];
    kdb::trace::<Pc>(&Entry {
        thread: kernel.threads.index(current),
        vector: c[word::VECTOR],
        registers,
        pc: c[word::EIP],
    });
}

/// Takes commands until one of them continues.
pub fn enter(kernel: &mut Kernel<Ia32>) {
    kdb::enter::<Pc>(kernel);
}
