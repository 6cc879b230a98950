// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port's data of spaces: small ones, their homes, and a server that others show.

use super::Kernel;
use super::code::CPU;
use crate::processor::Found;
use fastrand::Rng;
use ia32_context::hw::{
    DIRECTORY, ENTER, EVENT, HOME, LARGE_SERVER, REGION_HIGH, REGION_LOW, SEGMENTS, SERVER,
};
use ia32_context::loaded::FLAGS;
use ia32_context::selector::{
    SERVER_CODE, SERVER_DATA, SMALL_CODE, SMALL_DATA, USER_CODE, USER_DATA,
};
use ia32_context::word;
use kcore::port::Processor;
use kcore::{Space, Thread};
use pool::{Link, Ref};

/// Spaces in which others may be small.
pub const HOMES: u32 = 2;
/// Bytes of a small space, or half as many.
pub const SMALL_BYTES: u32 = 256 << 20;
/// The address of the word with the directory of a home, if ring 3 has only segments of that home's
/// small spaces (`space.rs`).
const SMALL_HOME: u32 = CPU + 28;
/// The byte of a segment descriptor's upper word that has the present bit.
const ACCESS: u32 = 0xff00;

/// A word that the port keeps of a space.
pub fn hw(kernel: &Kernel, space: Ref<Space>, index: usize) -> u32 {
    kernel.pool[space].hw[index]
}

/// The code segment and the stack segment of a space's threads.
pub fn code_and_stack(kernel: &Kernel, space: Ref<Space>) -> [u32; 2] {
    let segments = hw(kernel, space, SEGMENTS);
    [segments & 0xffff, segments >> 16]
}

/// The segment descriptor that a small space's threads have as data.
pub fn region(kernel: &Kernel, space: Ref<Space>) -> Option<[u32; 2]> {
    let words = [REGION_LOW, REGION_HIGH].map(|index| hw(kernel, space, index));
    (words[0] != 0).then_some(words)
}

/// Addresses of the ways into large spaces, servers and small spaces: of a thread that continues,
/// and of an alien's event.
#[derive(Clone, Copy)]
pub struct Ways {
    pub large: [u32; 2],
    pub server: [u32; 2],
    pub small: [u32; 2],
}

/// What is known about a system's spaces.
pub struct Spaces {
    /// Whether they become small and large while their threads wait.
    moves: bool,
}

/// Sets the port's data of spaces. In half of the systems the space of the handlers is a server,
/// which most spaces of aliens show, and some others. In half of the systems some spaces are small,
/// in one of the homes, which are the empty spaces.
pub fn set_up(kernel: &mut Kernel, found: &Found, ways: Ways, rng: &mut Rng) -> Spaces {
    let root = found.root;
    let object = |kernel: &Kernel, selector: u32| -> Ref<Space> {
        kernel.pool[Space::slot(root, selector)].object()
    };
    let has_small = rng.bool();
    let serves = rng.bool();
    for (number, selector) in
        (1..).zip(found.natives.iter().chain(&found.empty).chain(&found.aliens))
    {
        let space = object(kernel, *selector);
        let is_server = serves && space == root;
        let often =
            if found.aliens.contains(selector) || found.empty.contains(selector) { 7 } else { 2 };
        let shows = is_server || serves && rng.u32(..8) < often;
        let hw = &mut kernel.pool[space].hw;
        hw[DIRECTORY] = number << 12;
        [hw[ENTER], hw[EVENT]] = if is_server { ways.server } else { ways.large };
        hw[HOME] = space.address();
        hw[SERVER] = if shows { root.address() } else { 0 };
        let [code, stack] =
            if is_server { [SERVER_CODE, SERVER_DATA] } else { [USER_CODE, USER_DATA] };
        hw[SEGMENTS] = u32::from(code) | u32::from(stack) << 16;
    }
    for selector in found.natives.iter().chain(&found.aliens) {
        let space = object(kernel, *selector);
        let often = if !found.aliens.contains(selector) || serves { 6 } else { 1 };
        if !has_small || serves && space == root || rng.u32(..8) >= often {
            continue;
        }
        let home = object(kernel, found.empty[rng.usize(..found.empty.len())]);
        move_in(kernel, space, home, ways, rng);
    }
    let me = kernel.current().expect("the root server runs");
    [kernel.pool[me].context[word::CS], kernel.pool[me].context[word::SS]] =
        code_and_stack(kernel, root);
    Spaces { moves: rng.u32(..3) == 0 }
}

/// Where a small space may be.
pub fn random_region(rng: &mut Rng) -> [u32; 2] {
    mmu::descriptor::region(rng.u32(..3) * SMALL_BYTES, SMALL_BYTES >> rng.u32(..2))
}

/// Does what the port does when a space becomes small.
fn move_in(kernel: &mut Kernel, space: Ref<Space>, home: Ref<Space>, ways: Ways, rng: &mut Rng) {
    let directory = kernel.pool[home].hw[DIRECTORY];
    let hw = &mut kernel.pool[space].hw;
    (hw[DIRECTORY], hw[HOME], hw[LARGE_SERVER]) = (directory, home.address(), hw[SERVER]);
    [hw[ENTER], hw[EVENT]] = ways.small;
    hw[SEGMENTS] = u32::from(SMALL_CODE) | u32::from(SMALL_DATA) << 16;
    [hw[REGION_LOW], hw[REGION_HIGH]] = random_region(rng);
}

/// The same when it is large again, with this directory.
fn move_out(kernel: &mut Kernel, space: Ref<Space>, directory: u32, ways: Ways) {
    let hw = &mut kernel.pool[space].hw;
    (hw[DIRECTORY], hw[HOME], hw[SERVER], hw[REGION_LOW]) =
        (directory, space.address(), hw[LARGE_SERVER], 0);
    [hw[ENTER], hw[EVENT]] = ways.large;
    hw[SEGMENTS] = u32::from(USER_CODE) | u32::from(USER_DATA) << 16;
}

/// Makes a space small or large, none of whose threads runs or has anything loaded: its threads
/// continue to wait.
pub fn move_one(
    kernel: &mut Kernel,
    found: &Found,
    spaces: &Spaces,
    ways: Ways,
    (me, rng): (Ref<Thread>, &mut Rng),
) {
    if !spaces.moves || kernel.pool[me].is_alien() || rng.u32(..4) > 0 {
        return;
    }
    let object = |kernel: &Kernel, selector: u32| -> Ref<Space> {
        kernel.pool[Space::slot(found.root, selector)].object()
    };
    let home = object(kernel, found.empty[rng.usize(..found.empty.len())]);
    let all = if rng.bool() { &found.natives } else { &found.aliens };
    let index = rng.usize(..all.len());
    let space = object(kernel, all[index]);
    // The directories of natives come first, then those of homes.
    let number =
        if all == &found.natives { index } else { found.natives.len() + found.empty.len() + index };
    let loaded = Link::<Thread>::from_value(kernel.port.cpu().loaded & !FLAGS).get();
    let in_use = |thread: Ref<Thread>| kernel.pool[thread].space.is(space);
    if in_use(me) || loaded.is_some_and(in_use) || is_server(kernel, space) {
        return;
    }
    if hw(kernel, space, REGION_LOW) == 0 {
        move_in(kernel, space, home, ways, rng);
    } else {
        move_out(kernel, space, (number as u32 + 1) << 12, ways);
        // Mostly it moves to another place.
        if rng.u32(..4) > 0 {
            move_in(kernel, space, home, ways, rng);
        }
    }
}

/// Writes what the port's way out has written for a thread that runs: the selectors of its space,
/// with which it enters again.
pub fn select(kernel: &mut Kernel, me: Ref<Thread>) -> (u32, u32) {
    let [cs, ss] =
        kernel.pool[me].space.get().map_or([0; 2], |space| code_and_stack(kernel, space));
    let context = &mut kernel.pool[me].context;
    (context[word::CS], context[word::SS]) = (cs, ss);
    (cs, ss)
}

/// The space whose directory is loaded while a thread runs: its own, or its home; or, for a server,
/// a space that shows it, mostly that of the alien that ran.
pub fn directory_of(kernel: &mut Kernel, me: Ref<Thread>, rng: &mut Rng) -> Ref<Space> {
    let own = kernel.pool[me].space.get().expect("who runs has a space");
    if !is_server(kernel, own) {
        return Ref::new(hw(kernel, own, HOME));
    }
    let loaded = Link::<Thread>::from_value(kernel.port.cpu().loaded & !FLAGS).get();
    let all = (0..kernel.threads.count)
        .filter_map(|index| kernel.pool[kernel.threads.get(index)?].space.get());
    let home = |space: Ref<Space>| Ref::<Space>::new(hw(kernel, space, HOME));
    let shows = |space: &Ref<Space>| hw(kernel, *space, SERVER) == own.address();
    let showing: Vec<Ref<Space>> = all.map(home).filter(shows).collect();
    match loaded.and_then(|alien| kernel.pool[alien].space.get()).filter(shows) {
        Some(space) if rng.u32(..8) > 0 => space,
        _ => showing[rng.usize(..showing.len())],
    }
}

/// Whether others show this space.
pub fn is_server(kernel: &Kernel, space: Ref<Space>) -> bool {
    hw(kernel, space, SERVER) == space.address()
}

/// Whether a thread's space is small.
pub fn is_small(kernel: &Kernel, thread: Ref<Thread>) -> bool {
    kernel.pool[thread].space.get().is_some_and(|space| region(kernel, space).is_some())
}

/// The words of ring 3's segment descriptors, by address, and `SMALL_HOME`, while a thread of this
/// space runs (`space::enter`). While a large space runs, the segments of small spaces are flat.
pub fn user_segments(kernel: &Kernel, gdt: u32, space: Ref<Space>) -> [(u32, u32); 9] {
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
