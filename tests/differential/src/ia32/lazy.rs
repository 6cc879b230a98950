// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that is loaded lazily: FS, GS and the segment descriptors of TLS.

use super::Kernel;
use super::entry::User;
use super::spaces::{is_server, is_small, random_region, region};
use crate::processor::all;
use abi::Frame;
use fastrand::Rng;
use ia32_context::loaded::{AWAY, FLAGS, FPU_OPEN, PRIVATE, STEP_PENDING};
use ia32_context::selector::TLS;
use ia32_context::{lazy, set_fs_gs, state, state_mut};
use kcore::Thread;
use kcore::port::Processor;
use kcore::thread::gate;
use pool::Ref;

/// The present bit of a segment descriptor's upper word.
const PRESENT: u32 = 1 << 15;

/// Makes it look as if an alien ran last when its space was elsewhere, or had other bounds.
pub fn show_elsewhere(kernel: &mut Kernel, rng: &mut Rng) {
    let loaded = kernel.port.cpu().loaded & !FLAGS;
    let threads = all::<super::Ia32>(kernel);
    let alien = threads[rng.usize(..threads.len())];
    let own = kernel.pool[alien].space.get().and_then(|space| region(kernel, space));
    if let Some(own) = own.filter(|_| kernel.pool[alien].is_alien() && alien.address() != loaded) {
        let [there, size] = [random_region(rng), random_region(rng)];
        // In half of the cases only its bounds were different.
        let region = if rng.bool() { there } else { [size[0], own[1]] };
        let state = state_mut(&mut kernel.pool[alien]);
        (state.shown, state.shown_in) = (in_region(state.tls[0], region), region);
    }
}

/// A TLS descriptor as it is in the processor for a small space.
fn in_region(descriptor: [u32; 2], region: [u32; 2]) -> [u32; 2] {
    let [low, high] = region;
    let bytes = ((low & 0xffff | high & 0xf_0000) + 1) * abi::PAGE_SIZE;
    mmu::descriptor::moved(
        mmu::descriptor::clipped(descriptor, bytes),
        mmu::descriptor::base(region),
    )
}

/// The first TLS descriptor of a thread, as it is in the processor.
pub fn first_tls_of(kernel: &Kernel, thread: Ref<Thread>) -> [u32; 2] {
    let descriptor = state(&kernel.pool[thread]).tls[0];
    let region = kernel.pool[thread].space.get().and_then(|space| region(kernel, space));
    region.map_or(descriptor, |region| in_region(descriptor, region))
}

/// Whether no fast path may lead to this thread's handler, or from there to it (`Lazy::load`).
fn is_private(kernel: &Kernel, thread: Ref<Thread>) -> bool {
    let is_cut_off =
        state(&kernel.pool[thread]).tls[0] != [0; 2] && first_tls_of(kernel, thread) == [0; 2];
    kernel.pool[thread].lazy & lazy::MORE_TLS != 0 || is_cut_off
}

/// Does with `Cpu::loaded` what the port does on the way out (`Lazy::leave_to`); the FPU may be
/// enabled for an alien, and a step may be pending.
pub fn load(kernel: &mut Kernel, next: Ref<Thread>, rng: &mut Rng) {
    let t = kernel.pool[next];
    let other = Ref::<Thread>::new(kernel.port.cpu().loaded & !FLAGS);
    let handles = other.address() != 0
        && kernel.pool[other].is_alien()
        && kernel.pool[other].utcb != 0
        && kernel.pool[other].handler.object::<Thread>() == next
        && !is_private(kernel, other)
        && !is_small(kernel, next);
    let serves = t.space.get().is_some_and(|space| is_server(kernel, space));
    let handles = handles && (serves || !is_small(kernel, other));
    kernel.port.cpu().loaded = if t.lazy != 0 || t.is_alien() {
        if let Some(region) = t.space.get().and_then(|space| region(kernel, space)) {
            let shown = in_region(state(&t).tls[0], region);
            (state_mut(&mut kernel.pool[next]).shown, state_mut(&mut kernel.pool[next]).shown_in) =
                (shown, region);
        }
        let private = if is_private(kernel, next) { PRIVATE } else { 0 };
        next.address() | private | if rng.u32(..12) == 0 { FPU_OPEN } else { 0 }
    } else if handles {
        other.address() | if serves { AWAY } else { 0 }
    } else {
        0
    };
    if rng.u32(..64) == 0 {
        kernel.port.cpu().loaded |= STEP_PENDING;
    }
}

/// The alien whose state is loaded while its handler runs, and the FS and GS that it left.
pub fn alien_selectors(kernel: &mut Kernel, me: Ref<Thread>) -> Option<(Ref<Thread>, u32)> {
    let loaded = kernel.port.cpu().loaded & !FLAGS;
    let alien = Ref::<Thread>::new(loaded);
    if loaded == 0 || alien == me {
        return None;
    }
    if kernel.port.cpu().loaded & AWAY != 0 {
        return Some((alien, 0));
    }
    let t = &kernel.pool[alien];
    let (gate, fs_gs, utcb) = (t.gate, state(t).fs_gs, t.utcb);
    let frame: Frame =
        bytemuck::pod_read_unaligned(kernel.pool.bytes_at(utcb, size_of::<Frame>() as u32));
    Some((alien, if gate & gate::ALIEN == 0 { fs_gs } else { frame.fs_gs }))
}

/// Does with FS and GS what the port does at an entry (`Lazy::entered`).
pub fn note_segments(kernel: &mut Kernel, me: Ref<Thread>, user: &User) {
    let fs_gs = u32::from(user.fs) | u32::from(user.gs) << 16;
    if let Some((alien, left)) = alien_selectors(kernel, me) {
        if kernel.port.cpu().loaded & AWAY == 0 {
            state_mut(&mut kernel.pool[alien]).fs_gs = left;
        }
        if left != fs_gs {
            kernel.port.cpu().loaded = 0;
        }
    }
    let cpu = kernel.port.cpu();
    cpu.loaded &= !STEP_PENDING;
    let own = cpu.loaded & !FLAGS == me.address();
    if own || (cpu.loaded == 0 && fs_gs & 0xfffc_fffc != 0) {
        cpu.loaded |= me.address();
        set_fs_gs(&mut kernel.pool[me], fs_gs);
    }
}

/// Whether one alien's loaded state may stay for another alien, except for the first TLS
/// descriptor.
pub fn may_switch(kernel: &Kernel, me: Ref<Thread>, from: u32, to: u32) -> bool {
    if from == 0 || to == 0 {
        return false;
    }
    let [from, to] = [from, to].map(|address| kernel.pool[Ref::<Thread>::new(address)]);
    let handled = |t: &Thread| {
        t.is_alien()
            && t.handler.object::<Thread>() == me
            && t.lazy & !(lazy::SEGMENTS | lazy::TLS) == 0
    };
    let is_handled = handled(&from) && handled(&to);
    let region = to.space.get().and_then(|space| region(kernel, space));
    let is_known =
        state(&to).tls[0] == [0; 2] || region.is_none_or(|region| state(&to).shown_in == region);
    let (from, to) = (state(&from), state(&to));
    let names_first = [to.fs_gs & 0xffff, to.fs_gs >> 16]
        .iter()
        .any(|selector| selector >> 3 == u32::from(TLS >> 3));
    is_known
        && is_handled
        && from.tls[1..] == to.tls[1..]
        && (from.tls[0] == to.tls[0] || !names_first || to.tls[0][1] & PRESENT != 0)
}

/// The frame of an alien, as its handler left it.
pub fn frame_of(kernel: &Kernel, thread: Ref<Thread>) -> Option<Frame> {
    let t = &kernel.pool[thread];
    (t.is_alien() && t.utcb != 0).then(|| {
        bytemuck::pod_read_unaligned(kernel.pool.bytes_at(t.utcb, size_of::<Frame>() as u32))
    })
}
