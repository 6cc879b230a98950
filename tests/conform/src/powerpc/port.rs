// SPDX-License-Identifier: MIT OR Apache-2.0
//! I/O ports: the kernel accesses the ports that were given to a space on its behalf.

use crate::exception::{WHOLE, launch_with, next, start};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SPACE, Why, check, fill, good};
use abi::Rights;
use abi::frame::{fault, vector};
use macadamia::cap::{delete, frame, set_frame};
use macadamia::ipc::reply_wait;
use macadamia::map::map;
use processor::{Words, code};

pub const CASES: &[Case] = &[
    ("a_port_that_was_given_is_there", given),
    ("one_that_was_not_is_a_fault", not_given),
    ("one_that_was_taken_is_a_fault", taken),
    ("other_instructions_are_faults", wrong_instruction),
];

/// Physical address of port 0.
const PORTS: u32 = 0xfe00_0000;
/// The port that the description gives.
const PORT: u32 = 0x80;

fn refused(r: &macadamia::Received, port: u32, error: u32) -> Result<(), Why> {
    check("a fault", r.words == [vector::PAGE_FAULT, PORTS + port, error])
}

fn given(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    good(map(SPACE, 0, ports, 0, 1, Rights::WRITE))?;
    launch_with(bed, code::uses_port(), PORT)?;
    let (r, mut f) = next()?;
    check("read", r.words[0] == vector::PROGRAM && f.gpr[5] < 0x100)?;
    f.skip_invalid();
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("written", r.words[0] == vector::PROGRAM && frame().pc > f.pc)
}

fn not_given(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    good(map(SPACE, 0, ports, 0, 1, Rights::WRITE))?;
    // The interrupt controller's, the one before, the one after, one of power management.
    for port in [0x21, PORT - 1, PORT + 1, 0x4004] {
        launch_with(bed, code::uses_port(), port)?;
        let (r, mut f) = next()?;
        refused(&r, port, 0)?;
        f.skip_invalid();
        f.skip_invalid();
        set_frame(&f);
        refused(&good(reply_wait(r.handle, WHOLE))?, port, fault::WRITE)?;
    }
    Ok(())
}

/// A thread of another space reads it; then the port is removed, and the write is refused.
fn taken(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code::uses_port());
    let space = good(QUOTA.create_space(16, bed.slot()))?;
    good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    let lent = good(ports.derive(0, 1, bed.slot(), QUOTA))?;
    good(map(space, 0, lent, 0, 1, Rights::WRITE))?;
    start(bed, space, PORT)?;
    let (r, mut f) = next()?;
    check("read", r.words[0] == vector::PROGRAM)?;
    good(delete(lent.0))?;
    f.skip_invalid();
    set_frame(&f);
    refused(&good(reply_wait(r.handle, WHOLE))?, PORT, fault::WRITE)
}

fn wrong_instruction(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    good(map(SPACE, 0, ports, 0, 1, Rights::WRITE))?;
    launch_with(bed, code::uses_port_wrongly(), PORT)?;
    refused(&next()?.0, PORT, 0)
}
