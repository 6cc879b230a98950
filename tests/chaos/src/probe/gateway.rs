// SPDX-License-Identifier: MIT OR Apache-2.0
//! A client of the switch that asks the network's gateway for its address: this shows whether
//! frames go out and come back.

use super::{ALARM, PATIENCE, Probe, rest};
use frames::{Address, Broken, Shared, bytes};
use image::protocol::net::SLOT_FRAME;
use macadamia::alloc::vec::Vec;
use macadamia::net::Ipv4Addr;
use macadamia::net::port::{AGAIN, FRAMES, Port, Rings};
use macadamia::{Env, Result, Word, ipc, println, time};

/// The gateway of QEMU's user network.
const GATEWAY: [u8; 4] = [10, 0, 2, 2];
/// Bytes of a question or an answer (RFC 826), padded as Ethernet requires it.
const BYTES: u32 = 60;

/// The client.
pub struct Gateway {
    port: Port,
    /// Nothing until it is attached.
    attached: Option<(Rings, Address)>,
    /// The servers that it asks in turn.
    peers: Vec<[u8; 4]>,
    /// How often the port was attached.
    count: u32,
}

/// The result of a question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The answer has come.
    Answered,
    /// No answer has come for a while.
    Silence,
    /// The rings were restarted, or have to be.
    Again,
}

impl Gateway {
    /// The component's port, if it has one. The argument `address` is another host to ask.
    pub fn find(env: &Env) -> Option<Self> {
        let port = Port::find(env)?;
        let other = env
            .argument("address")
            .and_then(|text| text.parse::<Ipv4Addr>().ok())
            .map(|address| address.octets());
        Some(Self {
            port,
            attached: None,
            peers: [GATEWAY].into_iter().chain(other).collect(),
            count: 0,
        })
    }
}

impl Probe for Gateway {
    fn ask(&mut self, number: u32) -> Result<bool> {
        let Some((mut rings, own)) = self.attached.take() else {
            match self.port.attach() {
                Ok((rings, link)) => self.attached = Some((rings, link.address)),
                Err(_) => rest()?,
            }
            self.count += 1;
            return Ok(false);
        };
        for peer in &self.peers {
            let mut asked = Question { port: &self.port, rings: &mut rings, own, peer: *peer };
            match asked.ask(number) {
                Ok(Ok(Outcome::Answered)) => {}
                Ok(Ok(Outcome::Silence)) => {
                    self.attached = Some((rings, own));
                    return Ok(false);
                }
                // It is attached the next time.
                Ok(Ok(Outcome::Again)) | Err(Broken) => return Ok(false),
                Ok(Err(error)) => return Err(error),
            }
        }
        self.attached = Some((rings, own));
        Ok(true)
    }

    fn wrong(&self) -> u32 {
        0
    }

    fn report(&self) {
        println!("attached {} times to the switch", self.count);
    }
}

/// The question who has an address.
struct Question<'a> {
    port: &'a Port,
    rings: &'a mut Rings,
    own: Address,
    peer: [u8; 4],
}

impl Question<'_> {
    fn ask(&mut self, number: u32) -> core::result::Result<Result<Outcome>, Broken> {
        if self.rings.output.room(self.port.memory())? == 0 {
            return Ok(self
                .rest()
                .map(|bits| if bits & AGAIN != 0 { Outcome::Again } else { Outcome::Silence }));
        }
        let due = self.send(number);
        if let Err(error) = self.port.notify(due) {
            return Ok(Err(error));
        }
        let end = time::now() + PATIENCE;
        loop {
            if self.take(number)? {
                return Ok(Ok(Outcome::Answered));
            }
            if self.rings.input.wait(self.port.memory())? {
                continue;
            }
            let bits =
                time::alarm(end, ALARM as Word).and_then(|()| ipc::wait(FRAMES | AGAIN | ALARM));
            match bits {
                Ok(bits) if bits & AGAIN != 0 => return Ok(Ok(Outcome::Again)),
                Ok(_) if time::now() >= end => return Ok(Ok(Outcome::Silence)),
                Ok(_) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    /// Lets others run for a while.
    fn rest(&self) -> Result<u32> {
        time::alarm(time::now() + PATIENCE, ALARM as Word)?;
        ipc::wait(ALARM | AGAIN)
    }

    /// Puts the question into the ring: `number` is the lower half of the asker's address, which
    /// the answer repeats.
    fn send(&mut self, number: u32) -> bool {
        let memory = self.port.memory();
        let Some(slot) = self.rings.output.take() else { return false };
        let mut frame = [0; BYTES as usize];
        frame[..6].fill(0xff);
        frame[6..12].copy_from_slice(&self.own.0);
        // ARP over Ethernet and IPv4, a request.
        frame[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        frame[22..28].copy_from_slice(&self.own.0);
        frame[28..32].copy_from_slice(&sender(number));
        frame[38..42].copy_from_slice(&self.peer);
        memory.write(slot, BYTES);
        for (word, part) in (0..).zip(frame.chunks_exact(4)) {
            memory.write(
                slot + SLOT_FRAME + word * 4,
                u32::from_ne_bytes([part[0], part[1], part[2], part[3]]),
            );
        }
        self.rings.output.push(memory, slot);
        self.rings.output.publish(memory)
    }

    /// Takes the frames that have come. Returns whether the answer is among them.
    fn take(&mut self, number: u32) -> core::result::Result<bool, Broken> {
        let memory = self.port.memory();
        let is_answer = |slot| {
            let word = |at: u32| memory.read(slot + SLOT_FRAME + at).to_ne_bytes();
            let operation = [word(20)[0], word(20)[1]];
            // Who answers is at 28, who asked at 38.
            let asked = [word(36)[2], word(36)[3], word(40)[0], word(40)[1]];
            bytes(memory, slot).is_some()
                && operation == [0, 2]
                && word(28) == self.peer
                && asked == sender(number)
        };
        let (input, mut answered) = (&mut self.rings.input, false);
        while input.available(memory)? > 0 {
            let slot = input.slot(memory, 0)?;
            input.take();
            answered |= is_answer(slot);
            input.give_back(memory, slot);
        }
        let due = input.publish(memory);
        // If the switch is gone it is told to attach again.
        let _ = self.port.notify(due);
        Ok(answered)
    }
}

/// The asker's address in question `number`: the answer goes to that address.
const fn sender(number: u32) -> [u8; 4] {
    let [low, high, ..] = number.to_le_bytes();
    [10, 0, 64 | high & 63, low]
}
