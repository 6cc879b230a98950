// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of the machine: as the chip sets want it that this project knows, or as the firmware's
//! tables say. Those are found if the boot loader says where they are, or on a machine with a BIOS,
//! and read if they are above RAM, in the first MiB, or where the memory map has them.

use crate::resources::{RW, list, registers};
use abi::{PAGE_SIZE, Rights, Word};
use acpi::Off;
use core::cell::RefCell;
use image::Places;
use macadamia::map::Window;
use macadamia::{board, port};

/// Where a page of physical memory is seen: below the screen's text.
const PAGE: Word = Places::LOW.own_end as Word - 3 * PAGE_SIZE;

/// The page of devices or of the firmware at this physical address.
fn page(base: Word, rights: Rights) -> Option<Window> {
    let (memory, offset) = registers(base).ok()?;
    Window::open(PAGE, memory, offset, PAGE_SIZE, rights).ok()
}

/// Ends the machine. On one of which nothing is known nothing happens.
pub fn power_off() {
    board::power_off();
    let seen: RefCell<Option<(Word, Window)>> = RefCell::new(None);
    let read = |at: u64| {
        let at = Word::try_from(at).ok()?;
        let (base, offset) = (at - at % PAGE_SIZE, at % PAGE_SIZE);
        let mut seen = seen.borrow_mut();
        if seen.as_ref().is_none_or(|(is, _)| *is != base) {
            // What was there goes first: it is at the same address.
            *seen = None;
            *seen = Some((base, page(base, Rights::READ)?));
        }
        let (_, window) = seen.as_ref()?;
        Some((window.read(offset - offset % 4) >> (offset % 4 * 8)) as u8)
    };
    let found = acpi::off(&read, list());
    drop(seen);
    match found {
        Some(Off::Port(address, value)) => port::write16(address, value),
        Some(Off::Memory(address, value)) => {
            let at = Word::try_from(address).unwrap_or_default();
            let window = page(at - at % PAGE_SIZE, RW);
            window.iter().for_each(|window| window.write8(at % PAGE_SIZE, value));
        }
        None => {}
    }
}
