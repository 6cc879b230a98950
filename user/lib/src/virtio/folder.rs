// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtio device that carries out messages of 9P (QEMU's `virtio-9p`; Virtual I/O Device 1.2 has
//! its number only). It has one queue, which is the driver's: the device goes on with it when the
//! driver's next life comes.

use super::{Dma, View, acknowledge};
use crate::Env;
use alloc::format;
use alloc::string::String;
use bitflags::bitflags;
use core::result::Result as Answer;
use virtio_drivers::transport::pci::PciTransport;
use virtio_drivers::transport::pci::bus::{DeviceFunction, PciRoot};
use virtio_drivers::transport::{DeviceStatus, DeviceType, Transport};

/// The device's only queue.
const QUEUE: u16 = 0;

bitflags! {
    /// What device and driver agree on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Features: u64 {
        /// The interface of version 1.
        const VERSION_1 = 1 << 32;
    }
}

/// The device. A component may have several. When it is dropped it is reset.
pub struct Folder {
    transport: PciTransport,
}

impl Folder {
    /// The device that was granted as `device`, as it is. `None` if the machine has no such device.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the device.
    pub fn find(env: &Env, device: &str) -> Answer<Option<Self>, String> {
        let Some(device) = env.start.pci.iter().find(|found| found.name == device) else {
            return Ok(None);
        };
        let here = DeviceFunction { bus: 0, device: 0, function: 0 };
        let transport = PciTransport::new::<Dma, _>(&mut PciRoot::new(View(device.clone())), here)
            .map_err(|error| format!("{error}"))?;
        match transport.device_type() {
            DeviceType::_9P => Ok(Some(Self { transport })),
            other => Err(format!("a {other:?}, not a folder")),
        }
    }

    /// Whether it has a queue and works on what is there.
    #[must_use]
    pub fn is_running(&mut self) -> bool {
        let status = self.transport.get_status();
        status.contains(DeviceStatus::DRIVER_OK)
            && !status.intersects(DeviceStatus::DEVICE_NEEDS_RESET | DeviceStatus::FAILED)
            && self.transport.queue_used(QUEUE)
    }

    /// Resets it, and gives it a queue of so many entries: physical addresses of its descriptors, of
    /// what is available, and of what is used. All that it had is forgotten. The caller answers for
    /// what is in the queue: the device reaches all memory.
    ///
    /// # Errors
    /// A sentence if its queues are shorter.
    pub fn begin(&mut self, length: u16, queue: [u64; 3]) -> Answer<(), String> {
        self.transport.set_status(DeviceStatus::empty());
        while self.transport.get_status() != DeviceStatus::empty() {}
        self.transport.begin_init(Features::all());
        let most = self.transport.max_queue_size(QUEUE);
        if most < length.into() {
            return Err(format!("a queue of {most} entries is too short"));
        }
        let [descriptors, available, used] = queue;
        self.transport.queue_set(QUEUE, length.into(), descriptors, available, used);
        self.transport.finish_init();
        Ok(())
    }

    /// Tells it that there is something in its queue.
    pub fn kick(&mut self) {
        self.transport.notify(QUEUE);
    }

    /// Takes its interrupt back. Whether it does nothing any more until it begins again.
    #[must_use]
    pub fn acknowledge(&mut self) -> bool {
        acknowledge(&mut self.transport).1
    }
}
