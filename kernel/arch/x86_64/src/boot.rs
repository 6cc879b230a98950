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
use arch_common::platform::refuse;
use kcore::boot::Range;
use kcore::ram::Ram;
use plat_pc::uart;

/// What a Multiboot 1 loader leaves in EAX.
const MAGIC: u32 = 0x2BAD_B002;
/// The last page of the first 4 GiB, which nobody has.
const LAST_PAGE: u32 = 0xffff_f000;

/// RAM below 4 GiB as the loader reports it, whole pages.
fn memory_map(info: u32) -> Ram {
    if peek(info) & 1 << 6 == 0 {
        refuse::<Pc>(format_args!(
            "the boot loader gave no memory map: use a Multiboot loader such as GRUB"
        ));
    }
    let mut ram = Ram::default();
    let (bytes, start) = (peek(info + 44), peek(info + 48));
    let mut at = start;
    while at < start + bytes {
        let (size, base, base_high, length, length_high, kind) =
            (peek(at), peek(at + 4), peek(at + 8), peek(at + 12), peek(at + 16), peek(at + 20));
        at += size + 4;
        if kind != 1 || base_high != 0 {
            continue;
        }
        let limit = LAST_PAGE - base.min(LAST_PAGE);
        let length = if length_high != 0 { limit } else { length.min(limit) };
        ram.add(PhysAddr(base.into()), PhysAddr((base + length).into()));
    }
    ram
}

/// A module that the loader left.
fn module(info: u32, index: u32) -> Option<Range> {
    if peek(info) & 1 << 3 == 0 || index >= peek(info + 20) {
        return None;
    }
    let entry = peek(info + 24) + index * 16;
    let (base, end) = (peek(entry), peek(entry + 4));
    (end > base).then(|| Range { base: PhysAddr(base.into()), bytes: (end - base).into() })
}

unsafe extern "C" {
    static kernel_end: u8;
}

/// Looks at the machine, and at what the loader left: `magic` was in EAX, `info` in EBX.
pub fn find(magic: u32, info: u32) -> Boot {
    uart::init();
    let cr4 = features::cr4();
    // SAFETY: paging is on, and the bits set are those of features that are there.
    unsafe {
        regs::init_cr0();
        regs::set_cr4(cr4);
    }
    fpu::init(cr4 & regs::CR4_OSXSAVE != 0);
    if magic != MAGIC {
        refuse::<Pc>(format_args!("started by something that is not a Multiboot 1 loader"));
    }
    let Some(image) = module(info, 0) else {
        refuse::<Pc>(format_args!(
            "the boot loader gave no boot image: name it as the first module"
        ))
    };
    let bytes = (&raw const kernel_end) as u32 - KERNEL_BASE;
    let kernel = Range { base: PhysAddr(0), bytes: bytes.max(1 << 20).into() };
    // SAFETY: boot; a loader puts modules into RAM, and nobody else runs.
    unsafe { look::<Pc>(Found { ram: memory_map(info), kernel, image, symbols: module(info, 1) }) }
}
