// SPDX-License-Identifier: MIT OR Apache-2.0
//! The root server: makes exactly the system that the boot image describes, and
//! watches over it.
//!
//! It is the handler of every component's first thread (the badge is the component's
//! index plus one), so a death arrives as a message; so does a component's own end.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod arch;
mod board;
mod component;
mod load;
mod pci;
mod resources;
mod watch;
mod watchdog;

use abi::boot::slot;
use board::Line;
use image::{Places, System};
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::cap::identify;
use macadamia::{Memory, Rights, map, start};
use resources::Resources;

/// Where the boot image is mapped.
pub const IMAGE: u32 = Places::LOW.own;

/// Says something without the console: by the serial line, polled.
pub fn say(text: core::fmt::Arguments<'_>) {
    struct Text(Line);
    impl core::fmt::Write for Text {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            text.bytes()
                .flat_map(|b| (b == b'\n').then_some(b'\r').into_iter().chain([b]))
                .for_each(|byte| self.0.put(byte));
            Ok(())
        }
    }
    // Where there is no line, there is nobody to tell.
    if let Ok(line) = Line::open() {
        let _ = core::fmt::Write::write_fmt(&mut Text(line), format_args!("[root] {text}\n"));
    }
}

/// Ends the machine.
pub fn power_off() -> ! {
    board::power_off();
    loop {
        let _ = macadamia::ipc::wait(0);
    }
}

/// Makes the system and watches it; an error that leaves nothing to watch ends the machine.
fn run(info: abi::boot::Info) -> ! {
    let mut resources = match Resources::new(&info) {
        Ok(resources) => resources,
        Err(error) => panic!("cannot take stock: {}", error.text()),
    };
    let system = match map_image(&resources).and_then(|bytes| decode(&info, bytes)) {
        Ok(system) => system,
        Err(reason) => {
            say(format_args!("boot image refused: {reason}"));
            power_off();
        }
    };
    match component::create_all(&mut resources, &system) {
        Ok(running) => watch::serve(&mut resources, &system, running),
        Err((name, why)) => {
            say(format_args!("cannot make `{name}`: {why}"));
            power_off();
        }
    }
}

fn map_image(resources: &Resources) -> Result<u32, String> {
    let mapped = identify(slot::IMAGE).and_then(|[_, _, bytes]| {
        map::map(resources.space, IMAGE, Memory(slot::IMAGE), 0, bytes, Rights::READ)?;
        Ok(bytes)
    });
    mapped.map_err(|error| format!("cannot map it: {}", error.text()))
}

/// The checked description.
fn decode(info: &abi::boot::Info, bytes: u32) -> Result<System, String> {
    let end = info.system_offset.checked_add(info.system_bytes);
    if end.is_none_or(|end| end > bytes) {
        return Err("the system description lies outside it".into());
    }
    let encoded = start::bytes(IMAGE + info.system_offset, info.system_bytes);
    let system: System = postcard::from_bytes(encoded)
        .map_err(|error| format!("the system description is damaged: {error}"))?;
    system.check(bytes)?;
    Ok(system)
}

macadamia::root!(run);
