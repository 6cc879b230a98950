// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which entry of a set is replaced.

use serde::Deserialize;

/// A replacement policy.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The least recently used entry.
    #[default]
    Lru,
    /// One entry after the other, regardless of their use.
    RoundRobin,
    /// A random entry, with the same sequence in every run.
    Random,
}

/// The policy's memory.
pub struct Victims {
    policy: Replacement,
    ways: usize,
    /// LRU: the time of each entry's last use.
    used: Vec<u64>,
    now: u64,
    /// Round robin: each set's next way.
    next: Vec<u32>,
    /// Random: the generator's state.
    state: u64,
}

impl Victims {
    /// For `entries` entries in sets of `ways`.
    pub fn new(entries: usize, ways: usize, policy: Replacement) -> Self {
        let used = if policy == Replacement::Lru { entries } else { 0 };
        let next = if policy == Replacement::RoundRobin { entries / ways } else { 0 };
        Self {
            policy,
            ways,
            used: vec![0; used],
            now: 0,
            next: vec![0; next],
            state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// The entry was used.
    pub fn touch(&mut self, slot: usize) {
        if self.policy == Replacement::Lru {
            self.now += 1;
            self.used[slot] = self.now;
        }
    }

    /// The entry of a full set that is replaced.
    pub fn choose(&mut self, set: usize) -> usize {
        let first = set * self.ways;
        first
            + match self.policy {
                Replacement::Lru => {
                    let used = &self.used[first..first + self.ways];
                    (0..self.ways).min_by_key(|&way| used[way]).unwrap_or(0)
                }
                Replacement::RoundRobin => {
                    let next = &mut self.next[set];
                    let way = *next as usize;
                    *next = (*next + 1) % self.ways as u32;
                    way
                }
                Replacement::Random => {
                    // xorshift64
                    self.state ^= self.state << 13;
                    self.state ^= self.state >> 7;
                    self.state ^= self.state << 17;
                    (self.state >> 32) as usize % self.ways
                }
            }
    }
}
