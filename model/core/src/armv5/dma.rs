// SPDX-License-Identifier: MIT OR Apache-2.0
//! What devices are about to do with memory. The driver of a virtio device writes that into a queue
//! (Virtual I/O Device 1.2, 2.7), which the device reads past all caches.
//!
//! The model learns where a queue is from what the driver writes to the device's registers
//! (4.1.4.3). They are where QEMU has them: at the start of a range of 16 KiB. It does not know
//! what other devices do with memory.

use crate::memory::Physical;
use rustc_hash::FxHashMap;

/// Bytes of the range that the registers begin.
const RANGE: u32 = 16 << 10;

/// Registers, by their offset.
mod register {
    pub const STATUS: u32 = 0x14;
    pub const SELECT: u32 = 0x16;
    pub const SIZE: u32 = 0x18;
    pub const ENABLE: u32 = 0x1c;
    pub const DESCRIPTORS: u32 = 0x20;
    pub const AVAILABLE: u32 = 0x28;
}

/// Flags of a descriptor: another one follows; the device writes.
const NEXT: u32 = 1;
const WRITE: u32 = 2;
/// Bytes of a descriptor.
const DESCRIPTOR: u32 = 16;

/// What the driver wrote to a device's registers.
#[derive(Default)]
struct Registers {
    selected: u32,
    size: u32,
    descriptors: u32,
    available: u32,
}

/// A queue that is in use.
struct Queue {
    device: u32,
    number: u32,
    size: u32,
    descriptors: u32,
    available: u32,
    /// The number of requests so far, modulo 2 to the power of 16.
    made: u16,
}

/// A part of memory that a device reads or writes: its physical address, its bytes, whether it is
/// written.
pub type Transfer = (u32, u32, bool);

/// The queues of all devices.
#[derive(Default)]
pub struct Devices {
    registers: FxHashMap<u32, Registers>,
    queues: Vec<Queue>,
}

impl Devices {
    /// This many bytes were written to a device's register at this physical address.
    pub fn register_written(&mut self, address: u32, bytes: u32, value: u32) {
        let (device, offset) = (address & !(RANGE - 1), address & (RANGE - 1));
        if offset >= register::AVAILABLE + 8 {
            return;
        }
        let registers = self.registers.entry(device).or_default();
        match (offset, bytes) {
            (register::STATUS, 1) if value == 0 => {
                self.queues.retain(|queue| queue.device != device)
            }
            (register::SELECT, 2) => registers.selected = value,
            (register::SIZE, 2) => registers.size = value,
            (register::DESCRIPTORS, 4 | 8) => registers.descriptors = value,
            (register::AVAILABLE, 4 | 8) => registers.available = value,
            (register::ENABLE, 2) if value == 1 && registers.size.is_power_of_two() => {
                let Registers { selected: number, size, descriptors, available } = *registers;
                self.queues.retain(|queue| (queue.device, queue.number) != (device, number));
                self.queues.push(Queue { device, number, size, descriptors, available, made: 0 });
            }
            _ => {}
        }
    }

    /// Whether a queue is in the page of a physical address.
    #[must_use]
    pub fn has_queue(&self, physical: u32) -> bool {
        let is_in = |start: u32, bytes: u32| {
            physical >> 12 >= start >> 12 && physical >> 12 <= (start + (bytes - 1)) >> 12
        };
        self.queues.iter().any(|queue| {
            is_in(queue.descriptors, queue.size * DESCRIPTOR)
                || is_in(queue.available, 4 + queue.size * 2)
        })
    }

    /// This many bytes of memory were written. If that makes requests, returns what their devices
    /// will do; `None` if the queue cannot be read.
    pub fn memory_written(
        &mut self,
        physical: u32,
        (bytes, value): (u32, u32),
        memory: &mut impl Physical,
    ) -> Option<Vec<Transfer>> {
        const INDEX: u32 = 2;
        let mut transfers = Vec::new();
        for queue in &mut self.queues {
            // A store of a word begins with flags. It is what a driver executes where atomic
            // operations are only on words.
            let value = match (physical.wrapping_sub(queue.available), bytes) {
                (0, 4) => value >> 16,
                (INDEX, 2) => value,
                _ => continue,
            };
            let count = (value as u16).wrapping_sub(queue.made);
            for _ in 0..count.min(queue.size as u16) {
                let entry = queue.available + 4 + u32::from(queue.made) % queue.size * 2;
                queue.made = queue.made.wrapping_add(1);
                let mut number = memory.read(entry & !3)? >> (8 * (entry & 2)) & 0xffff;
                for _ in 0..queue.size {
                    let at = queue.descriptors + number * DESCRIPTOR;
                    let [address, bytes, flags] =
                        [memory.read(at)?, memory.read(at + 8)?, memory.read(at + 12)?];
                    transfers.push((address, bytes, flags & WRITE != 0));
                    if flags & NEXT == 0 {
                        break;
                    }
                    number = flags >> 16;
                }
            }
            queue.made = value as u16;
        }
        Some(transfers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: u32 = 0x5100_4000;
    const DESCRIPTORS: u32 = 0x4000;
    const AVAILABLE: u32 = 0x4800;

    struct Memory(FxHashMap<u32, u32>);

    impl Physical for Memory {
        fn read(&mut self, address: u32) -> Option<u32> {
            self.0.get(&address).copied()
        }
    }

    fn devices() -> Devices {
        let mut devices = Devices::default();
        for (offset, bytes, value) in
            [(0x16, 2, 0), (0x18, 2, 4), (0x20, 4, DESCRIPTORS), (0x28, 4, AVAILABLE), (0x1c, 2, 1)]
        {
            devices.register_written(DEVICE + offset, bytes, value);
        }
        devices
    }

    /// A request of two parts at 1, read, and 2, written; and one of a part at 3.
    fn memory() -> Memory {
        let descriptor = |number: u32, address, bytes, flags| {
            let at = DESCRIPTORS + number * 16;
            [(at, address), (at + 8, bytes), (at + 12, flags)]
        };
        let entries = [(AVAILABLE + 4, 1 | 3 << 16)];
        let all = [
            descriptor(1, 0x7000, 16, 1 | 2 << 16),
            descriptor(2, 0x8000, 512, 2),
            descriptor(3, 0x9000, 64, 0),
        ];
        Memory(all.into_iter().flatten().chain(entries).collect())
    }

    #[test]
    fn follows_the_requests_of_a_queue() {
        let (mut devices, mut memory) = (devices(), memory());
        assert!(devices.has_queue(DESCRIPTORS) && !devices.has_queue(0x8000));
        assert_eq!(devices.memory_written(AVAILABLE + 4, (2, 1), &mut memory), Some(vec![]));
        assert_eq!(
            devices.memory_written(AVAILABLE + 2, (2, 1), &mut memory),
            Some(vec![(0x7000, 16, false), (0x8000, 512, true)])
        );
        // Only flags; then a word of flags and the index.
        assert_eq!(devices.memory_written(AVAILABLE, (2, 1), &mut memory), Some(vec![]));
        assert_eq!(
            devices.memory_written(AVAILABLE, (4, 1 | 2 << 16), &mut memory),
            Some(vec![(0x9000, 64, false)])
        );
    }

    #[test]
    fn says_what_cannot_be_read() {
        assert_eq!(
            devices().memory_written(AVAILABLE + 2, (2, 1), &mut Memory(FxHashMap::default())),
            None
        );
    }

    #[test]
    fn a_reset_ends_a_queue() {
        let (mut devices, mut memory) = (devices(), memory());
        devices.register_written(DEVICE + 0x14, 1, 0);
        assert_eq!(devices.memory_written(AVAILABLE + 2, (2, 1), &mut memory), Some(vec![]));
    }
}
