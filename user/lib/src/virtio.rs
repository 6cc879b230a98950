// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtio block device on PCI (Virtual I/O Device 1.2, 5.2), by the crate `virtio-drivers`.
//!
//! The device reads and writes two pieces of memory: the *queue*, which is the component's alone,
//! and the *buffer*, which others may see, too, and from whose start every transfer goes. Both are
//! shared memory of the description with `dma = true`. No IOMMU keeps the device to them, so
//! whoever drives a device is trusted with all memory.

use crate::map::grants;
use crate::pci::View;
use crate::{Env, Error, Result};
use alloc::format;
use alloc::string::String;
use bitflags::bitflags;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::pci::PciTransport;
use virtio_drivers::transport::pci::bus::{DeviceFunction, PciRoot};
use virtio_drivers::transport::{DeviceType, Transport};
use virtio_drivers::{BufferDirection, Hal, PhysAddr};

/// Bytes of a sector, whatever the device's own block is.
pub const SECTOR: u32 = 512;

const PAGE: u32 = abi::PAGE_SIZE;
/// The device's only queue, and its length: one request is under way at a time, of three parts.
const QUEUE: u16 = 0;
const QUEUE_LENGTH: usize = 4;

/// A piece of memory that the device reaches. It is mapped in [`grants`],
/// where no Rust object lies.
struct Area {
    address: AtomicU32,
    bytes: AtomicU32,
    physical: AtomicU32,
}

/// The queue: pages for the crate from its start, a request's head and status in its last page.
static QUEUE_AREA: Area = Area::new();
static BUFFER: Area = Area::new();
/// Bytes at the queue's start that the crate has.
static TAKEN: AtomicU32 = AtomicU32::new(0);
/// A component drives one device: the crate's [`Hal`] has no other place for its state.
static OPEN: AtomicBool = AtomicBool::new(false);

/// In the queue's last page: type, a zero, the first sector (low, high word); then the status.
const HEAD_BYTES: u32 = 16;

impl Area {
    const fn new() -> Self {
        Self { address: AtomicU32::new(0), bytes: AtomicU32::new(0), physical: AtomicU32::new(0) }
    }

    fn set(&self, env: &Env, name: &str) -> core::result::Result<(), String> {
        match env.given(name) {
            Some(given) if given.physical != 0 => {
                self.address.store(given.address, Ordering::Relaxed);
                self.bytes.store(given.bytes, Ordering::Relaxed);
                self.physical.store(given.physical, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(format!("no memory `{name}` that a device may reach: the description shares it with `dma = true`")),
        }
    }

    fn bytes(&self) -> u32 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn pointer(&self, offset: u32) -> *mut u8 {
        assert!(offset < self.bytes(), "offset {offset:#x} of an area of {:#x} bytes", self.bytes());
        (self.address.load(Ordering::Relaxed) + offset) as *mut u8
    }

    /// The physical address of what lies at a linear one.
    fn physical(&self, address: u32) -> Option<u32> {
        let offset = address.checked_sub(self.address.load(Ordering::Relaxed)).filter(|offset| *offset < self.bytes())?;
        Some(self.physical.load(Ordering::Relaxed) + offset)
    }

    /// A part as the crate's queue wants it, which takes nothing of it but where it is.
    fn part(&self, offset: u32, bytes: u32) -> &'static mut [u8] {
        assert!(bytes <= self.bytes() && offset <= self.bytes() - bytes, "{bytes:#x} bytes from {offset:#x} on");
        // SAFETY: mapped for as long as the component lives, and no Rust object; neither the queue nor
        // this module reads or writes through it.
        unsafe { core::slice::from_raw_parts_mut(self.pointer(offset), bytes as usize) }
    }
}

/// Memory and addresses for the crate.
struct Dma;

// SAFETY: `dma_alloc` hands out whole zeroed pages of the queue, each once; addresses of registers are
// those of the component's own device (`View`), which is opened once; both lie where no Rust object does.
unsafe impl Hal for Dma {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        const NONE: (PhysAddr, NonNull<u8>) = (0, NonNull::dangling());
        let from = TAKEN.load(Ordering::Relaxed);
        // The last page is not the crate's.
        let room = QUEUE_AREA.bytes().saturating_sub(PAGE).saturating_sub(from);
        let Some(bytes) = u32::try_from(pages).ok().and_then(|pages| pages.checked_mul(PAGE)).filter(|bytes| *bytes <= room) else {
            return NONE;
        };
        let Some(pointer) = NonNull::new(QUEUE_AREA.pointer(from)) else { return NONE };
        TAKEN.store(from + bytes, Ordering::Relaxed);
        // SAFETY: inside the queue, and nobody else's from here on; it may hold what was there before a restart.
        unsafe { pointer.write_bytes(0, bytes as usize) };
        (QUEUE_AREA.physical(pointer.as_ptr() as u32).map_or(0, PhysAddr::from), pointer)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        // With the device it served its time: there is no second one.
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, bytes: usize) -> NonNull<u8> {
        // `View` says where the ranges are mapped.
        let (grants, end) = (grants(), address.checked_add(bytes as PhysAddr));
        assert!(address >= grants.start.into() && end.is_some_and(|end| end <= grants.end.into()), "registers at {address:#x}");
        NonNull::new(address as usize as *mut u8).unwrap_or(NonNull::dangling())
    }

    unsafe fn share(part: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        let address = part.cast::<u8>().as_ptr() as u32;
        match QUEUE_AREA.physical(address).or_else(|| BUFFER.physical(address)) {
            Some(physical) => physical.into(),
            None => panic!("no device reaches {address:#x}"),
        }
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

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

/// The device says that it could not carry out a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed;

/// The device. When it is dropped it is reset, and leaves memory alone.
pub struct Block {
    // In this order: the device goes before the queue.
    transport: PciTransport,
    queue: VirtQueue<Dma, QUEUE_LENGTH>,
    sectors: u64,
    has_cache: bool,
    /// What is under way, and the queue's name for it.
    running: Option<(Request, u16)>,
}

impl Block {
    /// Starts the device that was granted as `device`, with the areas `queue` (16 KiB) and `buffer`.
    /// `None` if the machine has no such device. To be called once.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the device or with what was granted.
    pub fn open(env: &Env, device: &str, queue: &str, buffer: &str) -> core::result::Result<Option<Self>, String> {
        let Some(device) = env.start.pci.iter().find(|found| found.name == device) else { return Ok(None) };
        if OPEN.swap(true, Ordering::Relaxed) {
            return Err("a component drives one device".into());
        }
        QUEUE_AREA.set(env, queue)?;
        BUFFER.set(env, buffer)?;
        let here = DeviceFunction { bus: 0, device: 0, function: 0 };
        let mut transport =
            PciTransport::new::<Dma, _>(&mut PciRoot::new(View(device.clone())), here).map_err(|error| format!("{error}"))?;
        if transport.device_type() != DeviceType::Block {
            return Err(format!("a {:?}, not a block device", transport.device_type()));
        }
        let agreed = transport.begin_init(Features::all());
        let word = |at| transport.read_config_space::<u32>(at);
        let capacity = transport.read_consistent(|| Ok([word(CAPACITY)?, word(CAPACITY + 4)?]));
        let queue = VirtQueue::new(&mut transport, QUEUE, false, false);
        let ([low, high], queue) = capacity.and_then(|capacity| Ok((capacity, queue?))).map_err(|error| format!("{error}"))?;
        transport.finish_init();
        let sectors = u64::from(high) << 32 | u64::from(low);
        Ok(Some(Self { transport, queue, sectors, has_cache: agreed.contains(Features::FLUSH), running: None }))
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
