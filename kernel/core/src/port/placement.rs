// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a space is among all addresses.

use crate::Space;
use abi::utcb::{AREA_END, AREA_START, FIRST_SLOT, KIP_ADDRESS};
use abi::{Error, TABLE_SPAN, USER_END, UserAddr, Word};
use core::ops::Range;
use pool::{Link, Pool, Ref};

/// The kernel's part of a native space: nobody else maps there.
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
        let fits = place.is_multiple_of(TABLE_SPAN)
            && place < USER_END
            && AREA_END - AREA_START <= USER_END - place;
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

/// Where a space is among all addresses, and by whose tables its threads run.
///
/// The bodies here are right if each space has all addresses for itself: there are no slots that
/// spaces are relocated to, no servers that spaces show, and no small spaces in a home. What the
/// core does for these is left out of the kernel then.
pub trait Placement {
    /// How many slots there are that spaces can be relocated to ([`wants_slot`](Self::wants_slot)).
    const SLOTS: u16 = 0;
    /// Whether there can be servers ([`space_served`](Self::space_served)).
    const SERVERS: bool = false;
    /// Whether spaces can be small ([`space_moved`](Self::space_moved)).
    const HOMES: bool = false;

    /// Where a native space, which has no tables yet, will have its UTCBs and the information page.
    /// `place` is what its maker says of that; 0 is nothing. Native spaces may map all but their
    /// own area, and spaces of aliens everything: where
    /// [`utcb_page`](crate::port::Caches::utcb_page) gives the users' address, the port keeps these
    /// addresses from both, as users' addresses end below them.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS |
    /// |---|---|---|---|---|
    /// | at the address `place`; `hw` notes the directory's entry for it | a part of its own for each: no address is two spaces'; `place` is as for aliens ([`place`](Self::place)) | as it is | as it is | as it is |
    ///
    /// # Errors
    /// `BadAddress`: it cannot be there. `BadArgument`: the place says nothing. `PoolExhausted`:
    /// all places have been given.
    fn area(&mut self, _pool: &mut Pool, _space: Ref<Space>, place: Word) -> Result<Area, Error> {
        Area::at(place)
    }
    /// What the maker of a space of aliens, which has no tables yet, says of its place; not 0.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS |
    /// |---|---|---|---|---|
    /// | as it is: there is nothing to say | whether it is relocated, and its vspace (`abi::arch::armv5::place`) | as it is | as it is | as it is |
    ///
    /// # Errors
    /// `BadArgument`: that says nothing.
    fn place(&mut self, _pool: &mut Pool, _space: Ref<Space>, _place: Word) -> Result<(), Error> {
        Err(Error::BadArgument)
    }
    /// Whether what the maker of a space says of its place asks for a slot: a part of all
    /// addresses, to which the processor relocates it. Slots are few, so Quotas divide them
    /// (`mmu::slots`).
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS |
    /// |---|---|---|---|---|
    /// | as it is: small spaces are attached to a home | whether it is to be relocated | as it is | as it is | as it is |
    fn wants_slot(_place: Word) -> bool {
        false
    }
    /// A space that wants one gets a slot: one that nobody has, which its Quota has paid for
    /// (`is_own`), or one that spaces of the same Quota have. If there is none it has no slot. It
    /// has no tables yet.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS |
    /// |---|---|---|---|---|
    /// | as it is | the PID | as it is | as it is | as it is |
    fn give_slot(&mut self, _pool: &mut Pool, _space: Ref<Space>, _is_own: bool) {}
    /// What the maker of a space is told of its place.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS |
    /// |---|---|---|---|---|
    /// | as it is | the number of its slot | as it is | as it is | as it is |
    fn place_of(&self, _pool: &Pool, _space: Ref<Space>) -> Word {
        0
    }
    /// A space without threads becomes a server: [`Space::window`] says so. Afterwards its threads
    /// run privileged enough for pages that [`mmu::Format::supervisor`] keeps from others, and not
    /// enough for the kernel's. It is called before its entries become the supervisor's.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS |
    /// |---|---|---|---|---|
    /// | its threads run at ring 1, and are entered by `iret`, if segment limits hold | as it is: a switch of tables costs nothing, and user pages are told apart by domains | its window is whole segments | as it is: there are none yet | as it is: there are none |
    ///
    /// # Errors
    /// `Unsupported`: there are none on this machine. `BadAddress`: a window cannot begin there.
    fn space_served(&mut self, _pool: &mut Pool, _space: Ref<Space>) -> Result<(), Error> {
        Err(Error::Unsupported)
    }
    /// A space shows a server from now on, or none any more. The entries are there, or will be
    /// gone. Afterwards the server's threads run by the space's tables while these are the
    /// processor's, or by their own.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS |
    /// |---|---|---|---|---|
    /// | `hw` notes which, for the switch | as it is | its segments are open while the server runs for the space | as it is | as it is |
    fn server_shown(&mut self, _pool: &mut Pool, _space: Ref<Space>, _server: Link<Space>) {}
    /// Whether spaces can be small on this machine, if they can on some ([`HOMES`](Self::HOMES)).
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS |
    /// |---|---|---|---|---|
    /// | if segment limits hold | as it is: slots do it | as it is | as it is | as it is: ASIDs do it |
    fn has_small_spaces(&self) -> bool {
        Self::HOMES
    }
    /// A space is small from now on: its home's tables have its entries at `place`, and get each
    /// change at once. Afterwards its threads run by its home's tables, with the addresses from 0
    /// on that there are from `place` on, and reach nothing outside. Or its home is null and the
    /// space large again: its threads run by its own tables. It may be loaded either time, and it
    /// may be large already. The home has no threads. Entries of a server that it shows are the
    /// supervisor's.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS |
    /// |---|---|---|---|---|
    /// | `hw` gets the home's directory, the way in, and the segment descriptor that lets ring 3 reach the place and nothing else; what is loaded of its threads is unloaded | as it is | as it is | as it is | as it is |
    fn space_moved(
        &mut self,
        _pool: &mut Pool,
        _space: Ref<Space>,
        _home: Link<Space>,
        _place: Range<UserAddr>,
    ) {
    }
}
