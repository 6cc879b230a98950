// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that a machine sees: what was there, and what the machine has written.
//!
//! It consists of words, as the host has them. The machine decides which byte of a word has which
//! address.

use std::ops::Range;

/// What was written, each word with its address, in the order of addresses. Events write few words,
/// and a row of them is searched, filled and copied in less time than a tree.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Written(Vec<(u32, u32)>);

impl Written {
    /// The word at an address, if it was written.
    pub fn get(&self, address: u32) -> Option<u32> {
        self.place(address).ok().map(|place| self.0[place].1)
    }

    /// Writes a word.
    pub fn set(&mut self, address: u32, value: u32) {
        match self.place(address) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (address, value)),
        }
    }

    /// The index of an address, or where it would be inserted.
    fn place(&self, address: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&address, |(at, _)| *at)
    }

    /// The words, with their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + Clone {
        self.0.iter().copied()
    }

    /// The addresses.
    #[allow(dead_code, reason = "not each processor asks for it")]
    pub fn keys(&self) -> impl Iterator<Item = u32> {
        self.iter().map(|(at, _)| at)
    }

    /// The words at these addresses.
    pub fn range(&self, addresses: Range<u32>) -> impl Iterator<Item = (u32, u32)> {
        let first = self.place(addresses.start).unwrap_or_else(|place| place);
        self.0[first..].iter().copied().take_while(move |(at, _)| *at < addresses.end)
    }
}

impl Extend<(u32, u32)> for Written {
    fn extend<T: IntoIterator<Item = (u32, u32)>>(&mut self, words: T) {
        words.into_iter().for_each(|(address, value)| self.set(address, value));
    }
}

impl FromIterator<(u32, u32)> for Written {
    fn from_iter<T: IntoIterator<Item = (u32, u32)>>(words: T) -> Self {
        let mut written = Self::default();
        written.extend(words);
        written
    }
}

/// Words, by multiples of 4.
pub struct Words<'a> {
    before: &'a dyn Fn(u32) -> Option<u32>,
    /// What was written.
    pub written: Written,
    /// Their addresses, in the order of time.
    pub order: Vec<u32>,
}

impl<'a> Words<'a> {
    /// A word that `before` gives, until it is written.
    pub fn new(before: &'a dyn Fn(u32) -> Option<u32>) -> Self {
        Self { before, written: Written::default(), order: Vec::new() }
    }

    /// The word at an address; nothing if there is none.
    pub fn get(&self, address: u32) -> Option<u32> {
        self.written
            .get(address)
            .or_else(|| (self.before)(address))
            .filter(|_| address.is_multiple_of(4))
    }

    /// Writes a word, if memory has it. Returns false if it has not.
    pub fn set(&mut self, address: u32, value: u32) -> bool {
        let is_there = self.get(address).is_some();
        if is_there {
            self.written.set(address, value);
            self.order.push(address);
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::Written;
    use fastrand::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn words_are_where_a_tree_has_them() {
        let mut rng = Rng::with_seed(1);
        let (mut row, mut tree) = (Written::default(), BTreeMap::new());
        for _ in 0..1000 {
            let [address, start, bytes] = [(); 3].map(|()| rng.u32(..64) * 4);
            let value = rng.u32(..);
            row.set(address, value);
            tree.insert(address, value);
            assert_eq!(row.get(start), tree.get(&start).copied());
            let range = start..start + bytes;
            let words = tree.range(range.clone()).map(|(at, word)| (*at, *word));
            assert!(row.range(range).eq(words), "{row:x?} after {address:#x}");
            assert!(row.iter().eq(tree.iter().map(|(at, word)| (*at, *word))));
        }
    }
}
