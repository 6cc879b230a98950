// SPDX-License-Identifier: MIT OR Apache-2.0
//! A switch, clients of it that keep to the protocol, and their memory.

use frames::{Address, CARD, Layout, Receiver, Sender, Shared, Switch};
use image::protocol::net::{ENTRIES, ENTRY, MOST_BYTES, SLOT, SLOT_FRAME};
use std::cell::RefCell;
use std::rc::Rc;

pub const RING: u32 = 8;
pub const BYTES: u32 = bytes(RING);

/// Of a port with rings of so many entries.
pub const fn bytes(slots: u32) -> u32 {
    ENTRIES + slots * (2 * SLOT + 4 * ENTRY)
}

/// Memory that several sides see.
#[derive(Clone)]
pub struct Memory(Rc<RefCell<Vec<u8>>>);

impl Memory {
    pub fn new(slots: u32) -> Self {
        Self(Rc::new(RefCell::new(vec![0; bytes(slots) as usize])))
    }

    pub fn put(&self, offset: u32, bytes: &[u8]) {
        self.0.borrow_mut()[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    pub fn get(&self, offset: u32, bytes: u32) -> Vec<u8> {
        self.0.borrow()[offset as usize..][..bytes as usize].to_vec()
    }
}

impl Shared for Memory {
    fn bytes(&self) -> u32 {
        self.0.borrow().len() as u32
    }
    fn read(&self, offset: u32) -> u32 {
        assert!(offset.is_multiple_of(4));
        u32::from_le_bytes(self.get(offset, 4).try_into().expect("four bytes"))
    }
    fn write(&self, offset: u32, value: u32) {
        assert!(offset.is_multiple_of(4));
        self.put(offset, &value.to_le_bytes());
    }
    fn copy(&self, from: u32, other: &Self, to: u32, bytes: u32) {
        assert!(from.is_multiple_of(4) && to.is_multiple_of(4) && bytes.is_multiple_of(4));
        other.put(to, &self.get(from, bytes));
    }
    fn fence(&self) {}
}

/// A client that keeps to the protocol.
pub struct Client {
    pub memory: Memory,
    pub input: Receiver,
    pub output: Sender,
}

impl Client {
    pub fn new(memory: &Memory) -> Self {
        let layout = Layout::of(memory.bytes()).expect("room for rings");
        let mut input = Receiver::new(layout.to_client(), memory);
        let _ = input.publish(memory);
        Self { memory: memory.clone(), input, output: Sender::new(layout.from_client()) }
    }

    /// Whether there was room.
    pub fn send(&mut self, frame: &[u8]) -> bool {
        if self.output.room(&self.memory).expect("a sound switch") == 0 {
            return false;
        }
        self.put(frame);
        let _ = self.output.publish(&self.memory);
        true
    }

    /// Puts a frame into a slot that is free.
    pub fn put(&mut self, frame: &[u8]) {
        let slot = self.output.take().expect("room");
        self.memory.write(slot, frame.len() as u32);
        self.memory.put(slot + SLOT_FRAME, frame);
        self.output.push(&self.memory, slot);
    }

    /// The frame in a filled slot.
    pub fn look(&self, number: u32) -> (u32, Vec<u8>) {
        let slot = self.input.slot(&self.memory, number).expect("a sound switch");
        (slot, self.memory.get(slot + SLOT_FRAME, self.memory.read(slot)))
    }

    pub fn receive(&mut self) -> Option<Vec<u8>> {
        if self.input.available(&self.memory).expect("a sound switch") == 0 {
            return None;
        }
        let (slot, frame) = self.look(0);
        self.input.take();
        self.input.give_back(&self.memory, slot);
        let _ = self.input.publish(&self.memory);
        Some(frame)
    }
}

/// A switch with clients at all ports.
pub struct Net {
    pub switch: Switch<Memory>,
    pub memories: Vec<Memory>,
    pub clients: Vec<Client>,
}

pub const CARDS: Address = Address([0x52, 0x54, 0, 0x12, 0x34, 0xff]);

pub fn given(port: usize) -> Address {
    CARDS.of_client(port as u32)
}

impl Net {
    pub fn new(ports: usize) -> Self {
        Self::with(ports, RING)
    }

    /// With so many slots in each direction of a port.
    pub fn with(ports: usize, slots: u32) -> Self {
        let memories: Vec<_> = (0..ports).map(|_| Memory::new(slots)).collect();
        let mut switch = Switch::new(memories.clone()).expect("room");
        (0..ports).for_each(|port| switch.attach(port, (port != CARD).then(|| given(port)), false));
        let clients = memories.iter().map(Client::new).collect();
        Self { switch, memories, clients }
    }

    pub fn settle(&mut self) {
        for _ in 0..1000 {
            if !self.switch.round(0).again {
                return;
            }
        }
        panic!("the switch never rests");
    }

    pub fn attach(&mut self, port: usize) {
        self.switch.attach(port, (port != CARD).then(|| given(port)), false);
        self.clients[port] = Client::new(&self.memories[port]);
    }
}

pub fn frame(to: Address, from: Address, number: u32, bytes: usize) -> Vec<u8> {
    let mut frame: Vec<u8> = to.0.into_iter().chain(from.0).chain([8, 0]).collect();
    frame.extend(number.to_le_bytes());
    frame.resize(bytes.max(18), number as u8);
    frame
}

pub const EVERYBODY: Address = Address([0xff; 6]);

/// The address that a port sends from; the card's hosts are many, this is one.
pub fn own(port: usize) -> Address {
    if port == CARD { Address([2, 0, 0, 0, 0, 1]) } else { given(port) }
}

/// The longest frame of the card for a port.
pub fn long(to: usize, number: u32) -> Vec<u8> {
    frame(given(to), own(CARD), number, MOST_BYTES as usize)
}

/// What is filled for a client, without taking it.
pub fn filled(net: &mut Net, port: usize) -> u32 {
    let client = &mut net.clients[port];
    client.input.available(&client.memory).expect("a sound switch")
}
