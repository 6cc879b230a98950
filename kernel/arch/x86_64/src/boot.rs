// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a Multiboot 1 boot loader left: memory, the boot image, the kernel's symbols.
//!
//! Its information is looked at through [`peek`].

use crate::layout::KERNEL_BASE;
use crate::paging::peek;
use crate::panic::Pc;
use crate::{features, fpu, regs};
use abi::PhysAddr;
use arch_common::boot::{Boot, Found, look};
use arch_common::multiboot;
use arch_common::platform::refuse;
use kcore::boot::Range;
use plat_pc::uart;

unsafe extern "C" {
    static kernel_end: u8;
}

/// Looks at the machine, and at what the loader left: `magic` was in EAX, `info` in EBX.
pub fn find(magic: u32, info: u32) -> Boot {
    uart::init();
    let cr4 = features::cr4();
    // SAFETY: boot, in long mode; the bits are those of features that are there.
    unsafe { regs::init(cr4) };
    if features::has_rdtscp() {
        // SAFETY: it has it.
        unsafe { regs::clear_tsc_aux() };
    }
    fpu::init(cr4 & regs::CR4_OSXSAVE != 0);
    if magic != multiboot::MAGIC {
        refuse::<Pc>(format_args!("started by something that is not a Multiboot 1 loader"));
    }
    let Some(image) = multiboot::module(peek, info, 0) else {
        refuse::<Pc>(format_args!(
            "the boot loader gave no boot image: name it as the first module"
        ))
    };
    let bytes = (&raw const kernel_end) as u32 - KERNEL_BASE;
    let kernel = Range { base: PhysAddr(0), bytes: bytes.max(1 << 20).into() };
    // SAFETY: boot; a loader puts modules into RAM, and nobody else runs.
    unsafe {
        look::<Pc>(Found {
            ram: multiboot::memory_map::<Pc>(peek, info),
            kernel,
            image,
            symbols: multiboot::module(peek, info, 1),
        })
    }
}
