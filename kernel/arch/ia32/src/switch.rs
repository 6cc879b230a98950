// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entering a space: the one place for all Rust that changes the page directory of the processor
//! for another space. `switch.S` is the same for the assembly.

use crate::gdt;
use crate::layout::{CPU, TSS};
use crate::{paging, regs};
use core::sync::atomic::{AtomicU32, Ordering};
use ia32_context::hw::{CODE, DIRECTORY, ENTER, EVENT, SERVER, STACK};
use ia32_context::selector;
use kcore::Space;
use pool::{Link, Pool, Ref};

/// Addresses of the ways into a space: of a thread that goes on, and of an alien's event.
#[derive(Clone, Copy)]
pub struct Ways {
    /// At ring 3.
    pub large: [u32; 2],
    /// A server's, at ring 1.
    pub server: [u32; 2],
}

/// Where it is noted whose page directory is the processor's, while a server runs and from [`arrived`] on: in a word of
/// the task-state segment for entries to ring 1, which no gate leads to. So it is in the cache line that fast paths read
/// anyway.
pub const DIRECTORY_OF: u32 = TSS + 4 * gdt::task::ESP1 as u32;
const _: () = assert!(DIRECTORY_OF + 4 <= CPU + 32);

fn noted() -> &'static AtomicU32 {
    // SAFETY: boot mapped the processor's page; the word is plain data, and `switch.S` writes it while no Rust runs.
    unsafe { &*(DIRECTORY_OF as *const AtomicU32) }
}

/// The kernel was entered from a space. Fast paths note the tables for a server only: the tables of others are their own.
pub fn arrived(pool: &Pool, space: Option<Ref<Space>>) {
    if let Some(space) = space.filter(|space| !is_server(pool, *space)) {
        noted().store(space.address(), Ordering::Relaxed);
    }
}

/// Whose page directory is the processor's; null: boot's.
pub fn directory_of() -> Link<Space> {
    Link::from_value(noted().load(Ordering::Relaxed))
}

/// The server that is shown in the processor's tables; or null.
fn shown(pool: &Pool) -> Link<Space> {
    directory_of().get().map_or(Link::NULL, |space| Link::from_value(pool[space].hw[SERVER]))
}

/// What of the processor's tables a thread depends on that goes on without a look at them: whose they are, and what they show.
pub fn tables(pool: &Pool) -> (Link<Space>, Link<Space>) {
    (directory_of(), shown(pool))
}

/// What the port keeps of a new space: its threads run at ring 3.
pub fn set_up(pool: &mut Pool, space: Ref<Space>, directory: u32, ways: Ways) {
    let hw = &mut pool[space].hw;
    hw[DIRECTORY] = directory;
    [hw[ENTER], hw[EVENT]] = ways.large;
    (hw[CODE], hw[STACK]) = (u32::from(selector::USER_CODE), u32::from(selector::USER_DATA));
}

/// A space's threads run at ring 1.
pub fn serve(pool: &mut Pool, space: Ref<Space>, ways: Ways) {
    let hw = &mut pool[space].hw;
    [hw[ENTER], hw[EVENT]] = ways.server;
    hw[SERVER] = space.address();
    (hw[CODE], hw[STACK]) = (u32::from(selector::SERVER_CODE), u32::from(selector::SERVER_DATA));
}

/// A space shows a server, or none any more.
pub fn show(pool: &mut Pool, space: Ref<Space>, server: Link<Space>) {
    pool[space].hw[SERVER] = server.value();
}

/// Whether a space is a server.
pub fn is_server(pool: &Pool, space: Ref<Space>) -> bool {
    pool[space].hw[SERVER] == space.address()
}

/// Whether the processor's tables have this space's pages: its own, or those of one that shows it.
pub fn is_entered(pool: &Pool, space: Ref<Space>) -> bool {
    directory_of().is(space) || shown(pool).is(space)
}

/// Makes the space the processor's, if it is not.
pub fn enter(pool: &Pool, space: Ref<Space>) {
    if !is_entered(pool, space) {
        noted().store(space.address(), Ordering::Relaxed);
        // SAFETY: the directory has the kernel's part (`Port::space_created`).
        unsafe { regs::write_cr3(pool[space].hw[DIRECTORY]) };
    }
}

/// Leaves the space's tables, if they are the processor's, for boot's, which have the kernel's part and nothing else.
pub fn leave(space: Ref<Space>) {
    if directory_of().is(space) {
        noted().store(0, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { regs::write_cr3(paging::directory_physical()) };
    }
}
