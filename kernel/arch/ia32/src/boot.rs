// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a Multiboot 1 boot loader left: memory, the boot image, the kernel's symbols.
//!
//! It reads the loader's information through [`peek`].

use crate::features::{self, Features, cpuid};
use crate::layout::KERNEL_BASE;
use crate::paging::peek;
use crate::panic::Pc;
use crate::{fpu, regs};
use abi::PhysAddr;
use arch_common::boot::{Boot as Memory, Found, look};
use arch_common::platform::refuse;
use arch_common::{multiboot, options};
use kcore::boot::Range;
use plat_pc::uart;

/// Whether servers run at ring 1.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Spaces {
    /// If the machine checks segment limits, which keep servers from accessing the kernel.
    Auto,
    /// Always: for measurements on an emulator that does not check limits, or with servers that are
    /// trusted.
    Force,
    /// Never.
    No,
}

/// What boot found.
pub struct Boot {
    /// Memory and the boot image.
    pub memory: Memory,
    /// The processor.
    pub features: Features,
    /// What the command line says of servers.
    pub spaces: Spaces,
}

fn check_processor() -> Features {
    if !features::has_cpuid() {
        refuse::<Pc>(format_args!(
            "this processor is too old: it has no CPUID (a Pentium or later is needed)"
        ));
    }
    let (signature, bits) = features::cpuid1();
    for (bit, what) in [
        (cpuid::FPU, "FPU"),
        (cpuid::PSE, "4 MiB pages (PSE)"),
        (cpuid::TSC, "time-stamp counter (TSC)"),
    ] {
        if bits & bit == 0 {
            refuse::<Pc>(format_args!("this processor lacks what the kernel needs: {what}"));
        }
    }
    // The first Pentium Pros announce sysenter but do not have it (Intel SDM, CPUID).
    let early = signature & 0xff0 == 0x610 && signature & 0xf < 3;
    Features {
        pge: bits & cpuid::PGE != 0,
        sep: bits & cpuid::SEP != 0 && !early,
        fxsr: bits & cpuid::FXSR != 0,
        sse: bits & cpuid::SSE != 0 && bits & cpuid::FXSR != 0,
        mxcsr_bits: 0,
    }
}

/// What the command line says of servers.
fn spaces(info: u32) -> Spaces {
    let start = multiboot::command_line(peek, info);
    let line = start.into_iter().flat_map(|start| (start..=u32::MAX).map(|at| peek(at) as u8));
    options::chosen::<Pc, _>(
        line,
        "smallspaces",
        Spaces::Auto,
        "force or no",
        |value| match value {
            "force" => Some(Spaces::Force),
            "no" => Some(Spaces::No),
            _ => None,
        },
    )
}

unsafe extern "C" {
    static kernel_end: u8;
}

/// Examines the machine, and what the loader left: `magic` was in EAX, `info` in EBX.
pub fn find(magic: u32, info: u32) -> Boot {
    uart::init();
    let mut features = check_processor();
    // SAFETY: paging is on, and the bits set are those of features that are there.
    unsafe {
        regs::init_cr0();
        let pge = if features.pge { regs::CR4_PGE } else { 0 };
        let fxsr = if features.fxsr { regs::CR4_FXSR } else { 0 };
        regs::set_cr4(pge | fxsr);
    }
    if features.fxsr {
        features.mxcsr_bits = fpu::mxcsr_bits(features);
    }
    if magic != multiboot::MAGIC {
        refuse::<Pc>(format_args!("started by something that is not a Multiboot 1 loader"));
    }
    let spaces = spaces(info);
    let Some(image) = multiboot::module(peek, info, 0) else {
        refuse::<Pc>(format_args!(
            "the boot loader gave no boot image: name it as the first module"
        ))
    };
    let bytes = (&raw const kernel_end) as u32 - KERNEL_BASE;
    let kernel = Range { base: PhysAddr(0), bytes: bytes.max(1 << 20) };
    // SAFETY: boot; a loader puts modules into RAM, and nobody else runs.
    let memory = unsafe {
        look::<Pc>(Found {
            ram: multiboot::memory_map::<Pc>(peek, info),
            kernel,
            image,
            symbols: multiboot::module(peek, info, 1),
        })
    };
    Boot { memory, features, spaces }
}
