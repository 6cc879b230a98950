// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtio block device (Virtual I/O Device 1.2, 5.2). Every transfer goes from the buffer's start.

use super::{BUFFER, Dma, Failed, Opened, PAGE, QUEUE_AREA, open};
use crate::{Env, Error, Result};
use alloc::format;
use alloc::string::String;
use bitflags::bitflags;
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::pci::PciTransport;
use virtio_drivers::transport::{DeviceType, Transport};

/// Bytes of a sector, whatever the device's own block is.
pub const SECTOR: u32 = 512;

/// The device's only queue, and its length: one request is under way at a time, of three parts.
const QUEUE: u16 = 0;
const QUEUE_LENGTH: usize = 4;

/// In the queue's last page: type, a zero, the first sector (low, high word); then the status.
const HEAD_BYTES: u32 = 16;

/// What a device can be asked for; sectors are numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Read sectors to the start of the buffer.
    Read {
        /// The first.
        first: u64,
        /// How many, at least one.
        count: u32,
    },
    /// Write sectors from the start of the buffer.
    Write {
        /// The first.
        first: u64,
        /// How many, at least one.
        count: u32,
    },
    /// What was written is on the disk when this is done.
    Flush,
}

impl Request {
    /// As the device numbers it, with the first sector and the bytes of the transfer.
    fn coded(self) -> Option<(u32, u64, u32)> {
        let bytes = |count: u32| count.checked_mul(SECTOR).filter(|bytes| *bytes > 0 && *bytes <= BUFFER.bytes());
        Some(match self {
            Self::Read { first, count } => (0, first, bytes(count)?),
            Self::Write { first, count } => (1, first, bytes(count)?),
            Self::Flush => (4, 0, 0),
        })
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
    queue: VirtQueue<Dma, QUEUE_LENGTH>,
    _opened: Opened,
    sectors: u64,
    has_cache: bool,
    /// What is under way, and the queue's name for it.
    running: Option<(Request, u16)>,
}

impl Block {
    /// Starts the device that was granted as `device`, with the areas `queue` (16 KiB) and `buffer`.
    /// `None` if the machine has no such device. A component has one device open at a time.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the device or with what was granted.
    pub fn open(env: &Env, device: &str, queue: &str, buffer: &str) -> core::result::Result<Option<Self>, String> {
        let Some((mut transport, opened)) = open(env, DeviceType::Block, [device, queue, buffer])? else { return Ok(None) };
        let agreed = transport.begin_init(Features::all());
        let word = |at| transport.read_config_space::<u32>(at);
        let capacity = transport.read_consistent(|| Ok([word(CAPACITY)?, word(CAPACITY + 4)?]));
        let queue = VirtQueue::new(&mut transport, QUEUE, false, false);
        let ([low, high], queue) = capacity.and_then(|capacity| Ok((capacity, queue?))).map_err(|error| format!("{error}"))?;
        transport.finish_init();
        let sectors = u64::from(high) << 32 | u64::from(low);
        Ok(Some(Self { transport, queue, _opened: opened, sectors, has_cache: agreed.contains(Features::FLUSH), running: None }))
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

    /// Begins to carry out a request; the device's interrupt tells when to call [`Block::finish`].
    ///
    /// # Errors
    /// `BadState` while another is under way, `BadArgument` if the buffer is too small or the request
    /// empty. What is beyond the device's end it refuses itself.
    pub fn start(&mut self, request: Request) -> Result<()> {
        if self.running.is_some() {
            return Err(Error::BadState);
        }
        let (kind, first, bytes) = request.coded().ok_or(Error::BadArgument)?;
        let head = [kind, 0, first as u32, (first >> 32) as u32];
        // SAFETY: inside the queue's last page, which is aligned, and the device has no request.
        unsafe { head_pointer().cast::<[u32; 4]>().write_volatile(head) };
        // SAFETY: as before.
        unsafe { status_pointer().write_volatile(u8::MAX) };
        let queue = &mut self.queue;
        // SAFETY: the parts stay where they are, and nothing here touches them until `finish` pops them.
        let added = with_parts(request, bytes, |inputs, outputs| unsafe { queue.add(inputs, outputs) });
        self.running = Some((request, added.map_err(|_| Error::BadState)?));
        self.transport.notify(QUEUE);
        Ok(())
    }

    /// Takes the device's interrupt back, and what came of the request if it is done.
    pub fn finish(&mut self) -> Option<core::result::Result<(), Failed>> {
        self.transport.ack_interrupt();
        let (request, token) = self.running?;
        let bytes = request.coded().map_or(0, |(_, _, bytes)| bytes);
        self.queue.peek_used()?;
        let queue = &mut self.queue;
        // SAFETY: the same parts as in `start`. If the device names another request, they stay the queue's.
        let popped = with_parts(request, bytes, |inputs, outputs| unsafe { queue.pop_used(token, inputs, outputs) });
        if popped.is_err() {
            return Some(Err(Failed));
        }
        self.running = None;
        // SAFETY: inside the queue's last page; the device is done with it.
        let status = unsafe { status_pointer().read_volatile() };
        Some(if status == 0 { Ok(()) } else { Err(Failed) })
    }
}

/// Offset of the capacity in the device's configuration.
const CAPACITY: usize = 0;

fn head_pointer() -> *mut u8 {
    QUEUE_AREA.pointer(QUEUE_AREA.bytes() - PAGE)
}

fn status_pointer() -> *mut u8 {
    QUEUE_AREA.pointer(QUEUE_AREA.bytes() - PAGE + HEAD_BYTES)
}

/// The parts of a request as the queue wants them: what the device reads, and what it writes.
fn with_parts<T>(request: Request, bytes: u32, act: impl for<'a> FnOnce(&'a [&'a [u8]], &'a mut [&'a mut [u8]]) -> T) -> T {
    let head = QUEUE_AREA.part(QUEUE_AREA.bytes() - PAGE, HEAD_BYTES);
    let status = QUEUE_AREA.part(QUEUE_AREA.bytes() - PAGE + HEAD_BYTES, 1);
    let data = BUFFER.part(0, bytes);
    match request {
        Request::Read { .. } => act(&[head], &mut [data, status]),
        Request::Write { .. } => act(&[head, data], &mut [status]),
        Request::Flush => act(&[head], &mut [status]),
    }
}
