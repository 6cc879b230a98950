// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port of the switch as smoltcp wants a card: a frame at a time, in a buffer of the server's own.

use frames::{Broken, Shared, bytes};
use image::protocol::net::{MOST_BYTES, SLOT_FRAME};
use macadamia::alloc::vec;
use macadamia::alloc::vec::Vec;
use macadamia::net::port::{Port, Rings};
use macadamia::region::Region;
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

/// Bytes of an Ethernet frame without its check sequence.
const FRAME: usize = 1514;

/// A port that is attached.
pub struct Card<'a> {
    port: &'a Port,
    rings: Rings,
    /// Whether the switch has written an index that cannot be: the port is to be attached anew.
    is_broken: bool,
    /// Whether frames were taken or given since it was asked.
    has_moved: bool,
}

impl<'a> Card<'a> {
    /// With rings that are new.
    pub const fn new(port: &'a Port, rings: Rings) -> Self {
        Self { port, rings, is_broken: false, has_moved: false }
    }

    /// Asks for a notification of the next frame. Whether there is one already, or `Broken`.
    pub fn rest(&self) -> Result<bool, Broken> {
        if self.is_broken { Err(Broken) } else { self.rings.input.wait(self.port.memory()) }
    }

    /// Whether frames were taken or given since this was asked before.
    pub const fn has_moved(&mut self) -> bool {
        core::mem::replace(&mut self.has_moved, false)
    }

    /// The next frame, out of the ring. One whose length cannot be is dropped.
    fn take(&mut self) -> Result<Option<Vec<u8>>, Broken> {
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

/// A frame that has come.
pub struct Receive(Vec<u8>);

/// A slot for one to send.
pub struct Send<'a> {
    port: &'a Port,
    rings: &'a mut Rings,
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
        if bytes <= MOST_BYTES as usize {
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
        Some((Receive(frame?), Send { port: self.port, rings: &mut self.rings, has_moved: &mut self.has_moved }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Send<'_>> {
        let room = self.has_room().unwrap_or_else(|Broken| {
            self.is_broken = true;
            false
        });
        (room && !self.is_broken).then_some(Send { port: self.port, rings: &mut self.rings, has_moved: &mut self.has_moved })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ethernet, FRAME);
        capabilities
    }
}
