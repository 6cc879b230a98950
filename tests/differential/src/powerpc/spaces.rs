// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port's data of spaces (`space.rs` and `window.rs` of the port), and the segment registers.

use super::machine::{System, named};
use super::{Kernel, PowerPc};
use crate::processor::{Found, Processor, all};
use abi::{PAGE_SIZE, UserAddr};
use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use kcore::port::Processor as _;
use kcore::{Space, Table, Thread};
use mmu::Format;
use mmu::powerpc::{PowerPc as Tables, bits};
use mmu::vsid::{CONTEXTS, LOW, NO_TOKEN, SEGMENTS, SHOWS, SHUT, USER_SEGMENTS, vsid};
use pool::{Link, Ref};
use powerpc_context::hw;

/// How often all contexts were revoked, plus 1.
const EPOCH: u32 = 3;
/// The first of the two segments whose window fast paths open and shut.
const FIRST: u32 = USER_SEGMENTS - 2;

/// The spaces that the processor uses.
#[derive(Clone, Copy)]
pub struct Entered {
    /// The space whose tables it uses.
    tables: Link<Space>,
    /// The fast paths' words about a window.
    pub shown: Shown,
}

/// The fast paths' words about a window (`window.rs`).
pub type Shown = [u32; 5];
/// The words if there is no window.
pub const NONE: Shown = [0, 0, 0, 0, NO_TOKEN];

/// Sets the port's data. Some spaces have a context, some had one before all were revoked, and some
/// have none; some use more than the two lowest segments. Mostly aliens' spaces show the root
/// server, and mostly by a window of two segments; sometimes some show another server.
pub fn set_up(kernel: &mut Kernel, found: &Found, rng: &mut Rng) {
    if rng.u32(..3) > 0 {
        let first = if rng.u32(..8) == 0 { FIRST - 1 + rng.u32(..2) * 2 } else { FIRST };
        kernel.pool[found.root].window = UserAddr(first << 28);
        let other: Ref<Space> = kernel.pool[Space::slot(found.root, found.natives[1])].object();
        let has_another = rng.u32(..6) == 0;
        if has_another {
            kernel.pool[other].window = UserAddr(first << 28);
        }
        for alien in &found.aliens {
            let space: Ref<Space> = kernel.pool[Space::slot(found.root, *alien)].object();
            kernel.pool[space].hw[hw::SERVER] = match rng.u32(..6) {
                0 => 0,
                1..=2 if has_another => other.address(),
                _ => found.root.address(),
            };
        }
    }
    for native in &found.natives {
        if rng.bool() {
            continue;
        }
        // The kernel's part of the space is among the pages that are mapped.
        let space: Ref<Space> = kernel.pool[Space::slot(found.root, *native)].object();
        let [start, pages] = [rng.u32(..PowerPc::PAGES), rng.u32(1..PowerPc::PAGES / 4)];
        let area_start = found.range + start * PAGE_SIZE;
        (kernel.pool[space].area_start, kernel.pool[space].area_end) =
            (UserAddr(area_start), UserAddr(area_start + pages * PAGE_SIZE));
    }
    for thread in all::<PowerPc>(kernel) {
        let Some(space) = kernel.pool[thread].space.get() else { continue };
        let epoch = if rng.u32(..6) == 0 { rng.u32(..EPOCH) } else { EPOCH };
        let window: u32 = numbers(kernel, space).map(|segment| 1 << segment).sum();
        let segments = u32::from(LOW)
            | window
            | if rng.u32(..6) == 0 { 1 << rng.u32(2..FIRST - 1) } else { 0 };
        give(kernel, space, epoch, segments, rng);
    }
}

/// The segments of a server's window; none if it is not one.
fn numbers(kernel: &Kernel, server: Ref<Space>) -> std::ops::Range<u32> {
    match kernel.pool[server].window.0 >> 28 {
        0 => 0..0,
        first => first..USER_SEGMENTS,
    }
}

/// The server that a space shows.
fn server(kernel: &Kernel, space: Ref<Space>) -> Option<Ref<Space>> {
    Link::from_value(kernel.pool[space].hw[hw::SERVER]).get()
}

/// Gives a space these segments, and a new context of this epoch; 0: it has none.
fn give(kernel: &mut Kernel, space: Ref<Space>, epoch: u32, segments: u32, rng: &mut Rng) {
    let directory = kernel.pool[space].region.top.value();
    let context = rng.u32(1..CONTEXTS);
    let words = &mut kernel.pool[space].hw;
    (words[hw::DIRECTORY], words[hw::SEGMENTS]) = (directory, segments);
    (words[hw::CONTEXT], words[hw::EPOCH], words[hw::EPOCH_HIGH]) = (context, epoch, 0);
    (words[hw::VSID_0], words[hw::VSID_1]) = (vsid(context, 0), vsid(context, 1));
    let is_simple = segments == u32::from(LOW) && words[hw::SERVER] == 0;
    let token = if is_simple { epoch } else { 0 };
    kernel.pool[space].hw[hw::SIMPLE] =
        if epoch != 0 && shows(kernel, space) { epoch | SHOWS } else { token };
}

/// Whether a space shows a server by a window that fast paths open and shut.
fn shows(kernel: &Kernel, space: Ref<Space>) -> bool {
    server(kernel, space).is_some_and(|server| numbers(kernel, server).eq(FIRST..USER_SEGMENTS))
}

/// The fast paths' words while the processor uses these tables.
fn shown(kernel: &Kernel, tables: Ref<Space>) -> Shown {
    let Some(server) = server(kernel, tables).filter(|_| shows(kernel, tables)) else {
        return NONE;
    };
    let [context, token] =
        [kernel.pool[server].hw[hw::CONTEXT], kernel.pool[tables].hw[hw::SIMPLE]];
    [
        tables.address(),
        server.address(),
        vsid(context, FIRST),
        vsid(context, FIRST + 1),
        if token == 0 { NO_TOKEN } else { token },
    ]
}

/// Sometimes a space loses its context, or uses another segment.
pub fn meanwhile(kernel: &mut Kernel, me: Ref<Thread>, rng: &mut Rng) {
    let threads = all::<PowerPc>(kernel);
    let other = threads[rng.usize(..threads.len())];
    let Some(space) =
        kernel.pool[other].space.get().filter(|space| !kernel.pool[me].space.is(*space))
    else {
        return;
    };
    let words = &mut kernel.pool[space].hw;
    match rng.u32(..64) {
        0 => [words[hw::EPOCH], words[hw::EPOCH_HIGH], words[hw::SIMPLE]] = [0; 3],
        1 => {
            (words[hw::SEGMENTS], words[hw::SIMPLE]) =
                (words[hw::SEGMENTS] | 1 << rng.u32(2..FIRST - 1), 0)
        }
        // It ran in between.
        2..12 if words[hw::EPOCH] != EPOCH => certain(kernel, space, rng),
        _ => {}
    }
}

/// Gives a space a valid context, if it has none.
fn certain(kernel: &mut Kernel, space: Ref<Space>, rng: &mut Rng) {
    let words = kernel.pool[space].hw;
    if words[hw::EPOCH] != EPOCH {
        give(kernel, space, EPOCH, words[hw::SEGMENTS].max(u32::from(LOW)), rng);
    }
}

/// The space with whose tables a thread of this space runs: a server's often with those of a space
/// that shows it, mostly that of the alien that it runs.
fn tables(
    kernel: &Kernel,
    space: Ref<Space>,
    runs: Option<Ref<Thread>>,
    rng: &mut Rng,
) -> Ref<Space> {
    let threads = runs
        .filter(|_| rng.u32(..8) > 0)
        .map_or_else(|| all::<PowerPc>(kernel), |alien| vec![alien]);
    let spaces = threads.into_iter().filter_map(|thread| kernel.pool[thread].space.get());
    let show: Vec<Ref<Space>> =
        spaces.filter(|other| server(kernel, *other) == Some(space)).collect();
    let one = show.get(rng.usize(..show.len().max(1))).copied();
    one.filter(|_| rng.u32(..8) > 0).unwrap_or(space)
}

/// Enters a thread's space, as `Spaces::enter` does. Returns the processor's state.
pub fn enter(
    kernel: &mut Kernel,
    me: Ref<Thread>,
    runs: Option<Ref<Thread>>,
    rng: &mut Rng,
) -> (System, Entered) {
    let mut segments = std::array::from_fn(|_| rng.u32(..));
    let (mut directory, mut entered) = (0, Entered { tables: Link::NULL, shown: NONE });
    if let Some(space) = kernel.pool[me].space.get() {
        let tables = tables(kernel, space, runs, rng);
        let server = server(kernel, tables);
        [Some(tables), Some(space), server]
            .into_iter()
            .flatten()
            .for_each(|space| certain(kernel, space, rng));
        segments[..USER_SEGMENTS as usize].copy_from_slice(&loaded(kernel, tables, space));
        let words = &kernel.pool[tables].hw;
        directory = words[hw::DIRECTORY];
        let token = words[hw::SIMPLE];
        (entered.tables, entered.shown) = (tables.link(), shown(kernel, tables));
        kernel.port.cpu().port = if token == 0 || token & SHOWS != 0 { NO_TOKEN } else { token };
    }
    let sprg = [directory, me.address(), rng.u32(..), rng.u32(..)];
    (
        System {
            segments,
            sprg,
            dsisr: rng.u32(..),
            dar: rng.u32(..),
            reserved: rng.bool(),
            ..System::default()
        },
        entered,
    )
}

/// The segment registers of users' addresses while a thread of a space runs with these tables.
/// Unused segments have no valid context, except in a space that shows a server by a window that
/// fast paths know. A server's window is open only to the server.
fn loaded(kernel: &Kernel, tables: Ref<Space>, space: Ref<Space>) -> [u32; USER_SEGMENTS as usize] {
    let words = &kernel.pool[tables].hw;
    let window = server(kernel, tables).map_or(0..0, |server| numbers(kernel, server));
    let uses_all = shows(kernel, tables);
    std::array::from_fn(|segment| {
        let (segment, is_used) =
            (segment as u32, uses_all || words[hw::SEGMENTS] & 1 << segment != 0);
        match window.contains(&segment) {
            true if tables == space => SHUT,
            true => vsid(kernel.pool[space].hw[hw::CONTEXT], segment),
            false => vsid(if is_used { words[hw::CONTEXT] } else { 0 }, segment),
        }
    })
}

/// Checks that the processor uses the space of this thread, and no other, and that the fast paths'
/// words say so.
pub fn check(
    kernel: &Kernel,
    current: Ref<Thread>,
    (entered, known): (&Entered, Shown),
    [had, has]: [&System; 2],
) -> Result<()> {
    let space = kernel.pool[current].space.get().context("it has no space")?;
    // A server keeps the loaded tables if their space shows it.
    let tables = entered
        .tables
        .get()
        .filter(|tables| server(kernel, *tables) == Some(space))
        .unwrap_or(space);
    for space in [space, tables] {
        ensure!(
            kernel.pool[space].hw[hw::EPOCH] == EPOCH,
            "its space runs by a context that does not count"
        );
    }
    let users = USER_SEGMENTS as usize;
    let loaded = loaded(kernel, tables, space);
    ensure!(
        has.segments[..users] == loaded,
        "its segments are\n{loaded:x?}, by the assembly\n{:x?}",
        has.segments
    );
    ensure!(
        has.segments[users..SEGMENTS as usize] == had.segments[users..],
        "segments of the kernel were written"
    );
    let directory = kernel.pool[tables].hw[hw::DIRECTORY];
    ensure!(
        has.sprg[0] == directory,
        "its directory is {directory:#x}, by the assembly {:#x}",
        has.sprg[0]
    );
    let shown = shown(kernel, tables);
    ensure!(
        known == shown,
        "what is known of its window is {shown:x?}, by the assembly {known:x?}"
    );
    Ok(())
}

/// What a thread sees at an address, by the tables that the processor uses: the second word of a
/// PTE.
pub fn seen(kernel: &Kernel, me: Ref<Thread>, entered: &Entered, address: u32) -> Option<u32> {
    let (space, tables) = (kernel.pool[me].space.get()?, entered.tables.get()?);
    let top = kernel.pool[tables].region.top.get()?;
    let directory = kernel.pool[top].entries::<Tables>()[Tables::table_index(UserAddr(address))];
    // Entries of a server's window are only for the server.
    if directory & bits::SUPERVISOR != 0 && numbers(kernel, space).is_empty() {
        return None;
    }
    let leaf = Tables::decode_table(directory).map_or(0, |(table, _)| {
        let table: Ref<Table> = Ref::new(named(table.0));
        kernel.pool[table].entries::<Tables>()[Tables::leaf_index(UserAddr(address))]
    });
    mmu::powerpc::seen(directory, leaf, address)
}
