// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends malformed frames into the network, by a seed: of random lengths, with random bytes from
//! some byte on, for all stations, for a group, for the first or the second client, or for no
//! station. Many look like IPv4, IPv6 or ARP. Sometimes a length is impossible.
//!
//! Arguments: `frames=N`, `seed=N`. With `witness=N` instead, it counts the frames that others send
//! through the network card: when a datagram for it arrives, at least N frames must have come.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use frames::{Address, Shared};
use image::protocol::net::{FEWEST_BYTES, MOST_BYTES, SLOT_FRAME};
use macadamia::net::UdpSocket;
use macadamia::net::port::{AGAIN, FRAMES, Port, counter};
use macadamia::{Env, Error, Result, ipc, println, result};

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

/// Starts of frames that clients understand, from the type on.
const KNOWN: [&[u8]; 8] = [
    // IPv4: ICMP, TCP, UDP, a fragment; all of them for 10.0.2.15, or for the frame's receiver.
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

/// The last bytes of the first two clients' addresses of IPv4, which begin with 10.0.2.
const CLIENTS: [u8; 2] = [40, 15];

fn run(env: Env) {
    if env.argument("witness").is_some() {
        return witness(&env).unwrap_or_else(|error| panic!("{error}"));
    }
    let (frames, seed) = (env.number("frames"), env.number("seed"));
    let Some(port) = Port::find(&env) else { panic!("it needs a port of the switch") };
    let mut random = Random(seed | 1);
    match flood(&port, frames, &mut random) {
        Ok(()) => println!("{frames} frames sent"),
        Err(error) => println!("stopped: {}", error.text()),
    }
}

/// The counters of the card's port: frames that were taken, malformed, refused.
const COUNTERS: [u32; 3] = [0, 5, 6];

/// Waits for a datagram, answers it, and reports how many frames have come.
fn witness(env: &Env) -> macadamia::net::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:9")?;
    let (_, from) = socket.recv_from(&mut [0; 1])?;
    let counters =
        COUNTERS.map(|number| counter(env.thread("switch"), 0, number).unwrap_or_default());
    let [taken, malformed, refused] = counters;
    result!(
        "# {taken} frames came by the card, {refused} were refused, {malformed} were too short or too long"
    );
    // The last one is this one.
    if taken + malformed + refused > u64::from(env.number("witness")) && malformed > 0 {
        result!("ok flood.card");
    } else {
        result!("not ok flood.card: fewer than {}", env.number("witness"));
    }
    result!("done");
    socket.send_to(&[0], from).map(|_| ())
}

fn flood(port: &Port, frames: u32, random: &mut Random) -> Result<()> {
    let (mut rings, link) = port.attach()?;
    let memory = port.memory();
    let mut sent = 0;
    while sent < frames {
        // The received frames are ignored.
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
        if !rings.output.wait(memory).map_err(|_| Error::BadState)?
            && ipc::wait(FRAMES | AGAIN)? & AGAIN != 0
        {
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
    let client = random.below(CLIENTS.len() as u32) as u8;
    let first = [0x52, 0x54, 0, 0x12, 0x34, 0x56];
    let one = [0x52, 0x54, 0, 0x12, 0x34, 0x56 + client];
    let to = match random.below(8) {
        0 => [0xff; 6],
        1 => [0x33, 0x33, 0, 0, 0, 1],
        2 => [2, 0, 0, 0, 0, 1],
        _ => one,
    };
    head[..6].copy_from_slice(&to);
    head[6..12].copy_from_slice(&if random.below(16) == 0 { first } else { own.0 });
    let known = KNOWN[random.below(KNOWN.len() as u32) as usize];
    head[12..12 + known.len()].copy_from_slice(known);
    if known.starts_with(&[8, 0]) {
        head[33] = CLIENTS[usize::from(client)];
    }
    // Random bytes from some byte on.
    let sound = 12 + random.below(24) as usize;
    head[sound..].iter_mut().for_each(|byte| *byte = random.draw() as u8);
    for (word, part) in (0..).zip(head.chunks_exact(4)) {
        memory.write(
            slot + SLOT_FRAME + word * 4,
            u32::from_ne_bytes([part[0], part[1], part[2], part[3]]),
        );
    }
    let words = bytes.min(MOST_BYTES).div_ceil(4);
    for word in head.len() as u32 / 4..words.min(64) {
        memory.write(slot + SLOT_FRAME + word * 4, random.draw());
    }
}
