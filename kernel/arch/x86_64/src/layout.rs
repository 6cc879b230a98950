// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual addresses of the kernel, which is in the last GiB. A constant of 32 bits is the lower
//! half of an address whose upper half is ones, as references to objects are (`pool`).

use mmu::area;

/// The upper half of each of the kernel's addresses.
pub const ONES: u64 = 0xffff_ffff_0000_0000;
/// Where the first 4 MiB of physical memory, with the kernel's image, are mapped.
pub const KERNEL_BASE: u32 = 0xe000_0000;
/// Where the GiB begins that one directory of the kernel's maps.
pub const DIRECTORY_BASE: u32 = 0xc000_0000;
/// 2 MiB with a page table of their own: the processor's page, and the registers of APICs.
pub const CPU_AREA: u32 = 0xe040_0000;
/// Where windows of servers may begin: a window spans at most 64 entries of a highest table, and
/// ends where users' addresses end.
pub const WINDOWS: u64 = abi::USER_END - (64 << 39);
/// Where the pool is mapped.
pub const POOL_BASE: u32 = pool::BASE;

/// The processor's words, at the start of a cache line. The task-state segment starts at the third
/// of them.
pub const CPU: u32 = CPU_AREA + 0xf80;
/// The task-state segment. Its second word is the lower half of the stack pointer of ring 0, and
/// that is `Cpu::current`: the processor pushes into the running Thread.
pub const TSS: u32 = CPU + core::mem::offset_of!(kcore::Cpu, port) as u32;
/// The address at which the I/O permission bitmap would follow the task-state segment: two pages,
/// which are a space's or absent, and a page of ones.
pub const IO_BITMAP: u32 = CPU_AREA + 0x1000;
/// The registers of the local APIC, if it is used.
pub const APIC: u32 = CPU_AREA + 0x4000;
/// Those of the I/O APIC, if it is used.
pub const IO_APIC: u32 = CPU_AREA + 0x5000;
/// The entry area (`mmu::area`): the kernel's tables have its code, and what the processor reads by
/// its address.
pub const AREA: u32 = area::BASE as u32;
/// The address of the task-state segment that the processor uses: in the entry area.
pub const TASK: u64 = area::Page::Task.address() + TSS as u64 % abi::PAGE_SIZE;
/// Words in which the entry keeps registers while it has no stack.
pub const SCRATCH: u32 = CPU_AREA + 0xf00;

const _: () = assert!(
    core::mem::offset_of!(kcore::Cpu, current) == core::mem::offset_of!(kcore::Cpu, port) + 4
);
const _: () = assert!(KERNEL_BASE == plat_pc::vga::WINDOW);
const _: () = assert!(CPU.is_multiple_of(64) && CPU + 128 <= IO_BITMAP);

/// The address whose lower half this is.
pub const fn wide(address: u32) -> u64 {
    ONES | address as u64
}
