// SPDX-License-Identifier: MIT OR Apache-2.0
//! A structure for each operation, with its name. The fields are the arguments, in the order of
//! `a0` to `a3`: so who makes a call and who carries it out name them alike. What is not in these
//! registers, such as the rest of the tag and words of the UTCB, is in no field; the comment of the
//! structure tells of it.

pub use super::event::*;
pub use super::ipc::*;
pub use super::memory::*;
pub use super::object::*;
pub use super::packed::{BadgedRights, Counts, SizedRights, Time};
pub use super::thread::*;

use super::{Op, Page};
use crate::{Selector, UserAddr, Word};

/// The arguments of one operation.
pub trait SystemCall: Sized {
    /// The operation.
    const OP: Op;
    /// Its page of the manual.
    const PAGE: Page;
    /// The arguments that `a0` to `a3` hold.
    fn of(words: [Word; 4]) -> Self;
    /// What `a0` to `a3` are to hold; those that it has no argument for are 0.
    fn words(self) -> [Word; 4];
}

/// What a field can be: one word or more.
pub trait Argument: Sized {
    /// How many words.
    const WORDS: usize;
    /// What the first words are, and the words that follow them.
    fn first_of(words: [Word; 4]) -> (Self, [Word; 4]);
    /// Its words, then these, as many as have room.
    fn before(self, rest: [Word; 4]) -> [Word; 4];
}

impl Argument for Word {
    const WORDS: usize = 1;
    #[inline(always)]
    fn first_of([word, a, b, c]: [Word; 4]) -> (Self, [Word; 4]) {
        (word, [a, b, c, 0])
    }
    #[inline(always)]
    fn before(self, [a, b, c, _]: [Word; 4]) -> [Word; 4] {
        [self, a, b, c]
    }
}

impl Argument for [Word; 2] {
    const WORDS: usize = 2;
    #[inline(always)]
    fn first_of([x, y, a, b]: [Word; 4]) -> (Self, [Word; 4]) {
        ([x, y], [a, b, 0, 0])
    }
    #[inline(always)]
    fn before(self, [a, b, ..]: [Word; 4]) -> [Word; 4] {
        let [x, y] = self;
        [x, y, a, b]
    }
}

impl Argument for [Word; 3] {
    const WORDS: usize = 3;
    #[inline(always)]
    fn first_of([x, y, z, a]: [Word; 4]) -> (Self, [Word; 4]) {
        ([x, y, z], [a, 0, 0, 0])
    }
    #[inline(always)]
    fn before(self, [a, ..]: [Word; 4]) -> [Word; 4] {
        let [x, y, z] = self;
        [x, y, z, a]
    }
}

impl Argument for Time {
    const WORDS: usize = 2;
    #[inline(always)]
    fn first_of(words: [Word; 4]) -> (Self, [Word; 4]) {
        let ([low, high], rest) = <[Word; 2]>::first_of(words);
        (Self(u64::from(high as u32) << 32 | u64::from(low as u32)), rest)
    }
    #[inline(always)]
    fn before(self, rest: [Word; 4]) -> [Word; 4] {
        [self.0 as u32 as Word, (self.0 >> 32) as u32 as Word].before(rest)
    }
}

/// Types that are a word by another name.
macro_rules! words {
    ($($name:ty),*) => {$(
        impl Argument for $name {
            const WORDS: usize = 1;
            #[inline(always)]
            fn first_of(words: [Word; 4]) -> (Self, [Word; 4]) {
                let (word, rest) = Word::first_of(words);
                (Self(word), rest)
            }
            #[inline(always)]
            fn before(self, rest: [Word; 4]) -> [Word; 4] {
                self.0.before(rest)
            }
        }
    )*};
}
words!(Selector, UserAddr, BadgedRights, Counts, SizedRights);

/// Makes the structures: comment, name, and the fields with their comments.
macro_rules! calls {
    (@words $call:ident) => { [0; 4] };
    (@words $call:ident $first:ident $($rest:ident)*) => {
        $crate::call::Argument::before($call.$first, calls!(@words $call $($rest)*))
    };
    ($($(#[doc = $page:literal])* $name:ident { $($(#[doc = $text:literal])* $field:ident: $type:ty,)* })*) => {$(
        $(#[doc = $page])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name {
            $($(#[doc = $text])* pub $field: $type,)*
        }

        impl $crate::call::SystemCall for $name {
            const OP: $crate::Op = $crate::Op::$name;
            const PAGE: $crate::syscall::Page = $crate::syscall::Page {
                op: Self::OP,
                text: &[$($page),*],
                fields: &[$($crate::syscall::Field {
                    name: stringify!($field),
                    words: <$type as $crate::call::Argument>::WORDS,
                    text: &[$($text),*],
                }),*],
            };
            #[inline(always)]
            fn of(words: [$crate::Word; 4]) -> Self {
                $(let ($field, words) = <$type as $crate::call::Argument>::first_of(words);)*
                let _ = words;
                Self { $($field),* }
            }
            #[inline(always)]
            fn words(self) -> [$crate::Word; 4] {
                calls!(@words self $($field)*)
            }
        }
    )*};
}
pub(super) use calls;
