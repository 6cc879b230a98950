// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a boot loader left, by Multiboot 2 or as Xen's PVH guests have it: memory, the boot image,
//! the kernel's symbols.
//!
//! It reads the loader's information through [`peek`].

use crate::layout::KERNEL_BASE;
use crate::paging::peek;
use crate::panic::Pc;
use crate::{features, fpu, regs};
use abi::PhysAddr;
use arch_common::boot::{Boot, Found, look};
use arch_common::platform::{refuse, say};
use arch_common::{multiboot2, options, pvh};
use kcore::boot::Range;
use plat_pc::uart;

unsafe extern "C" {
    static kernel_end: u8;
}

/// What the kernel's command line asks for.
pub struct Options {
    /// Servers run at ring 1; by default the kernel has none. The command line may let that depend
    /// on the processor: on some processors a process can find out what its server's memory has, and
    /// QEMU's does not keep a server from the kernel.
    pub has_servers: bool,
    /// The processor drops its predictions of branches when another server runs (IBPB).
    pub drops_predictions: bool,
    /// It drops what its buffers have when the kernel is left (`verw`).
    pub clears_buffers: bool,
    /// Components have tables with nothing of the kernel but an entry area, so that no program finds
    /// out what the kernel's pages have.
    pub isolates: bool,
    /// CR3 has PCIDs although the processor supports none: for the machine model (docs/model.md).
    pub shows_pcids: bool,
}

/// Where the firmware's tables are.
#[derive(Clone, Copy, Default)]
pub struct Tables {
    /// The address of the list of the tables; 0: it is not known.
    pub list: PhysAddr,
    /// The range of all of them, if the list is in it and it is not a device's.
    pub range: Range,
}

/// Asks the loader.
fn find_tables(magic: u32, info: u32) -> Option<Tables> {
    let (list, range) = if magic == multiboot2::MAGIC {
        let list = multiboot2::list(peek, info)?;
        (list, multiboot2::tables(peek, info, list))
    } else {
        // QEMU as a loader of PVH guests has started a BIOS, whose tables are above RAM.
        (pvh::list(peek, info)?, None)
    };
    Some(Tables { list: PhysAddr(list), range: range.unwrap_or_default() })
}

/// Reads the command line.
fn read_options(magic: u32, info: u32) -> Options {
    let start = match magic {
        multiboot2::MAGIC => multiboot2::command_line(peek, info),
        _ => pvh::command_line(peek, info),
    };
    let line = || start.into_iter().flat_map(|start| (start..=u32::MAX).map(|at| peek(at) as u8));
    let forbidden = features::forbids_servers();
    let chosen = |name: &str, usual: bool, auto: bool| {
        let parse = |value: &str| match value {
            "auto" => Some(auto),
            "force" => Some(true),
            "no" => Some(false),
            _ => None,
        };
        options::chosen::<Pc, _>(line(), name, usual, "auto, force or no", parse)
    };
    let has_servers = chosen("smallspaces", false, forbidden.is_none());
    if let (false, Some(why)) = (has_servers, forbidden)
        && options::is_said(line(), "smallspaces=auto")
    {
        say::<Pc>(format_args!("no servers at ring 1: {why}"));
    }
    let meltdown = features::has_meltdown();
    let isolates = chosen("isolation", meltdown, meltdown);
    if meltdown {
        let have = if isolates { "do not have" } else { "have" };
        let why = features::MELTDOWN;
        say::<Pc>(format_args!("components {have} the kernel's pages: {why}"));
    }
    let (predictions, buffers) = (features::drops_predictions(), features::needs_clear_buffers());
    Options {
        has_servers,
        drops_predictions: chosen("ibpb", predictions, predictions),
        clears_buffers: chosen("verw", buffers, buffers),
        isolates,
        shows_pcids: options::is_said(line(), "pcid=shown"),
    }
}

/// Examines the machine, and what the loader left: `magic` was in EAX, `info` in EBX.
pub fn find(magic: u32, info: u32) -> (Boot, Options, Tables) {
    uart::init();
    let cr4 = features::cr4();
    // SAFETY: boot, in long mode; the bits are those of features that are there.
    unsafe { regs::init(cr4) };
    if features::has_rdtscp() {
        // SAFETY: it has it.
        unsafe { regs::clear_tsc_aux() };
    }
    fpu::init(cr4 & regs::CR4_OSXSAVE != 0);
    // A PVH loader has one module: the symbols are after the boot image.
    let (ram, [image, symbols]) = match magic {
        multiboot2::MAGIC => (
            multiboot2::memory_map(peek, info),
            [0, 1].map(|index| multiboot2::module(peek, info, index)),
        ),
        pvh::MAGIC => (pvh::memory_map(peek, info), [pvh::module(peek, info), None]),
        _ => refuse::<Pc>("started by something that is no loader of Multiboot 2 or PVH"),
    };
    let Some(ram) = ram else { refuse::<Pc>("the boot loader gave no memory map") };
    let Some(image) = image else {
        refuse::<Pc>("the boot loader gave no boot image: name it as the first module")
    };
    let bytes = (&raw const kernel_end) as u32 - KERNEL_BASE;
    let kernel = Range { base: PhysAddr(0), bytes: bytes.max(1 << 20).into() };
    // SAFETY: boot; a loader puts modules into RAM, and nobody else runs.
    let memory = unsafe { look::<Pc>(Found { ram, kernel, image, symbols }) };
    let options = read_options(magic, info);
    let mut tables = find_tables(magic, info).unwrap_or_default();
    if tables.range.base >= memory.ram_end {
        // They are of the Memory of devices.
        tables.range = Range::default();
    }
    if options.has_servers || options.isolates {
        // What the TLB has of the kernel's pages must not be there for tables that do not have them.
        regs::forbid_global_pages();
    }
    (memory, options, tables)
}
