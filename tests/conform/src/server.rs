// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers, and the spaces that show them, as IA-32 and x86-64 have them: a window that begins at a
//! large page, and threads at ring 1.

use crate::{Bed, PAGE, QUOTA, SPACE, Why, fails, good};
use abi::{Error, Rights, TABLE_SPAN, USER_END, Word};
use macadamia::map::map;
use macadamia::time::has_servers;
use macadamia::{Space, result};

/// The start of the window.
pub const START: Word = USER_END - (512 << 20);

/// A space with its kernel's part where the window begins.
pub fn placed(bed: &mut Bed) -> Result<Space, Why> {
    let slot = bed.slot();
    good(QUOTA.create_space_at(16, slot, START))
}

/// Carries out a case with a server; without servers, checks that there are none.
pub fn with_server(bed: &mut Bed, case: fn(&mut Bed, Space) -> Result<(), Why>) -> Result<(), Why> {
    let server = placed(bed)?;
    if !has_servers() {
        result!("# no servers on this machine: the case only sees that there are none");
        return fails(server.serve(bed.window, false), Error::Unsupported);
    }
    good(server.serve(bed.window, false))?;
    case(bed, server)
}

/// A space of aliens, and the call that shows the server in it.
pub fn showing(bed: &mut Bed, server: Space) -> Result<Space, Why> {
    let slot = bed.slot();
    let space = good(QUOTA.create_space(0, slot))?;
    good(space.show(START, server))?;
    Ok(space)
}

/// A case: a space shows one server, once, and has nothing of its own in the window.
pub fn shown_once(bed: &mut Bed, server: Space) -> Result<(), Why> {
    let slot = bed.slot();
    let space = good(QUOTA.create_space(0, slot))?;
    fails(space.show(START - TABLE_SPAN, server), Error::BadAddress)?;
    fails(space.show(START, SPACE), Error::BadState)?;
    fails(server.show(START, server), Error::BadState)?;
    good(space.show(START, server))?;
    fails(space.show(START, server), Error::Occupied)?;
    fails(map(space, START, bed.ram, 0, PAGE, Rights(3)), Error::BadAddress)?;
    fails(map(space, START - PAGE, bed.ram, 0, 2 * PAGE, Rights(3)), Error::BadAddress)?;
    good(map(space, START - PAGE, bed.ram, 0, PAGE, Rights(3)))?;
    let second = placed(bed)?;
    good(second.serve(bed.window, false))?;
    fails(space.show(START, second), Error::Occupied)?;
    good(space.detach(START))?;
    fails(space.detach(START), Error::NotThere)?;
    good(map(space, START, bed.ram, 0, PAGE, Rights(3)))?;
    fails(space.show(START, second), Error::Occupied)
}
