// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reservations: a thread's reservation ends when another thread has run. QEMU ends a reservation
//! at each exception by itself, so in QEMU these cases hold whatever the kernel does; the
//! processors keep it, so there the kernel has to end it.

use crate::exception::{DATA, launch_with, next, start};
use crate::{Bed, Case, PAGE, SPACE, Why, check, fill, good};
use abi::Rights;
use macadamia::map::map;
use macadamia::start as memory;
use processor::code;

pub const CASES: &[Case] =
    &[("no_count_is_lost", counts), ("a_reservation_ends_when_another_thread_runs", ends)];

fn word(at: u32) -> u32 {
    memory::bytes(at, 4).iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

/// Two threads count in one word; each says how often it did.
fn counts(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(DATA, 4, &[0; 4]);
    let one = launch_with(bed, code::counts_atomically(), DATA)?;
    let other = start(bed, SPACE, DATA)?;
    let until = macadamia::time::now() + 200_000_000;
    while macadamia::time::now() < until {
        good(crate::object::yield_now())?;
    }
    let (mut sum, mut least) = (0, u32::MAX);
    for thread in [one, other] {
        good(thread.stop())?;
        let counted = good(thread.registers())?.gpr[8];
        sum += counted;
        least = least.min(counted);
    }
    check("both counted", least > 0)?;
    // A thread that was stopped right after its store has not counted that yet.
    check("no count is lost", word(DATA).wrapping_sub(sum) <= 2)
}

/// A thread that was preempted between reservation and store stores nothing if another one had a
/// reservation meanwhile.
fn ends(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(DATA, 4, &[0; 4]);
    // A thread that counts in the same word takes turns with it.
    let other = launch_with(bed, code::counts_atomically(), DATA)?;
    good(map(SPACE, DATA + PAGE, bed.ram, 2 * PAGE, PAGE, Rights::RWX))?;
    fill(DATA + PAGE, PAGE, code::reserves_long());
    let thread = crate::exception::create(bed, SPACE)?;
    good(thread.start(DATA + PAGE, DATA + PAGE, DATA))?;
    let (_, f) = next()?;
    good(other.stop())?;
    check("it has no reservation any more", f.gpr[7] == 2)
}
