// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which clients to let in.

use core::net::{IpAddr, Ipv6Addr};

/// How many connections there may be at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// All together.
    pub all: usize,
    /// Of one address.
    pub one: usize,
}

/// Somebody who has a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guest {
    /// From where.
    pub peer: IpAddr,
    /// Since when no request is begun, if none is, in nanoseconds.
    pub idle_since: Option<u64>,
}

/// What becomes of somebody who comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// There is room.
    Free,
    /// There is when the guest of this number has gone, who does nothing.
    InPlaceOf(usize),
    /// There is none.
    Full,
}

impl Limits {
    /// Whether somebody from an address may come to these guests. One address never has all
    /// connections, and an idle one is closed for a new one.
    #[must_use]
    pub fn admit(&self, guests: &[Guest], peer: IpAddr) -> Entry {
        let own = network(peer);
        if guests.iter().filter(|guest| network(guest.peer) == own).count() >= self.one {
            return Entry::Full;
        }
        if guests.len() < self.all {
            return Entry::Free;
        }
        let idle = guests
            .iter()
            .enumerate()
            .filter_map(|(number, guest)| Some((guest.idle_since?, number)));
        idle.min().map_or(Entry::Full, |(_, number)| Entry::InPlaceOf(number))
    }
}

/// What one host has: with IP version 6 all addresses of a network.
const fn network(address: IpAddr) -> IpAddr {
    const NETWORK: u128 = !(u64::MAX as u128);
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK)),
    }
}
