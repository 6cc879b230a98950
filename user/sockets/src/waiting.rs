// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests whose answer takes time.

use crate::sockets::{Kind, Memory, Sockets};
use crate::words::{Words, failed, reply, reply_with};
use alloc::vec;
use alloc::vec::Vec;
use image::protocol::ip::{
    BAD_REQUEST, FOREVER, HELLO, LOOK_UP, NO_NAME, POLL, QUOTA, READABLE, WRITABLE,
};
use smoltcp::socket::dns;
use smoltcp::socket::tcp::{Socket as Tcp, State};
use smoltcp::socket::udp::Socket as Udp;
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{DnsQueryType, IpEndpoint};

/// Most requests of a client that wait.
const MOST: usize = 32;
/// Bytes of an entry of POLL: two words.
const ENTRY: u32 = 8;
/// Most bytes of a name.
const NAME: usize = 255;

/// A request that waits.
pub struct Waiting {
    client: usize,
    handle: u32,
    what: What,
    /// When it ends in any case.
    pub until: Option<Instant>,
}

enum What {
    /// For an address of the server.
    Hello,
    /// For one socket.
    Socket {
        number: u32,
        wanted: u32,
    },
    /// For one of many: socket and what is wanted, and where their entries are.
    Sockets {
        wanted: Vec<(u32, u32)>,
        offset: u32,
    },
    Name(dns::QueryHandle),
}

impl<M: Memory> Sockets<M> {
    /// Begins to wait; an answer if there is one already.
    pub(crate) fn wait(
        &mut self,
        client: usize,
        handle: u32,
        request: &Words,
        now: Instant,
    ) -> Result<Option<Words>, u32> {
        let [request_code, number, wanted, milliseconds, ..] = *request;
        if request_code == HELLO {
            self.begin(client, number);
        }
        if self.waiting.iter().filter(|waiting| waiting.client == client).count() >= MOST {
            return Err(QUOTA);
        }
        let end =
            (milliseconds != FOREVER).then(|| now + Duration::from_millis(milliseconds.into()));
        let (what, until) = match request_code {
            HELLO => (What::Hello, Some(self.link.patience)),
            LOOK_UP => (What::Name(self.look_up(client, request)?), None),
            POLL => (self.entries(client, request)?, end),
            _ => (What::Socket { number, wanted }, end),
        };
        let waiting = Waiting { client, handle, what, until };
        let answer = self.answer(&waiting, now);
        if answer.is_none() {
            self.waiting.push(waiting);
        }
        Ok(answer)
    }

    fn look_up(&mut self, client: usize, request: &Words) -> Result<dns::QueryHandle, u32> {
        let (offset, bytes) = self.place(client, request)?;
        let mut name = vec![0; bytes.min(NAME + 1)];
        self.clients[client].memory.read(offset, &mut name);
        let name =
            core::str::from_utf8(&name).ok().filter(|name| name.len() <= NAME).ok_or(NO_NAME)?;
        let kind = match request[1] {
            4 => DnsQueryType::A,
            6 => DnsQueryType::Aaaa,
            _ => return Err(BAD_REQUEST),
        };
        self.set
            .get_mut::<dns::Socket>(self.link.names)
            .start_query(self.link.iface.context(), name, kind)
            .map_err(|_| NO_NAME)
    }

    fn entries(&self, client: usize, request: &Words) -> Result<What, u32> {
        let (offset, bytes) = self.place(client, request)?;
        // Who names more sockets than it may have names some twice, and each takes time of all
        // clients.
        if bytes as u64 != u64::from(request[1]) * u64::from(ENTRY)
            || request[1] as usize > self.most
        {
            return Err(BAD_REQUEST);
        }
        let mut list = vec![0; bytes];
        self.clients[client].memory.read(offset, &mut list);
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let wanted = list
            .chunks_exact(ENTRY as usize)
            .map(|entry| (word(entry), word(&entry[4..]) & 0xffff))
            .collect();
        Ok(What::Sockets { wanted, offset })
    }

    /// What a socket is ready for. One that does not exist is ready for all: its user learns why.
    fn ready(&self, client: usize, number: u32) -> u32 {
        let both = |readable, writable| if readable { READABLE } else { 0 } | if writable { WRITABLE } else { 0 };
        match self.kind(client, number) {
            Err(_) => READABLE | WRITABLE,
            Ok(Kind::Listener { .. }) => both(self.acceptable(client, number) != Ok(None), false),
            Ok(Kind::Connecting(handle)) => {
                let is_decided = !matches!(
                    self.set.get::<Tcp>(*handle).state(),
                    State::SynSent | State::SynReceived
                );
                both(is_decided, is_decided)
            }
            Ok(Kind::Tcp(handle)) => {
                let socket = self.set.get::<Tcp>(*handle);
                both(
                    socket.can_recv() || !socket.may_recv(),
                    socket.can_send() || !socket.may_send(),
                )
            }
            Ok(Kind::Udp(handle)) => {
                let socket = self.set.get::<Udp>(*handle);
                both(socket.can_recv(), socket.can_send())
            }
        }
    }

    /// The answer, if it is time for one.
    fn answer(&mut self, waiting: &Waiting, now: Instant) -> Option<Words> {
        let Waiting { client, what, until, .. } = waiting;
        let is_over = until.is_some_and(|until| now >= until);
        match what {
            What::Hello => (self.link.is_configured() || is_over).then(|| self.greet(*client)),
            What::Socket { number, wanted } => {
                let ready = self.ready(*client, *number) & wanted;
                (ready != 0 || is_over).then(|| reply(ready))
            }
            What::Sockets { wanted, offset } => {
                let ready: Vec<_> = wanted
                    .iter()
                    .map(|(number, wanted)| self.ready(*client, *number) & wanted)
                    .collect();
                let count = ready.iter().filter(|ready| **ready != 0).count();
                if count == 0 && !is_over {
                    return None;
                }
                for (i, (ready, (_, wanted))) in (0..).zip(ready.iter().zip(wanted)) {
                    self.clients[*client]
                        .memory
                        .write(offset + i * ENTRY + 4, &(wanted | ready << 16).to_le_bytes());
                }
                Some(reply(count as u32))
            }
            What::Name(query) => {
                match self.set.get_mut::<dns::Socket>(self.link.names).get_query_result(*query) {
                    Err(dns::GetQueryResultError::Pending) => None,
                    Err(dns::GetQueryResultError::Failed) => Some(failed(NO_NAME)),
                    Ok(addresses) => {
                        let address = addresses.iter().find(|address| address.is_unicast());
                        Some(address.map_or(failed(NO_NAME), |address| {
                            reply_with(0, IpEndpoint::new(*address, 0))
                        }))
                    }
                }
            }
        }
    }

    /// Answers those whose time it is.
    pub(crate) fn answer_waiting(&mut self, now: Instant) -> Vec<(u32, Words)> {
        let mut replies = Vec::new();
        for waiting in core::mem::take(&mut self.waiting) {
            match self.answer(&waiting, now) {
                Some(words) => replies.push((waiting.handle, words)),
                None => self.waiting.push(waiting),
            }
        }
        replies
    }

    /// Nobody waits for a client's requests any more.
    pub(crate) fn forget_waiting(&mut self, client: usize) {
        for waiting in core::mem::take(&mut self.waiting) {
            if waiting.client != client {
                self.waiting.push(waiting);
            } else if let What::Name(query) = waiting.what {
                self.set.get_mut::<dns::Socket>(self.link.names).cancel_query(query);
            }
        }
    }
}
