// SPDX-License-Identifier: MIT OR Apache-2.0
//! A test of the segments into which Linux cuts its data: a neighbour behind the network card
//! receives what Linux sends by TCP, and checks each frame.

use super::net::bytes;
use super::tally::{Test, on_board, test};
use crate::build::Wire;
use crate::guest::{Guest, insert};
use crate::machine::network::cable;
use anyhow::{Context, Result, bail, ensure};
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, IpAddress, IpCidr, IpProtocol, Ipv4Address,
    Ipv4Packet, Ipv6Address, Ipv6Packet, TcpPacket, TcpSeqNumber,
};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    test("linux.net.segments", segments),
    test("versatilepb.linux.segments", || on_board(segments)),
];

/// The neighbour. To its second address Linux sends small segments only.
const OWN: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 2]);
const ADDRESSES: [IpAddress; 3] = [
    IpAddress::Ipv4(Ipv4Address::new(10, 0, 2, 2)),
    IpAddress::Ipv4(Ipv4Address::new(10, 0, 2, 3)),
    IpAddress::Ipv6(Ipv6Address::new(0xfd00, 0, 0, 0, 0, 0, 0, 2)),
];
const PORT: u16 = 5000;
/// The most bytes of an IP packet to each address.
const LARGEST: [usize; 3] = [1500, 300, 1500];
/// Bytes that Linux sends to each address: an odd number.
const BYTES: usize = (1 << 20) + 1;
/// As many as Linux has under way: a burst of segments.
const WINDOW: usize = 64 << 10;
/// After so many frames with data the neighbour says that a router is congested (RFC 3168).
const CONGESTED: u32 = 200;
/// How long the neighbour waits for a frame before it looks at its clock.
const PATIENCE: Duration = Duration::from_millis(2);

/// A frame of TCP from Linux, as far as the test looks.
struct Segment {
    to: IpAddress,
    port: u16,
    ident: Option<u16>,
    bytes: usize,
    seq: TcpSeqNumber,
    data: usize,
    is_new: bool,
    reduced: bool,
}

/// What was seen of a connection.
struct Connection {
    next: TcpSeqNumber,
    ident: Option<u16>,
}

/// What was seen of an address.
#[derive(Default, Clone, Copy)]
struct Seen {
    frames: u32,
    largest: usize,
    /// How often a router was congested, and how often Linux has said that it sends less.
    congested: u32,
    reduced: u32,
}

/// Frames are datagrams between two ports of the loopback interface.
struct Cable {
    socket: UdpSocket,
    to: u16,
    connections: BTreeMap<(IpAddress, u16), Connection>,
    seen: [Seen; 3],
    /// What is wrong with the first frame that is.
    wrong: Option<String>,
}

struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

struct Sending<'a>(&'a Cable);

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, fill: F) -> R {
        let mut frame = vec![0; bytes];
        let result = fill(&mut frame);
        self.0.mark(&mut frame);
        // What nobody takes is lost.
        let _ = self.0.socket.send_to(&frame, (Ipv4Addr::LOCALHOST, self.0.to));
        result
    }
}

impl Device for Cable {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sending<'_>)> {
        let mut buffer = vec![0; 4096];
        let bytes = self.socket.recv(&mut buffer).ok()?;
        buffer.truncate(bytes);
        if let Err(error) = self.look(&buffer) {
            self.wrong.get_or_insert(format!("{error:#}"));
        }
        Some((Received(buffer), Sending(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        Some(Sending(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ethernet, 1514);
        capabilities
    }
}

fn index(address: IpAddress) -> Option<usize> {
    ADDRESSES.iter().position(|own| *own == address)
}

impl Cable {
    /// Looks at a frame of Linux's.
    fn look(&mut self, frame: &[u8]) -> Result<()> {
        let Some(segment) = read(frame)? else { return Ok(()) };
        let Some(number) = index(segment.to) else { return Ok(()) };
        let seen = &mut self.seen[number];
        ensure!(
            segment.bytes <= LARGEST[number],
            "a packet of {} bytes to {}",
            segment.bytes,
            segment.to
        );
        let key = (segment.to, segment.port);
        if segment.is_new {
            self.connections.insert(key, Connection { next: segment.seq + 1, ident: None });
        }
        if segment.data == 0 {
            return Ok(());
        }
        seen.frames += 1;
        seen.largest = seen.largest.max(segment.bytes);
        seen.reduced += u32::from(segment.reduced);
        seen.congested += u32::from(seen.frames.is_multiple_of(CONGESTED));
        let connection = self.connections.get_mut(&key).context("data before a connection")?;
        if segment.seq != connection.next {
            // What was lost on the way comes again, but nothing is left out.
            ensure!(
                segment.seq < connection.next,
                "byte {} in place of {}",
                segment.seq,
                connection.next
            );
            return Ok(());
        }
        connection.next += segment.data;
        let ident = core::mem::replace(&mut connection.ident, segment.ident);
        if let (Some(before), Some(ident)) = (ident, segment.ident) {
            ensure!(ident != before, "two packets in a row are number {ident}");
        }
        Ok(())
    }

    /// Says in answers to Linux that it may mark packets in place of losing them, and when that was
    /// done.
    fn mark(&self, frame: &mut [u8]) {
        let mut frame = EthernetFrame::new_unchecked(frame);
        if frame.ethertype() != EthernetProtocol::Ipv4 {
            return;
        }
        let mut packet = Ipv4Packet::new_unchecked(frame.payload_mut());
        let (from, to) = (IpAddress::Ipv4(packet.src_addr()), IpAddress::Ipv4(packet.dst_addr()));
        let Some(seen) = index(from)
            .filter(|_| packet.next_header() == IpProtocol::Tcp)
            .map(|number| self.seen[number])
        else {
            return;
        };
        let mut tcp = TcpPacket::new_unchecked(packet.payload_mut());
        if tcp.syn() || seen.congested > seen.reduced {
            tcp.set_ece(true);
            tcp.fill_checksum(&from, &to);
        }
    }
}

/// A frame, if it is of TCP. What is wrong with it, if something is.
fn read(frame: &[u8]) -> Result<Option<Segment>> {
    let frame = EthernetFrame::new_checked(frame)?;
    let (from, to, ident, bytes, payload) = match frame.ethertype() {
        EthernetProtocol::Ipv4 => {
            let packet = Ipv4Packet::new_checked(frame.payload())?;
            ensure!(packet.verify_checksum(), "a wrong checksum of a header");
            if packet.next_header() != IpProtocol::Tcp {
                return Ok(None);
            }
            let addresses =
                (IpAddress::Ipv4(packet.src_addr()), IpAddress::Ipv4(packet.dst_addr()));
            (
                addresses.0,
                addresses.1,
                Some(packet.ident()),
                usize::from(packet.total_len()),
                packet.payload(),
            )
        }
        EthernetProtocol::Ipv6 => {
            let packet = Ipv6Packet::new_checked(frame.payload())?;
            if packet.next_header() != IpProtocol::Tcp {
                return Ok(None);
            }
            let addresses =
                (IpAddress::Ipv6(packet.src_addr()), IpAddress::Ipv6(packet.dst_addr()));
            (addresses.0, addresses.1, None, packet.total_len(), packet.payload())
        }
        _ => return Ok(None),
    };
    let tcp = TcpPacket::new_checked(payload)?;
    ensure!(tcp.verify_checksum(&from, &to), "a wrong checksum of {} bytes to {to}", payload.len());
    let data = tcp.payload().len();
    let (is_new, reduced) = (tcp.syn(), tcp.cwr() && !tcp.syn());
    Ok(Some(Segment {
        to,
        port: tcp.src_port(),
        ident,
        bytes,
        seq: tcp.seq_number(),
        data,
        is_new,
        reduced,
    }))
}

/// Takes a connection for each address, until the run ends. What came by each.
fn serve(mut cable: Cable, ends: &AtomicBool) -> (Cable, [Vec<u8>; 3]) {
    let mut interface = Interface::new(Config::new(OWN.into()), &mut cable, Instant::now());
    interface.update_ip_addrs(|addresses| {
        // There is room for four.
        ADDRESSES.iter().for_each(|address| {
            let _ = addresses
                .push(IpCidr::new(*address, if index(*address) == Some(2) { 64 } else { 24 }));
        });
    });
    let mut sockets = SocketSet::new(Vec::new());
    let handles = ADDRESSES.map(|address| {
        let buffer = || SocketBuffer::new(vec![0; WINDOW]);
        let mut socket = Socket::new(buffer(), buffer());
        // The port is one, and the socket is closed.
        let _ = socket.listen((address, PORT));
        sockets.add(socket)
    });
    let mut came: [Vec<u8>; 3] = Default::default();
    while !ends.load(Ordering::Relaxed) {
        interface.poll(Instant::now(), &mut cable, &mut sockets);
        for (handle, came) in handles.iter().zip(&mut came) {
            let socket = sockets.get_mut::<Socket<'_>>(*handle);
            while socket.can_recv() {
                // It can, as was asked.
                let _ = socket.recv(|bytes| {
                    came.extend_from_slice(bytes);
                    (bytes.len(), ())
                });
            }
            if !socket.may_recv() && socket.may_send() && !came.is_empty() {
                socket.close();
            }
        }
    }
    (cable, came)
}

/// Linux sends a file by IPv4, in small segments, and by IPv6: each frame is as it has to be, and
/// all bytes come.
fn segments() -> Result<()> {
    let (socket, [own, other]) = cable()?;
    let wire = Wire::Frames { own, other };
    socket.set_read_timeout(Some(PATIENCE))?;
    let cable = Cable {
        socket,
        to: own,
        connections: BTreeMap::new(),
        seen: Default::default(),
        wrong: None,
    };
    let ends = Arc::new(AtomicBool::new(false));
    let thread = std::thread::spawn({
        let ends = Arc::clone(&ends);
        move || serve(cable, &ends)
    });
    let data = bytes(BYTES);
    let [first, small, other] = ADDRESSES;
    let command = format!(
        "killall -q udhcpc; echo 1 > /proc/sys/net/ipv4/tcp_ecn; echo 0 > /proc/sys/net/ipv6/conf/eth0/accept_dad; ifconfig eth0 10.0.2.40 netmask 255.255.255.0; \
         ip route add {small}/32 dev eth0 mtu {}; ip -6 addr add fd00::40/64 dev eth0; \
         for to in {first} {small} {other}; do nc $to {PORT} < /data 2>&1 || echo failed $to; done; dmesg | grep -c WARNING",
        LARGEST[1]
    );
    let outcome = Guest { wire, inserts: vec![insert("/data", data.clone())], ..Guest::default() }
        .run(&command);
    ends.store(true, Ordering::Relaxed);
    let (cable, came) = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let text = outcome?.text();
    ensure!(text == "0\n", "Linux says {text:?}");
    if let Some(wrong) = cable.wrong {
        bail!("{wrong}");
    }
    for (number, (address, came)) in ADDRESSES.iter().zip(&came).enumerate() {
        ensure!(*came == data, "{} bytes came to {address}, not {BYTES}, or others", came.len());
        let seen = cable.seen[number];
        ensure!(
            seen.largest == LARGEST[number],
            "packets to {address} have at most {} bytes",
            seen.largest
        );
        println!(
            "# {address}: {} frames, {} times less, {} times asked to",
            seen.frames, seen.reduced, seen.congested
        );
    }
    for seen in &cable.seen[..2] {
        // The last time Linux may have had nothing left to send.
        ensure!(
            seen.reduced > 0 && (seen.congested - 1..=seen.congested).contains(&seen.reduced),
            "Linux says it {} times",
            seen.reduced
        );
    }
    Ok(())
}
