// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtio input device (Virtual I/O Device 1.2, 5.8) that knows where it is, as a tablet does. Its
//! events have types, codes and values of Linux's evdev.

use super::{Dma, Opened, PAGE, QUEUE_AREA, acknowledge, open};
use crate::Env;
use crate::pci::Failed;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use bitflags::bitflags;
use core::result::Result as Answer;
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::pci::PciTransport;
use virtio_drivers::transport::{DeviceType, Transport};

/// The queue of events, and its length. That of what the driver has to say is not used.
const QUEUE: u16 = 0;
const LENGTH: usize = 32;
/// Bytes of an event: type and code, two bytes each, and a value. The queue's last page has them.
const EVENT: u32 = 8;

/// Offsets in the device's configuration (5.8.4): what is asked for, and of what; how long the
/// answer is, and itself.
const SELECT: usize = 0;
const OF: usize = 1;
const SIZE: usize = 2;
const ANSWER: usize = 8;
/// Asks for an axis, whose answer begins with the least and the most.
const AXIS: u8 = 0x12;
const AXIS_SIZE: u8 = 20;

bitflags! {
    /// What device and driver agree on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Features: u64 {
        /// The interface of version 1.
        const VERSION_1 = 1 << 32;
    }
}

/// The device. When it is dropped it is reset, and leaves memory alone.
pub struct Tablet {
    // In this order: the device goes before the queue.
    transport: PciTransport,
    queue: VirtQueue<Dma, LENGTH>,
    _opened: Opened,
    most: [u32; 2],
    /// By the queue's name for a place, its number.
    under_way: Box<[Option<u32>]>,
    /// Whether it does nothing any more.
    has_stopped: bool,
}

impl Tablet {
    /// Starts the device that was granted as `device`, with the area `queue` (16 KiB). `None` if the
    /// machine has no such device. A component has one device open at a time.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the device or with what was granted.
    pub fn open(env: &Env, device: &str, queue: &str) -> Answer<Option<Self>, String> {
        let Some((mut transport, opened)) =
            open(env, DeviceType::Input, [device, queue], &[] as &[&str])?
        else {
            return Ok(None);
        };
        transport.begin_init(Features::all());
        let most = [axis(&mut transport, 0), axis(&mut transport, 1)];
        let [Some(columns), Some(rows)] = most else {
            return Err("an input device that does not know where it is".into());
        };
        let queue = VirtQueue::new(&mut transport, QUEUE, false, false)
            .map_err(|error| format!("{error}"))?;
        transport.finish_init();
        let under_way = vec![None; LENGTH].into_boxed_slice();
        let most = [columns, rows];
        let mut tablet =
            Self { transport, queue, _opened: opened, most, under_way, has_stopped: false };
        for number in 0..LENGTH as u32 {
            tablet.give(number).map_err(|_| "the device takes no place for events")?;
        }
        tablet.transport.notify(QUEUE);
        Ok(Some(tablet))
    }

    /// The largest column and row that it says; the least are 0.
    #[must_use]
    pub const fn most(&self) -> [u32; 2] {
        self.most
    }

    /// Where the event of a number lies.
    fn at(number: u32) -> u32 {
        QUEUE_AREA.bytes() - PAGE + number * EVENT
    }

    /// Gives the device a place for an event.
    fn give(&mut self, number: u32) -> Answer<(), Failed> {
        let part = QUEUE_AREA.part(Self::at(number), EVENT);
        // SAFETY: inside the queue's last page, which nobody else has, and the device has no place
        // of this number.
        let token = unsafe { self.queue.add(&[], &mut [part]) }.map_err(|_| Failed)?;
        *self.under_way.get_mut(usize::from(token)).ok_or(Failed)? = Some(number);
        Ok(())
    }

    /// Takes the device's interrupt back.
    pub fn acknowledge(&mut self) {
        self.has_stopped |= acknowledge(&mut self.transport).1;
    }

    /// The next event, if there is one: type, code, value.
    ///
    /// # Errors
    /// [`Failed`] if the device returns what it was not given, or says that it needs a reset: it is
    /// not to be trusted any more.
    pub fn take(&mut self) -> Answer<Option<(u16, u16, u32)>, Failed> {
        if self.has_stopped {
            return Err(Failed);
        }
        let Some(token) = self.queue.peek_used() else { return Ok(None) };
        let number =
            self.under_way.get_mut(usize::from(token)).and_then(Option::take).ok_or(Failed)?;
        let part = QUEUE_AREA.part(Self::at(number), EVENT);
        // SAFETY: the same part as in `give`.
        unsafe { self.queue.pop_used(token, &[], &mut [part]) }.map_err(|_| Failed)?;
        let words = QUEUE_AREA.pointer(Self::at(number)).cast::<[u32; 2]>();
        // SAFETY: inside the queue's last page, which is aligned; the device is done with it.
        let [head, value] = unsafe { words.read_volatile() }.map(u32::from_le);
        self.give(number)?;
        if self.queue.should_notify() {
            self.transport.notify(QUEUE);
        }
        Ok(Some((head as u16, (head >> 16) as u16, value)))
    }
}

/// The most that an axis says, if the device has it and it begins at 0.
fn axis(transport: &mut PciTransport, number: u8) -> Option<u32> {
    transport.write_config_space(SELECT, AXIS).ok()?;
    transport.write_config_space(OF, number).ok()?;
    let size: u8 = transport.read_config_space(SIZE).ok()?;
    let word = |at| transport.read_config_space::<u32>(at).ok().map(u32::from_le);
    let (least, most) = (word(ANSWER)?, word(ANSWER + 4)?);
    (size == AXIS_SIZE && least == 0 && most > 0).then_some(most)
}
