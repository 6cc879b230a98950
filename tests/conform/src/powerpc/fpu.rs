// SPDX-License-Identifier: MIT OR Apache-2.0
//! The FPU, which a thread gets when it uses it.

use crate::exception::{DATA, WHOLE, launch_with, next, start};
use crate::{Bed, Case, PAGE, SPACE, Why, check, fill, good};
use abi::Rights;
use abi::frame::vector;
use macadamia::cap::{frame, set_frame};
use macadamia::ipc::reply_wait;
use macadamia::map::map;
use macadamia::start as memory;
use processor::{Words, code};

pub const CASES: &[Case] = &[
    ("it_adds", adds),
    ("each_thread_has_its_own_registers", own),
    ("it_begins_with_zeros", zeros),
];

const ONE: u64 = 0x3ff0_0000_0000_0000;
const TWO: u64 = 0x4000_0000_0000_0000;
const THREE: u64 = 0x4008_0000_0000_0000;

fn put(at: u32, values: &[u64]) {
    let bytes: macadamia::alloc::vec::Vec<u8> =
        values.iter().flat_map(|value| value.to_be_bytes()).collect();
    fill(at, bytes.len() as u32, &bytes);
}

fn get(at: u32) -> u64 {
    memory::bytes(at, 8).iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn adds(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    put(DATA, &[ONE, TWO, 0]);
    launch_with(bed, code::adds(), DATA)?;
    check("it ends", next()?.0.words[0] == vector::PROGRAM)?;
    check("1 + 2", get(DATA + 16) == THREE)
}

/// Two threads load registers, and store them in turn.
fn own(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    put(DATA, &[ONE, TWO, 0, 0]);
    put(DATA + 64, &[THREE, ONE + 5, 0, 0]);
    launch_with(bed, code::floats(), DATA)?;
    let (mut first, mut one) = next()?;
    start(bed, SPACE, DATA + 64)?;
    let (mut second, mut other) = next()?;
    for _ in 0..3 {
        put(DATA + 16, &[0, 0]);
        put(DATA + 80, &[0, 0]);
        one.skip_invalid();
        set_frame(&one);
        first = good(reply_wait(first.handle, WHOLE))?;
        one = frame();
        other.skip_invalid();
        set_frame(&other);
        second = good(reply_wait(second.handle, WHOLE))?;
        other = frame();
        check("the first one's", get(DATA + 16) == ONE && get(DATA + 24) == TWO)?;
        check("the second one's", get(DATA + 80) == THREE && get(DATA + 88) == ONE + 5)?;
    }
    Ok(())
}

fn zeros(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    put(DATA, &[ONE, TWO, ONE, TWO]);
    // The part of the code that stores.
    let stores = &code::floats()[12..];
    launch_with(bed, stores, DATA)?;
    check("it ends", next()?.0.words[0] == vector::PROGRAM)?;
    check("zeros", get(DATA + 16) == 0 && get(DATA + 24) == 0)
}
