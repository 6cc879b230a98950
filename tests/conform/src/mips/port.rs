// SPDX-License-Identifier: MIT OR Apache-2.0
//! I/O ports: the kernel accesses the ports that were given to a space on its behalf.

use crate::exception::{WHOLE, launch_with, next};
use crate::{Bed, Case, SPACE, Why, check, good};
use abi::frame::{DELAY_SLOT, fault, vector};
use abi::{Rights, Word};
use macadamia::cap::{delete, frame, set_frame};
use macadamia::ipc::reply_wait;
use macadamia::map::map;
use processor::{Words, code};

pub const CASES: &[Case] = &[
    ("a_port_that_was_given_is_there", given),
    ("one_that_was_not_is_refused", not_given),
    ("one_that_was_taken_is_refused", taken),
    ("other_instructions_are_refused", wrong_instruction),
];

/// The address of port 0.
const PORTS: Word = macadamia::port::PORTS;
/// The port that the description gives.
const PORT: Word = 0x80;

fn refused(r: &macadamia::Received, port: Word, error: Word) -> Result<(), Why> {
    check("refused", r.words == [vector::ADDRESS, PORTS + port, error])
}

fn given(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    good(map(SPACE, 0, ports, 0, 1, Rights::WRITE))?;
    launch_with(bed, code::uses_port(), PORTS + PORT)?;
    let (r, mut f) = next()?;
    check("read", r.words[0] == vector::RESERVED && f.r[6] < 0x100)?;
    f.skip_invalid();
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("written", r.words[0] == vector::RESERVED && frame().pc > f.pc)
}

fn not_given(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    good(map(SPACE, 0, ports, 0, 1, Rights::WRITE))?;
    // The interrupt controller's, the one before, the one after, an address that is no port.
    for port in [0x21, PORT - 1, PORT + 1, 1 << 16] {
        launch_with(bed, code::uses_port(), PORTS + port)?;
        let (r, mut f) = next()?;
        refused(&r, port, 0)?;
        f.skip_invalid();
        f.skip_invalid();
        set_frame(&f);
        refused(&good(reply_wait(r.handle, WHOLE))?, port, fault::WRITE)?;
    }
    Ok(())
}

/// It is read; then the port is removed, and the write is refused.
fn taken(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    let lent = good(ports.derive(0, 1, bed.slot(), crate::QUOTA))?;
    good(map(SPACE, 0, lent, 0, 1, Rights::WRITE))?;
    launch_with(bed, code::uses_port(), PORTS + PORT)?;
    let (r, mut f) = next()?;
    check("read", r.words[0] == vector::RESERVED)?;
    good(delete(lent.0))?;
    f.skip_invalid();
    set_frame(&f);
    refused(&good(reply_wait(r.handle, WHOLE))?, PORT, fault::WRITE)
}

/// One that extends what it read by its sign, and one in a delay slot.
fn wrong_instruction(bed: &mut Bed) -> Result<(), Why> {
    let Some(ports) = bed.ports else { return Ok(()) };
    good(map(SPACE, 0, ports, 0, 1, Rights::WRITE))?;
    launch_with(bed, code::uses_port_wrongly(), PORTS + PORT)?;
    refused(&next()?.0, PORT, 0)?;
    launch_with(bed, code::uses_port_on_the_way(), PORTS + PORT)?;
    refused(&next()?.0, PORT, DELAY_SLOT)
}
