// SPDX-License-Identifier: MIT OR Apache-2.0
//! A network card as its driver uses it: it transfers between the network and slots of a port's
//! memory (docs/net.md).

use crate::Result;
use crate::dma::Use;
use crate::net::port::Link;
use crate::pci::Failed;

/// A direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the network.
    Receive = 0,
    /// To it.
    Send = 1,
}

impl Way {
    /// What a card does with the memory of a frame.
    #[must_use]
    pub const fn by_device(self) -> Use {
        match self {
            Self::Receive => Use::Writes,
            Self::Send => Use::Reads,
        }
    }
}

/// A card. When it is dropped it is reset, and leaves memory alone.
pub trait Card {
    /// The card's address, and whether its link is up.
    fn link(&self) -> Link;
    /// Takes the card's interrupt back. Whether the link may have changed.
    fn acknowledge(&mut self) -> bool;
    /// Whether the card is to interrupt when it is done with frames of this direction.
    fn interrupts(&mut self, way: Way, enable: bool);
    /// Gives the card a slot at this offset of the port's memory: to fill it, or to send the frame
    /// of so many bytes in it. The slot's words are not touched before [`Card::finish`] returns it.
    ///
    /// # Errors
    /// `BadState` if the card has as many as it can, `BadArgument` if the slot is not in the
    /// memory; what the kernel says of the caches.
    fn start(&mut self, way: Way, slot: u32, bytes: u32) -> Result<()>;
    /// Tells the card of slots that it was given.
    fn kick(&mut self, way: Way);
    /// A slot that the card is done with: its offset, and the bytes of the frame that it has
    /// received.
    ///
    /// # Errors
    /// [`Failed`] if the card returns what it was not given, or says that it needs a reset: it is
    /// not to be trusted any more.
    fn finish(&mut self, way: Way) -> core::result::Result<Option<(u32, u32)>, Failed>;
}
