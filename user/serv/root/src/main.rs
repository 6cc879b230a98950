// SPDX-License-Identifier: MIT OR Apache-2.0
//! The root server: makes exactly the system that the boot image describes, and
//! watches over it.
//!
//! It is the handler of every component's first thread (the badge is the component's
//! index plus one), so a death arrives as a message; so does a component's own end.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod component;
mod resources;
mod watch;

use component::Running;
use image::System;
use macadamia::alloc::vec::Vec;
use macadamia::{map, port};
use resources::Resources;

/// Where the boot image is mapped.
pub const IMAGE: u32 = 0x8000_0000;

/// Says something without the console: by the serial line, polled.
pub fn say(text: core::fmt::Arguments<'_>) {
    struct Line;
    impl core::fmt::Write for Line {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            for byte in text.bytes().flat_map(|b| (b == b'\n').then_some(b'\r').into_iter().chain([b])) {
                while port::read8(0x3fd) & 0x20 == 0 {}
                port::write8(0x3f8, byte);
            }
            Ok(())
        }
    }
    let _ = core::fmt::Write::write_fmt(&mut Line, format_args!("[root] {text}\n"));
}

/// Ends the machine: by ACPI in QEMU, by the debug port in Bochs.
pub fn power_off() -> ! {
    port::write16(0x604, 0x2000);
    b"Shutdown".iter().for_each(|byte| port::write8(0x8900, *byte));
    loop {
        let _ = macadamia::ipc::wait(0);
    }
}

/// Makes the system and watches it; an error that leaves nothing to watch ends the machine.
fn run(info: abi::boot::Info) -> ! {
    let mut resources = Resources::new(&info);
    if let Err(error) = resources.open_ports() {
        // Nobody can be told: the serial line is what failed.
        let _ = error;
        power_off();
    }
    let system = match map_image(&mut resources).and_then(|bytes| decode(&info, bytes)) {
        Ok(system) => system,
        Err(reason) => {
            say(format_args!("{reason}"));
            power_off();
        }
    };
    match component::create_all(&mut resources, &system) {
        Ok(running) => watch::serve(&mut resources, &system, running),
        Err((name, error)) => {
            say(format_args!("cannot make `{name}`: {}", error.text()));
            power_off();
        }
    }
}

fn map_image(resources: &mut Resources) -> Result<u32, &'static str> {
    let [_, _, bytes] = macadamia::cap::identify(abi::boot::slot::IMAGE).map_err(|_| "no boot image")?;
    map::map(resources.space, IMAGE, macadamia::Memory(abi::boot::slot::IMAGE), 0, bytes, macadamia::Rights::READ)
        .map_err(|_| "cannot map the boot image")?;
    Ok(bytes)
}

fn decode(info: &abi::boot::Info, bytes: u32) -> Result<System, &'static str> {
    let end = info.system_offset.checked_add(info.system_bytes).filter(|end| *end <= bytes);
    end.ok_or("the system description lies outside the boot image")?;
    let encoded = macadamia::start::bytes(IMAGE + info.system_offset, info.system_bytes);
    postcard::from_bytes(encoded).map_err(|_| "the system description cannot be read: it was made for another version")
}

macadamia::root!(run);

/// The components that were made, in the order of the description.
pub type Components = Vec<Running>;
