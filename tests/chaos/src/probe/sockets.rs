// SPDX-License-Identifier: MIT OR Apache-2.0
//! A connection to itself through the IP server: whether bytes arrive, and whether they are those
//! that were sent.

use super::{PATIENCE, Probe, rest};
use core::time::Duration;
use macadamia::net::{Error, Ipv4Addr, TcpListener, TcpStream};
use macadamia::start::status;
use macadamia::{Env, println};

/// The port at which it listens.
const PORT: u16 = 4000;
/// Bytes of a question.
const BYTES: usize = 1000;

/// The connection.
pub struct Connection {
    /// The IP server's address.
    address: Ipv4Addr,
    ends: Option<Ends>,
    made: u32,
    bytes: u64,
    wrong: u32,
}

struct Ends {
    _listener: TcpListener,
    from: TcpStream,
    to: TcpStream,
    /// The number of the server's restart in which it was made.
    life: u32,
    sent: u64,
    come: u64,
}

/// The byte at this place of the stream.
const fn byte(at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn life() -> u32 {
    status("ip").map_or(0, |status| status.restarts)
}

impl Connection {
    /// To the address that the argument `address` says, if the component has sockets.
    pub fn find(env: &Env) -> Option<Self> {
        env.given("sockets")?;
        let text = env
            .argument("address")
            .unwrap_or_else(|| panic!("write `address=` the IP server's as an argument"));
        let address = text.parse().unwrap_or_else(|_| panic!("`{text}` is no address"));
        Some(Self { address, ends: None, made: 0, bytes: 0, wrong: 0 })
    }

    fn connect(&self) -> Result<Ends, Error> {
        let life = life();
        let listener = TcpListener::bind((self.address, PORT))?;
        let from = TcpStream::connect((self.address, PORT))?;
        let (to, _) = listener.accept()?;
        [&from, &to]
            .iter()
            .for_each(|stream| stream.set_timeout(Some(Duration::from_nanos(PATIENCE))));
        Ok(Ends { _listener: listener, from, to, life, sent: 0, come: 0 })
    }
}

impl Ends {
    /// Sends what has to be sent, and compares what has come. Returns how many bytes are wrong.
    fn exchange(&mut self) -> Result<u32, Error> {
        if self.sent == self.come {
            let bytes: [u8; BYTES] = core::array::from_fn(|index| byte(self.sent + index as u64));
            self.sent += self.from.write(&bytes)? as u64;
        }
        let (mut buffer, mut wrong) = ([0; BYTES], 0);
        while self.come < self.sent {
            let count = self.to.read(&mut buffer)?;
            if count == 0 {
                return Err(Error::ConnectionReset);
            }
            wrong += (self.come..)
                .zip(&buffer[..count])
                .filter(|(at, found)| byte(*at) != **found)
                .count() as u32;
            self.come += count as u64;
        }
        Ok(wrong)
    }
}

impl Probe for Connection {
    fn ask(&mut self, _: u32) -> macadamia::Result<bool> {
        let mut ends = match self.ends.take() {
            Some(ends) => ends,
            None => match self.connect() {
                Ok(ends) => {
                    self.made += 1;
                    ends
                }
                Err(_) => return rest().map(|()| false),
            },
        };
        let before = ends.come;
        let result = ends.exchange();
        self.bytes += ends.come - before;
        match result {
            Ok(wrong) => {
                self.wrong += wrong;
                self.ends = Some(ends);
                Ok(true)
            }
            Err(Error::TimedOut) => {
                self.ends = Some(ends);
                Ok(false)
            }
            Err(error) => {
                // Nothing but the server's death ends it.
                if ends.life == life() {
                    println!("a connection ended while the IP server lived: {error}");
                    self.wrong += 1;
                }
                Ok(false)
            }
        }
    }

    fn wrong(&self) -> u32 {
        self.wrong
    }

    fn report(&self) {
        println!("{} bytes by {} connections, {} wrong", self.bytes, self.made, self.wrong);
    }
}
