// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hands out address ranges of one layout, as Segments (docs/systems.md, *One address space*). Its
//! memory is the grant `ram`. It distinguishes its clients by their badges. With the argument
//! `clients=N` each has at most an Nth of addresses and memory.
//!
//! It takes part in the layout itself: it attaches a new range and clears it, so no client and no
//! cache has what the memory held before.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use abi::utcb::CapItem;
use abi::{PAGE_SIZE, Word};
use macadamia::alloc::vec::Vec;
use macadamia::ipc::{self, Message};
use macadamia::map::{Window, map};
use macadamia::ranges::{UNIT, Units, layout, request};
use macadamia::{
    Env, Error, Memory, Quota, Received, Result, Rights, Segment, Space, cap, println, slot, utcb,
};

macadamia::main!(run);

/// A client that has a range can do this with it, and give it to others.
const RW: Rights = Rights::READ.union(Rights::WRITE);

/// A range that a client has made.
struct Made {
    owner: u32,
    unit: usize,
    units: usize,
    page: usize,
    pages: usize,
    segment: Segment,
}

struct Server {
    memory: Memory,
    units: Units,
    pages: Units,
    made: Vec<Made>,
    slots: Vec<Word>,
    /// The most that one client has, in units and in pages.
    most: [usize; 2],
}

fn run(mut env: Env) {
    let addresses = layout();
    let units = ((addresses.end - addresses.start) / UNIT) as usize;
    let slots = (0..units).map(|_| env.free_slot()).collect();
    let pages = env.given("ram").map_or(0, |ram| ram.bytes as Word / PAGE_SIZE) as usize;
    let clients = env.argument("clients").map_or(1, |_| env.number("clients").max(1)) as usize;
    let mut server = Server {
        memory: env.memory("ram"),
        units: Units::new(units),
        pages: Units::new(pages),
        made: Vec::new(),
        slots,
        most: [units / clients, pages / clients],
    };
    let (mut handle, mut reply) = (0, Message::default());
    loop {
        // An error is the reply's: the caller is gone. On with the next one.
        let Ok(received) = ipc::reply_wait(handle, reply) else {
            (handle, reply) = (0, Message::default());
            continue;
        };
        (handle, reply) = (received.handle, server.answer(&received));
    }
}

impl Server {
    fn answer(&mut self, received: &Received) -> Message {
        let [what, argument, _] = received.words;
        let answer = match u32::try_from(what) {
            Ok(request::CREATE) => self.create(received.badge, argument),
            Ok(request::FREE) => self.free(received.badge, argument).map(|()| Message::new([0; 3])),
            Ok(request::BEGIN) => self.begin(received.badge).map(|()| Message::new([0; 3])),
            _ => Err(Error::BadOperation),
        };
        answer.unwrap_or_else(|error| Message::new([error as Word, 0, 0]))
    }

    /// Makes a range, and gives it to the client that asks.
    fn create(&mut self, owner: u32, bytes: Word) -> Result<Message> {
        let pages = bytes.div_ceil(PAGE_SIZE) as usize;
        let units = bytes.div_ceil(UNIT) as usize;
        if pages == 0 {
            return Err(Error::BadArgument);
        }
        let has = self
            .made
            .iter()
            .filter(|made| made.owner == owner)
            .fold([0; 2], |[u, p], made| [u + made.units, p + made.pages]);
        if units > self.most[0] - has[0] || pages > self.most[1] - has[1] {
            return Err(Error::QuotaExceeded);
        }
        let slot = self.slots.pop().ok_or(Error::PoolExhausted)?;
        let made = self.units.take(units).and_then(|unit| match self.pages.take(pages) {
            Some(page) => Some(Made { owner, unit, units, page, pages, segment: Segment(slot) }),
            None => {
                self.units.give(unit, units);
                None
            }
        });
        let Some(made) = made else {
            self.slots.push(slot);
            return Err(Error::PoolExhausted);
        };
        if let Err(error) = self.fill(&made) {
            self.end(made);
            return Err(error);
        }
        let words = [0, made.address(), made.bytes()];
        utcb::set_send_cap(0, CapItem::new(made.segment.0, RW));
        self.made.push(made);
        Ok(Message { caps: 1, ..Message::new(words) })
    }

    /// Makes the Segment of a range, with its memory, all zero.
    fn fill(&self, made: &Made) -> Result<()> {
        let bytes = made.pages as Word * PAGE_SIZE;
        Quota(slot::QUOTA as Word).create_segment(made.bytes(), made.segment.0)?;
        map(Space(made.segment.0), 0, self.memory, made.page as Word * PAGE_SIZE, bytes, RW)?;
        let window = Window::attach(made.address(), made.segment, made.bytes(), RW)?;
        (0..bytes).step_by(4).for_each(|offset| window.write(offset, 0));
        Ok(())
    }

    fn free(&mut self, owner: u32, address: Word) -> Result<()> {
        let found =
            self.made.iter().position(|made| made.owner == owner && made.address() == address);
        let made = self.made.swap_remove(found.ok_or(Error::BadArgument)?);
        self.end(made);
        Ok(())
    }

    fn begin(&mut self, owner: u32) -> Result<()> {
        while let Some(found) = self.made.iter().position(|made| made.owner == owner) {
            let made = self.made.swap_remove(found);
            self.end(made);
        }
        Ok(())
    }

    /// Ends a range for all clients: the original of its capability goes, and with it all that came
    /// of that.
    fn end(&mut self, made: Made) {
        if let Err(error) = cap::delete(made.segment.0)
            .or_else(|error| if error == Error::NoCapability { Ok(()) } else { Err(error) })
        {
            // Its addresses may still be somebody's: nobody else gets them.
            println!("a range at {:#x} cannot be ended: {}", made.address(), error.text());
            return;
        }
        self.units.give(made.unit, made.units);
        self.pages.give(made.page, made.pages);
        self.slots.push(made.segment.0);
    }
}

impl Made {
    fn address(&self) -> Word {
        layout().start + self.unit as Word * UNIT
    }

    const fn bytes(&self) -> Word {
        self.units as Word * UNIT
    }
}
