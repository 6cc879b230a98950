// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that is loaded rarely: the bases of FS and GS, the I/O bitmap, breakpoints, the FPU.
//!
//! If a thread has a base, ports or breakpoints, each exit to it loads them, and the exit to another
//! thread removes them. A thread cannot change a base by itself but by loading a selector:
//! `CR4.FSGSBASE` is clear. An alien's base of FS is an exception: it stays while the alien's
//! handler runs, if the handler has none of its own. So fast paths can lead to the handler and back
//! (`fast/alien.S`).
//!
//! Registers of the FPU are there only while their thread runs, or its handler. The exit to any
//! other thread saves them and leaves those of an FPU that was just initialised, or the other
//! thread's: on some processors a program could read what is there by speculation although the FPU
//! traps (LazyFP). An alien's are loaded at the exit to it, those of others when they trap.

use crate::{area, fpu, gdt, paging, regs};
use abi::utcb::{FPU_OFFSET, FPU_SIZE, Utcb, fpu as place};
use core::mem::offset_of;
use kcore::{Space, Thread};
use pool::{Link, Pool, Ref};
use port_map::PortMap;
use x86_64_context::{goes_by_steps, lazy, loaded, state};

/// Both bases.
const BASES: u32 = lazy::FS | lazy::GS;

/// What is in the processor.
pub struct Lazy {
    /// Whose registers the FPU holds; null: those of an FPU that was just initialised.
    fpu_owner: Link<Thread>,
    /// Whether the FPU does not trap.
    is_open: bool,
    /// The thread whose bases are loaded; null: they have to be loaded again.
    last: Link<Thread>,
    /// Which of them that thread has: `lazy::FS`, `lazy::GS`.
    bases: u32,
    /// Whether debug registers are set, which are that thread's, too.
    has_breakpoints: bool,
    /// The map that the bitmap shows. That object may be gone, and its memory another object: the
    /// bitmap is shown only to a space whose map has this address.
    io_map: Link<PortMap>,
    /// Whether the bitmap is shown.
    has_ports: bool,
    /// Whether no entry goes by a fast path.
    is_slow: bool,
}

/// Writes into a thread's UTCB slot where its FPU registers are.
fn note_fpu(pool: &mut Pool, thread: Ref<Thread>, place: u32) {
    let at = pool[thread].utcb + offset_of!(Utcb, fpu) as u32;
    pool.bytes_mut(at, 4).copy_from_slice(&place.to_ne_bytes());
}

/// A thread's area.
fn area(pool: &mut Pool, thread: Ref<Thread>) -> &mut [u8] {
    let at = pool[thread].utcb + FPU_OFFSET;
    pool.bytes_mut(at, FPU_SIZE)
}

/// Whether a thread is an alien with this handler, which may run with what is loaded for it.
fn is_handled(pool: &Pool, thread: Ref<Thread>, handler: Ref<Thread>) -> bool {
    let t = &pool[thread];
    t.is_alien() && t.lazy & !(lazy::FS | lazy::FPU) == 0 && t.handler.object::<Thread>() == handler
}

/// The map of a space's I/O ports, if it was ever given one.
fn ports_of(pool: &Pool, space: Ref<Space>) -> Option<Ref<PortMap>> {
    Link::from_value(pool[space].special).get()
}

impl Lazy {
    /// Nothing is loaded, and the FPU traps. Breakpoints that the boot loader left are removed.
    pub const fn new() -> Self {
        Self {
            fpu_owner: Link::NULL,
            is_open: false,
            last: Link::NULL,
            bases: 0,
            has_breakpoints: true,
            io_map: Link::NULL,
            has_ports: false,
            // The debugger traces each entry.
            is_slow: cfg!(feature = "kdb"),
        }
    }

    /// Whether no entry goes by a fast path from now on, if the debugger leaves that open.
    pub const fn set_slow(&mut self, is_slow: bool) {
        self.is_slow |= is_slow;
    }

    /// To be called on entry: records what fast paths have loaded since the last exit. `loaded` is
    /// `Cpu::loaded`.
    pub fn entered(&mut self, pool: &Pool, loaded: u32, current: Ref<Thread>) {
        let thread = Link::<Thread>::from_value(loaded & !loaded::FLAGS);
        self.is_open = loaded & loaded::FPU != 0 && thread.is(current);
        if let Some(thread) = thread.get() {
            self.last = thread.link();
            self.bases = pool[thread].lazy & BASES;
        }
    }

    /// To be called on exit. Afterwards the processor has what the next thread needs, and nothing
    /// that it must not see; it may see the registers of an alien with which it `shares` the FPU.
    /// Returns the new value of `Cpu::loaded`: null if a fast path may handle the thread's next
    /// entry, whatever it is.
    pub fn leave_to(
        &mut self,
        pool: &mut Pool,
        next: Ref<Thread>,
        shares: Option<Ref<Thread>>,
    ) -> u32 {
        if regs::clear_selectors() {
            self.last = Link::NULL;
        }
        let t = &pool[next];
        let (loads, has_ports) = (t.lazy & lazy::FPU != 0, t.lazy & lazy::PORTS != 0);
        let has_fpu = loads || self.fpu_owner.is(next);
        let is_plain =
            t.lazy & !lazy::RING1 == 0 && !has_fpu && !t.is_alien() && !goes_by_steps(&t.context);
        let alien = self.last.get().filter(|alien| is_plain && is_handled(pool, *alien, next));
        if alien.is_none() {
            self.load_bases(pool, next);
        }
        self.show_ports(pool, next, has_ports);
        // An alien's stay while its handler runs, if that is to resume no other one.
        self.show_fpu(pool, if has_fpu { Some(next) } else { shares.or(alien) }, loads);
        self.open_fpu(has_fpu || shares.is_some_and(|alien| self.fpu_owner.is(alien)));
        if is_plain && alien.is_none() && !self.is_slow {
            return 0;
        }
        let t = &pool[next];
        let goes_fast =
            alien.is_some() || !t.handler.is_empty() && is_handled(pool, next, t.handler.object());
        let thread = alien.unwrap_or(next);
        thread.address()
            | if goes_fast && !self.is_slow { 0 } else { loaded::SLOW }
            | if self.fpu_owner.is(thread) { loaded::FPU } else { 0 }
    }

    /// The thread whose registers the FPU has. The FPU is enabled while that thread runs, or its
    /// server if the two may cross.
    pub const fn fpu_owner(&self) -> Link<Thread> {
        self.fpu_owner
    }

    /// The processor has a thread's bases, and its breakpoints.
    pub fn load_bases(&mut self, pool: &Pool, thread: Ref<Thread>) {
        if self.last.is(thread) {
            return;
        }
        self.last = thread.link();
        let t = &pool[thread];
        let (bases, state) = (t.lazy & BASES, state(t));
        let changed = bases | self.bases;
        if changed & lazy::FS != 0 {
            regs::set_base(regs::FS_BASE, state.fs_base);
        }
        if changed & lazy::GS != 0 {
            regs::set_base(regs::GS_BASE, state.gs_base);
        }
        self.bases = bases;
        self.show_breakpoints(t);
    }

    fn show_ports(&mut self, pool: &Pool, next: Ref<Thread>, wants: bool) {
        let map = pool[next].space.get().filter(|_| wants).and_then(|space| ports_of(pool, space));
        if let Some(map) = map.filter(|map| !self.io_map.is(*map)) {
            paging::map_io_bitmap(map.address());
            area::map_io_bitmap(map.address());
            self.io_map = map.link();
        }
        if map.is_some() != self.has_ports {
            self.has_ports = map.is_some();
            gdt::open_io(self.has_ports);
            area::open_io(self.has_ports);
        }
    }

    /// A thread with breakpoints takes no fast path, so no other thread runs with them.
    fn show_breakpoints(&mut self, t: &Thread) {
        let has_breakpoints = t.lazy & lazy::DEBUG != 0;
        if has_breakpoints {
            regs::load_debug(&state(t).debug);
        } else if self.has_breakpoints {
            regs::load_debug(&[0; 6]);
        }
        self.has_breakpoints = has_breakpoints;
    }

    fn open_fpu(&mut self, open: bool) {
        if open != self.is_open {
            self.is_open = open;
            if open { regs::clts() } else { regs::set_ts() }
        }
    }

    /// The FPU has no thread's registers but this one's, if it has; they are loaded if `load`.
    fn show_fpu(&mut self, pool: &mut Pool, thread: Option<Ref<Thread>>, load: bool) {
        let owner = self.fpu_owner.get();
        if owner == thread {
            return;
        }
        if let Some(owner) = owner {
            self.save_fpu(pool, owner);
            self.fpu_owner = Link::NULL;
            if !load {
                fpu::clear();
            }
        }
        if let Some(thread) = thread.filter(|_| load) {
            self.load_fpu(pool, thread);
        }
    }

    /// Removes a thread's state from the processor, and saves it if `keep`. Of all but the FPU the
    /// kernel already has a copy.
    pub fn unload(&mut self, pool: &mut Pool, thread: Ref<Thread>, keep: bool) {
        if self.last.is(thread) {
            self.last = Link::NULL;
        }
        if self.fpu_owner.is(thread) {
            if keep {
                self.save_fpu(pool, thread);
            }
            self.open_fpu(true);
            fpu::clear();
            self.fpu_owner = Link::NULL;
            self.open_fpu(false);
        }
    }

    fn save_fpu(&mut self, pool: &mut Pool, thread: Ref<Thread>) {
        self.open_fpu(true);
        fpu::save(area(pool, thread));
        note_fpu(pool, thread, place::SAVED);
    }

    /// The current thread touched the FPU while that trapped.
    pub fn use_fpu(&mut self, pool: &mut Pool, current: Ref<Thread>) {
        if self.fpu_owner.is(current) {
            // A fast path left it shut.
            self.open_fpu(true);
            return;
        }
        // Another thread's are loaded when it traps again: its fast paths are not for those who have it.
        if pool[current].is_alien() {
            pool[current].lazy |= lazy::FPU;
        }
        self.show_fpu(pool, Some(current), true);
    }

    fn load_fpu(&mut self, pool: &mut Pool, current: Ref<Thread>) {
        self.open_fpu(true);
        // The area is writable by user level: bits that would fault are cleared first.
        fpu::restore(area(pool, current));
        note_fpu(pool, current, place::LOADED);
        self.fpu_owner = current.link();
    }

    /// The current thread did something that only a thread with I/O ports may do. If its space has
    /// some and they were not loaded, they are loaded from now on, and this returns true.
    pub fn use_ports(&mut self, pool: &mut Pool, current: Ref<Thread>) -> bool {
        let t = &pool[current];
        if t.lazy & lazy::PORTS != 0
            || t.space.get().and_then(|space| ports_of(pool, space)).is_none()
        {
            return false;
        }
        pool[current].lazy |= lazy::PORTS;
        true
    }
}
