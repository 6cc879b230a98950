// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends datagrams back, as bench/linux/echoes.c does, until an empty one comes. An interval begins
//! before a datagram is sent back and ends when the next one has arrived: it has all the work for
//! one datagram, in whatever order.

use macadamia::interval::{begin, end};
use macadamia::net::{Result, UdpSocket};

/// How many datagrams at the beginning are not measured.
const WARM: u32 = 50;

pub fn serve() -> Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:7")?;
    let mut buffer = [0; 64];
    for number in 0_u32.. {
        let (bytes, from) = socket.recv_from(&mut buffer)?;
        if number > WARM {
            end::<640>();
        }
        if bytes == 0 {
            break;
        }
        if number >= WARM {
            begin::<640>();
        }
        socket.send_to(&buffer[..bytes], from)?;
    }
    Ok(())
}
