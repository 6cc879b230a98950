// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs.

use super::registers::Registers;
use crate::Thread;
use bytemuck::{Pod, Zeroable};
use pool::{Link, Object, Pool, Ref};

/// The words of a processor that its fast path reads. They share one cache line with what the
/// processor itself reads on each entry. On IA-32 that is the start of the task-state segment:
/// `port` is its first word, and its second, the stack pointer for ring 0, is `current`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    /// Thread whose rarely loaded state (on IA-32 segment registers, TLS, FPU, debug registers, I/O
    /// ports) is in the processor, plus flags of the port's; 0: none.
    pub loaded: u32,
    /// Highest priority in the ready queues, 0 if they are empty.
    pub top: u32,
    /// Belongs to the port.
    pub port: u32,
    /// The thread that runs.
    pub current: Link<Thread>,
}

/// What a space has of what only this kind of processor has, by number.
///
/// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
/// |---|---|---|---|---|---|
/// | I/O ports: their bitmap | [`Nothing`] | as IA-32, but the kernel reads it | as IA-32 | as PowerPC | as PowerPC |
pub trait Special: Object {
    /// The space has none of them. The object was all zeros before.
    fn close_all(&mut self);
    /// A space has, or has no more, `count` of them from `first` on. It is at least one, and they
    /// are within what the board has ([`Machine::special`](crate::boot::Machine::special)).
    fn set(&mut self, first: u32, count: u32, open: bool);
}

/// For a processor whose spaces have nothing but memory.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Nothing(u32);
impl Object for Nothing {}
impl Special for Nothing {
    fn close_all(&mut self) {}
    fn set(&mut self, _: u32, _: u32, _: bool) {}
}

/// What runs: the kernel's hot words, and which thread's state is in the processor.
pub trait Processor {
    /// Layout of a thread's registers.
    type Registers: Registers;
    /// What a space has that is no memory: [`Space::special`](crate::Space::special) is its
    /// address.
    type Special: Special;

    /// The hot words.
    fn cpu(&mut self) -> &mut Cpu;
    /// Takes a thread's rarely loaded state out of the processor, if it is there: saved to the
    /// thread (`keep`), or lost.
    ///
    /// It is called before the core reads or changes that state, and when a thread starts again or
    /// loses its Space. By default nothing: none is left there, as it is loaded on each way out and
    /// changed by the kernel only.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | FS, GS, TLS descriptors, debug registers, the map of I/O ports, the FPU | as it is | the FPU | the FPU; the kernel has the truth of both bases | as it is | as it is |
    fn unload(&mut self, _pool: &mut Pool, _thread: Ref<Thread>, _keep: bool) {}
    /// Initial FPU state, written to the FPU area of a new UTCB slot.
    ///
    /// It is called when a thread is bound or started. By default nothing: there is none.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as `fxsave` has it, or `fnsave` | as it is: there is no FPU | zeros, and FPSCR | as `xsave` has it, or `fxsave` | as it is: users have no FPU | as it is: users have no FPU |
    fn clear_fpu(_area: &mut [u8]) {}
}
