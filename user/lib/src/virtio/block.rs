// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtio block device (Virtual I/O Device 1.2, 5.2), which transfers between the disk and
//! buffers.

use super::{BUFFERS, Dma, Opened, PAGE, QUEUE_AREA, acknowledge, open};
use crate::dma::Use;
use crate::pci::Failed;
use crate::{Env, Error, Result};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use bitflags::bitflags;
use core::result::Result as Answer;
use image::protocol::disk::SECTOR;
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::pci::PciTransport;
use virtio_drivers::transport::{DeviceType, Transport};

/// The device's only queue, and its length: a request has up to three parts.
const QUEUE: u16 = 0;
const LENGTH: usize = 256;

/// What the queue's last page has: a head for each request (type, a zero, the first sector: low,
/// high word), a status for each, and a sector for the driver's own use.
const HEAD_BYTES: u32 = 16;
const STATUSES: u32 = Block::MOST * HEAD_BYTES;
const OWN: u32 = PAGE - SECTOR;

/// Where the data of a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In a buffer, of this number in the order in which they were named, from this offset on.
    Buffer(usize, u32),
    /// One sector that nobody else sees ([`Block::own_sector`]).
    Own,
}

/// What a device can be asked for; sectors are numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Read sectors.
    Read {
        /// The first.
        first: u64,
        /// How many, at least one.
        count: u32,
        /// Where to.
        to: Place,
    },
    /// Write sectors.
    Write {
        /// The first.
        first: u64,
        /// How many, at least one.
        count: u32,
        /// Where from.
        from: Place,
    },
    /// What was written is on the disk when this is done.
    Flush,
}

/// What a request is to the queue.
#[derive(Clone, Copy)]
struct Parts {
    /// Which head and status it has.
    number: u32,
    kind: u32,
    first: u64,
    data: Place,
    bytes: u32,
}

/// Types of requests.
const IN: u32 = 0;
const OUT: u32 = 1;
const FLUSH: u32 = 4;

impl Parts {
    /// `None` if the data is not in its place.
    fn of(number: u32, request: Request) -> Option<Self> {
        let (kind, first, count, data) = match request {
            Request::Read { first, count, to } => (IN, first, count, to),
            Request::Write { first, count, from } => (OUT, first, count, from),
            Request::Flush => {
                return (number < Block::MOST).then_some(Self {
                    number,
                    kind: FLUSH,
                    first: 0,
                    data: Place::Own,
                    bytes: 0,
                });
            }
        };
        let bytes = count.checked_mul(SECTOR).filter(|bytes| *bytes > 0)?;
        let is_inside = match data {
            Place::Own => bytes <= SECTOR,
            Place::Buffer(buffer, offset) => {
                offset.checked_add(bytes)? <= BUFFERS.get(buffer)?.bytes()
            }
        };
        (is_inside && number < Block::MOST).then_some(Self { number, kind, first, data, bytes })
    }

    /// The parts as the queue wants them: what the device reads, and what it writes.
    fn with<T>(self, act: impl for<'a> FnOnce(&'a [&'a [u8]], &'a mut [&'a mut [u8]]) -> T) -> T {
        let last = QUEUE_AREA.bytes() - PAGE;
        let head = QUEUE_AREA.part(last + self.number * HEAD_BYTES, HEAD_BYTES);
        let status = QUEUE_AREA.part(last + STATUSES + self.number, 1);
        let data = match self.data {
            Place::Own => QUEUE_AREA.part(last + OWN, self.bytes),
            Place::Buffer(buffer, offset) => BUFFERS[buffer].part(offset, self.bytes),
        };
        match self.kind {
            IN => act(&[head], &mut [data, status]),
            OUT => act(&[head, data], &mut [status]),
            _ => act(&[head], &mut [status]),
        }
    }
}

bitflags! {
    /// What device and driver agree on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Features: u64 {
        /// The device has a cache and can be told to empty it.
        const FLUSH = 1 << 9;
        /// The interface of version 1.
        const VERSION_1 = 1 << 32;
    }
}

/// The device. When it is dropped it is reset, and leaves memory alone.
pub struct Block {
    // In this order: the device goes before the queue.
    transport: PciTransport,
    queue: VirtQueue<Dma, LENGTH>,
    _opened: Opened,
    sectors: u64,
    has_cache: bool,
    /// By the queue's name for a request.
    under_way: Box<[Option<Parts>]>,
    /// The numbers that are in use, a bit each.
    numbers: u64,
    /// Whether it does nothing any more.
    has_stopped: bool,
}

impl Block {
    /// Most requests that are under way.
    pub const MOST: u32 = 64;

    /// Starts the device that was granted as `device`, with the area `queue` (16 KiB) and these
    /// buffers. `None` if the machine has no such device. A component has one device open at a
    /// time.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the device or with what was granted.
    pub fn open(
        env: &Env,
        device: &str,
        queue: &str,
        buffers: &[impl AsRef<str>],
    ) -> Answer<Option<Self>, String> {
        let Some((mut transport, opened)) = open(env, DeviceType::Block, [device, queue], buffers)?
        else {
            return Ok(None);
        };
        let agreed = transport.begin_init(Features::all());
        let word = |at| transport.read_config_space::<u32>(at);
        let capacity = transport.read_consistent(|| Ok([word(CAPACITY)?, word(CAPACITY + 4)?]));
        let queue = VirtQueue::new(&mut transport, QUEUE, false, false);
        let ([low, high], queue) = capacity
            .and_then(|capacity| Ok((capacity, queue?)))
            .map_err(|error| format!("{error}"))?;
        transport.finish_init();
        let sectors = u64::from(high) << 32 | u64::from(low);
        let has_cache = agreed.contains(Features::FLUSH);
        let under_way = vec![None; LENGTH].into_boxed_slice();
        Ok(Some(Self {
            transport,
            queue,
            _opened: opened,
            sectors,
            has_cache,
            under_way,
            numbers: 0,
            has_stopped: false,
        }))
    }

    /// Sectors of the device.
    #[must_use]
    pub const fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Whether what was written may be lost until a [`Request::Flush`]; without a cache there is no
    /// such request.
    #[must_use]
    pub const fn has_cache(&self) -> bool {
        self.has_cache
    }

    /// Prepares a request of a number below [`Block::MOST`] that no request under way has;
    /// [`Block::kick`] begins it, and the device's interrupt tells when to call [`Block::finish`].
    ///
    /// # Errors
    /// `BadState` if the number is in use, `BadArgument` if it is too large, or the request's data
    /// is not in its place; what the kernel says of the caches. What is beyond the device's end it
    /// refuses itself.
    pub fn start(&mut self, number: u32, request: Request) -> Result<()> {
        let parts = Parts::of(number, request).ok_or(Error::BadArgument)?;
        if self.numbers >> number & 1 != 0 {
            return Err(Error::BadState);
        }
        if let Place::Buffer(buffer, offset) = parts.data {
            BUFFERS[buffer].hand_over(
                offset,
                parts.bytes,
                if parts.kind == IN { Use::Writes } else { Use::Reads },
            )?;
        }
        let head = [parts.kind, 0, parts.first as u32, (parts.first >> 32) as u32].map(u32::to_le);
        let last = QUEUE_AREA.bytes() - PAGE;
        // SAFETY: inside the queue's last page, which is aligned, and the device has no request of
        // this number.
        unsafe {
            QUEUE_AREA.pointer(last + number * HEAD_BYTES).cast::<[u32; 4]>().write_volatile(head)
        };
        // SAFETY: as before.
        unsafe { QUEUE_AREA.pointer(last + STATUSES + number).write_volatile(u8::MAX) };
        let queue = &mut self.queue;
        // SAFETY: the parts stay where they are, and nothing here touches them until `finish` pops
        // them; others who see a buffer harm only the data.
        let added = parts.with(|inputs, outputs| unsafe { queue.add(inputs, outputs) });
        let token = added.map_err(|_| Error::BadState)?;
        self.under_way[usize::from(token)] = Some(parts);
        self.numbers |= 1 << number;
        Ok(())
    }

    /// Tells the device of requests, if it does not look by itself.
    pub fn kick(&mut self) {
        if self.queue.should_notify() {
            self.transport.notify(QUEUE);
        }
    }

    /// Takes the device's interrupt back.
    pub fn acknowledge(&mut self) {
        self.has_stopped |= acknowledge(&mut self.transport).1;
    }

    /// The number of a request that the device is done with, and whether it did it.
    ///
    /// # Errors
    /// [`Failed`] if the device returns what it was not given, or says that it needs a reset: it is
    /// not to be trusted any more.
    pub fn finish(&mut self) -> Answer<Option<(u32, bool)>, Failed> {
        if self.has_stopped {
            return Err(Failed);
        }
        let Some(token) = self.queue.peek_used() else { return Ok(None) };
        let parts =
            self.under_way.get_mut(usize::from(token)).and_then(Option::take).ok_or(Failed)?;
        let queue = &mut self.queue;
        // SAFETY: the same parts as in `start`.
        let popped =
            parts.with(|inputs, outputs| unsafe { queue.pop_used(token, inputs, outputs) });
        popped.map_err(|_| Failed)?;
        self.numbers &= !(1 << parts.number);
        // SAFETY: inside the queue's last page; the device is done with it.
        let status = unsafe {
            QUEUE_AREA.pointer(QUEUE_AREA.bytes() - PAGE + STATUSES + parts.number).read_volatile()
        };
        Ok(Some((parts.number, status == 0)))
    }

    /// What is in the sector that nobody else sees.
    #[must_use]
    pub fn own_sector(&self) -> [u8; SECTOR as usize] {
        let at = QUEUE_AREA.bytes() - SECTOR;
        // SAFETY: inside the queue's last page; all bits are bytes, whatever the device writes
        // meanwhile.
        unsafe { QUEUE_AREA.pointer(at).cast::<[u8; SECTOR as usize]>().read_volatile() }
    }
}

/// Offset of the capacity in the device's configuration.
const CAPACITY: usize = 0;
