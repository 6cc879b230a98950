// SPDX-License-Identifier: MIT OR Apache-2.0
//! The root server: it makes exactly the system that the boot image describes, and watches it until
//! it ends.
//!
//! It is the handler of every component's first thread (the badge is the component's index plus
//! one), so a death arrives as a message. A component that ends by itself says so by a call.
//!
//! It owns all capabilities that the kernel leaves, and what each component was given. It must not
//! know what a component does.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod arch;
mod board;
mod component;
mod load;
mod machine;
mod pci;
mod resources;
mod watch;
mod watchdog;

use abi::boot::slot;
use image::System;
use load::IMAGE;
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::cap::identify;
use macadamia::{Memory, Rights, Space, Word, map, start};
use machine::{power_off, say};
use resources::Resources;

/// Makes the system and watches it; an error that leaves nothing to watch ends the machine.
fn run(info: abi::boot::Info) -> ! {
    // What the root server uses itself of the board.
    let resources = board::open(Space(slot::SPACE as Word)).and_then(|()| Resources::new(&info));
    let mut resources = match resources {
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

fn map_image(resources: &Resources) -> Result<Word, String> {
    let mapped = identify(slot::IMAGE as Word).and_then(|[_, _, bytes]| {
        map::map(resources.space, IMAGE, Memory(slot::IMAGE as Word), 0, bytes, Rights::READ)?;
        Ok(bytes)
    });
    mapped.map_err(|error| format!("cannot map it: {}", error.text()))
}

/// The checked description.
fn decode(info: &abi::boot::Info, bytes: Word) -> Result<System, String> {
    let end = info.system_offset.checked_add(info.system_bytes);
    if end.is_none_or(|end| end as Word > bytes) {
        return Err("the system description lies outside it".into());
    }
    let encoded = start::bytes(IMAGE + info.system_offset as Word, info.system_bytes as Word);
    let system: System = postcard::from_bytes(encoded)
        .map_err(|error| format!("the system description is damaged: {error}"))?;
    system.check(bytes as u32)?;
    Ok(system)
}

macadamia::root!(run);
