// SPDX-License-Identifier: MIT OR Apache-2.0
//! One event, by the assembly and by the portable kernel.

use super::compare::{Expected, WORDS, compare};
use super::entry::{Clock, Entry, User};
use super::machine::{Code, DS, ES, Exit, FS, GS, Machine, reg};
use super::scenario::{Event, Host, code_and_stack, hw, region};
use super::tally::Tally;
use crate::run::settle;
use abi::frame::{Frame, vector};
use abi::{Op, Rights, UserAddr};
use anyhow::{Result, bail, ensure};
use arch_host::{POOL_BASE, Part};
use core::mem::offset_of;
use fastrand::Rng;
use ia32_context::hw::{DIRECTORY, HOME, SERVER};
use ia32_context::loaded::{AWAY, FLAGS, FPU_OPEN, PRIVATE, STEP_PENDING};
use ia32_context::selector::{SMALL_CODE, SMALL_DATA, TLS, USER_CODE, USER_DATA};
use ia32_context::{FIXED_FLAGS, checked_selector, lazy, set_fs_gs, state, state_mut, translated, word};
use kcore::port::{Processor, Translation};
use kcore::thread::{ANCHOR, gate};
use kcore::{Cpu, Kernel, Scheduler, Space, Thread};
use pool::{Link, Ref};

/// Address of the processor's hot words, as in the kernel's layout.
const CPU: u32 = 0xe040_0f80;
/// Where the directory of the home is noted whose small spaces alone ring 3 has segments for (`space.rs`), among them.
const SMALL_HOME: u32 = CPU + 28;
/// The byte of a segment descriptor's upper word that says that it is present.
const ACCESS: u32 = 0xff00;
/// Who is in the kernel, and what the processor has.
#[derive(Clone, Copy)]
struct Entered {
    thread: Ref<Thread>,
    directory_of: Ref<Space>,
    clock: Clock,
}

/// Lets the thread that runs do this.
pub fn step(kernel: &mut Kernel<Host>, event: &Event, code: &mut Code, rng: &mut Rng, tally: &mut Tally) -> Result<()> {
    let Some(me) = kernel.current() else { bail!("nobody runs") };
    tally.events += 1;
    let mut user = User::random(
        match event {
            Event::Sysenter(arguments) | Event::Int(arguments) => *arguments,
            _ => [(); 5].map(|()| rng.u32(..)),
        },
        enter(kernel, me),
        rng,
    );
    // Some aliens use the same selector.
    if kernel.pool[me].is_alien() {
        match rng.u32(..20) {
            0..=1 => user.fs = TLS,
            2..=6 => user.gs = TLS,
            _ if is_small(kernel, me) => (user.fs, user.gs) = (0, TLS),
            _ => {}
        }
    }
    load(kernel, me, rng);
    // Mostly less than a slice goes by.
    let passes = if rng.u32(..8) == 0 { 8_000_000 } else { 20_000 };
    let clock = Clock::random(kernel.port.now + rng.u64(..passes), rng);
    kernel.port.now = clock.now();
    let entered = Entered { thread: me, directory_of: directory_of(kernel, me, rng), clock };
    if let Some((_, fs_gs)) = alien_selectors(kernel, me)
        && rng.u32(..8) != 0
    {
        (user.fs, user.gs) = (fs_gs as u16, (fs_gs >> 16) as u16);
    }
    match event {
        Event::Sysenter(_) => {
            // The user passes its stack and instruction pointer in ECX and EDX.
            (user.regs[7], user.regs[8]) = (user.regs[2], user.regs[3]);
            user.regs[9] = FIXED_FLAGS;
            let expected = assembly(kernel, entered, &user, code, Entry::Sysenter, tally)?;
            note_segments(kernel, me, &user);
            portable(kernel, me, expected.as_ref(), |kernel| {
                user.save(&mut kernel.pool[me], vector::SYSENTER);
                if kernel.pool[me].is_alien() {
                    kernel.exception();
                } else {
                    kernel.system_call();
                    while kernel.carry_on() {}
                }
            })?;
        }
        Event::AlienCall => {
            let expected = assembly(kernel, entered, &user, code, Entry::Call, tally)?;
            note_segments(kernel, me, &user);
            portable(kernel, me, expected.as_ref(), |kernel| {
                user.save(&mut kernel.pool[me], vector::SYSTEM_CALL);
                kernel.exception();
            })?;
        }
        Event::Int(_) => {
            note_segments(kernel, me, &user);
            user.save(&mut kernel.pool[me], abi::arch::ia32::kip::INT_VECTOR);
            kernel.system_call();
            while kernel.carry_on() {}
        }
        Event::PageFault => {
            let (error, address) = (rng.u32(..8), rng.u32(..));
            let expected = assembly(kernel, entered, &user, code, Entry::Fault { error, address }, tally)?;
            note_segments(kernel, me, &user);
            portable(kernel, me, expected.as_ref(), |kernel| {
                user.save(&mut kernel.pool[me], vector::PAGE_FAULT);
                kernel.pool[me].context[word::ERROR] = error;
                kernel.page_fault(UserAddr(address), Rights::READ);
            })?;
        }
        Event::Tick => {
            note_segments(kernel, me, &user);
            user.save(&mut kernel.pool[me], 0x20);
            kernel.port.now += rng.u64(..12_000_000);
            kernel.tick();
        }
    }
    settle(kernel);
    Ok(())
}

/// What the port's way out has written of a thread that runs: the selectors of its space, with which it enters again.
fn enter(kernel: &mut Kernel<Host>, me: Ref<Thread>) -> (u32, u32) {
    let [cs, ss] = kernel.pool[me].space.get().map_or([0; 2], |space| code_and_stack(kernel, space));
    let context = &mut kernel.pool[me].context;
    (context[word::CS], context[word::SS]) = (cs, ss);
    (cs, ss)
}

/// Whose directory is the processor's while a thread runs: its space's own, or its home's; or, if that is a server, that of a space that shows
/// it, mostly of the alien's that ran.
fn directory_of(kernel: &mut Kernel<Host>, me: Ref<Thread>, rng: &mut Rng) -> Ref<Space> {
    let own = kernel.pool[me].space.get().expect("who runs has a space");
    if !is_server(kernel, own) {
        return Ref::new(hw(kernel, own, HOME));
    }
    let loaded = Link::<Thread>::from_value(kernel.port.cpu().loaded & !FLAGS).get();
    let all = (0..kernel.threads.count).filter_map(|index| kernel.pool[kernel.threads.get(index)?].space.get());
    let home = |space: Ref<Space>| Ref::<Space>::new(hw(kernel, space, HOME));
    let shows = |space: &Ref<Space>| hw(kernel, *space, SERVER) == own.address();
    let showing: Vec<Ref<Space>> = all.map(home).filter(shows).collect();
    match loaded.and_then(|alien| kernel.pool[alien].space.get()).filter(shows) {
        Some(space) if rng.u32(..8) > 0 => space,
        _ => showing[rng.usize(..showing.len())],
    }
}

fn is_server(kernel: &Kernel<Host>, space: Ref<Space>) -> bool {
    hw(kernel, space, SERVER) == space.address()
}

fn is_small(kernel: &Kernel<Host>, thread: Ref<Thread>) -> bool {
    kernel.pool[thread].space.get().is_some_and(|space| region(kernel, space).is_some())
}

/// The words of the segment descriptors of ring 3, by address, and `SMALL_HOME`, while a thread of this space runs (`space::enter`).
/// Those of small spaces are flat outside of them.
fn mode(kernel: &Kernel<Host>, gdt: u32, space: Ref<Space>) -> [(u32, u32); 9] {
    let region = region(kernel, space);
    let [flat_low, flat] = mmu::descriptor::region(0, abi::USER_END);
    let mask = if region.is_some() { !ACCESS } else { !0 };
    let [low, high] = region.unwrap_or([flat_low, flat]);
    let at = |selector: u16| gdt + u32::from(selector & !7);
    let code = mmu::descriptor::CODE;
    [
        (SMALL_HOME, region.map_or(0, |_| hw(kernel, space, DIRECTORY))),
        (at(USER_CODE), flat_low),
        (at(USER_CODE) + 4, (flat | code) & mask),
        (at(USER_DATA), flat_low),
        (at(USER_DATA) + 4, flat & mask),
        (at(SMALL_CODE), low),
        (at(SMALL_CODE) + 4, high | code),
        (at(SMALL_DATA), low),
        (at(SMALL_DATA) + 4, high),
    ]
}

/// A TLS descriptor as it is in the processor for a small space.
fn in_region(descriptor: [u32; 2], region: [u32; 2]) -> [u32; 2] {
    let [low, high] = region;
    let bytes = ((low & 0xffff | high & 0xf_0000) + 1) * abi::PAGE_SIZE;
    mmu::descriptor::moved(mmu::descriptor::clipped(descriptor, bytes), mmu::descriptor::base(region))
}

/// The first TLS descriptor of a thread, as it is in the processor.
fn first_tls_of(kernel: &Kernel<Host>, thread: Ref<Thread>) -> [u32; 2] {
    let descriptor = state(&kernel.pool[thread]).tls[0];
    let region = kernel.pool[thread].space.get().and_then(|space| region(kernel, space));
    region.map_or(descriptor, |region| in_region(descriptor, region))
}

/// Whether no fast path may lead to this thread's handler, or from there to it (`Lazy::load`).
fn is_private(kernel: &Kernel<Host>, thread: Ref<Thread>) -> bool {
    let is_cut_off = state(&kernel.pool[thread]).tls[0] != [0; 2] && first_tls_of(kernel, thread) == [0; 2];
    kernel.pool[thread].lazy & lazy::MORE_TLS != 0 || is_cut_off
}

/// What the port's way out does with `Cpu::loaded` (`Lazy::leave_to`); an alien may have the FPU open,
/// and a step may be pending.
fn load(kernel: &mut Kernel<Host>, next: Ref<Thread>, rng: &mut Rng) {
    let t = kernel.pool[next];
    let other = Ref::<Thread>::new(kernel.port.cpu().loaded & !FLAGS);
    let handles = other.address() != 0
        && kernel.pool[other].is_alien()
        && kernel.pool[other].handler.object::<Thread>() == next
        && !is_private(kernel, other)
        && !is_small(kernel, next);
    let serves = t.space.get().is_some_and(|space| is_server(kernel, space));
    let handles = handles && (serves || !is_small(kernel, other));
    kernel.port.cpu().loaded = if t.lazy != 0 || t.is_alien() {
        if let Some(region) = t.space.get().and_then(|space| region(kernel, space)) {
            let shown = in_region(state(&t).tls[0], region);
            (state_mut(&mut kernel.pool[next]).shown, state_mut(&mut kernel.pool[next]).shown_in) = (shown, region);
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

/// The alien whose state is loaded while its handler runs, and what FS and GS it left.
fn alien_selectors(kernel: &mut Kernel<Host>, me: Ref<Thread>) -> Option<(Ref<Thread>, u32)> {
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
    let frame: Frame = bytemuck::pod_read_unaligned(kernel.pool.bytes_at(utcb, size_of::<Frame>() as u32));
    Some((alien, if gate & gate::ALIEN == 0 { fs_gs } else { frame.fs_gs }))
}

/// DS and ES as the handler of an alien wants them.
fn frame_selectors(kernel: &Kernel<Host>, thread: Ref<Thread>) -> Option<[u32; 2]> {
    let t = &kernel.pool[thread];
    let frame: Frame = bytemuck::pod_read_unaligned(kernel.pool.bytes_at(t.utcb, size_of::<Frame>() as u32));
    t.is_alien().then_some([frame.ds_es & 0xffff, frame.ds_es >> 16])
}

/// What the port's way in does with FS and GS (`Lazy::entered`).
fn note_segments(kernel: &mut Kernel<Host>, me: Ref<Thread>, user: &User) {
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

/// Whether what is loaded may be one alien's for the other's as it is, but for the first TLS descriptor.
fn may_switch(kernel: &Kernel<Host>, me: Ref<Thread>, from: u32, to: u32) -> bool {
    let [from, to] = [from, to].map(|address| kernel.pool[Ref::<Thread>::new(address)]);
    let handled = |t: &Thread| t.is_alien() && t.handler.object::<Thread>() == me && t.lazy & !(lazy::SEGMENTS | lazy::TLS) == 0;
    let is_handled = handled(&from) && handled(&to);
    let region = to.space.get().and_then(|space| region(kernel, space));
    let is_known = state(&to).tls[0] == [0; 2] || region.is_none_or(|region| state(&to).shown_in == region);
    let (from, to) = (state(&from), state(&to));
    let names_first = [to.fs_gs & 0xffff, to.fs_gs >> 16].iter().any(|selector| selector >> 3 == u32::from(TLS >> 3));
    is_known && is_handled && from.tls[1..] == to.tls[1..] && (from.tls[0] == to.tls[0] || !names_first || to.tls[0] != [0; 2])
}

/// Runs the entry code on a copy. Returns what it left in memory and registers if it went
/// to user mode; otherwise checks that it left everything as it was.
fn assembly(
    kernel: &mut Kernel<Host>,
    Entered { thread: me, directory_of, clock }: Entered,
    user: &User,
    code: &mut Code,
    entry: Entry,
    tally: &mut Tally,
) -> Result<Option<Expected>> {
    let cpu = *kernel.port.cpu();
    // Behind them the task-state segment goes on: the stack segment of ring 0, and whose directory it is.
    // That is noted for a server only.
    let own = kernel.pool[me].space.get().expect("who runs has a space");
    let noted = if is_server(kernel, own) { directory_of.address() } else { hw(kernel, own, SERVER) };
    // Then a word that nobody uses. `SMALL_HOME` follows.
    let hot = [cpu.loaded, cpu.top, cpu.port, cpu.current.value(), 0, noted, 0];
    let gdt = code.symbol("3gdt3GDT")?;
    let first_tls = gdt + u32::from(TLS & !7);
    let mode_before = mode(kernel, gdt, own);
    // `PoolPlace`: the offset, and the bits of a handle that are an index.
    let place = code.symbol("POOL_PLACE")?;
    let loaded_tls = Link::<Thread>::from_value(cpu.loaded & !FLAGS).get().map_or([0; 2], |thread| first_tls_of(kernel, thread));
    let statics = [
        (first_tls, loaded_tls[0]),
        (first_tls + 4, if cpu.loaded & AWAY == 0 { loaded_tls[1] } else { loaded_tls[1] & !ACCESS }),
        (place, kernel.port.physical(POOL_BASE).0.wrapping_sub(POOL_BASE)),
        (place + 4, kernel.threads.count - 1),
    ];
    // The scheduler, then the clock.
    let words = code.symbol("8contract6KERNEL")?;
    let known: Vec<u32> = bytemuck::cast_slice(bytemuck::bytes_of(&kernel.sched)).iter().copied().chain(clock.words()).collect();
    let pool = &kernel.pool;
    let memory = |address: u32| -> Option<u32> {
        if address.wrapping_sub(POOL_BASE) < pool.bytes() {
            return pool.bytes_at(address, 4).try_into().map(u32::from_ne_bytes).ok();
        }
        if let Some((_, value)) = statics.iter().chain(&mode_before).find(|(at, _)| *at == address) {
            return Some(*value);
        }
        let at = |start: u32| (address.wrapping_sub(start) / 4) as usize;
        hot.get(at(CPU)).or_else(|| known.get(at(words))).copied()
    };
    let mut machine = Machine::new(&memory, gdt);
    machine.tsc = clock.tsc;
    let [eax, ebx, ecx, edx, esi, edi, ebp, esp, eip, _] = user.regs;
    machine.regs = [eax, ecx, edx, ebx, 0, ebp, esi, edi];
    machine.load_segment(DS, user.ds);
    machine.load_segment(ES, user.es);
    machine.segments[FS] = user.fs;
    machine.segments[GS] = user.gs;
    let alien = kernel.pool[me].is_alien();
    if let Entry::Fault { address, .. } = entry {
        machine.cr2 = address.wrapping_add(region(kernel, own).map_or(0, mmu::descriptor::base));
    }
    let pushed = entry.pushed(user);
    if !pushed.is_empty() {
        let bottom = me.address() - pushed.len() as u32 * 4;
        machine.written.extend(pushed.into_iter().zip((bottom..).step_by(4)).map(|(value, at)| (at, value)));
        machine.regs[reg::ESP] = bottom;
    }
    let exit = machine.run(code, code.symbol(entry.symbol())?)?;
    let at = |offset: u32| machine.word(machine.regs[reg::ESP].wrapping_add(offset));
    let mut registers = [0; 10];
    for (to, from) in [reg::EAX, reg::EBX, reg::ECX, reg::EDX, reg::ESI, reg::EDI, reg::EBP].into_iter().enumerate() {
        registers[to] = machine.regs[from];
    }
    let mut data = [machine.segments[DS], machine.segments[ES]].map(u32::from);
    let restores = code.symbol("leave_kernel")?;
    match exit {
        Exit::Sysexit => registers[7..].copy_from_slice(&[machine.regs[reg::ECX], machine.regs[reg::EDX], machine.eflags]),
        Exit::Iret => {
            let to = machine.word(CPU + offset_of!(Cpu, current) as u32)?;
            let space = kernel.pool[Ref::<Thread>::new(to)].space.get().expect("who runs has a space");
            ensure!([at(4)? & 0xffff, at(16)?] == code_and_stack(kernel, space), "a return to other segments");
            registers[7..].copy_from_slice(&[at(12)?, at(0)?, at(8)?]);
        }
        // All that was saved comes back.
        Exit::Left(address) if address == restores || address == code.calls_rust => {
            let context = machine.word(CPU + offset_of!(Cpu, current) as u32)? - ANCHOR;
            for (register, index) in registers.iter_mut().zip(WORDS) {
                *register = machine.word(context + index as u32 * 4)?;
            }
            for (selector, index) in data.iter_mut().zip([word::DS, word::ES]) {
                *selector = machine.word(context + index as u32 * 4)?;
            }
        }
        Exit::Left(address) => {
            tally.given_up += 1;
            let ((vector, error), (left, more)) = (entry.saved(), entry.slow(alien));
            ensure!(address == code.symbol(left)?, "left to {address:#x}");
            let kept = if more == 0 {
                machine.regs[..4] == [eax, ecx, edx, ebx] && machine.regs[5..] == [ebp, esi, edi]
            } else {
                [at(0)?, at(4)?, at(8)?, at(16)?, at(20)?, at(24)?, at(28)?] == [edi, esi, ebp, ebx, edx, ecx, eax]
            };
            ensure!([DS, ES].map(|index| machine.segments[index]) == [user.ds, user.es], "DS and ES are not as the user had them");
            ensure!(kept, "registers are not as the user had them: {:x?}, not {:x?}", machine.regs, user.regs);
            ensure!(machine.regs[reg::ESP] == me.address() - 28 - more, "the stack is at {:#x}", machine.regs[reg::ESP]);
            ensure!(
                at(more)? == vector
                    && at(more + 4)? == error
                    && at(more + 8)? == eip
                    && at(more + 16)? & FIXED_FLAGS == FIXED_FLAGS
                    && at(more + 20)? == esp
                    // The word of CS has that of SS in its upper half, which `iret` does not look at.
                    && [at(more + 12)? & 0xffff, at(more + 24)?] == [user.cs, user.ss],
                "the saved words are wrong"
            );
            let scratch = me.address() - ANCHOR..me.address();
            // What was put away may have been brought back: the portable kernel puts it away again.
            let fetched = |a: u32| cpu.loaded & AWAY != 0 && (a == CPU || a & !4 == first_tls);
            // The portable kernel writes the same frame.
            let frame = kernel.pool[me].utcb..kernel.pool[me].utcb + size_of::<Frame>() as u32;
            let framed = |a: u32| alien && frame.contains(&a);
            ensure!(
                machine.written.keys().all(|a| scratch.contains(a) || fetched(*a) || framed(*a)),
                "something was changed before the slow way: {:x?}",
                machine.written
            );
            return Ok(None);
        }
    }
    let current = machine.word(CPU + offset_of!(Cpu, current) as u32)?;
    let target = kernel.pool[Ref::<Thread>::new(current)].space.get().expect("who runs has a space");
    let with_care = exit == Exit::Left(code.calls_rust);
    let to_small = region(kernel, target).is_some();
    // The portable kernel does the rest of a way with care: the assembly leaves the segments of ring 3 alone.
    for (address, word) in &mode(kernel, gdt, if with_care { own } else { target }) {
        ensure!(machine.word(*address)? == *word, "{:#x} is at {address:#x} in place of {word:#x}", machine.word(*address)?);
    }
    if with_care {
        let small = to_small || region(kernel, own).is_some();
        // The selectors of small spaces have that bit, and of others only the last of TLS.
        let context = current - ANCHOR;
        let saved = machine.word(context + word::DS as u32 * 4)? | machine.word(context + word::ES as u32 * 4)?;
        ensure!(small || saved & 1 << 6 != 0, "care for nothing");
        ensure!(machine.cr3.is_none(), "the tables are the portable kernel's business");
        let word = machine.word(CPU + 20)?;
        ensure!(word == directory_of.address(), "the directory is said to be {word:#x}'s");
    }
    let by_iret = exit != Exit::Sysexit;
    let restored = by_iret && exit != Exit::Iret;
    if restored {
        // With care, the portable kernel translates them.
        let right = |selector: &u32| translated(*selector as u16, to_small) | 3 == *selector as u16 | 3;
        ensure!(with_care || data.iter().all(right), "DS and ES of another kind of space: {data:x?}");
    } else {
        // Or `run` comes from a thread that happens to have the ones that the alien wants.
        let left = [user.ds, user.es].map(u32::from);
        let kept = !to_small && data == left && frame_selectors(kernel, Ref::new(current)) == Some(left);
        ensure!(kept || data == [u32::from(translated(USER_DATA, to_small)); 2], "DS and ES are {data:x?}");
        let fresh = |index: usize| machine.hidden[index] == machine.descriptor(machine.segments[index]);
        ensure!(fresh(DS) && fresh(ES), "DS or ES was loaded before its descriptor was written");
        data = data.map(|selector| u32::from(translated(selector as u16, false)));
        if kept {
            // The portable kernel gives it no selector that only another kind of space needs.
            let tls = state(&kernel.pool[Ref::<Thread>::new(current)]).tls;
            data = left.map(|selector| u32::from(checked_selector(selector as u16, &tls)));
        }
    }
    // What may be loaded is the port's business, so the portable kernel cannot tell: the rule itself.
    let to_alien = kernel.pool[Ref::<Thread>::new(current)].is_alien();
    let alien_involved = match (alien, to_alien) {
        (true, _) => me.address(),
        (false, true) => current,
        (false, false) => 0,
    };
    let puts_away = alien && is_server(kernel, target);
    let fetches = to_alien && cpu.loaded & AWAY != 0;
    let loaded = machine.word(CPU)?;
    let right = if with_care { cpu.loaded } else { alien_involved | if puts_away { AWAY } else { 0 } };
    ensure!(loaded == right, "{loaded:#x} is loaded");
    let switched = loaded & !AWAY != cpu.loaded & !AWAY;
    ensure!(!switched || to_alien && may_switch(kernel, me, cpu.loaded & !AWAY, loaded), "{:#x} was loaded", cpu.loaded);
    if switched || fetches || puts_away {
        let of = Ref::<Thread>::new(if alien { me.address() } else { current });
        let [low, high] = first_tls_of(kernel, of);
        let descriptor = [machine.word(first_tls)?, machine.word(first_tls + 4)?];
        let expected = [low, if puts_away { high & !ACCESS } else { high }];
        let from = first_tls_of(kernel, Ref::new(cpu.loaded & !FLAGS));
        ensure!(descriptor == expected || switched && from == [low, high], "the descriptor is {descriptor:x?} in place of {expected:x?}");
    }
    let fs_gs = u32::from(machine.segments[FS]) | u32::from(machine.segments[GS]) << 16;
    let expected = if puts_away {
        0
    } else if fetches {
        state(&kernel.pool[Ref::<Thread>::new(current)]).fs_gs
    } else {
        u32::from(user.fs) | u32::from(user.gs) << 16
    };
    ensure!(fs_gs == expected, "FS and GS are {fs_gs:#x} in place of {expected:#x}");
    let word = machine.word(CPU + 20)?;
    let tables = if machine.cr3.is_some() { target } else { directory_of };
    ensure!(with_care || !is_server(kernel, target) || word == tables.address(), "the directory is said to be {word:#x}'s");
    tally.server_entries += u64::from(is_server(kernel, target));
    tally.small_entries += u64::from(to_small && !restored);
    tally.small_events += u64::from(to_small && alien);
    tally.careful += u64::from(with_care);
    tally.small_aliens += u64::from(puts_away && region(kernel, own).is_some());
    tally.small_runs += u64::from(fetches && to_small);
    tally.small_switches += u64::from(fetches && to_small && switched);
    let has_tls = state(&kernel.pool[Ref::<Thread>::new(current)]).tls[0] != [0; 2];
    tally.bare_switches += u64::from(fetches && switched && !has_tls);
    tally.put_away += u64::from(puts_away);
    tally.fetched += u64::from(fetches);
    *match entry {
        Entry::Call => &mut tally.alien_calls,
        Entry::Fault { .. } if alien => &mut tally.alien_faults,
        Entry::Fault { .. } => &mut tally.faults,
        Entry::Sysenter if alien => &mut tally.alien_sysenters,
        Entry::Sysenter if restored && user.regs[0] >> abi::Tag::OP_SHIFT == Op::MapReplyWait as u32 => &mut tally.answers,
        Entry::Sysenter if restored => &mut tally.fault_replies,
        Entry::Sysenter if to_alien && user.regs[0] >> abi::Tag::OP_SHIFT == Op::MapRun as u32 => &mut tally.map_runs,
        Entry::Sysenter if switched => &mut tally.switches,
        Entry::Sysenter if to_alien && by_iret => &mut tally.runs,
        Entry::Sysenter if to_alien => &mut tally.quick_runs,
        Entry::Sysenter => match Op::from_code(user.regs[0] >> abi::Tag::OP_SHIFT) {
            Some(Op::Notify) if current != me.address() => &mut tally.preemptions,
            Some(Op::Notify) if machine.written.range(words..words + size_of::<Scheduler>() as u32).next().is_some() => &mut tally.wakes,
            Some(Op::Notify) => &mut tally.notifications,
            Some(Op::Receive) if current != me.address() => &mut tally.waits,
            Some(Op::Receive) if registers[4] != 0 => &mut tally.taken,
            Some(Op::Receive) => &mut tally.polls,
            Some(Op::Call) => &mut tally.calls,
            _ => &mut tally.replies,
        },
    } += 1;
    Ok(Some(Expected {
        current: Ref::new(current),
        registers,
        whole: restored && !alien || to_alien,
        data,
        cr3: machine.cr3,
        with_care,
        space: own,
        directory_of,
        dropped: machine.dropped.clone(),
        top: machine.word(CPU + offset_of!(Cpu, top) as u32)?,
        kernel: words,
        written: machine.written.clone(),
    }))
}

/// Lets the portable kernel handle the event, and compares.
fn portable(kernel: &mut Kernel<Host>, me: Ref<Thread>, expected: Option<&Expected>, handle: impl FnOnce(&mut Kernel<Host>)) -> Result<()> {
    let Some(expected) = expected else {
        handle(kernel);
        return Ok(());
    };
    let before = kernel.pool.bytes_at(POOL_BASE, kernel.pool.bytes()).to_vec();
    let mut sched = kernel.sched;
    let words: &mut [u32] = bytemuck::cast_slice_mut(bytemuck::bytes_of_mut(&mut sched));
    for (address, value) in &expected.written {
        if let Some(word) = words.get_mut((address.wrapping_sub(expected.kernel) / 4) as usize) {
            *word = *value;
        }
    }
    let timer = kernel.port.timer.take();
    kernel.port.invalidated.clear();
    handle(kernel);
    // No translation is left but of the space whose directory is loaded, and of the server that it shows.
    let own = kernel.pool[me].space.get().map_or(0, Ref::address);
    let place = |space: Ref<Space>| (space.address(), region(kernel, space).map_or(0, mmu::descriptor::base), hw(kernel, space, HOME));
    let threads = (0..kernel.threads.count).filter_map(|index| kernel.threads.get(index));
    let places: Vec<_> = threads.filter_map(|thread| kernel.pool[thread].space.get()).map(place).collect();
    let is_dropped = |(space, range): &Part| {
        let (base, home) = places.iter().find(|(at, ..)| at == space).map_or((0, *space), |(_, base, home)| (*base, *home));
        let dropped = expected.dropped.iter().any(|address| address & !(abi::PAGE_SIZE - 1) == base + range.start.0);
        *space != own && (home != expected.directory_of.address() || dropped)
    };
    ensure!(kernel.port.invalidated.iter().all(is_dropped), "the portable kernel dropped translations");
    ensure!(kernel.sched == sched, "the ready queues or the slice are {:?}, by the assembly {sched:?}", kernel.sched);
    ensure!(kernel.port.cpu().top == expected.top, "a wrong priority is said to be the highest that is ready");
    ensure!(kernel.port.timer.is_none(), "the portable kernel programmed the timer");
    kernel.port.timer = timer;
    compare(kernel, before, expected)
}
