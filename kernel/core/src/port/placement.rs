// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a space is among all addresses.

use crate::Space;
use abi::utcb::{AREA_BYTES, AREA_END, AREA_START, FIRST_SLOT, KIP_ADDRESS};
use abi::{Error, TABLE_SPAN, USER_END, UserAddr, Word};
use core::ops::Range;
use pool::{Link, Pool, Ref};

/// The kernel's part of a native space, where nothing else is mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Area {
    /// First address, a multiple of `TABLE_SPAN` if it is among the users' (below `USER_END`).
    pub start: UserAddr,
    /// End (exclusive), a multiple of `TABLE_SPAN` if it is among the users'.
    pub end: UserAddr,
    /// Address of the information page, in the area; none if the port shows it in every space
    /// ([`Caches::information_page`](crate::port::Caches::information_page)).
    pub kip: Option<UserAddr>,
    /// Address of the first page of UTCB slots. There is room for [`abi::utcb::SLOTS`].
    pub first_slot: UserAddr,
}

impl Area {
    /// The part that the contract names, but at a place.
    ///
    /// # Errors
    /// `BadAddress`: it would not be aligned, or not lie among the users' addresses.
    pub fn at(place: Word) -> Result<Self, Error> {
        let fits =
            place.is_multiple_of(TABLE_SPAN) && place < USER_END && AREA_BYTES <= USER_END - place;
        let moved = |address: Word| UserAddr(address - AREA_START + place);
        fits.then(|| Self {
            start: moved(AREA_START),
            end: moved(AREA_END),
            kip: Some(moved(KIP_ADDRESS)),
            first_slot: moved(FIRST_SLOT),
        })
        .ok_or(Error::BadAddress)
    }
}

/// Where a space is among all addresses, and with whose tables its threads run.
///
/// The bodies here are right if each space has all addresses for itself: there are no slots that
/// spaces are relocated to, no servers that spaces show, and no small spaces in a home. Then the
/// kernel is built without the core's code for these.
pub trait Placement {
    /// How many slots there are that spaces can be relocated to ([`wants_slot`](Self::wants_slot)).
    const SLOTS: u16 = 0;
    /// Whether there can be servers ([`space_served`](Self::space_served)).
    const SERVERS: bool = false;
    /// Whether spaces can be small ([`space_moved`](Self::space_moved)).
    const HOMES: bool = false;

    /// Where a native space, which has no tables yet, will have its UTCBs and the information page.
    /// `place` is what the space's maker says about that; 0 says nothing. Native spaces may map
    /// everything except their own area, and spaces of aliens everything: where
    /// [`utcb_page`](crate::port::Caches::utcb_page) gives the users' address, the port keeps both
    /// kinds of spaces from mapping these addresses, because users' addresses end below them.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | at the address `place`; `hw` notes the directory's entry for it | a part of its own for each: no address is two spaces'; `place` is as for aliens ([`place`](Self::place)) | as it is | as it is | as it is | as it is |
    ///
    /// # Errors
    /// `BadAddress`: the area cannot be there. `BadArgument`: the place has no meaning.
    /// `PoolExhausted`: all places are in use.
    fn area(&mut self, _pool: &mut Pool, _space: Ref<Space>, place: Word) -> Result<Area, Error> {
        Area::at(place)
    }
    /// Takes what the maker of a space of aliens, which has no tables yet, says about its place; it
    /// is not 0.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is: there is nothing to say | whether it is relocated, and its vspace (`abi::arch::armv5::place`) | as it is | as it is | as it is | as it is |
    ///
    /// # Errors
    /// `BadArgument`: the place has no meaning.
    fn place(&mut self, _pool: &mut Pool, _space: Ref<Space>, _place: Word) -> Result<(), Error> {
        Err(Error::BadArgument)
    }
    /// Whether the place that the maker of a space names asks for a slot: a range of addresses to
    /// which the processor relocates the space. There are few slots, so they are divided among
    /// Quotas (`mmu::slots`).
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is: small spaces are attached to a home | whether it is to be relocated | as it is | as it is | as it is | as it is |
    fn wants_slot(_place: Word) -> bool {
        false
    }
    /// Gives a slot to a space that wants one: a free slot, for which the space's Quota has paid
    /// (`is_own`), or a slot that spaces of the same Quota have. If there is neither, the space
    /// gets no slot. The space has no tables yet.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is | the PID | as it is | as it is | as it is | as it is |
    fn give_slot(&mut self, _pool: &mut Pool, _space: Ref<Space>, _is_own: bool) {}
    /// What the maker of a space is told about the space's place.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is | the number of its slot | as it is | as it is | as it is | as it is |
    fn place_of(&self, _pool: &Pool, _space: Ref<Space>) -> Word {
        0
    }
    /// A space without threads becomes a server, as [`Space::window`] says. Afterwards its threads
    /// have enough privilege to access pages that [`mmu::Format::supervisor`] protects from others,
    /// but not enough to access the kernel's. It is called before the space's entries become the
    /// supervisor's.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | its threads run at ring 1, and are entered by `iret`, if segment limits hold | as it is: a switch of tables costs nothing, and user pages are told apart by domains | its window is whole segments | its threads run at ring 1, by tables that have of the kernel an entry area of its own only, if the boot word says so | as it is: there are none | as it is: there are none |
    ///
    /// # Errors
    /// `Unsupported`: there are no servers on this machine. `BadAddress`: a window cannot begin
    /// there.
    fn space_served(&mut self, _pool: &mut Pool, _space: Ref<Space>) -> Result<(), Error> {
        Err(Error::Unsupported)
    }
    /// A space shows a server from now on, or shows none any more. The entries are there already,
    /// or will be removed. Afterwards the server's threads run with the space's tables while these
    /// are loaded, and otherwise with their own.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | `hw` notes which, for the switch | as it is | its segments are open while the server runs for the space | `hw` notes which; it gets another shadow, by which both run | as it is | as it is |
    fn server_shown(&mut self, _pool: &mut Pool, _space: Ref<Space>, _server: Link<Space>) {}
    /// Whether spaces can be small on this machine, if they can on some ([`HOMES`](Self::HOMES)).
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | if segment limits hold | as it is: slots do it | as it is | as it is | as it is: ASIDs do it | as it is |
    fn has_small_spaces(&self) -> bool {
        Self::HOMES
    }
    /// A space becomes small: its home's tables have the space's entries at `place`, and get each
    /// change of them at once. Afterwards the space's threads run with the home's tables; their
    /// address 0 is `place` in the home, and they cannot access anything outside of the space. If
    /// the home is null, the space becomes large again: its threads run with its own tables. The
    /// space may be loaded in both cases, and in the second one it may be large already. A home has
    /// no threads. The entries of a server that the home shows are the supervisor's.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | `hw` gets the home's directory, the way in, and the segment descriptor that lets ring 3 reach the place and nothing else; what is loaded of its threads is unloaded | as it is | as it is | as it is | as it is | as it is |
    fn space_moved(
        &mut self,
        _pool: &mut Pool,
        _space: Ref<Space>,
        _home: Link<Space>,
        _place: Range<UserAddr>,
    ) {
    }
}
