// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends frames into the network that nobody should send, by a seed: of random lengths, and random from some byte on, for everybody,
//! for a group, for the first client, or for nobody. Many look like IPv4, IPv6 or ARP. Now and then a length is none.
//!
//! Arguments: `frames=N`, `seed=N`.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use frames::{Address, Shared};
use image::protocol::net::{FEWEST_BYTES, MOST_BYTES, SLOT_FRAME};
use macadamia::net::port::{AGAIN, FRAMES, Port};
use macadamia::{Env, Error, Result, ipc, println};

macadamia::main!(run);

/// xorshift32 (Marsaglia 2003).
struct Random(u32);

impl Random {
    fn draw(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn below(&mut self, end: u32) -> u32 {
        self.draw() % end
    }
}

/// Beginnings of what Linux understands, from the type on.
const KNOWN: [&[u8]; 8] = [
    // IPv4: ICMP, TCP, UDP, a fragment; all of them for 10.0.2.15.
    &[8, 0, 0x45, 0, 0, 60, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 2, 2, 10, 0, 2, 15],
    &[8, 0, 0x45, 0, 0, 60, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 2, 2, 10, 0, 2, 15],
    &[8, 0, 0x46, 0, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 2, 2, 10, 0, 2, 15],
    &[8, 0, 0x45, 0, 0, 60, 0, 0, 0x20, 1, 64, 17, 0, 0, 10, 0, 2, 2, 10, 0, 2, 15],
    // ARP, IPv6 with ICMP and with options, a VLAN's tag.
    &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1],
    &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 58, 255],
    &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 0, 255],
    &[0x81, 0, 0, 1, 8, 0, 0x45],
];

fn run(env: Env) {
    let (frames, seed) = (env.number("frames"), env.number("seed"));
    let Some(port) = Port::find(&env) else { panic!("it needs a port of the switch") };
    let mut random = Random(seed | 1);
    match flood(&port, frames, &mut random) {
        Ok(()) => println!("{frames} frames sent"),
        Err(error) => println!("stopped: {}", error.text()),
    }
}

fn flood(port: &Port, frames: u32, random: &mut Random) -> Result<()> {
    let (mut rings, link) = port.attach()?;
    let memory = port.memory();
    let mut sent = 0;
    while sent < frames {
        // What comes is of no interest.
        while rings.input.available(memory).map_err(|_| Error::BadState)? > 0 {
            let slot = rings.input.slot(memory, 0).map_err(|_| Error::BadState)?;
            rings.input.take();
            rings.input.give_back(memory, slot);
        }
        let due = rings.input.publish(memory);
        port.notify(due)?;
        let room = rings.output.room(memory).map_err(|_| Error::BadState)?.min(frames - sent);
        for _ in 0..room {
            let Some(slot) = rings.output.take() else { break };
            fill(memory, slot, link.address, random);
            rings.output.push(memory, slot);
        }
        let due = rings.output.publish(memory);
        port.notify(due)?;
        sent += room;
        if !rings.output.wait(memory).map_err(|_| Error::BadState)? && ipc::wait(FRAMES | AGAIN)? & AGAIN != 0 {
            (rings, _) = port.attach()?;
        }
    }
    Ok(())
}

/// Puts a frame into a slot.
fn fill(memory: &impl Shared, slot: u32, own: Address, random: &mut Random) {
    let bytes = match random.below(64) {
        0 => random.draw(),
        1..8 => FEWEST_BYTES + random.below(8),
        _ => FEWEST_BYTES + random.below(MOST_BYTES - FEWEST_BYTES + 1),
    };
    memory.write(slot, bytes);
    let mut head = [0; 36];
    let first = [0x52, 0x54, 0, 0x12, 0x34, 0x56];
    let to = match random.below(8) {
        0 => [0xff; 6],
        1 => [0x33, 0x33, 0, 0, 0, 1],
        2 => [2, 0, 0, 0, 0, 1],
        _ => first,
    };
    head[..6].copy_from_slice(&to);
    head[6..12].copy_from_slice(&if random.below(16) == 0 { first } else { own.0 });
    let known = KNOWN[random.below(KNOWN.len() as u32) as usize];
    head[12..12 + known.len()].copy_from_slice(known);
    // Random from some byte on.
    let sound = 12 + random.below(24) as usize;
    head[sound..].iter_mut().for_each(|byte| *byte = random.draw() as u8);
    for (word, part) in (0..).zip(head.chunks_exact(4)) {
        memory.write(slot + SLOT_FRAME + word * 4, u32::from_le_bytes([part[0], part[1], part[2], part[3]]));
    }
    let words = bytes.min(MOST_BYTES).div_ceil(4);
    for word in head.len() as u32 / 4..words.min(64) {
        memory.write(slot + SLOT_FRAME + word * 4, random.draw());
    }
}
