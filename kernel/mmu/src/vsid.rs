// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has which VSIDs on PowerPC.
//!
//! A VSID is 24 bits of a virtual address that stand for a segment of 256 MiB. Translations in the
//! TLB and in the hashed table have VSIDs. So a space with VSIDs of its own needs no flush when it
//! runs again, and a space that gets other VSIDs loses all of its translations at once: the *lazy
//! flush* of Linux/PPC (Dougan, Mackerras, Yodaiken 1999, section 7).
//!
//! A space has a *context*, a number of 20 bits, and from that a VSID for each of its 16 segments.
//! The processor finds a translation's group in the hashed table by the VSID's lower bits and the
//! page's number in its segment, so spaces of equal layout would meet in the same groups if their
//! VSIDs were neighbours: they are scattered (section 5.2).

use abi::UserAddr;

/// What scatters VSIDs. It is odd, so no two segments of any contexts have one VSID: protection
/// rests on that.
pub const SCATTER: u32 = 0x005b_d1e9;
/// Bits of a VSID.
const VSID: u32 = 0xff_ffff;
/// How many contexts there are; no space has the first.
pub const CONTEXTS: u32 = 1 << 20;
/// Segments of all addresses.
pub const SEGMENTS: u32 = 16;
/// Segments of users' addresses.
pub const USER_SEGMENTS: u32 = abi::arch::powerpc::layout::USER_END >> 28;
/// The inverse of [`SCATTER`].
const GATHER: u32 = inverse(SCATTER);

/// The number whose product with an odd one ends with a 1 and zeros. Each round doubles the bits
/// that are right, which are three at first.
const fn inverse(odd: u32) -> u32 {
    let (mut inverse, mut round) = (odd, 0);
    while round < 4 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

/// A change of up to this many pages removes them from the TLB and the hashed table page by page;
/// if more pages change, the space gets a new context. The paper has the same cut-off (section 7).
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

/// The context that a VSID is of.
#[must_use]
pub const fn context(vsid: u32) -> u32 {
    (vsid.wrapping_mul(GATHER) & VSID) / SEGMENTS
}

/// The function that makes VSIDs of contexts and segments: [`vsid`], or one of those that the paper
/// began with, which fill the hashed table less well (section 5.2). Each is one to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// The context's number, with the segment in upper bits, which the processor's hash leaves out.
    Process,
    /// Sixteen times the context's number, plus the segment.
    ProcessAndSegment,
    /// What the kernel has.
    Scattered,
}

impl Function {
    /// All, in the order of the paper.
    pub const ALL: [Self; 3] = [Self::Process, Self::ProcessAndSegment, Self::Scattered];

    /// The VSID of a segment of a context.
    #[must_use]
    pub const fn vsid(self, context: u32, segment: u32) -> u32 {
        match self {
            Self::Process => segment % SEGMENTS * CONTEXTS + context % CONTEXTS,
            Self::ProcessAndSegment => context % CONTEXTS * SEGMENTS + segment % SEGMENTS,
            Self::Scattered => vsid(context, segment),
        }
    }

    /// The context that a VSID is of.
    #[must_use]
    pub const fn context(self, vsid: u32) -> u32 {
        match self {
            Self::Process => vsid % CONTEXTS,
            Self::ProcessAndSegment => (vsid & VSID) / SEGMENTS,
            Self::Scattered => context(vsid),
        }
    }

    /// How many contexts may be given out. Segment registers that must match nothing have VSIDs
    /// that [`vsid`] makes of context 0, whatever the function is, and no space may have one of
    /// these.
    #[must_use]
    pub const fn contexts(self) -> u32 {
        match self {
            Self::Scattered => CONTEXTS,
            Self::Process | Self::ProcessAndSegment => CONTEXTS / 16,
        }
    }
}

/// A set of segments of users' addresses, a bit each.
pub type Segments = u16;

/// The two segments that have everything of a small component; they are always loaded together.
pub const LOW: Segments = 3;

/// The segment registers that a switch writes, and their values. The previous space has the
/// segments `loaded`, the next one uses the segments `used`, with these values of `register`.
/// Segments that only the previous space uses get a VSID that no space has: if they stayed loaded,
/// the next space could access the previous one's memory.
pub fn switch(
    loaded: Segments,
    used: Segments,
    register: impl Fn(u32) -> u32,
) -> impl Iterator<Item = (u32, u32)> {
    let of = move |segment: u32| {
        if used & 1 << segment != 0 { register(segment) } else { vsid(0, segment) }
    };
    (0..USER_SEGMENTS)
        .filter(move |segment| (loaded | used) & 1 << segment != 0)
        .map(move |segment| (segment, of(segment)))
}

/// In a segment register, next to the VSID, the key bit of user mode: by a segment with this bit,
/// pages that other spaces may write can only be read. So spaces that may write and spaces that may
/// not share a VSID, and one entry for a page in TLB and hashed table (Kp; *Programming
/// Environments*, table 7-11).
pub const KEY: u32 = 0x2000_0000;

/// What a segment register has where a window is shut: a VSID that no space has, and the bit that
/// forbids fetches. By that bit a 603's handler distinguishes it from the register of an open
/// window.
pub const SHUT: u32 = 0x1000_0000 | vsid(0, 0);

/// A word by which a fast path tells whether a space's context is valid: another word each time
/// that all spaces lost their contexts, and none when these words are used up. No space has
/// [`NO_TOKEN`].
#[must_use]
pub const fn token(epoch: u64) -> Option<u32> {
    if epoch < (NO_TOKEN ^ SHOWS) as u64 { Some(epoch as u32) } else { None }
}

/// A bit of the token of a space that shows a server.
pub const SHOWS: u32 = 1 << 31;

/// See [`token`].
pub const NO_TOKEN: u32 = u32::MAX;

/// Which contexts are given out. They are divided into two halves. While contexts of one half are
/// given out, no space has one of the other half, and the hashed table is swept of entries of that
/// half ([`crate::sweep`]).
#[derive(Clone, Copy, Debug)]
pub struct Contexts {
    /// Numbers of a half; no space has the first of all.
    half: u32,
    /// Where the half begins whose contexts are given out.
    base: u32,
    /// Below it no space has any.
    first: u32,
    next: u32,
}

impl Contexts {
    /// This many contexts: at least 4, and at most all.
    #[must_use]
    pub const fn new(count: u32) -> Self {
        let count = if count < CONTEXTS { count } else { CONTEXTS };
        Self { half: if count < 4 { 2 } else { count / 2 }, base: 0, first: 1, next: 1 }
    }

    /// How many of a half are given out at least.
    #[must_use]
    pub const fn least(&self) -> u32 {
        self.half - 1
    }

    /// A context that no space has had since this half began; nothing if there is none left.
    pub const fn take(&mut self) -> Option<u32> {
        if self.next >= self.base + self.half {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// Contexts of the other half are given out from now on: no translation of that half is left
    /// anywhere. No space has a context.
    pub const fn turn(&mut self) {
        self.base = if self.base == 0 { self.half } else { 0 };
        self.next = if self.base == 0 { 1 } else { self.base };
        self.first = self.next;
    }

    /// No space has a context.
    pub const fn forget_all(&mut self) {
        self.first = self.next;
    }

    /// The number of a context in its half, if a space may have it.
    #[must_use]
    pub const fn index(&self, context: u32) -> Option<u32> {
        if self.first <= context && context < self.next { Some(context - self.base) } else { None }
    }
}
