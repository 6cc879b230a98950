// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a device and a frame have in memory is the same for a processor that has the low byte of a
//! word first and for one that has the high byte first. Memory is bytes here, and the processor
//! what makes words of them.

use frames::{Address, CARD, Descriptors, Given, Layout, Little, Receiver, Sender, Shared, Switch};
use image::protocol::net::{ENTRIES, ENTRY, SLOT, SLOT_FRAME};
use std::cell::RefCell;
use std::rc::Rc;

/// Memory as a processor sees it that has the high byte of a word first, or the low one.
#[derive(Clone)]
struct Memory<const HIGH_FIRST: bool>(Rc<RefCell<Vec<u8>>>);

impl<const HIGH_FIRST: bool> Memory<HIGH_FIRST> {
    fn new(bytes: u32) -> Self {
        Self(Rc::new(RefCell::new(vec![0; bytes as usize])))
    }

    fn put(&self, offset: u32, bytes: &[u8]) {
        self.0.borrow_mut()[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn get<const N: usize>(&self, offset: u32) -> [u8; N] {
        self.0.borrow()[offset as usize..][..N].try_into().expect("bytes")
    }
}

impl<const HIGH_FIRST: bool> Shared for Memory<HIGH_FIRST> {
    const HIGH_FIRST: bool = HIGH_FIRST;
    fn bytes(&self) -> u32 {
        self.0.borrow().len() as u32
    }
    fn read(&self, offset: u32) -> u32 {
        let bytes = self.get(offset);
        if HIGH_FIRST { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
    fn write(&self, offset: u32, value: u32) {
        self.put(offset, &if HIGH_FIRST { value.to_be_bytes() } else { value.to_le_bytes() });
    }
    fn copy(&self, from: u32, other: &Self, to: u32, bytes: u32) {
        let part = self.0.borrow()[from as usize..][..bytes as usize].to_vec();
        other.put(to, &part);
    }
    fn fence(&self) {}
}

/// The bytes that the 82540EM's manual has for a descriptor to send and one to receive, and what it
/// writes into them.
fn descriptors<const HIGH_FIRST: bool>() {
    const START: u32 = 64;
    let memory = Memory::<HIGH_FIRST>::new(START + Descriptors::BYTES);
    let (view, mut ring) = (Little::new(memory.clone()), Descriptors::new(START));
    ring.give(&view, (0x640, 0x1234_5678), Given::Filled(0x5ea));
    ring.give(&view, (0xc80, 0x21_9abc_def0), Given::Empty);
    assert_eq!(
        memory.get(START),
        [0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0, 0xea, 5, 0, 0b1011, 0, 0, 0, 0]
    );
    assert_eq!(
        memory.get(START + 16),
        [0xf0, 0xde, 0xbc, 0x9a, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(ring.take(&view), None);
    // The first is done: its status is byte 12.
    memory.put(START + 12, &[0b11]);
    assert_eq!(ring.take(&view), Some((0x640, 0x5ea)));
    // A frame was received, of 1514 bytes with a checksum, which is not looked at; then one with an
    // error, byte 13.
    memory.put(START + 16 + 8, &[0xea, 5, 0xff, 0xee, 0b11, 0]);
    assert_eq!(ring.take(&view), Some((0xc80, 0x5ea)));
    ring.give(&view, (0, 0), Given::Empty);
    memory.put(START + 32 + 8, &[0xea, 5, 0, 0, 0b11, 1]);
    assert_eq!(ring.take(&view), Some((0, 0)));
}

#[test]
fn the_card_finds_its_descriptors() {
    descriptors::<false>();
    descriptors::<true>();
}

/// Registers of a device on PCI.
#[test]
fn a_register_has_its_low_byte_first() {
    let memory = Memory::<true>::new(8);
    let registers = Little::new(memory.clone());
    registers.write(4, 0x1234_5678);
    assert_eq!((memory.get(4), registers.read(4)), ([0x78, 0x56, 0x34, 0x12], 0x1234_5678));
    assert_eq!(memory.read(4), 0x7856_3412);
}

/// A frame goes from one client to the other, whose address it has, byte for byte; and one with a
/// stranger's as its source nowhere.
fn frames<const HIGH_FIRST: bool>() {
    const SLOTS: u32 = 8;
    let memories =
        [(); 3].map(|()| Memory::<HIGH_FIRST>::new(ENTRIES + SLOTS * (2 * SLOT + 4 * ENTRY)));
    let address = |port: u32| Address([0x52, 0x54, 0, 0x12, 0x34, 0x50]).of_client(port);
    let mut switch = Switch::new(memories.to_vec()).expect("room");
    (0..3).for_each(|port| {
        switch.attach(port as usize, (port as usize != CARD).then(|| address(port)), false)
    });
    let layout = Layout::of(memories[1].bytes()).expect("room");
    let mut input = Receiver::new(layout.to_client(), &memories[2]);
    let _ = input.publish(&memories[2]);
    let mut output = Sender::new(layout.from_client());
    let mut send = |source: Address| {
        let frame: Vec<u8> = [&address(2).0[..], &source.0, b"\x08\0A frame's bytes"].concat();
        assert!(output.room(&memories[1]).expect("a sound switch") > 0);
        let slot = output.take().expect("room");
        memories[1].write(slot, frame.len() as u32);
        memories[1].put(slot + SLOT_FRAME, &frame);
        output.push(&memories[1], slot);
        let _ = output.publish(&memories[1]);
        while switch.round(0).again {}
        frame
    };
    send(Address([2, 4, 6, 8, 10, 12]));
    assert_eq!(input.available(&memories[2]), Ok(0));
    let frame = send(address(1));
    assert_eq!(input.available(&memories[2]), Ok(1));
    let slot = input.slot(&memories[2], 0).expect("a sound switch");
    assert_eq!(memories[2].read(slot), frame.len() as u32);
    assert_eq!(memories[2].get::<29>(slot + SLOT_FRAME), frame[..]);
}

#[test]
fn the_switch_finds_addresses() {
    frames::<false>();
    frames::<true>();
}
