// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtio network card (Virtual I/O Device 1.2, 5.1), which transfers between the network and
//! slots of a port's memory (docs/net.md), the *buffer* here. The header that the card wants before
//! each frame has its place in the slot.

use super::{BUFFERS, Dma, Opened, acknowledge, open};
use crate::card::{Card, Way};
use crate::net::port::Link;
use crate::pci::Failed;
use crate::{Env, Error, Result};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use bitflags::bitflags;
use core::result::Result as Answer;
use frames::Address;
use image::protocol::net::{MOST_BYTES, SLOT_FRAME, SLOT_OWN};
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::pci::PciTransport;
use virtio_drivers::transport::{DeviceType, Transport};

/// Entries of a queue.
const LENGTH: usize = 256;
/// Bytes of the card's header (5.1.6); with all bits 0 it asks for nothing.
const HEADER: u32 = SLOT_FRAME - SLOT_OWN;
/// Offset of the address in the card's configuration, and of the link's state (5.1.4).
const ADDRESS: usize = 0;
const STATUS: usize = 6;
/// In the link's state.
const STATUS_UP: u16 = 1;

bitflags! {
    /// What device and driver agree on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Features: u64 {
        /// The card has an address.
        const ADDRESS = 1 << 5;
        /// The card tells the link's state.
        const STATUS = 1 << 16;
        /// The interface of version 1.
        const VERSION_1 = 1 << 32;
    }
}

/// The queue of a direction, and what the card has of it.
struct Queue {
    queue: VirtQueue<Dma, LENGTH>,
    /// By the queue's name for a frame: the slot's offset, and the bytes at its place.
    under_way: Box<[Option<(u32, u32)>]>,
}

/// The card. When it is dropped it is reset, and leaves memory alone.
pub struct Net {
    // In this order: the card goes before the queues.
    transport: PciTransport,
    queues: [Queue; 2],
    _opened: Opened,
    address: Address,
    tells_link: bool,
    /// Whether it does nothing any more.
    has_stopped: bool,
}

impl Net {
    /// Most frames that are under way in one direction.
    pub const MOST: u32 = LENGTH as u32;

    /// Starts the card that was granted as `device`, with the areas `queue` (32 KiB) and `buffer`.
    /// It has no slots yet. `None` if the machine has no such card. A component has one device open
    /// at a time.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the device or with what was granted.
    pub fn open(
        env: &Env,
        device: &str,
        queue: &str,
        buffer: &str,
    ) -> Answer<Option<Self>, String> {
        let Some((mut transport, opened)) =
            open(env, DeviceType::Network, [device, queue], &[buffer])?
        else {
            return Ok(None);
        };
        let agreed = transport.begin_init(Features::all());
        if !agreed.contains(Features::ADDRESS) {
            return Err("a network card without an address".into());
        }
        let word = |at| transport.read_config_space::<u16>(at);
        let words = transport
            .read_consistent(|| Ok([word(ADDRESS)?, word(ADDRESS + 2)?, word(ADDRESS + 4)?]));
        let mut queue = |way| {
            let queue = VirtQueue::new(&mut transport, way as u16, false, false)?;
            Ok::<_, virtio_drivers::Error>(Queue {
                queue,
                under_way: vec![None; LENGTH].into_boxed_slice(),
            })
        };
        let queues = queue(Way::Receive).and_then(|first| Ok([first, queue(Way::Send)?]));
        let (words, queues) =
            words.and_then(|words| Ok((words, queues?))).map_err(|error| format!("{error}"))?;
        transport.finish_init();
        let [[a, b], [c, d], [e, f]] = words.map(u16::to_le_bytes);
        let tells_link = agreed.contains(Features::STATUS);
        Ok(Some(Self {
            transport,
            queues,
            _opened: opened,
            address: Address([a, b, c, d, e, f]),
            tells_link,
            has_stopped: false,
        }))
    }
}

impl Card for Net {
    fn link(&self) -> Link {
        let status = self.transport.read_config_space::<u16>(STATUS);
        Link {
            address: self.address,
            is_up: !self.tells_link || status.is_ok_and(|status| status & STATUS_UP != 0),
        }
    }

    fn acknowledge(&mut self) -> bool {
        let (changed, stopped) = acknowledge(&mut self.transport);
        self.has_stopped |= stopped;
        changed
    }

    fn interrupts(&mut self, way: Way, enable: bool) {
        self.queues[way as usize].queue.set_dev_notify(enable);
    }

    fn start(&mut self, way: Way, slot: u32, bytes: u32) -> Result<()> {
        let Queue { queue, under_way } = &mut self.queues[way as usize];
        let place = (slot, HEADER + bytes);
        let inside = bytes <= MOST_BYTES
            && slot <= BUFFERS[0].bytes().saturating_sub(SLOT_FRAME + MOST_BYTES);
        if !inside || !slot.is_multiple_of(4) {
            return Err(Error::BadArgument);
        }
        if way == Way::Send {
            // SAFETY: the slot lies in the buffer, as was checked, where no Rust object is.
            unsafe {
                BUFFERS[0]
                    .pointer(slot + SLOT_OWN)
                    .cast::<[u32; HEADER as usize / 4]>()
                    .write_volatile([0; HEADER as usize / 4])
            };
        }
        BUFFERS[0].hand_over(slot + SLOT_OWN, place.1, way.by_device())?;
        // SAFETY: the buffer stays where it is, and nothing here touches the slot until `finish`
        // pops it; others who see the buffer harm only the frame.
        let added = with(way, place, |inputs, outputs| unsafe { queue.add(inputs, outputs) });
        let token = added.map_err(|_| Error::BadState)?;
        under_way[usize::from(token)] = Some(place);
        Ok(())
    }

    fn kick(&mut self, way: Way) {
        if self.queues[way as usize].queue.should_notify() {
            self.transport.notify(way as u16);
        }
    }

    fn finish(&mut self, way: Way) -> Answer<Option<(u32, u32)>, Failed> {
        if self.has_stopped {
            return Err(Failed);
        }
        let Queue { queue, under_way } = &mut self.queues[way as usize];
        let Some(token) = queue.peek_used() else { return Ok(None) };
        let place = under_way.get_mut(usize::from(token)).and_then(Option::take).ok_or(Failed)?;
        // SAFETY: the same parts as in `start`.
        let popped =
            with(way, place, |inputs, outputs| unsafe { queue.pop_used(token, inputs, outputs) });
        let bytes = popped.map_err(|_| Failed)?.saturating_sub(HEADER);
        Ok(Some((place.0, bytes)))
    }
}

/// Header and frame in a slot as the queue wants them: what the card reads, and what it writes.
fn with<T>(
    way: Way,
    (slot, bytes): (u32, u32),
    act: impl for<'a> FnOnce(&'a [&'a [u8]], &'a mut [&'a mut [u8]]) -> T,
) -> T {
    let part = BUFFERS[0].part(slot + SLOT_OWN, bytes);
    match way {
        Way::Receive => act(&[], &mut [part]),
        Way::Send => act(&[part], &mut []),
    }
}
