// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has which VSIDs on PowerPC.
//!
//! A VSID is 24 bits of a virtual address that stand for a segment of 256 MiB. Translations in the TLB and in the hashed table have them,
//! so a space whose VSIDs are its own flushes nothing when it runs again, and one that gets other VSIDs has lost all of its translations
//! at once: the *lazy flush* of Linux/PPC (Dougan, Mackerras, Yodaiken 1999, section 7).
//!
//! A space has a *context*, a number of 20 bits, and from that a VSID for each of its 16 segments. The processor finds a translation's
//! group in the hashed table by the VSID's lower bits and the page's number in its segment, so spaces of equal layout would meet in the
//! same groups if their VSIDs were neighbours: they are scattered (section 5.2).

use abi::UserAddr;

/// What scatters VSIDs. It is odd, so no two segments of any contexts have one VSID: protection rests on that.
pub const SCATTER: u32 = 0x005b_d1e9;
/// Bits of a VSID.
const VSID: u32 = 0xff_ffff;
/// How many contexts there are; the first is nobody's.
pub const CONTEXTS: u32 = 1 << 20;
/// Segments of all addresses.
pub const SEGMENTS: u32 = 16;
/// Segments of users' addresses.
pub const USER_SEGMENTS: u32 = abi::arch::powerpc::layout::USER_END >> 28;
/// What a change of mappings takes out of the TLB and the hashed table page by page; more pages are a new context. The same cut-off as
/// the paper's (section 7).
pub const CUT_OFF: u32 = 20;

/// The VSID of a segment of a context.
#[must_use]
pub const fn vsid(context: u32, segment: u32) -> u32 {
    (context % CONTEXTS * SEGMENTS + segment % SEGMENTS).wrapping_mul(SCATTER) & VSID
}

/// The VSID of an address.
#[must_use]
pub const fn of_address(context: u32, address: UserAddr) -> u32 {
    vsid(context, (address.0 as u32) >> 28)
}

/// A set of segments of users' addresses, a bit each.
pub type Segments = u16;

/// The two segments that small components have all in; they are always loaded together.
pub const LOW: Segments = 3;

/// What a switch writes, as segments and their VSIDs: from a space that has these segments loaded to one that uses those, by this context.
/// What only the first one uses gets a VSID that no space has: a segment that stayed loaded would show the first one's memory to the second.
pub fn switch(loaded: Segments, used: Segments, context: u32) -> impl Iterator<Item = (u32, u32)> {
    let of = move |segment: u32| if used & 1 << segment != 0 { context } else { 0 };
    (0..USER_SEGMENTS).filter(move |segment| (loaded | used) & 1 << segment != 0).map(move |segment| (segment, vsid(of(segment), segment)))
}

/// A word by which a fast path tells whether a space's context counts: another one for each time that all contexts were taken back, and none
/// if there is no such word any more. [`NO_TOKEN`] is nobody's.
#[must_use]
pub const fn token(epoch: u64) -> Option<u32> {
    if epoch < NO_TOKEN as u64 { Some(epoch as u32) } else { None }
}

/// See [`token`].
pub const NO_TOKEN: u32 = u32::MAX;

/// Contexts that nobody has had yet.
#[derive(Clone, Copy, Debug)]
pub struct Contexts {
    next: u32,
    end: u32,
}

impl Contexts {
    /// So many, and at most all; the first is nobody's.
    #[must_use]
    pub const fn new(count: u32) -> Self {
        Self { next: 1, end: if count < CONTEXTS { count } else { CONTEXTS } }
    }

    /// A context that nobody has had since [`begin_again`](Self::begin_again); nothing if there is none.
    pub const fn take(&mut self) -> Option<u32> {
        if self.next >= self.end {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// No translation of any context is left anywhere, and no space has one: all can be taken again.
    pub const fn begin_again(&mut self) {
        self.next = 1;
    }
}
