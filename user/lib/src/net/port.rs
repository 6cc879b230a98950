// SPDX-License-Identifier: MIT OR Apache-2.0
//! A port of the network's switch (docs/net.md): shared memory with two rings, and the switch to
//! call and to notify.

use crate::ipc::{Message, call};
use crate::region::Region;
use crate::{Env, Error, Result, Thread, Word};
use alloc::string::String;
use frames::{Address, Layout, Receiver, Sender, Shared};
use image::protocol::net::{
    ATTACH, ATTACH_CARD, BIT_ATTACH, BIT_FRAMES, HAS_CARD, LINK, LINK_UP, NAME, STATISTICS,
};

/// Notification bits by which the switch says that there are frames, or free slots.
pub const FRAMES: u32 = 1 << BIT_FRAMES;
/// And that its client has to attach again.
pub const AGAIN: u32 = 1 << BIT_ATTACH;

/// One of the counters of a port (docs/net.md, STATISTICS), from a switch that was granted with the
/// badge of a watcher; `None` if there is no such port or number, or the switch does not answer.
#[must_use]
pub fn counter(switch: Thread, port: u32, number: u32) -> Option<u64> {
    match switch.ask([STATISTICS as Word, number as Word, port as Word]) {
        Ok([0, low, high]) => Some(u64::from(high as u32) << 32 | u64::from(low as u32)),
        _ => None,
    }
}

/// The name of a port's client, from a switch that was granted with the badge of a watcher; `None`
/// if there is no such port, or the description does not say, or the switch does not answer.
#[must_use]
pub fn name(switch: Thread, port: u32) -> Option<String> {
    let reply = call(switch, Message::new([NAME as Word, 0, port as Word])).ok()?;
    (reply.words[0] == 0).then(|| reply.text()).filter(|name| !name.is_empty())
}

/// A client's side of a port: the memory `network`, the switch to call as `switch`, and to notify
/// as `switch-bell`.
#[derive(Debug)]
pub struct Port {
    memory: Region,
    layout: Layout,
    switch: Thread,
    bell: Thread,
}

/// The rings of a port that was attached.
#[derive(Debug)]
pub struct Rings {
    /// From the switch.
    pub input: Receiver,
    /// To the switch.
    pub output: Sender,
}

/// The state of a link, and the client's address at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The client's address.
    pub address: Address,
    /// Whether frames come through.
    pub is_up: bool,
}

impl Port {
    /// The component's only port; `None` if the description gives it none.
    #[must_use]
    pub fn find(env: &Env) -> Option<Self> {
        let memory = Region::find(env, "network")?;
        let layout = Layout::of(memory.bytes())?;
        let given = |name| env.given(name).map(|given| Thread(given.slot as Word));
        Some(Self { memory, layout, switch: given("switch")?, bell: given("switch-bell")? })
    }

    /// The memory that both sides see.
    #[must_use]
    pub const fn memory(&self) -> &Region {
        &self.memory
    }

    fn ask(&self, words: [Word; 3]) -> Result<[Word; 3]> {
        loop {
            match call(self.switch, Message::new(words)) {
                // It lives again, and has not taken this.
                Err(Error::PeerRestarted) => {}
                Err(error) => return Err(error),
                Ok(reply) if reply.words[0] == 0 => return Ok(reply.words),
                Ok(_) => return Err(Error::BadArgument),
            }
        }
    }

    /// The rings, begun again; all slots of *in* are the switch's to fill.
    fn rings(&self) -> Result<Rings> {
        let (mut input, output) = (
            Receiver::new(self.layout.to_client(), &self.memory),
            Sender::new(self.layout.from_client()),
        );
        self.notify(input.publish(&self.memory))?;
        Ok(Rings { input, output })
    }

    /// Begins again: what is in the rings is lost.
    ///
    /// # Errors
    /// `BadArgument` if the switch refuses; what the kernel says.
    pub fn attach(&self) -> Result<(Rings, Link)> {
        let [_, low, high] = self.ask([ATTACH as Word, 0, 0])?;
        let ([a, b, c, d], [e, f, ..]) = ((low as u32).to_le_bytes(), (high as u32).to_le_bytes());
        Ok((
            self.rings()?,
            Link { address: Address([a, b, c, d, e, f]), is_up: high as u32 & LINK_UP != 0 },
        ))
    }

    /// The same for the driver of the card, if there is one.
    ///
    /// # Errors
    /// As [`Port::attach`].
    pub fn attach_card(&self, card: Option<Link>) -> Result<Rings> {
        let Address([a, b, c, d, e, f]) = card.map_or(Address([0; 6]), |card| card.address);
        let flags = card.map_or(0, |card| HAS_CARD | if card.is_up { LINK_UP } else { 0 });
        let high = u32::from_le_bytes([e, f, 0, 0]) | flags;
        self.ask([ATTACH_CARD as Word, u32::from_le_bytes([a, b, c, d]) as Word, high as Word])?;
        self.rings()
    }

    /// The driver of the card says that its link has changed.
    ///
    /// # Errors
    /// As [`Port::attach`].
    pub fn link(&self, is_up: bool) -> Result<()> {
        self.ask([LINK as Word, Word::from(is_up), 0]).map(|_| ())
    }

    /// Wakes the switch, if `due` says that it sleeps.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn notify(&self, due: bool) -> Result<()> {
        if due { self.bell.notify() } else { Ok(()) }
    }
}
