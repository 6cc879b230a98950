// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring of words that one side writes and the other reads. The writer never waits for the reader,
//! and reads nothing of what that writes: words that were not read before the ring is full again are
//! lost.

use crate::ring::Shared;

/// Offset of the count of words that were written, modulo 2^32, and of the words.
const WRITTEN: u32 = 0;
const FIRST: u32 = 64;

/// How many words have room: a power of two, so that the count may wrap. 0 if none has.
fn room(memory: &impl Shared) -> u32 {
    let words = memory.bytes().saturating_sub(FIRST) / 4;
    words.checked_ilog2().map_or(0, |log| 1 << log)
}

const fn at(number: u32, room: u32) -> u32 {
    FIRST + number % room * 4
}

/// The side that writes.
#[derive(Debug)]
pub struct Writer<M> {
    memory: M,
    room: u32,
    written: u32,
}

impl<M: Shared> Writer<M> {
    /// Goes on where a life before this one has ended. `None` if the memory has no room.
    #[must_use]
    pub fn new(memory: M) -> Option<Self> {
        let room = room(&memory);
        (room > 0).then(|| Self { written: memory.read(WRITTEN), memory, room })
    }

    /// Writes a word.
    pub fn push(&mut self, word: u32) {
        self.memory.write(at(self.written, self.room), word);
        self.memory.fence();
        self.written = self.written.wrapping_add(1);
        self.memory.write(WRITTEN, self.written);
        self.memory.fence();
    }
}

/// The side that reads.
#[derive(Debug)]
pub struct Reader<M> {
    memory: M,
    room: u32,
    taken: u32,
}

impl<M: Shared> Reader<M> {
    /// Reads what is written from now on. `None` if the memory has no room.
    #[must_use]
    pub fn new(memory: M) -> Option<Self> {
        let room = room(&memory);
        (room > 0).then(|| Self { taken: memory.read(WRITTEN), memory, room })
    }

    /// The same, and all that is there before that: zeros where nothing was written yet.
    #[must_use]
    pub fn from_oldest(memory: M) -> Option<Self> {
        let mut reader = Self::new(memory)?;
        reader.taken = reader.taken.wrapping_sub(reader.room - 1);
        Some(reader)
    }

    /// The next word, if there is one. While one is being written the oldest is not there.
    pub fn take(&mut self) -> Option<u32> {
        let most = self.room - 1;
        let written = self.memory.read(WRITTEN);
        self.memory.fence();
        if written.wrapping_sub(self.taken) > most {
            self.taken = written.wrapping_sub(most);
        }
        if self.taken == written {
            return None;
        }
        let word = self.memory.read(at(self.taken, self.room));
        self.memory.fence();
        // It may have been overwritten meanwhile.
        let is_whole = self.memory.read(WRITTEN).wrapping_sub(self.taken) <= most;
        self.taken = self.taken.wrapping_add(1);
        Some(if is_whole { word } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::rc::Rc;
    use alloc::vec;
    use alloc::vec::Vec;
    use core::cell::RefCell;

    #[derive(Clone)]
    struct Memory(Rc<RefCell<Vec<u32>>>);

    impl Memory {
        fn new(words: usize) -> Self {
            Self(Rc::new(RefCell::new(vec![0; words])))
        }
    }

    impl Shared for Memory {
        fn bytes(&self) -> u32 {
            self.0.borrow().len() as u32 * 4
        }
        fn read(&self, offset: u32) -> u32 {
            self.0.borrow()[offset as usize / 4]
        }
        fn write(&self, offset: u32, value: u32) {
            self.0.borrow_mut()[offset as usize / 4] = value;
        }
        fn copy(&self, from: u32, other: &Self, to: u32, bytes: u32) {
            (0..bytes).step_by(4).for_each(|at| other.write(to + at, self.read(from + at)));
        }
        fn fence(&self) {}
    }

    fn all(reader: &mut Reader<Memory>) -> Vec<u32> {
        core::iter::from_fn(|| reader.take()).collect()
    }

    #[test]
    fn what_is_written_is_read_once_and_the_last_of_too_much() {
        let memory = Memory::new(16 + 8);
        // The count wraps.
        memory.write(WRITTEN, u32::MAX - 2);
        let mut writer = Writer::new(memory.clone()).expect("room");
        let mut reader = Reader::new(memory.clone()).expect("room");
        assert_eq!(all(&mut reader), []);
        (1..=5).for_each(|word| writer.push(word));
        assert_eq!(all(&mut reader), [1, 2, 3, 4, 5]);
        (6..=30).for_each(|word| writer.push(word));
        assert_eq!(all(&mut reader), [24, 25, 26, 27, 28, 29, 30]);
        let mut late = Reader::from_oldest(memory.clone()).expect("room");
        assert_eq!(all(&mut late), [24, 25, 26, 27, 28, 29, 30]);
        // Another life of the writer.
        Writer::new(memory).expect("room").push(31);
        assert_eq!(all(&mut reader), [31]);
    }

    #[test]
    fn a_count_that_cannot_be_does_no_harm() {
        let memory = Memory::new(16 + 8);
        let mut reader = Reader::new(memory.clone()).expect("room");
        for count in [1 << 31, u32::MAX, 0, 7] {
            memory.write(WRITTEN, count);
            assert!(all(&mut reader).len() < 8);
        }
        assert!(Writer::new(Memory::new(16)).is_none());
        assert!(Reader::new(Memory::new(0)).is_none());
    }
}
