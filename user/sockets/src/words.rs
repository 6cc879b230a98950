// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests and replies as words.

use image::protocol::ip::{BAD_REQUEST, IS_V6, PLACE, WORDS};
use smoltcp::wire::{IpAddress, IpEndpoint, Ipv4Address, Ipv6Address};

/// A request or a reply.
pub type Words = [u32; WORDS];

/// Where the port is; the address follows.
const PORT: usize = 3;

/// The address in a request.
pub fn endpoint(words: &Words) -> Result<IpEndpoint, u32> {
    let address = &words[PORT + 1..];
    let address = match words[PORT] & !0xffff {
        0 => IpAddress::Ipv4(Ipv4Address::from(address[0].to_be_bytes())),
        IS_V6 => {
            let mut bytes = [0; 16];
            bytes
                .chunks_mut(4)
                .zip(address)
                .for_each(|(to, word)| to.copy_from_slice(&word.to_be_bytes()));
            IpAddress::Ipv6(Ipv6Address::from(bytes))
        }
        _ => return Err(BAD_REQUEST),
    };
    Ok(IpEndpoint::new(address, words[PORT] as u16))
}

/// A reply with an address.
pub fn reply_with(first: u32, IpEndpoint { addr, port }: IpEndpoint) -> Words {
    let mut words = reply(first);
    words[PORT] = u32::from(port);
    match addr {
        IpAddress::Ipv4(address) => words[PORT + 1] = address.to_bits(),
        IpAddress::Ipv6(address) => {
            words[PORT] |= IS_V6;
            let bits = address.to_bits();
            (0..)
                .zip(&mut words[PORT + 1..])
                .for_each(|(part, word)| *word = (bits >> (96 - part * 32)) as u32);
        }
    }
    words
}

/// A reply without one.
pub const fn reply(first: u32) -> Words {
    [0, first, 0, 0, 0, 0, 0, 0]
}

/// The reply that says why not.
pub const fn failed(error: u32) -> Words {
    [error, 0, 0, 0, 0, 0, 0, 0]
}

/// Offset and length of a place in memory of so many bytes.
pub fn place(word: u32, bytes: u32) -> Result<(u32, usize), u32> {
    let (offset, length) = ((word >> 16) * PLACE, word & 0xffff);
    if offset + length <= bytes { Ok((offset, length as usize)) } else { Err(BAD_REQUEST) }
}
