// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linear addresses of the kernel's half GiB (docs/manual.md, "Linear layout").

/// Where the first 4 MiB of physical memory, with the kernel's image, are mapped.
pub const KERNEL_BASE: u32 = 0xE000_0000;
/// Where windows of servers may begin: they have 2 GiB at most, and end where the kernel begins.
pub const WINDOWS: u32 = 0x6000_0000;
// A small space, which has 1 GiB at most, ends below the window of a server that its space shows
// when it is large.
const _: () = assert!(WINDOWS >= 1 << 30);
/// 4 MiB with a page table of their own: the processor's page, and after it the I/O permission
/// bitmap.
pub const CPU_AREA: u32 = 0xE040_0000;
/// Where the pool is mapped.
pub const POOL_BASE: u32 = pool::BASE;

/// The processor's words that fast paths read, at the start of a 32-byte cache line. The task-state
/// segment starts at the third of them.
pub const CPU: u32 = CPU_AREA + 0xF80;
/// The task-state segment. Its second word is the stack pointer of ring 0, and that is
/// `Cpu::current`: the processor pushes into the running Thread.
pub const TSS: u32 = CPU + core::mem::offset_of!(kcore::Cpu, port) as u32;
/// The I/O permission bitmap: two pages, which are a space's or absent, and after them a page of
/// ones.
pub const IO_BITMAP: u32 = CPU_AREA + 0x1000;
/// Top of the stack that `sysenter` starts with. Only a debug exception at its first instruction
/// uses it.
pub const ENTRY_STACK_TOP: u32 = CPU_AREA + 0xF00;

const _: () = assert!(
    core::mem::offset_of!(kcore::Cpu, current) == core::mem::offset_of!(kcore::Cpu, port) + 4
);
const _: () = assert!(KERNEL_BASE == abi::USER_END);
const _: () = assert!(KERNEL_BASE == plat_pc::vga::WINDOW);
const _: () = assert!(CPU.is_multiple_of(32));
const _: () = assert!(CPU + 128 <= IO_BITMAP && ENTRY_STACK_TOP.is_multiple_of(4));
