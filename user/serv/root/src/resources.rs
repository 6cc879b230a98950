// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel left to the root server: slots, RAM, devices.

use abi::boot::{Info, slot};
use macadamia::cap::identify;
use macadamia::{Error, Memory, Quota, Result, Rights, Space, map};

/// Counts what was given away. Nothing is taken back: a component keeps its memory
/// when it is started again.
pub struct Resources {
    /// The root server's own space.
    pub space: Space,
    /// Everything it pays with.
    pub quota: Quota,
    next_slot: u32,
    slots: u32,
    /// Bytes used of each RAM capability.
    used: [u32; 16],
    ram_count: u32,
}

impl Resources {
    /// What the kernel reports.
    pub fn new(info: &Info) -> Self {
        Self {
            space: Space(slot::SPACE),
            quota: Quota(slot::QUOTA),
            next_slot: slot::FREE,
            slots: info.slots,
            used: [0; 16],
            ram_count: info.ram_count,
        }
    }

    /// An empty slot.
    pub fn slot(&mut self) -> Result<u32> {
        if self.next_slot == self.slots {
            return Err(Error::BadSlot);
        }
        self.next_slot += 1;
        Ok(self.next_slot - 1)
    }

    /// Opens every port to the root server itself: the serial line, and the switch.
    pub fn open_ports(&self) -> Result<()> {
        map::map(self.space, 0, Memory(slot::PORTS), 0, 0x1_0000, Rights::WRITE)
    }

    /// A piece of RAM as a Memory of its own.
    pub fn ram(&mut self, bytes: u32) -> Result<Memory> {
        let to = self.slot()?;
        for i in (0..self.ram_count).rev() {
            let ram = slot::RAM + i;
            let [_, _, size] = identify(ram)?;
            let used = &mut self.used[i as usize];
            if size - *used >= bytes {
                let memory = Memory(ram).derive(*used, bytes, to, self.quota)?;
                *used += bytes;
                return Ok(memory);
            }
        }
        Err(Error::QuotaExceeded)
    }

    /// Device registers as a Memory of their own.
    pub fn device(&mut self, base: u32, bytes: u32) -> Result<Memory> {
        let to = self.slot()?;
        let (from, first) = if base < 1 << 20 { (slot::LEGACY, 0xa_0000) } else { (slot::DEVICES, self.devices_base()?) };
        let offset = base.checked_sub(first).ok_or(Error::BadArgument)?;
        Memory(from).derive(offset, bytes, to, self.quota)
    }

    /// The device range ends at the last page of 4 GiB.
    fn devices_base(&self) -> Result<u32> {
        identify(slot::DEVICES).map(|[_, _, size]| 0xffff_f000 - size)
    }

    /// I/O ports as a Memory of their own.
    pub fn ports(&mut self, base: u32, count: u32) -> Result<Memory> {
        let to = self.slot()?;
        Memory(slot::PORTS).derive(base, count, to, self.quota)
    }
}
