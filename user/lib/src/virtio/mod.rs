// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtio devices on PCI (Virtual I/O Device 1.2), by the crate `virtio-drivers`.
//!
//! A device reads and writes pieces of memory: the *queue*, which only the component has,
//! and *buffers*, which others may see, too. They are shared memory of the description with
//! `dma = true` ([`dma`]). No IOMMU keeps the device to them, so a component that drives a device
//! is trusted with all memory.

mod block;
mod folder;
mod input;
mod net;

pub use block::{Block, Place, Request};
pub use folder::Folder;
pub use input::Tablet;
pub use net::Net;

use crate::dma::{self, Use};
use crate::map::grants;
use crate::{Env, Result, Word};
use alloc::format;
use alloc::string::String;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use image::pci::Device;
use virtio_drivers::transport::pci::PciTransport;
use virtio_drivers::transport::pci::bus::{ConfigurationAccess, DeviceFunction, PciRoot};
use virtio_drivers::transport::{DeviceStatus, DeviceType, InterruptStatus, Transport};
use virtio_drivers::{BufferDirection, Hal, PhysAddr};

const PAGE: u32 = abi::PAGE_SIZE as u32;

/// A piece of memory that the device reaches. It is mapped in [`grants`],
/// where no Rust object lies.
struct Area {
    address: AtomicU32,
    bytes: AtomicU32,
    /// Low and high word: not every processor writes 64 bits at once.
    physical: [AtomicU32; 2],
}

/// Pages for the crate from its start; what the driver has for itself is in its last page.
static QUEUE_AREA: Area = Area::new();
static BUFFERS: [Area; MOST_BUFFERS] = [const { Area::new() }; MOST_BUFFERS];
/// As many as a component can share with others that notify it.
const MOST_BUFFERS: usize = 20;
/// Bytes at the queue's start that the crate has.
static TAKEN: AtomicU32 = AtomicU32::new(0);
/// A component drives one device: the crate's [`Hal`] has no other place for its state.
static OPEN: AtomicBool = AtomicBool::new(false);

/// That the device is open. When this is dropped, it may be opened again; its owner drops it
/// after all that uses the queue.
struct Opened;

impl Drop for Opened {
    fn drop(&mut self) {
        TAKEN.store(0, Ordering::Relaxed);
        OPEN.store(false, Ordering::Relaxed);
    }
}

/// The one device of a component, as the crate `virtio-drivers` wants it: at any address.
struct View(Device);

impl ConfigurationAccess for View {
    fn read_word(&self, _: DeviceFunction, offset: u8) -> u32 {
        self.0.read(offset)
    }

    fn write_word(&mut self, _: DeviceFunction, offset: u8, value: u32) {
        self.0.write(offset, value);
    }

    unsafe fn unsafe_clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The device that was granted as `device`, with the area `queue` and these buffers. `None` if the
/// machine has no such device. The transport resets it when it is dropped.
fn open(
    env: &Env,
    kind: DeviceType,
    [device, queue]: [&str; 2],
    buffers: &[impl AsRef<str>],
) -> core::result::Result<Option<(PciTransport, Opened)>, String> {
    let Some(device) = env.start.pci.iter().find(|found| found.name == device) else {
        return Ok(None);
    };
    if OPEN.swap(true, Ordering::Relaxed) {
        return Err("a component drives one device".into());
    }
    let opened = Opened;
    QUEUE_AREA.set(env, queue)?;
    dma::uncached(env, queue)?;
    if buffers.len() > MOST_BUFFERS {
        return Err(format!("a device has {MOST_BUFFERS} buffers"));
    }
    for (area, name) in BUFFERS.iter().zip(buffers) {
        area.set(env, name.as_ref())?;
    }
    let here = DeviceFunction { bus: 0, device: 0, function: 0 };
    let transport = PciTransport::new::<Dma, _>(&mut PciRoot::new(View(device.clone())), here)
        .map_err(|error| format!("{error}"))?;
    if transport.device_type() != kind {
        return Err(format!("a {:?}, not a {kind:?} device", transport.device_type()));
    }
    Ok(Some((transport, opened)))
}

impl Area {
    const fn new() -> Self {
        let physical = [const { AtomicU32::new(0) }; 2];
        Self { address: AtomicU32::new(0), bytes: AtomicU32::new(0), physical }
    }

    fn set(&self, env: &Env, name: &str) -> core::result::Result<(), String> {
        match env.given(name) {
            Some(given) if given.physical != 0 => {
                self.address.store(given.address as u32, Ordering::Relaxed);
                self.bytes.store(given.bytes, Ordering::Relaxed);
                let words = [given.physical as u32, (given.physical >> 32) as u32];
                self.physical
                    .iter()
                    .zip(words)
                    .for_each(|(to, word)| to.store(word, Ordering::Relaxed));
                Ok(())
            }
            _ => Err(format!(
                "no memory `{name}` that a device may reach: the description shares it with `dma = true`"
            )),
        }
    }

    /// Makes a part of it ready for the device.
    fn hand_over(&self, offset: u32, bytes: u32, to: Use) -> Result<()> {
        dma::hand_over(
            self.address.load(Ordering::Relaxed) as Word + offset as Word,
            bytes as Word,
            to,
        )
    }

    fn bytes(&self) -> u32 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn pointer(&self, offset: u32) -> *mut u8 {
        assert!(
            offset < self.bytes(),
            "offset {offset:#x} of an area of {:#x} bytes",
            self.bytes()
        );
        (self.address.load(Ordering::Relaxed) + offset) as usize as *mut u8
    }

    /// The physical address of what lies at a linear one.
    fn physical(&self, address: *const u8) -> Option<PhysAddr> {
        let offset = u32::try_from(address.addr())
            .ok()?
            .checked_sub(self.address.load(Ordering::Relaxed))
            .filter(|offset| *offset < self.bytes())?;
        let [low, high] = [0, 1].map(|word: usize| self.physical[word].load(Ordering::Relaxed));
        Some((PhysAddr::from(high) << 32 | PhysAddr::from(low)) + PhysAddr::from(offset))
    }

    /// A part as the crate's queue wants it, which takes nothing of it but where it is.
    fn part(&self, offset: u32, bytes: u32) -> &'static mut [u8] {
        assert!(
            bytes <= self.bytes() && offset <= self.bytes() - bytes,
            "{bytes:#x} bytes from {offset:#x} on"
        );
        // SAFETY: mapped for as long as the component lives, and no Rust object; neither the queue
        // nor this module reads or writes through it.
        unsafe { core::slice::from_raw_parts_mut(self.pointer(offset), bytes as usize) }
    }
}

/// Takes a device's interrupt back. Whether its configuration has changed, and whether it does
/// nothing any more until it is reset, as it was given what cannot be (2.1.2).
fn acknowledge(transport: &mut PciTransport) -> (bool, bool) {
    let changed =
        transport.ack_interrupt().contains(InterruptStatus::DEVICE_CONFIGURATION_INTERRUPT);
    (changed, changed && transport.get_status().contains(DeviceStatus::DEVICE_NEEDS_RESET))
}

/// Memory and addresses for the crate.
struct Dma;

// SAFETY: `dma_alloc` hands out whole zeroed pages of the queue, each once; addresses of registers
// are those of the component's own device (`View`), which is opened once; both lie where no Rust
// object does.
unsafe impl Hal for Dma {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        const NONE: (PhysAddr, NonNull<u8>) = (0, NonNull::dangling());
        let from = TAKEN.load(Ordering::Relaxed);
        // The last page is not the crate's.
        let room = QUEUE_AREA.bytes().saturating_sub(PAGE).saturating_sub(from);
        let Some(bytes) = u32::try_from(pages)
            .ok()
            .and_then(|pages| pages.checked_mul(PAGE))
            .filter(|bytes| *bytes <= room)
        else {
            return NONE;
        };
        let Some(pointer) = NonNull::new(QUEUE_AREA.pointer(from)) else { return NONE };
        TAKEN.store(from + bytes, Ordering::Relaxed);
        // SAFETY: inside the queue, and nobody else's from here on; it may hold what was there
        // before a restart.
        unsafe { pointer.write_bytes(0, bytes as usize) };
        (QUEUE_AREA.physical(pointer.as_ptr()).unwrap_or(0), pointer)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        // With the device it served its time: there is no second one.
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, bytes: usize) -> NonNull<u8> {
        // `View` says where the ranges are mapped.
        let (grants, end) = (grants(), address.checked_add(bytes as PhysAddr));
        assert!(
            address >= PhysAddr::from(grants.start)
                && end.is_some_and(|end| end <= PhysAddr::from(grants.end)),
            "registers at {address:#x}"
        );
        NonNull::new(address as usize as *mut u8).unwrap_or(NonNull::dangling())
    }

    unsafe fn share(part: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        let address = part.cast::<u8>().as_ptr();
        match [&QUEUE_AREA].into_iter().chain(&BUFFERS).find_map(|area| area.physical(address)) {
            Some(physical) => physical,
            None => panic!("no device reaches {address:p}"),
        }
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
