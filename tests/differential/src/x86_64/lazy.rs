// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that is loaded rarely: which thread's base of FS is loaded, and which thread has the FPU.

use super::Kernel;
use super::machine::TASK_SWITCHED;
use fastrand::Rng;
use kcore::Thread;
use kcore::port::Processor;
use pool::{Link, Ref};
use x86_64_context::loaded::{FLAGS, FPU, SLOW};
use x86_64_context::{goes_by_steps, lazy, state};

/// The thread that the word `Cpu::loaded` names.
fn named(loaded: u32) -> Option<Ref<Thread>> {
    Link::from_value(loaded & !FLAGS).get()
}

/// Whether a thread is an alien with this handler, and the handler may run with the state that is
/// loaded for the alien.
pub fn is_handled(kernel: &Kernel, thread: Ref<Thread>, handler: Ref<Thread>) -> bool {
    let t = &kernel.pool[thread];
    t.is_alien()
        && t.utcb != 0
        && t.lazy & !lazy::FS == 0
        && t.handler.object::<Thread>() == handler
}

/// `Cpu::loaded` as the port's way out sets it (`Lazy::leave_to`). The FPU is enabled for some
/// threads.
pub fn load(kernel: &mut Kernel, me: Ref<Thread>, rng: &mut Rng) -> u32 {
    let t = kernel.pool[me];
    let other = named(kernel.port.cpu().loaded);
    let fpu = if rng.u32(..4) == 0 { FPU } else { 0 };
    let is_plain = t.lazy == 0 && !t.is_alien() && !goes_by_steps(&t.context);
    if is_plain && rng.u32(..16) > 0 {
        let alien = other.filter(|other| is_handled(kernel, *other, me));
        return alien.map_or(0, |alien| alien.address() | fpu);
    }
    let has_handler = !t.handler.is_empty() && is_handled(kernel, me, t.handler.object());
    me.address() | fpu | if has_handler { 0 } else { SLOW }
}

/// CR0 and the base of FS while a thread runs.
pub fn registers(kernel: &Kernel, loaded: u32, runs: Ref<Thread>) -> (u64, u64) {
    let is_open = loaded & FPU != 0 && named(loaded) == Some(runs);
    let base = named(loaded).map_or(0, |thread| state(&kernel.pool[thread]).fs_base);
    (if is_open { 0 } else { TASK_SWITCHED }, base)
}
