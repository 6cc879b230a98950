// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that is loaded only when a thread uses it: FS and GS, TLS segment descriptors, debug
//! registers, the I/O bitmap, the FPU.
//!
//! `Cpu::loaded` names the thread whose state of this kind is in the processor. While it is zero,
//! FS and GS are null, the TLS segment descriptors are empty, no debug register is set, no port is
//! open and the FPU traps. Registers of the FPU may stay there longer (`Lazy::fpu_owner`): no
//! thread can access them until their owner uses the FPU again.

use crate::features::Features;
use crate::layout::KERNEL_BASE;
use crate::space::{self, Kind};
use crate::{fpu, gdt, paging, regs};
use abi::frame::{CHANGED_SEGMENTS, Frame};
use abi::utcb::{FPU_OFFSET, FPU_SIZE, Utcb, fpu as place};
use core::mem::offset_of;
use ia32_context::loaded::{AWAY, FLAGS, FPU_OPEN, PRIVATE, STEP_PENDING};
use ia32_context::{
    State, checked_selectors, lazy, limit_debug, names_any, set_fs_gs, state, state_mut, translated,
};
use kcore::thread::gate;
use kcore::{Cpu, Space, Thread};
use mmu::descriptor;
use pool::{Link, Pool, Ref};
use port_map::PortMap;

/// Parts of a thread's state that are [`PRIVATE`].
const PRIVATE_PARTS: u32 = lazy::DEBUG | lazy::PORTS | lazy::MORE_TLS;

/// What is in the processor.
pub struct Lazy {
    features: Features,
    /// The thread whose registers the FPU holds.
    fpu_owner: Link<Thread>,
    /// The map that the bitmap shows. That object may be gone, and its memory another object: the
    /// bitmap is shown only to a space whose map has this address.
    io_map: Link<PortMap>,
}

/// Writes into a thread's UTCB slot where its FPU registers are.
fn note_fpu(pool: &mut Pool, thread: Ref<Thread>, place: u32) {
    let at = pool[thread].utcb + offset_of!(Utcb, fpu) as u32;
    pool.bytes_mut(at, 4).copy_from_slice(&place.to_ne_bytes());
}

/// The map of a space's I/O ports, if it was ever given one.
fn ports_of(pool: &Pool, space: Ref<Space>) -> Option<Ref<PortMap>> {
    Link::from_value(pool[space].special).get()
}

/// Whether FS or GS names the data segment of a small space: loaded again outside of that space,
/// they would be flat.
fn names_small(fs_gs: u32) -> bool {
    [fs_gs as u16, (fs_gs >> 16) as u16]
        .into_iter()
        .any(|selector| translated(selector, false) != selector)
}

/// Whether a thread's space is small.
fn is_small(pool: &Pool, thread: Ref<Thread>) -> bool {
    pool[thread].space.get().is_some_and(|space| space::region(pool, space).is_some())
}

/// The thread named by `Cpu::loaded`.
fn loaded(cpu: &Cpu) -> Option<Ref<Thread>> {
    Link::from_value(cpu.loaded & !FLAGS).get()
}

impl Lazy {
    /// Nothing is loaded.
    pub const fn new(features: Features) -> Self {
        Self { features, fpu_owner: Link::NULL, io_map: Link::NULL }
    }

    /// On entry: notes what the current thread did to FS and GS by itself. Returns
    /// whether a single step was pending.
    pub fn entered(
        &mut self,
        cpu: &mut Cpu,
        pool: &mut Pool,
        current: Ref<Thread>,
        fs_gs: u32,
    ) -> bool {
        let step = cpu.loaded & STEP_PENDING != 0;
        cpu.loaded &= !STEP_PENDING;
        match loaded(cpu) {
            Some(thread) if thread == current => set_fs_gs(&mut pool[thread], fs_gs),
            None if names_any(fs_gs) => {
                set_fs_gs(&mut pool[current], fs_gs);
                cpu.loaded |= current.address();
            }
            Some(alien) => self.handler_entered(cpu, pool, alien, current, fs_gs),
            None => {}
        }
        step
    }

    /// The handler of the loaded alien entered the kernel. If FS and GS are not the alien's any
    /// more, the handler loaded them itself, and they become its own. If the handler has written
    /// other selectors to the alien's frame by now, the two cases cannot be distinguished: what the
    /// processor has counts as the alien's.
    fn handler_entered(
        &mut self,
        cpu: &mut Cpu,
        pool: &mut Pool,
        alien: Ref<Thread>,
        handler: Ref<Thread>,
        fs_gs: u32,
    ) {
        if cpu.loaded & AWAY != 0 {
            if names_any(fs_gs) {
                self.put_away(cpu, pool, alien, false);
                self.load_own(cpu, pool, handler, fs_gs);
            }
            return;
        }
        if pool[alien].gate & gate::ALIEN != 0 {
            let at = pool[alien].utcb;
            if pool.bytes_at(at + offset_of!(Frame, fs_gs) as u32, 4) == fs_gs.to_ne_bytes() {
                // They are in the processor, which has the truth while the alien is loaded.
                return;
            }
            let frame: Frame =
                bytemuck::pod_read_unaligned(pool.bytes_at(at, size_of::<Frame>() as u32));
            // The fast path notes them only there.
            state_mut(&mut pool[alien]).fs_gs =
                if frame.changed & CHANGED_SEGMENTS == 0 { frame.fs_gs } else { fs_gs };
        }
        if state(&pool[alien]).fs_gs == fs_gs {
            return;
        }
        self.put_away(cpu, pool, alien, false);
        self.load_own(cpu, pool, handler, fs_gs);
    }

    /// Loads the state of a thread that loaded these selectors itself while another's was loaded.
    fn load_own(&mut self, cpu: &mut Cpu, pool: &mut Pool, thread: Ref<Thread>, fs_gs: u32) {
        let own = checked_selectors(fs_gs, &state(&pool[thread]).tls);
        if names_any(own) {
            set_fs_gs(&mut pool[thread], own);
            self.load(cpu, pool, thread);
        }
    }

    /// To be called on exit. Afterwards the processor has what the next thread needs. It does not
    /// have what the thread must not see, or, if it is a server's thread or in a small space, must
    /// not use.
    pub fn leave_to(&mut self, cpu: &mut Cpu, pool: &mut Pool, next: Ref<Thread>, kind: Kind) {
        let is_server = kind == Kind::Server;
        let wants = pool[next].lazy != 0 || pool[next].is_alien();
        match loaded(cpu) {
            Some(thread) if thread == next => {
                if cpu.loaded & AWAY != 0 {
                    self.load(cpu, pool, next);
                }
                return;
            }
            // A handler may find its alien's FS, GS and TLS descriptors (`handler_entered`).
            Some(thread)
                if !wants
                    && kind != Kind::Small
                    && cpu.loaded & PRIVATE == 0
                    && (is_server || cpu.loaded & AWAY == 0 && !is_small(pool, thread))
                    && (cpu.loaded & AWAY != 0 || !names_small(regs::fs_gs()))
                    && pool[thread].is_alien()
                    && pool[thread].handler.object::<Thread>() == next =>
            {
                self.close_fpu(cpu);
                if is_server && cpu.loaded & AWAY == 0 {
                    state_mut(&mut pool[thread]).fs_gs = regs::fs_gs();
                    regs::set_fs_gs(0);
                    gdt::hide_tls();
                    cpu.loaded |= AWAY;
                }
                return;
            }
            Some(thread) => self.put_away(cpu, pool, thread, true),
            None => {}
        }
        if wants {
            self.load(cpu, pool, next);
        } else {
            regs::set_fs_gs(0);
        }
    }

    fn load(&mut self, cpu: &mut Cpu, pool: &mut Pool, thread: Ref<Thread>) {
        let (space, parts) = (pool[thread].space.get(), pool[thread].lazy);
        let State { fs_gs, mut tls, mut debug, .. } = *state(&pool[thread]);
        let is_asked_for = tls[0] != [0; 2];
        let region = space.and_then(|space| space::region(pool, space));
        if let Some(space) = space {
            if space::is_server(pool, space) {
                tls.iter_mut()
                    .for_each(|segment| *segment = descriptor::clipped(*segment, KERNEL_BASE));
            }
            // What is above may be a server's: no breakpoint is hit there.
            limit_debug(&mut debug, pool[space].region.end);
            if let Some(region) = region {
                let base = descriptor::base(region);
                let end = pool[space].region.end.0;
                tls.iter_mut().for_each(|segment| {
                    *segment = descriptor::moved(descriptor::clipped(*segment, end), base)
                });
                debug[..4].iter_mut().for_each(|address| *address = address.wrapping_add(base));
                state_mut(&mut pool[thread]).shown = tls[0];
                state_mut(&mut pool[thread]).shown_in = region;
            }
        }
        // Fast paths take it that a TLS descriptor that was asked for is there.
        let is_cut_off = is_asked_for && tls[0] == [0; 2];
        cpu.loaded =
            thread.address() | if parts & PRIVATE_PARTS == 0 && !is_cut_off { 0 } else { PRIVATE };
        if parts & lazy::TLS != 0 {
            gdt::load_tls(&tls);
        }
        if parts & lazy::DEBUG != 0 {
            regs::load_debug(&debug);
        }
        if parts & lazy::PORTS != 0
            && let Some(map) = space.and_then(|space| ports_of(pool, space))
        {
            self.open_ports(map);
        }
        let [fs, gs] = [fs_gs as u16, (fs_gs >> 16) as u16]
            .map(|selector| u32::from(translated(selector, region.is_some())));
        regs::set_fs_gs(checked_selectors(fs | gs << 16, &tls));
    }

    /// Removes from the processor what is loaded of a space's thread, and saves it, because it has
    /// to be loaded in another way from now on.
    pub fn unload_of(&mut self, cpu: &mut Cpu, pool: &mut Pool, space: Ref<Space>) {
        if let Some(thread) = loaded(cpu).filter(|thread| pool[*thread].space.is(space)) {
            self.put_away(cpu, pool, thread, true);
        }
    }

    /// Removes a thread's state from the processor, and saves it if `keep`.
    pub fn unload(&mut self, cpu: &mut Cpu, pool: &mut Pool, thread: Ref<Thread>, keep: bool) {
        if self.fpu_owner.is(thread) {
            if keep {
                regs::clts();
                self.save_fpu(pool, thread);
            }
            self.fpu_owner = Link::NULL;
            regs::set_ts();
            cpu.loaded &= !FPU_OPEN;
        }
        if loaded(cpu) == Some(thread) {
            self.put_away(cpu, pool, thread, keep);
        }
    }

    /// Removes a thread's state from the processor, except the registers of the FPU, which are only
    /// made inaccessible.
    fn put_away(&mut self, cpu: &mut Cpu, pool: &mut Pool, thread: Ref<Thread>, keep: bool) {
        self.close_fpu(cpu);
        if keep && cpu.loaded & AWAY == 0 {
            state_mut(&mut pool[thread]).fs_gs = regs::fs_gs();
        }
        regs::set_fs_gs(0);
        if pool[thread].lazy & lazy::TLS != 0 {
            gdt::load_tls(&[[0; 2]; 3]);
        }
        if pool[thread].lazy & lazy::DEBUG != 0 {
            regs::load_debug(&[0; 6]);
        }
        if pool[thread].lazy & lazy::PORTS != 0 {
            gdt::open_io(false);
        }
        cpu.loaded = 0;
    }

    fn close_fpu(&mut self, cpu: &mut Cpu) {
        if cpu.loaded & FPU_OPEN != 0 {
            regs::set_ts();
            cpu.loaded &= !FPU_OPEN;
        }
    }

    /// The current thread touched the FPU while that trapped.
    pub fn use_fpu(&mut self, cpu: &mut Cpu, pool: &mut Pool, current: Ref<Thread>) {
        if let Some(other) = loaded(cpu).filter(|other| *other != current) {
            self.unload(cpu, pool, other, true);
        }
        regs::clts();
        if !self.fpu_owner.is(current) {
            if let Some(owner) = self.fpu_owner.get() {
                self.save_fpu(pool, owner);
            }
            self.restore_fpu(pool, current);
            self.fpu_owner = current.link();
        }
        cpu.loaded |= current.address() | FPU_OPEN;
    }

    fn save_fpu(&self, pool: &mut Pool, thread: Ref<Thread>) {
        let at = pool[thread].utcb + FPU_OFFSET;
        fpu::save(self.features, pool.bytes_mut(at, FPU_SIZE));
        note_fpu(pool, thread, place::SAVED);
    }

    /// The area is writable by user level: bits that would fault are cleared first.
    fn restore_fpu(&self, pool: &mut Pool, thread: Ref<Thread>) {
        let at = pool[thread].utcb + FPU_OFFSET;
        fpu::restore(self.features, pool.bytes_mut(at, FPU_SIZE));
        note_fpu(pool, thread, place::LOADED);
    }

    /// The current thread did something that only a thread with I/O ports may do. If its space has
    /// some and they were not loaded, they are loaded with the thread from now on, and this returns
    /// true.
    pub fn use_ports(&mut self, cpu: &mut Cpu, pool: &mut Pool, current: Ref<Thread>) -> bool {
        let t = &pool[current];
        if t.lazy & lazy::PORTS != 0
            || t.space.get().and_then(|space| ports_of(pool, space)).is_none()
        {
            return false;
        }
        if loaded(cpu) == Some(current) {
            self.put_away(cpu, pool, current, true);
        }
        pool[current].lazy |= lazy::PORTS;
        true
    }

    /// Shows the I/O ports of this map to the processor.
    fn open_ports(&mut self, map: Ref<PortMap>) {
        if !self.io_map.is(map) {
            paging::map_io_bitmap(map.address());
            self.io_map = map.link();
        }
        gdt::open_io(true);
    }
}

const _: () = assert!(size_of::<Cpu>() == 16);
