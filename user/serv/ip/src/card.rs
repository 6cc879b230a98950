// SPDX-License-Identifier: MIT OR Apache-2.0
//! A port of the switch in the form in which smoltcp expects a card: a frame at a time, in a buffer
//! of the server's own.

use frames::{Broken, Shared, bytes};
use image::protocol::net::{MOST_BYTES, SLOT_FRAME};
use macadamia::alloc::boxed::Box;
use macadamia::alloc::collections::VecDeque;
use macadamia::alloc::vec::Vec;
use macadamia::net::port::{Port, Rings};
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

/// Bytes of an Ethernet frame without its check sequence.
const FRAME: usize = 1514;
/// Most frames to itself that wait.
const OWN: usize = 64;

/// A buffer for a frame, whatever its length says.
type Buffer = Box<[u8; MOST_BYTES as usize]>;

/// A port that is attached.
pub struct Card<'a> {
    port: &'a Port,
    /// The frame that was taken last, in memory that only the server has.
    input: Buffer,
    sender: Sender<'a>,
    /// Whether the switch has written an index that cannot be: the port is to be attached again.
    is_broken: bool,
}

/// What frames to send go through.
struct Sender<'a> {
    port: &'a Port,
    rings: Rings,
    /// The frame that is being made.
    output: Buffer,
    /// Frames to itself, which no switch sends back.
    own: VecDeque<Vec<u8>>,
    /// Whether frames were taken or given since it was asked.
    has_moved: bool,
}

impl<'a> Card<'a> {
    /// With rings that are new.
    pub fn new(port: &'a Port, rings: Rings) -> Self {
        let buffer = || Box::new([0; MOST_BYTES as usize]);
        let sender =
            Sender { port, rings, output: buffer(), own: VecDeque::new(), has_moved: false };
        Self { port, input: buffer(), sender, is_broken: false }
    }

    /// Goes on with rings that are new.
    pub fn attach(&mut self, rings: Rings) {
        (self.sender.rings, self.is_broken) = (rings, false);
    }

    /// Asks for a notification of the next frame. Whether there is one already, or `Broken`.
    pub fn rest(&mut self) -> Result<bool, Broken> {
        if self.is_broken {
            Err(Broken)
        } else {
            Ok(self.sender.rings.input.wait(self.port.memory())? || !self.sender.own.is_empty())
        }
    }

    /// Whether frames were taken or given since this was asked before.
    pub const fn has_moved(&mut self) -> bool {
        core::mem::replace(&mut self.sender.has_moved, false)
    }

    /// Takes the next frame out of the ring: its bytes. One whose length cannot be is dropped.
    fn take(&mut self) -> Result<Option<usize>, Broken> {
        let Sender { rings, own, has_moved, .. } = &mut self.sender;
        if let Some(frame) = own.pop_front() {
            *has_moved = true;
            self.input[..frame.len()].copy_from_slice(&frame);
            return Ok(Some(frame.len()));
        }
        let memory = self.port.memory();
        while rings.input.available(memory)? > 0 {
            let slot = rings.input.slot(memory, 0)?;
            rings.input.take();
            let bytes = bytes(memory, slot).map(|bytes| bytes as usize);
            if let Some(bytes) = bytes {
                memory.read_bytes(slot + SLOT_FRAME, &mut self.input[..bytes]);
            }
            rings.input.give_back(memory, slot);
            let due = rings.input.publish(memory);
            *has_moved = true;
            // A switch that is dead asks to attach again when it lives.
            let _ = self.port.notify(due);
            if bytes.is_some() {
                return Ok(bytes);
            }
        }
        Ok(None)
    }

    /// Whether there is a slot for a frame to send. If not, the frame is sent later: smoltcp tries
    /// again, and the switch says when there is one.
    fn has_room(&mut self) -> Result<bool, Broken> {
        let output = &mut self.sender.rings.output;
        let memory = self.port.memory();
        Ok(output.room(memory)? > 0 || output.wait(memory)?)
    }
}

/// Whether a frame goes back to its sender: by its address, or as the question who has the
/// asker's own address.
fn is_to_itself(frame: &[u8]) -> bool {
    let same = |one: usize, other: usize, bytes: usize| {
        frame
            .get(one..one + bytes)
            .zip(frame.get(other..other + bytes))
            .is_some_and(|(one, other)| one == other)
    };
    let asks_by_arp = frame.get(12..14) == Some(&[0x08, 0x06]) && same(28, 38, 4);
    let asks_by_icmp = frame.get(12..14) == Some(&[0x86, 0xdd])
        && frame.get(20) == Some(&58)
        && frame.get(54) == Some(&135)
        && same(22, 62, 16);
    same(0, 6, 6) || asks_by_arp || asks_by_icmp
}

/// A frame that has come.
pub struct Receive<'a>(&'a [u8]);

/// A slot for one to send.
pub struct Send<'a, 'p>(&'a mut Sender<'p>);

impl phy::RxToken for Receive<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

impl phy::TxToken for Send<'_, '_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, f: F) -> R {
        let Sender { port, rings, output, own, has_moved } = self.0;
        let frame = &mut output[..bytes];
        let result = f(frame);
        if is_to_itself(frame) {
            if own.len() < OWN {
                own.push_back(frame.to_vec());
                *has_moved = true;
            }
        } else {
            let (memory, output) = (port.memory(), &mut rings.output);
            // `transmit` looked for room.
            if let Some(slot) = output.take() {
                memory.write_bytes(slot + SLOT_FRAME, frame);
                memory.write(slot, bytes as u32);
                output.push(memory, slot);
            }
            let due = output.publish(memory);
            let _ = port.notify(due);
            *has_moved = true;
        }
        result
    }
}

impl<'p> phy::Device for Card<'p> {
    type RxToken<'b>
        = Receive<'b>
    where
        Self: 'b;
    type TxToken<'b>
        = Send<'b, 'p>
    where
        Self: 'b;

    fn receive(&mut self, now: Instant) -> Option<(Receive<'_>, Send<'_, 'p>)> {
        // What comes may want an answer: it stays where it is until there is room for one.
        self.transmit(now)?;
        let bytes = self.take().unwrap_or_else(|Broken| {
            self.is_broken = true;
            None
        })?;
        Some((Receive(&self.input[..bytes]), Send(&mut self.sender)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Send<'_, 'p>> {
        let room = self.has_room().unwrap_or_else(|Broken| {
            self.is_broken = true;
            false
        });
        (room && !self.is_broken).then_some(Send(&mut self.sender))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ethernet, FRAME);
        capabilities
    }
}
