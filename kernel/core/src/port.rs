// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port contract: all that a processor and its board must supply.
//!
//! A port keeps each thread's registers in [`Context`], decides in its own entry
//! code which of the kernel's entries to call, and, on the way out, loads what
//! `Cpu::current` needs: its space (seam `switch_to`), its lazily switched state, its
//! registers. The fast path is a port's own; it may do exactly what `ipc.rs` would
//! have done, whenever the hot words of both threads say so
//! ([`crate::thread::gate`]).

use crate::{Space, Thread};
use abi::{Frame, Rights};
use mmu::Format;
use pool::{Link, Pool, Ref};

/// Words of a thread's saved registers.
pub const CONTEXT_WORDS: usize = 32;

/// A thread's saved registers, in the port's own layout.
pub type Context = [u32; CONTEXT_WORDS];

/// Words of a thread's rarely loaded state.
pub const STATE_WORDS: usize = 13;

/// A thread's rarely loaded state, in the port's own layout: what is loaded only for a thread that
/// has any of it. All zeros is none.
pub type State = [u32; STATE_WORDS];

/// Interrupt lines the kernel can hold.
pub const MAX_IRQS: usize = 32;

/// The words of a processor that its fast path reads: one cache line with the
/// part of the task-state segment that follows `current`'s predecessor on IA-32.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    /// Thread whose lazily switched state (segments, TLS, FPU, debug registers, I/O
    /// ports) is in the processor, plus flags of the port's; 0: none.
    pub loaded: u32,
    /// Highest priority in the ready queues, 0 if they are empty.
    pub top: u32,
    /// Belongs to the port. (IA-32: the task-state segment starts here.)
    pub port: u32,
    /// The thread that runs. (IA-32: this is the stack pointer for ring 0.)
    pub current: Link<Thread>,
}

/// What a port tells about a translation fault (seam `fault_in`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultIn {
    /// A cache of the tables was repaired: let the thread run on.
    Repaired,
    /// The thread's handler has to know.
    Report,
}

/// A processor and its board.
pub trait Port {
    /// Layout of translation tables.
    type Format: Format;

    // --- Registers ------------------------------------------------------------
    /// System-call argument `index`: 0 the tag, 1 to 4 the arguments `a0` to `a3`.
    fn argument(context: &Context, index: usize) -> u32;
    /// Sets result register `index`: 0 delivery or status, 1 handle or first result, and so on to 4.
    fn set_result(context: &mut Context, index: usize, value: u32);
    /// The registers as a handler sees them; `address` is that of the last page fault.
    fn frame(thread: &Thread) -> Frame;
    /// Takes registers from a hostile frame: masks flags, replaces selectors. Whatever
    /// `Frame::changed` does not name stays as it is.
    fn load_frame(thread: &mut Thread, frame: &Frame);
    /// Registers of a thread that starts: entry, stack pointer, UTCB address, argument.
    fn start(context: &mut Context, entry: u32, stack: u32, utcb: u32, argument: u32);
    /// Whether the thread, now waiting in IPC, may be resumed by the fast path.
    fn resumes_fast(thread: &Thread) -> bool;

    // --- Processor ---------------------------------------------------------------
    /// The hot words.
    fn cpu(&mut self) -> &mut Cpu;
    /// The thread's lazily switched state must not be in the processor any more and
    /// need not be saved (`keep` false), or is to be saved to the thread first.
    fn unload(&mut self, pool: &mut Pool, thread: Ref<Thread>, keep: bool);
    /// Sets part `item` of the rarely loaded state of a thread that is not loaded, and
    /// [`Thread::lazy`]. The parts are the port's own (`abi::state`). Returns a result of the part's.
    ///
    /// # Errors
    /// `BadArgument` if there is no such part, or the value could reach the kernel.
    fn set_state(thread: &mut Thread, item: u32, values: [u32; 2]) -> Result<u32, abi::Error>;
    /// Initial FPU state, written to the FPU area of a new UTCB slot.
    fn clear_fpu(area: &mut [u8]);

    // --- Memory: the seams of address-space multiplexing ------------------------------
    /// Physical address of a block of the pool.
    fn physical(&self, address: u32) -> u32;
    /// Address in the pool of a physical address in it.
    fn pool_address(&self, physical: u32) -> u32;
    /// A space was made: fill in `Space::hw` and the part of its upper level that is the kernel's.
    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>);
    /// A space's tables are about to be freed: nothing may use them any more.
    fn space_dropped(&mut self, pool: &mut Pool, space: Ref<Space>);
    /// A mapping in this range of a space is about to be changed or removed (for
    /// caches that need the old translation).
    fn before_change(&mut self, pool: &mut Pool, space: Ref<Space>, start: u32, end: u32);
    /// As [`before_change`](Self::before_change), for any mapping of any space.
    fn before_all(&mut self);
    /// Entry `index` of a space's upper level was written (seam `pte_changed`).
    fn top_changed(&mut self, pool: &mut Pool, space: Ref<Space>, index: usize);
    /// Rights in this range were lowered or removed: no stale translation may be used after this.
    fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, start: u32, end: u32);
    /// As [`invalidate`](Self::invalidate), for any translation of any space.
    fn invalidate_all(&mut self);
    /// A translation fault in user mode.
    fn fault_in(&mut self, pool: &mut Pool, space: Ref<Space>, address: u32, access: Rights) -> FaultIn;
    /// Cache maintenance on a range of a space.
    fn cache(&mut self, pool: &mut Pool, space: Ref<Space>, start: u32, end: u32, clean: bool, invalidate: bool);

    // --- Board ------------------------------------------------------------------------------
    /// Nanoseconds since boot.
    fn now(&self) -> u64;
    /// Asks for a tick at this time, or for none. Early ticks are allowed.
    fn set_timer(&mut self, deadline: Option<u64>);
    /// Lets a line interrupt, or not.
    fn set_irq(&mut self, line: u32, enabled: bool);
    /// Whether an interrupt waits to be taken: long operations then stop.
    fn interrupt_pending(&mut self) -> bool;
}
