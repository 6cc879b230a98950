// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses. Each kind is a type of its own, so that none is taken for another. The third kind,
//! addresses of kernel objects, are the references of the crate `pool`.

use crate::Word;
use bytemuck::{Pod, Zeroable};
use core::ops::{Add, AddAssign, Sub};

macro_rules! address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable)]
        pub struct $name(pub Word);

        impl $name {
            /// Whether it is a multiple of `bytes`, a power of two.
            #[must_use]
            pub const fn is_aligned(self, bytes: Word) -> bool {
                self.0 & (bytes - 1) == 0
            }
            /// The multiple of `bytes`, a power of two, at or below it.
            #[must_use]
            pub const fn align_down(self, bytes: Word) -> Self {
                Self(self.0 & !(bytes - 1))
            }
            /// The multiple of `bytes`, a power of two, at or above it.
            ///
            /// # Panics
            /// If there is none.
            #[must_use]
            pub const fn align_up(self, bytes: Word) -> Self {
                Self(self.0.next_multiple_of(bytes))
            }
            /// Bytes from `base` up to it; more than any range has if it lies below.
            #[must_use]
            pub const fn offset_from(self, base: Self) -> Word {
                self.0.wrapping_sub(base.0)
            }
        }
        impl Add<Word> for $name {
            type Output = Self;
            fn add(self, bytes: Word) -> Self {
                Self(self.0 + bytes)
            }
        }
        impl AddAssign<Word> for $name {
            fn add_assign(&mut self, bytes: Word) {
                self.0 += bytes;
            }
        }
        impl Sub for $name {
            type Output = Word;
            fn sub(self, base: Self) -> Word {
                self.0 - base.0
            }
        }
        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

address! {
    /// An address in a space, as user code has it.
    UserAddr
}
address! {
    /// A physical address.
    PhysAddr
}
