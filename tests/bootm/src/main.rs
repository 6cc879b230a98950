// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does what U-Boot's `bootm` does, and nothing else: it finds a kernel and a RAM disk in memory,
//! checks headers and checksums, copies both to their places, leaves a list of tags, and enters the
//! kernel with r0 to r2 set and caches off. It prints a sentence if it refuses an image.
//!
//! It knows nothing of this kernel except the format of its images.
#![no_std]
#![no_main]

mod image;

use core::arch::global_asm;
use core::panic::PanicInfo;
use image::{Image, Kind, check};
use versatilepb::{system, uart};

/// The addresses at which the kernel's image and the RAM disk's were loaded, as if from a disk.
/// There is room for 16 MiB each.
const KERNEL: u32 = 0x0200_0000;
/// See [`KERNEL`].
const RAM_DISK: u32 = 0x0300_0000;
const ROOM: u32 = 16 << 20;
/// The address for the RAM disk.
const RAM_DISK_PLACE: u32 = 0x0400_0000;
/// The address for the list of tags.
const TAGS: u32 = 0x100;
/// Bytes of the board's RAM.
const RAM: u32 = 128 << 20;
/// The board's number among ARM's machines.
const MACHINE: u32 = 387;

global_asm!(include_str!("start.S"), boot = sym boot, machine = const MACHINE);

unsafe extern "C" {
    /// Enters the kernel.
    safe fn enter(tags: u32, entry: u32) -> !;
}

/// Memory that nothing else uses.
fn memory(address: u32, bytes: u32) -> &'static mut [u8] {
    // SAFETY: RAM, beside the loader's own; each part is asked for once.
    unsafe { core::slice::from_raw_parts_mut(address as *mut u8, bytes as usize) }
}

fn write(register: u32, value: u32) {
    // SAFETY: a register of a device of this board, which harms no memory.
    unsafe { (register as *mut u32).write_volatile(value) };
}

fn say(text: &str) {
    for byte in text.bytes() {
        // The emulator's line always has room.
        write(uart::FIRST + uart::DATA, byte.into());
    }
}

/// Prints why there is nothing to start, and ends the machine.
fn refuse(what: &str, why: &str) -> ! {
    ["bootm: ", what, " refused: ", why, "\r\n"].into_iter().for_each(say);
    write(system::REGISTERS + system::LOCK, system::KEY);
    write(system::REGISTERS + system::RESET, system::RESET_ALL);
    loop {
        core::hint::spin_loop();
    }
}

fn checked(address: u32, kind: Kind, what: &str) -> Image<'static> {
    check(memory(address, ROOM), kind).unwrap_or_else(|why| refuse(what, why))
}

fn copy(image: &Image, to: u32) {
    memory(to, image.data.len() as u32).copy_from_slice(image.data);
}

extern "C" fn boot() -> ! {
    let kernel = checked(KERNEL, Kind::Kernel, "kernel");
    let ram_disk = checked(RAM_DISK, Kind::RamDisk, "RAM disk");
    copy(&kernel, kernel.load);
    copy(&ram_disk, RAM_DISK_PLACE);
    // Words, kind, values: the core, RAM, the RAM disk, the end.
    let tags: [u32; 15] = [
        5,
        0x5441_0001,
        0,
        4096,
        0,
        4,
        0x5441_0002,
        RAM,
        0,
        4,
        0x5442_0005,
        RAM_DISK_PLACE,
        ram_disk.data.len() as u32,
        0,
        0,
    ];
    let list = memory(TAGS, size_of_val(&tags) as u32);
    list.chunks_exact_mut(4)
        .zip(tags)
        .for_each(|(word, tag)| word.copy_from_slice(&tag.to_le_bytes()));
    say("bootm: starting\r\n");
    enter(TAGS, kernel.entry)
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    refuse("everything", "this loader is wrong")
}
