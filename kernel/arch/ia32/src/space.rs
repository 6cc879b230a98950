// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the port records for a space, and entering one. In Rust only this module changes the
//! processor's page directory for another space; in assembly only `switch.S` does.

use crate::gdt;
use crate::layout::{CPU, TSS};
use crate::{paging, regs};
use abi::UserAddr;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use ia32_context::hw::{
    DIRECTORY, ENTER, EVENT, HOME, LARGE_SERVER, REGION_HIGH, REGION_LOW, SEGMENTS, SERVER,
};
use ia32_context::selector;
use kcore::Space;
use mmu::descriptor;
use pool::{Link, Pool, Ref};

/// Kinds of spaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Its threads run at ring 3, with the segments of large spaces.
    Large,
    /// Its threads run at ring 1.
    Server,
    /// Its threads run at ring 3, in a part of its home's addresses.
    Small,
}

/// Addresses of the ways into a space: for a thread that continues, and for an alien's event.
#[derive(Clone, Copy)]
pub struct Ways {
    /// At ring 3.
    pub large: [u32; 2],
    /// A server's, at ring 1.
    pub server: [u32; 2],
    /// A small one, at ring 3 in segments of its own.
    pub small: [u32; 2],
}

/// The word that says whose page directory the processor uses, while a server runs and from
/// [`arrived`] on. It is the word of the task-state segment for entries to ring 1, which no gate
/// enters. So it is in the cache line that fast paths read anyway.
pub const DIRECTORY_OF: u32 = TSS + 4 * gdt::task::ESP1 as u32;
const _: () = assert!(DIRECTORY_OF + 4 <= CPU + 32);

/// The word that has the page directory of a home, if ring 3 has only segments of that home's small
/// spaces; 0 if it has those of large spaces. It is a word of the task-state segment, like
/// [`DIRECTORY_OF`].
pub const SMALL_HOME: u32 = TSS + 4 * gdt::task::ESP2 as u32;
const _: () = assert!(SMALL_HOME + 4 <= CPU + 32);

/// One of these words.
fn word<const AT: u32>() -> &'static AtomicU32 {
    // SAFETY: `AT` is one of the constants above. Boot mapped the processor's page; the word is
    // plain data, and `switch.S` writes it while no Rust runs.
    unsafe { &*(AT as *const AtomicU32) }
}

fn noted() -> &'static AtomicU32 {
    word::<DIRECTORY_OF>()
}

/// The kernel was entered from a space. Fast paths record the tables only for a server: other
/// spaces run with their own tables, or with their home's.
pub fn arrived(pool: &Pool, space: Option<Ref<Space>>) {
    if let Some(space) = space.filter(|space| !is_server(pool, *space)) {
        noted().store(pool[space].hw[HOME], Ordering::Relaxed);
    }
}

/// The space whose page directory the processor uses; null: boot's directory.
pub fn directory_of() -> Link<Space> {
    Link::from_value(noted().load(Ordering::Relaxed))
}

/// The server that is shown in the processor's tables; or null.
fn shown(pool: &Pool) -> Link<Space> {
    directory_of().get().map_or(Link::NULL, |space| Link::from_value(pool[space].hw[SERVER]))
}

/// What a thread depends on that continues without a check of the processor's tables: whose tables
/// they are, and which server they show. None for a thread of a small space, whose segments have to
/// be checked.
pub fn tables(pool: &Pool, space: Option<Ref<Space>>) -> Option<(Link<Space>, Link<Space>)> {
    space.filter(|space| region(pool, *space).is_none()).map(|_| (directory_of(), shown(pool)))
}

/// Sets up the port's words of a new space: its threads run at ring 3.
pub fn set_up(pool: &mut Pool, space: Ref<Space>, directory: u32, ways: Ways) {
    let hw = &mut pool[space].hw;
    hw[DIRECTORY] = directory;
    hw[HOME] = space.address();
    [hw[ENTER], hw[EVENT]] = ways.large;
    hw[SEGMENTS] = segments(selector::USER_CODE, selector::USER_DATA);
}

const fn segments(code: u16, stack: u16) -> u32 {
    code as u32 | (stack as u32) << 16
}

/// A space's threads run at ring 1.
pub fn serve(pool: &mut Pool, space: Ref<Space>, ways: Ways) {
    let hw = &mut pool[space].hw;
    [hw[ENTER], hw[EVENT]] = ways.server;
    hw[SERVER] = space.address();
    hw[SEGMENTS] = segments(selector::SERVER_CODE, selector::SERVER_DATA);
}

/// A space becomes small: its home's tables have its pages at `place`.
pub fn move_in(
    pool: &mut Pool,
    space: Ref<Space>,
    home: Ref<Space>,
    place: Range<UserAddr>,
    ways: Ways,
) {
    let directory = pool[home].hw[DIRECTORY];
    let hw = &mut pool[space].hw;
    hw[DIRECTORY] = directory;
    hw[HOME] = home.address();
    [hw[ENTER], hw[EVENT]] = ways.small;
    hw[SEGMENTS] = segments(selector::SMALL_CODE, selector::SMALL_DATA);
    if hw[REGION_LOW] == 0 {
        hw[LARGE_SERVER] = hw[SERVER];
    }
    [hw[REGION_LOW], hw[REGION_HIGH]] = descriptor::region(place.start.0, place.end - place.start);
}

/// A space is large again, if it was small.
pub fn move_out(pool: &mut Pool, space: Ref<Space>, directory: u32, ways: Ways) {
    let hw = &mut pool[space].hw;
    if hw[REGION_LOW] != 0 {
        hw[REGION_LOW] = 0;
        hw[SERVER] = hw[LARGE_SERVER];
        set_up(pool, space, directory, ways);
    }
}

/// The segment that a small space has.
pub fn region(pool: &Pool, space: Ref<Space>) -> Option<[u32; 2]> {
    let hw = &pool[space].hw;
    (hw[REGION_LOW] != 0).then_some([hw[REGION_LOW], hw[REGION_HIGH]])
}

/// Where a space's address 0 is in the tables with which its threads run.
pub fn base(pool: &Pool, space: Ref<Space>) -> u32 {
    region(pool, space).map_or(0, descriptor::base)
}

/// A space shows a server, or none any more.
pub fn show(pool: &mut Pool, space: Ref<Space>, server: Link<Space>) {
    let word = if region(pool, space).is_some() { LARGE_SERVER } else { SERVER };
    pool[space].hw[word] = server.value();
}

/// Which kind of space it is.
pub fn kind(pool: &Pool, space: Ref<Space>) -> Kind {
    match region(pool, space) {
        Some(_) => Kind::Small,
        None if is_server(pool, space) => Kind::Server,
        None => Kind::Large,
    }
}

/// Whether a space is a server.
pub fn is_server(pool: &Pool, space: Ref<Space>) -> bool {
    pool[space].hw[SERVER] == space.address()
}

/// Whether the processor's tables have this space's pages: its own, its home's, or those of one
/// that shows it.
pub fn is_entered(pool: &Pool, space: Ref<Space>) -> bool {
    directory_of().value() == pool[space].hw[HOME] || shown(pool).is(space)
}

/// Makes the space the processor's, if it is not.
pub fn enter(pool: &Pool, space: Ref<Space>) {
    let region = region(pool, space);
    gdt::set_region(region);
    word::<SMALL_HOME>().store(region.map_or(0, |_| pool[space].hw[DIRECTORY]), Ordering::Relaxed);
    if !is_entered(pool, space) {
        noted().store(pool[space].hw[HOME], Ordering::Relaxed);
        // SAFETY: the directory has the kernel's part (`Translation::space_created`).
        unsafe { regs::write_cr3(pool[space].hw[DIRECTORY]) };
    }
}

/// If the processor uses the space's tables, changes to those of boot, which have the kernel's part
/// and nothing else.
pub fn leave(space: Ref<Space>) {
    if directory_of().is(space) {
        noted().store(0, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { regs::write_cr3(paging::directory_physical()) };
    }
}
