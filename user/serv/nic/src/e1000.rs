// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network card 82540EM, which QEMU and Bochs emulate (PCI/PCI-X Family of Gigabit Ethernet
//! Controllers Software Developer's Manual, 317453; the sections named here are its own). Both
//! directions have a ring of descriptors ([`Descriptors`]). Registers and descriptors have the low
//! byte of a word first.

use frames::{Address, Descriptors, Given, Little, Shared};
use image::protocol::net::{MOST_BYTES, SLOT_FRAME};
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::card::{Card, Way};
use macadamia::dma;
use macadamia::net::port::Link;
use macadamia::pci::Failed;
use macadamia::region::Region;
use macadamia::{Env, Error, Result, pci, time};

/// Most slots that a card has in one direction, every card.
pub const MOST: u32 = 256;

/// What it is on the PCI bus: Intel's 100E.
pub const IDENTITY: u32 = 0x100e_8086;
/// The base address register of its registers.
const REGISTERS: usize = 0;

const _: () = assert!(Descriptors::COUNT > MOST);

/// Offsets of registers (13.3).
mod register {
    /// Device control.
    pub const CTRL: u32 = 0;
    /// Device status.
    pub const STATUS: u32 = 8;
    /// Reads the card's own memory.
    pub const EERD: u32 = 0x14;
    /// What interrupts; a read takes it back.
    pub const ICR: u32 = 0xc0;
    /// What may interrupt, set and cleared.
    pub const IMS: u32 = 0xd0;
    /// See `IMS`.
    pub const IMC: u32 = 0xd8;
    /// Control of receiving.
    pub const RCTL: u32 = 0x100;
    /// Control of sending.
    pub const TCTL: u32 = 0x400;
    /// Gaps between frames.
    pub const TIPG: u32 = 0x410;
    /// The ring of each direction.
    pub const RINGS: [u32; 2] = [0x2800, 0x3800];
    /// In a ring's registers: physical address, low and high word.
    pub const BASE: u32 = 0;
    /// See `BASE`.
    pub const BASE_HIGH: u32 = 4;
    /// In a ring's registers: bytes.
    pub const BYTES: u32 = 8;
    /// In a ring's registers: what the card uses next.
    pub const HEAD: u32 = 0x10;
    /// In a ring's registers: after what the card was given.
    pub const TAIL: u32 = 0x18;
}

/// In `CTRL`: full duplex, the speed is found out, the link is to come up; and reset.
const CTRL_RUN: u32 = 1 | 1 << 5 | 1 << 6;
const CTRL_RESET: u32 = 1 << 26;
/// In `STATUS`.
const STATUS_UP: u32 = 1 << 1;
/// In `EERD`.
const MEMORY_READ: u32 = 1;
const MEMORY_DONE: u32 = 1 << 4;
/// In `RCTL`: on; all addresses, as the switch's clients have their own; broadcasts; without
/// checksum. Slots count as 2,048 bytes, but a longer frame than 1,522 bytes is not received (LPE
/// is 0), which they have room for.
const RECEIVE: u32 = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 15 | 1 << 26;
/// In `TCTL`: on; short frames are padded; collisions as the manual wants them (14.5).
const SEND: u32 = 1 << 1 | 1 << 3 | 0xf << 4 | 0x40 << 12;
/// Gaps of copper (14.5).
const GAPS: u32 = 10 | 8 << 10 | 6 << 20;
/// Interrupts: a frame was sent; the link changed; descriptors run out; a frame was lost; a frame
/// was received.
const SENT: u32 = 1;
const LINK: u32 = 1 << 2;
const FEW: u32 = 1 << 4;
const LOST: u32 = 1 << 6;
const RECEIVED: u32 = 1 << 7;

/// How long a reset may take, and a read of its own memory, in nanoseconds.
const RESET: u64 = 100_000_000;

/// The card. When it is dropped it is reset, and leaves memory alone.
pub struct E1000 {
    registers: Little<Region>,
    queue: Little<Region>,
    rings: [Descriptors; 2],
    /// The slots' memory, and its physical address.
    slots: (Region, u64),
    address: Address,
    /// Of each direction, whether it interrupts.
    tells: [bool; 2],
}

impl E1000 {
    /// Starts the card that was granted as `device`, with the memory `queue` (16 KiB) for
    /// descriptors and `slots`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the card or with what was granted.
    pub fn open(
        env: &Env,
        device: &str,
        queue: &str,
        slots: &str,
    ) -> core::result::Result<Self, String> {
        let registers =
            pci::registers(env, device, REGISTERS).ok_or("the card has no registers in memory")?;
        let reached = |name: &str| match (env.given(name), Region::find(env, name)) {
            (Some(given), Some(region)) if given.physical != 0 => Ok((region, given.physical)),
            _ => Err(format!(
                "no memory `{name}` that a device may reach: the description shares it with `dma = true`"
            )),
        };
        dma::uncached(env, queue)?;
        let ((queue, physical), slots) = (reached(queue)?, reached(slots)?);
        let queue = Little::new(queue);
        if queue.bytes() < 2 * Descriptors::BYTES {
            return Err(format!(
                "the memory for descriptors has {} bytes, but they need {}",
                queue.bytes(),
                2 * Descriptors::BYTES
            ));
        }
        let rings = [0, Descriptors::BYTES].map(Descriptors::new);
        let mut card =
            Self { registers, queue, rings, slots, address: Address([0; 6]), tells: [true, false] };
        card.reset()?;
        let [[a, b], [c, d], [e, f]] =
            [card.memory_word(0)?, card.memory_word(1)?, card.memory_word(2)?]
                .map(u16::to_le_bytes);
        card.address = Address([a, b, c, d, e, f]);
        card.begin(physical);
        Ok(card)
    }

    /// Neither interrupts nor touches memory any more. What it had begun is done when the read
    /// returns.
    fn quiesce(&self) {
        self.registers.write(register::IMC, u32::MAX);
        self.registers.write(register::RCTL, 0);
        self.registers.write(register::TCTL, 0);
        self.registers.read(register::STATUS);
    }

    /// Resets the card (14.3).
    fn reset(&self) -> core::result::Result<(), String> {
        self.quiesce();
        let control = self.registers.read(register::CTRL);
        self.registers.write(register::CTRL, control | CTRL_RESET);
        let end = time::now() + RESET;
        while self.registers.read(register::CTRL) & CTRL_RESET != 0 {
            if time::now() > end {
                return Err("the card does not come back from a reset".into());
            }
        }
        // A card that does no more for a reset than to take the order back is quiet, too.
        self.quiesce();
        self.registers.read(register::ICR);
        Ok(())
    }

    /// A word of the card's own memory (13.4.4), whose first three are its address (5.6.1).
    fn memory_word(&self, number: u32) -> core::result::Result<u16, String> {
        self.registers.write(register::EERD, number << 8 | MEMORY_READ);
        let end = time::now() + RESET;
        loop {
            let answer = self.registers.read(register::EERD);
            if answer & MEMORY_DONE != 0 {
                return Ok((answer >> 16) as u16);
            }
            if time::now() > end {
                return Err("the card does not tell its address".into());
            }
        }
    }

    /// Empty rings, then both directions are on.
    fn begin(&self, physical: u64) {
        (0..2 * Descriptors::BYTES).step_by(4).for_each(|at| self.queue.write(at, 0));
        self.queue.fence();
        for (base, ring) in register::RINGS.into_iter().zip(&self.rings) {
            let first = physical + u64::from(ring.start());
            self.registers.write(base + register::BASE, first as u32);
            self.registers.write(base + register::BASE_HIGH, (first >> 32) as u32);
            self.registers.write(base + register::BYTES, Descriptors::BYTES);
            self.registers.write(base + register::HEAD, 0);
            self.registers.write(base + register::TAIL, 0);
        }
        self.registers.write(register::CTRL, self.registers.read(register::CTRL) | CTRL_RUN);
        self.registers.write(register::TIPG, GAPS);
        self.registers.write(register::TCTL, SEND);
        self.registers.write(register::RCTL, RECEIVE);
        self.registers.write(register::IMS, LINK | FEW | LOST | RECEIVED);
    }
}

impl Card for E1000 {
    fn link(&self) -> Link {
        Link {
            address: self.address,
            is_up: self.registers.read(register::STATUS) & STATUS_UP != 0,
        }
    }

    fn acknowledge(&mut self) -> bool {
        self.registers.read(register::ICR) & LINK != 0
    }

    fn interrupts(&mut self, way: Way, enable: bool) {
        if core::mem::replace(&mut self.tells[way as usize], enable) != enable {
            let what = if way == Way::Send { SENT } else { RECEIVED };
            self.registers.write(if enable { register::IMS } else { register::IMC }, what);
        }
    }

    fn start(&mut self, way: Way, slot: u32, bytes: u32) -> Result<()> {
        let (slots, physical) = &self.slots;
        let ring = &mut self.rings[way as usize];
        if bytes > MOST_BYTES || slot > slots.bytes().saturating_sub(SLOT_FRAME + MOST_BYTES) {
            return Err(Error::BadArgument);
        }
        if ring.is_full() {
            return Err(Error::BadState);
        }
        slots.hand_over(slot + SLOT_FRAME, bytes, way.by_device())?;
        let what = if way == Way::Send { Given::Filled(bytes) } else { Given::Empty };
        ring.give(&self.queue, (slot, *physical + u64::from(slot + SLOT_FRAME)), what);
        Ok(())
    }

    fn kick(&mut self, way: Way) {
        self.queue.fence();
        self.registers
            .write(register::RINGS[way as usize] + register::TAIL, self.rings[way as usize].tail());
    }

    fn finish(&mut self, way: Way) -> core::result::Result<Option<(u32, u32)>, Failed> {
        Ok(self.rings[way as usize].take(&self.queue))
    }
}

impl Drop for E1000 {
    fn drop(&mut self) {
        self.quiesce();
    }
}
