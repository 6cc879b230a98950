// SPDX-License-Identifier: MIT OR Apache-2.0
//! A neighbour of the measured system, behind the network card: it asks the system questions, and
//! ends the run. Each frame is a datagram between two ports of the loopback interface.

use crate::build::Wire;
use crate::machine::network::cable;
use anyhow::{Result, bail};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, Icmpv4Packet, Icmpv4Repr, IpAddress, IpProtocol, Ipv4Address, Ipv4Packet,
    Ipv4Repr, UdpPacket, UdpRepr,
};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The neighbour and the system.
const OWN: (EthernetAddress, Ipv4Address) =
    (EthernetAddress([2, 0, 0, 0, 0, 2]), Ipv4Address::new(10, 0, 2, 2));
const SYSTEM: Ipv4Address = Ipv4Address::new(10, 0, 2, 40);
/// The port of who sends datagrams back, and that by which the run ends.
const ECHO: u16 = 7;
const LAST: u16 = 9;
/// Bytes that a ping carries, as many as the usual program's.
const DATA: [u8; 56] = [0x5a; 56];
/// What is asked is asked again if nothing has come for so long.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two pings: the system has come to rest, and each is measured alone.
const PAUSE: Duration = Duration::from_millis(5);
/// Between two datagrams that end a run, should the first be lost.
const LAST_PAUSE: Duration = Duration::from_millis(100);
/// Bytes of a datagram: its frame is the smallest that there is.
const SMALL: usize = 18;
/// Frames that nobody should send between two pings: as many as sockets of the host hold.
const BATCH: u32 = 48;
/// Beginnings of what the system understands, from the type on: ICMP, TCP and UDP over IPv4 for it,
/// and a fragment; ARP; IPv6 with ICMP and with options; a VLAN's tag.
const KNOWN: [&[u8]; 8] = [
    &[8, 0, 0x45, 0, 0, 60, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 2, 2, 10, 0, 2, 40],
    &[8, 0, 0x45, 0, 0, 60, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 2, 2, 10, 0, 2, 40],
    &[8, 0, 0x46, 0, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 2, 2, 10, 0, 2, 40],
    &[8, 0, 0x45, 0, 0, 60, 0, 0, 0x20, 1, 64, 17, 0, 0, 10, 0, 2, 2, 10, 0, 2, 40],
    &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1],
    &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 58, 255],
    &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 0, 255],
    &[0x81, 0, 0, 1, 8, 0, 0x45],
];
/// The largest frame.
const MOST: usize = 2048;

/// What a neighbour asks for, each when the one before was answered.
#[derive(Clone, Copy)]
pub enum Questions {
    /// So many pings, and a datagram to another program that ends the run.
    Pings(u32),
    /// So many frames that nobody should send, and then pings.
    Noise(u32, u32),
    /// So many datagrams that are sent back; an empty one to the same program ends the run.
    Echoes(u32),
}

/// A neighbour at work.
pub struct Peer {
    own: u16,
    other: u16,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Result<Duration>>,
}

impl Peer {
    /// One that asks.
    pub fn start(questions: Questions) -> Result<Self> {
        let (socket, [own, other]) = cable()?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let ends = Arc::new(AtomicBool::new(false));
        let neighbour = Neighbour {
            socket,
            to: own,
            ends: Arc::clone(&ends),
            system: EthernetAddress::BROADCAST,
        };
        Ok(Self {
            own,
            other,
            ends,
            thread: std::thread::spawn(move || neighbour.carry_out(questions)),
        })
    }

    /// How the machine is connected to it.
    pub const fn wire(&self) -> Wire<'static> {
        Wire::Frames { own: self.own, other: self.other }
    }

    /// Ends it. How long all questions took by the host's clock; of datagrams all but the first.
    ///
    /// # Errors
    /// If something was not answered.
    pub fn end(self) -> Result<Duration> {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Neighbour {
    socket: UdpSocket,
    to: u16,
    ends: Arc<AtomicBool>,
    system: EthernetAddress,
}

impl Neighbour {
    fn carry_out(mut self, questions: Questions) -> Result<Duration> {
        self.system = self.find()?;
        let mut begun = Instant::now();
        match questions {
            Questions::Pings(count) => self.ping(count)?,
            Questions::Noise(frames, pings) => {
                self.make_noise(frames)?;
                self.ping(pings)?;
            }
            Questions::Echoes(count) => {
                // The program has perhaps not begun yet.
                self.echo(0)?;
                begun = Instant::now();
                (1..count).try_for_each(|number| self.echo(number))?;
            }
        }
        let took = begun.elapsed();
        match questions {
            // Its answer ends the last interval.
            Questions::Pings(_) => {
                self.exchange(&self.udp(LAST, &[1]), |frame| datagram(frame).map(|_| ()))?
            }
            // Who gets it ends, and is not asked for an answer.
            Questions::Noise(..) => self.insist(&self.udp(LAST, &[1])),
            Questions::Echoes(_) => self.insist(&self.udp(ECHO, &[])),
        }
        Ok(took)
    }

    /// Asks for the system's address.
    fn find(&self) -> Result<EthernetAddress> {
        let question = arp(ArpOperation::Request, EthernetAddress([0; 6]));
        self.exchange(
            &ethernet(EthernetAddress::BROADCAST, EthernetProtocol::Arp, &question),
            |frame| {
                let packet = ArpPacket::new_checked(frame.payload()).ok()?;
                (packet.operation() == ArpOperation::Reply).then(|| frame.src_addr())
            },
        )
    }

    fn make_noise(&self, frames: u32) -> Result<()> {
        let mut random = Random(1);
        for _ in 0..frames.div_ceil(BATCH) {
            (0..BATCH).for_each(|_| self.send(&random.frame(self.system)));
            // The system has taken them when it answers: nothing is lost on the way.
            self.find()?;
        }
        Ok(())
    }

    fn ping(&self, count: u32) -> Result<()> {
        for number in 0..count {
            let sum = ChecksumCapabilities::default();
            let icmp = Icmpv4Repr::EchoRequest { ident: 1, seq_no: number as u16, data: &DATA };
            let mut payload = vec![0; icmp.buffer_len()];
            icmp.emit(&mut Icmpv4Packet::new_unchecked(&mut payload), &sum);
            self.exchange(&self.ip(IpProtocol::Icmp, &payload), |frame| {
                let packet = Ipv4Packet::new_checked(frame.payload()).ok()?;
                let answer = Icmpv4Packet::new_checked(packet.payload()).ok()?;
                match Icmpv4Repr::parse(&answer, &sum).ok()? {
                    Icmpv4Repr::EchoReply { seq_no, data, .. } => {
                        (u32::from(seq_no) == number && data == DATA).then_some(())
                    }
                    _ => None,
                }
            })?;
            std::thread::park_timeout(PAUSE);
        }
        Ok(())
    }

    fn echo(&self, number: u32) -> Result<()> {
        let mut data = [0x5a; SMALL];
        data[..4].copy_from_slice(&number.to_be_bytes());
        self.exchange(&self.udp(ECHO, &data), |frame| (datagram(frame)? == data).then_some(()))
    }

    /// Sends a frame until the run has ended.
    fn insist(&self, last: &[u8]) {
        while !self.ends.load(Ordering::Relaxed) {
            self.send(last);
            std::thread::park_timeout(LAST_PAUSE);
        }
    }

    /// A frame that nobody takes is one that is lost.
    fn send(&self, frame: &[u8]) {
        let _ = self.socket.send_to(frame, (Ipv4Addr::LOCALHOST, self.to));
    }

    /// Sends a frame until what is wanted comes; answers questions for the own address meanwhile.
    fn exchange<T>(
        &self,
        question: &[u8],
        wanted: impl Fn(&EthernetFrame<&[u8]>) -> Option<T>,
    ) -> Result<T> {
        self.send(question);
        let mut buffer = [0; MOST];
        while !self.ends.load(Ordering::Relaxed) {
            let Ok(bytes) = self.socket.recv(&mut buffer) else {
                self.send(question);
                continue;
            };
            let Ok(frame) = EthernetFrame::new_checked(&buffer[..bytes]) else {
                bail!("a frame of {bytes} bytes")
            };
            if let Some(found) = wanted(&frame) {
                return Ok(found);
            }
            let asks = ArpPacket::new_checked(frame.payload())
                .ok()
                .filter(|_| frame.ethertype() == EthernetProtocol::Arp);
            if asks.is_some_and(|packet| {
                packet.operation() == ArpOperation::Request
                    && packet.target_protocol_addr() == OWN.1.octets()
            }) {
                self.send(&ethernet(
                    frame.src_addr(),
                    EthernetProtocol::Arp,
                    &arp(ArpOperation::Reply, frame.src_addr()),
                ));
            }
        }
        bail!("the system did not answer")
    }

    /// A datagram to a port of the system, from the same one.
    fn udp(&self, port: u16, data: &[u8]) -> Vec<u8> {
        let udp = UdpRepr { src_port: port, dst_port: port };
        let mut payload = vec![0; udp.header_len() + data.len()];
        let (from, to) = (IpAddress::Ipv4(OWN.1), IpAddress::Ipv4(SYSTEM));
        let mut packet = UdpPacket::new_unchecked(&mut payload);
        udp.emit(
            &mut packet,
            &from,
            &to,
            data.len(),
            |place| place.copy_from_slice(data),
            &ChecksumCapabilities::default(),
        );
        self.ip(IpProtocol::Udp, &payload)
    }

    /// A packet to the system.
    fn ip(&self, next_header: IpProtocol, payload: &[u8]) -> Vec<u8> {
        let header = Ipv4Repr {
            src_addr: OWN.1,
            dst_addr: SYSTEM,
            next_header,
            payload_len: payload.len(),
            hop_limit: 64,
        };
        let mut packet = vec![0; header.buffer_len() + payload.len()];
        let mut view = Ipv4Packet::new_unchecked(&mut packet);
        header.emit(&mut view, &ChecksumCapabilities::default());
        view.payload_mut().copy_from_slice(payload);
        ethernet(self.system, EthernetProtocol::Ipv4, &packet)
    }
}

/// What a frame has, if that is a datagram for this neighbour.
fn datagram(frame: &EthernetFrame<&[u8]>) -> Option<Vec<u8>> {
    let packet = Ipv4Packet::new_checked(frame.payload()).ok()?;
    let is_own = packet.next_header() == IpProtocol::Udp && packet.dst_addr() == OWN.1;
    is_own
        .then(|| Some(UdpPacket::new_checked(packet.payload()).ok()?.payload().to_vec()))
        .flatten()
}

fn arp(operation: ArpOperation, to: EthernetAddress) -> Vec<u8> {
    let arp = ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr: OWN.0,
        source_protocol_addr: OWN.1,
        target_hardware_addr: to,
        target_protocol_addr: SYSTEM,
    };
    let mut packet = vec![0; arp.buffer_len()];
    arp.emit(&mut ArpPacket::new_unchecked(&mut packet));
    packet
}

fn ethernet(dst_addr: EthernetAddress, ethertype: EthernetProtocol, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; EthernetFrame::<&[u8]>::buffer_len(payload.len())];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes);
    EthernetRepr { src_addr: OWN.0, dst_addr, ethertype }.emit(&mut frame);
    frame.payload_mut().copy_from_slice(payload);
    bytes
}

/// xorshift32 (Marsaglia 2003).
struct Random(u32);

impl Random {
    fn draw(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn below(&mut self, end: u32) -> u32 {
        self.draw() % end
    }

    /// A frame that nobody should send: too short, too long, or random from some byte on, for the
    /// system, a group or nobody.
    fn frame(&mut self, system: EthernetAddress) -> Vec<u8> {
        let bytes = match self.below(32) {
            // QEMU takes an empty datagram for the end.
            0..3 => 1 + self.below(13),
            3 => 1500 + self.below(2500),
            4..8 => 14 + self.below(8),
            _ => 14 + self.below(1501),
        };
        let to = match self.below(8) {
            0 => EthernetAddress::BROADCAST,
            1 => EthernetAddress([0x33, 0x33, 0, 0, 0, 1]),
            2 => EthernetAddress([2, 0, 0, 0, 0, 1]),
            _ => system,
        };
        let known = KNOWN[self.below(KNOWN.len() as u32) as usize];
        let head = [&to.0[..], &OWN.0.0, known].concat();
        let sound = 12 + self.below(24) as usize;
        let mut frame: Vec<u8> = head.into_iter().take(sound).collect();
        frame.resize_with(bytes as usize, || self.draw() as u8);
        frame
    }
}
