// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port of the switch as smoltcp wants a card: a frame at a time, in a buffer of the server's own.

use frames::{Broken, Shared, bytes};
use image::protocol::net::{MOST_BYTES, SLOT_FRAME};
use macadamia::alloc::collections::VecDeque;
use macadamia::alloc::vec;
use macadamia::alloc::vec::Vec;
use macadamia::net::port::{Port, Rings};
use macadamia::region::Region;
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

/// Bytes of an Ethernet frame without its check sequence.
const FRAME: usize = 1514;
/// Most frames to itself that wait.
const OWN: usize = 64;

/// A port that is attached.
pub struct Card<'a> {
    port: &'a Port,
    rings: Rings,
    /// Frames to itself, which no switch sends back.
    own: VecDeque<Vec<u8>>,
    /// Whether the switch has written an index that cannot be: the port is to be attached anew.
    is_broken: bool,
    /// Whether frames were taken or given since it was asked.
    has_moved: bool,
}

impl<'a> Card<'a> {
    /// With rings that are new.
    pub const fn new(port: &'a Port, rings: Rings) -> Self {
        Self { port, rings, own: VecDeque::new(), is_broken: false, has_moved: false }
    }

    /// Goes on with rings that are new.
    pub const fn attach(&mut self, rings: Rings) {
        (self.rings, self.is_broken) = (rings, false);
    }

    /// Asks for a notification of the next frame. Whether there is one already, or `Broken`.
    pub fn rest(&self) -> Result<bool, Broken> {
        if self.is_broken { Err(Broken) } else { Ok(self.rings.input.wait(self.port.memory())? || !self.own.is_empty()) }
    }

    /// Whether frames were taken or given since this was asked before.
    pub const fn has_moved(&mut self) -> bool {
        core::mem::replace(&mut self.has_moved, false)
    }

    /// The next frame, out of the ring. One whose length cannot be is dropped.
    fn take(&mut self) -> Result<Option<Vec<u8>>, Broken> {
        if let Some(frame) = self.own.pop_front() {
            self.has_moved = true;
            return Ok(Some(frame));
        }
        let memory = self.port.memory();
        let input = &mut self.rings.input;
        while input.available(memory)? > 0 {
            let slot = input.slot(0);
            let frame = bytes(memory, slot).map(|bytes| {
                let mut frame = vec![0; bytes as usize];
                memory.read_bytes(slot + SLOT_FRAME, &mut frame);
                frame
            });
            let due = input.release(memory, 1);
            self.has_moved = true;
            // A switch that is dead asks to attach again when it lives.
            let _ = self.port.notify(due);
            if frame.is_some() {
                return Ok(frame);
            }
        }
        Ok(None)
    }

    /// Whether there is a slot for a frame to send. If not, the frame is sent later: smoltcp tries again, and the switch says
    /// when there is one.
    fn has_room(&self) -> Result<bool, Broken> {
        let output = &self.rings.output;
        let memory = self.port.memory();
        Ok(output.room(memory)? > 0 || output.wait(memory)?)
    }
}

/// Whether a frame goes to whom it comes from: by its address, or as the question who has the asker's own address.
fn is_to_itself(frame: &[u8]) -> bool {
    let same = |one: usize, other: usize, bytes: usize| {
        frame.get(one..one + bytes).zip(frame.get(other..other + bytes)).is_some_and(|(one, other)| one == other)
    };
    let asks_by_arp = frame.get(12..14) == Some(&[0x08, 0x06]) && same(28, 38, 4);
    let asks_by_icmp =
        frame.get(12..14) == Some(&[0x86, 0xdd]) && frame.get(20) == Some(&58) && frame.get(54) == Some(&135) && same(22, 62, 16);
    same(0, 6, 6) || asks_by_arp || asks_by_icmp
}

/// A frame that has come.
pub struct Receive(Vec<u8>);

/// A slot for one to send.
pub struct Send<'a> {
    port: &'a Port,
    rings: &'a mut Rings,
    own: &'a mut VecDeque<Vec<u8>>,
    has_moved: &'a mut bool,
}

impl phy::RxToken for Receive {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl phy::TxToken for Send<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, f: F) -> R {
        let mut frame = vec![0; bytes];
        let result = f(&mut frame);
        let (memory, output): (&Region, _) = (self.port.memory(), &mut self.rings.output);
        if is_to_itself(&frame) {
            if self.own.len() < OWN {
                self.own.push_back(frame);
                *self.has_moved = true;
            }
        } else if bytes <= MOST_BYTES as usize {
            let slot = output.slot(0);
            memory.write_bytes(slot + SLOT_FRAME, &frame);
            memory.write(slot, bytes as u32);
            let due = output.publish(memory, 1);
            let _ = self.port.notify(due);
            *self.has_moved = true;
        }
        result
    }
}

impl phy::Device for Card<'_> {
    type RxToken<'b>
        = Receive
    where
        Self: 'b;
    type TxToken<'b>
        = Send<'b>
    where
        Self: 'b;

    fn receive(&mut self, now: Instant) -> Option<(Receive, Send<'_>)> {
        // What comes may want an answer: it stays where it is until there is room for one.
        self.transmit(now)?;
        let frame = self.take().unwrap_or_else(|Broken| {
            self.is_broken = true;
            None
        });
        Some((Receive(frame?), Send { port: self.port, rings: &mut self.rings, own: &mut self.own, has_moved: &mut self.has_moved }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Send<'_>> {
        let room = self.has_room().unwrap_or_else(|Broken| {
            self.is_broken = true;
            false
        });
        (room && !self.is_broken).then_some(Send {
            port: self.port,
            rings: &mut self.rings,
            own: &mut self.own,
            has_moved: &mut self.has_moved,
        })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ethernet, FRAME);
        capabilities
    }
}
