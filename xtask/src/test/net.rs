// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of Linux's network: QEMU's user network, in which this machine's loopback interface is
//! 10.0.2.2.

use super::disk;
use super::mirror::{self, NAME, Names};
use super::spaces::at_ring_1;
use super::system::with_faults;
use super::tally::{Test, slow, test};
use crate::build::Wire;
use crate::guest::{self, Guest, Outcome, insert, program};
use crate::linux::root::Insert;
use crate::machine::Emulator;
use crate::machine::board;
use crate::machine::network::{Forward, Nic, free_port};
use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    test("linux.net", || transfers(guest())),
    test("linux.net.e1000", || transfers(Guest { nic: Nic::E1000, ..guest() })),
    slow("linux.net.bochs", "as `linux.net`, in Bochs, where `linux.disk.bochs` runs", on_bochs),
    test("linux.net.forward", forward),
    test("linux.net.absent", absent),
    test("linux.net.restarts", || restarts(Nic::Virtio)),
    slow("linux.net.restarts.e1000", "the same as `linux.net.restarts` with another card", || {
        restarts(Nic::E1000)
    }),
    slow("linux.net.flood", "minutes, as `net.flood` with a Linux", flood),
    test("linux.chaos", chaos),
    slow("linux.chaos.long", "minutes: 250 faults in place of 100", || chaos_of(250)),
    test("linux.net.two", two),
    test("linux.net.routed", || routed("systems/two-linuxes.toml", "")),
    test("linux.net.cache", || {
        routed("bench/systems/two-linuxes-256k.toml", "while :; do :; done\n")
    }),
    slow("linux.debian.two", "it installs Debian", two_debians),
];

/// A server of the loopback interface that speaks enough of HTTP: `GET /N` is answered with N
/// bytes, each connection's the same; what is posted, with its checksum; `GET /wait` as soon as
/// [`Server::release`] was called; `GET /more` with `yes` until driver and switch have died often
/// enough, `GET /flood` as long as a neighbour sends, `GET /faults` as long as nobody says what
/// came of faults; `GET /mirror/` has a repository of packages.
pub struct Server {
    pub port: u16,
    ends: Arc<AtomicBool>,
    gate: Sender<()>,
    /// Something comes out for each `GET /wait`.
    asked: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

/// Bytes that no compression and no repetition gets right.
pub fn bytes(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut all = Vec::with_capacity(count.next_multiple_of(4));
    while all.len() < count {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        all.extend_from_slice(&state.to_le_bytes());
    }
    all.truncate(count);
    all
}

pub fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Server {
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let ends = Arc::new(AtomicBool::new(false));
        let ((gate, wait), (ask, asked)) = (channel(), channel());
        let stop = Arc::clone(&ends);
        let here = board::here();
        let serve = move || {
            for stream in listener
                .incoming()
                .map_while(|stream| stream.ok().filter(|_| !stop.load(Ordering::Relaxed)))
            {
                // A client that goes away in the middle is the test's to notice.
                let _ = answer(stream, &ask, &wait);
            }
        };
        let thread = std::thread::spawn(move || here.with(serve));
        Ok(Self { port, ends, gate, asked, thread: Some(thread) })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://10.0.2.2:{}/{path}", self.port)
    }

    /// One `GET /wait` is answered.
    fn release(&self) {
        // Without a server the guest notices.
        let _ = self.gate.send(());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.release();
        // It waits for a connection.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        self.thread.take().map(JoinHandle::join);
    }
}

fn answer(stream: TcpStream, ask: &Sender<()>, wait: &Receiver<()>) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut request, mut length) = (String::new(), 0);
    reader.read_line(&mut request)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let body = if request.starts_with("POST") {
        let mut posted = vec![0; length];
        reader.read_exact(&mut posted)?;
        checksum(&posted).into_bytes()
    } else if path == "wait" {
        ask.send(())?;
        wait.recv()?;
        Vec::new()
    } else if path == "more" {
        if deaths()?.iter().all(|(_, deaths)| *deaths >= DEATHS) {
            b"no".to_vec()
        } else {
            b"yes".to_vec()
        }
    } else if let Some(path) = path.strip_prefix("mirror/") {
        mirror::file(path)?
    } else if path == "flood" {
        if console()?.contains("frames sent") { b"no".to_vec() } else { b"yes".to_vec() }
    } else if path == "faults" {
        if console()?.contains("[chaos] ") { b"no".to_vec() } else { b"yes".to_vec() }
    } else {
        bytes(path.parse()?)
    };
    let mut stream = stream;
    write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
    stream.write_all(&body)?;
    Ok(())
}

/// A Linux with a network.
pub fn guest() -> Guest<'static> {
    Guest { wire: Wire::USER, ..Guest::default() }
}

/// Bytes of a transfer.
pub const BYTES: usize = 8 << 20;
/// The same in Bochs, which is slower.
const FEW_BYTES: usize = 1 << 20;

/// Linux has an address by DHCP (`udhcpc` at boot), one of IPv6, and names of a server here; bytes
/// come and go whole.
pub(super) fn transfers(guest: Guest<'_>) -> Result<()> {
    transfers_of(BYTES, guest)
}

/// The same with transfers of so many bytes.
fn transfers_of(count: usize, guest: Guest<'_>) -> Result<()> {
    let (server, names) = (Server::start()?, Names::start()?);
    let command = format!(
        "ip -4 -o addr show dev eth0 | grep -o 'inet [^ ]*'; ip -6 -o addr show dev eth0 | grep -o 'inet6 fe80[^ ]*'; \
         nslookup -port={} {NAME} 10.0.2.2 | grep '^Address: '; nslookup -port={} nobody.example.org 10.0.2.2 | grep -q NXDOMAIN; echo $?; wget -q -O /tmp/data {} && sha256sum < /tmp/data; relay {} {count} | sha256sum; {{ printf 'POST / HTTP/1.0\\r\\nContent-Length: {count}\\r\\n\\r\\n'; cat /tmp/data; }} | nc 10.0.2.2 {} | tail -n 1; echo; \
         dmesg | grep -c WARNING; ping -c 20 -i 0.01 -s 1400 -q 10.0.2.2 | grep -o '.* received'; cat /sys/class/net/eth0/statistics/rx_errors",
        names.port,
        names.port,
        server.url(&count.to_string()),
        server.port,
        server.port
    );
    let text = Guest { inserts: vec![program("relay")?], ..guest }.succeed(&command)?.text();
    let sum = checksum(&bytes(count));
    let twice = checksum(&bytes(count).repeat(2));
    let expected = format!(
        "inet 10.0.2.15/24\ninet6 fe80::5054:ff:fe12:3456/64\nAddress: 10.0.2.2\n0\n{sum}  -\n{twice}  -\n{sum}\n0\n20 packets transmitted, 20 packets received\n0\n"
    );
    ensure!(text == expected, "Linux says {text:?} instead of {expected:?}");
    Ok(())
}

/// So segment limits hold it, with Linux at ring 1.
fn on_bochs() -> Result<()> {
    let guest = Guest { on: Emulator::Bochs, timeout: Duration::from_secs(600), ..guest() };
    transfers_of(FEW_BYTES, guest)?;
    at_ring_1().map(|_| ())
}

/// A file as a server of the guest's gives it.
fn get(port: u16, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(
        &SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        Duration::from_secs(10),
    )?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (_, body) = text.split_once("\r\n\r\n").context("no answer")?;
    Ok(body.into())
}

/// Runs a guest of which a port is forwarded, and does something with that port of this machine
/// when the guest asks for `/wait`.
pub fn meet<T>(
    server: &Server,
    guest: Guest<'_>,
    (host, port): (u16, u16),
    command: &str,
    act: impl FnOnce(u16) -> Result<T>,
) -> Result<(T, Outcome)> {
    let forwards: [Forward; 1] = [format!("{host}:{port}").parse().map_err(anyhow::Error::msg)?];
    let wire = Wire::Card { forwards: &forwards, options: &[] };
    let here = board::here();
    let (found, outcome) = std::thread::scope(|scope| {
        let run = scope.spawn(|| here.with(|| Guest { wire, ..guest }.succeed(command)));
        // It serves when it asks, unless it ends before.
        let asked = || server.asked.recv_timeout(Duration::from_millis(100)).is_ok();
        while !asked() && !run.is_finished() {}
        let found = act(host);
        server.release();
        (found, run.join())
    });
    let outcome = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok((found?, outcome))
}

/// A port of this machine leads to a server in Linux.
pub(super) fn forward() -> Result<()> {
    let server = Server::start()?;
    let command = format!("httpd -p 80 -h /etc && wget -q -O /dev/null {}", server.url("wait"));
    let (found, _) =
        meet(&server, guest(), (free_port()?, 80), &command, |port| get(port, "/inittab"))?;
    ensure!(
        found == std::fs::read_to_string("linux/root/inittab")?,
        "the guest's server gives something else than the file"
    );
    Ok(())
}

/// Lets root of a Debian in, who has no password there.
pub fn open_ssh() -> Insert {
    insert(
        "/etc/ssh/sshd_config.d/open.conf",
        b"PermitRootLogin yes\nPermitEmptyPasswords yes\n".to_vec(),
    )
}

/// Two Debians have a card each of one switch: `ssh` and `iperf3` work between them, and a file is
/// whole on the other side.
fn two_debians() -> Result<()> {
    const OTHER: &str = "fe80::5054:ff:fe12:3457%eth0";
    const ROUNDS: usize = 5;
    for image in ["disk.img", "disk2.img"] {
        disk::forget(board::chosen().out().join("two-debians").join(image))?;
    }
    let server = Server::start()?;
    let url = server.url(&BYTES.to_string());
    let command = format!(
        "other() {{ ssh -q -o BatchMode=yes -o StrictHostKeyChecking=accept-new root@{OTHER} \"$@\"; }}; until other true; do :; done; \
         curl -s {url} > data; sha256sum < data; other sha256sum < data; other 'cat > data' < data; other cat data | sha256sum; \
         other curl -s {url} | sha256sum; other iperf3 -s -D; iperf3 -s -D; \
         for round in $(seq {ROUNDS}); do \
         for to in '-c {OTHER}' '-R -c {OTHER}' '-c ::1'; do iperf3 -f m -t 2 $to | grep receiver; done; done"
    );
    let guest = Guest {
        system: "tests/systems/two-debians.toml",
        inserts: vec![open_ssh()],
        timeout: Duration::from_secs(600),
        ..guest()
    };
    let outcome = guest.succeed(&command)?;
    let sum = format!("{}  -\n", checksum(&bytes(BYTES)));
    let rates = outcome.text();
    let rates = rates
        .strip_prefix(&sum.repeat(4))
        .with_context(|| format!("Debian says {:?} instead of {sum} four times", outcome.said()))?;
    // "[  5]   0.00-5.00   sec   204 MBytes   342 Mbits/sec                  receiver"
    let rate = |line: &str| {
        line.split_whitespace().rev().nth(2)?.parse::<f64>().ok().filter(|rate| *rate > 0.0)
    };
    let Some(rates) = rates
        .lines()
        .map(rate)
        .collect::<Option<Vec<f64>>>()
        .filter(|rates| rates.len() == 3 * ROUNDS)
    else {
        bail!("Debian says {:?}: not {ROUNDS} times three rates", outcome.said());
    };
    // The host may be busy for a while: each is compared with what came next.
    let median = |index: usize| {
        let mut parts: Vec<f64> =
            rates.chunks_exact(3).map(|round| round[index] / round[2]).collect();
        parts.sort_by(f64::total_cmp);
        parts[ROUNDS / 2]
    };
    println!(
        "# of the rate of the loopback interface: there {:.2}, back {:.2} (medians of {ROUNDS}); {rates:?} Mbit/s",
        median(0),
        median(1)
    );
    Ok(())
}

/// What the second of two Linuxes runs: it routes, and does not tell the first one of a better way.
const ROUTER: &str = "until ifconfig eth0:1 10.0.2.77 netmask 255.255.255.0; do usleep 100000; done\n\
                      for of in all eth0; do echo 0 > /proc/sys/net/ipv4/conf/$of/send_redirects; done\n\
                      echo 1 > /proc/sys/net/ipv4/ip_forward\n";

/// A Linux of a system sends to the outside by way of another one, which may have other work, too:
/// that cuts the large frames which it is given into segments, and reads their bytes where the
/// switch has put them.
fn routed(system: &str, other_work: &str) -> Result<()> {
    let server = Server::start()?;
    let inserts = vec![
        guest::beside("/bin/sh /etc/router")?,
        insert("/etc/router", format!("{ROUTER}{other_work}").into_bytes()),
    ];
    let command = format!(
        "until ping -c 1 -W 1 -q 10.0.2.77 > /dev/null; do :; done; wget -q -O /tmp/data {}; ip route add 10.0.2.2 via 10.0.2.77; \
         frames() {{ cat /sys/class/net/eth0/statistics/tx_packets; }}; \
         segments() {{ set -- $(grep '^Tcp: [0-9]' /proc/net/snmp); echo $((${{12}} + ${{13}})); }}; \
         frames=$(frames); segments=$(segments); \
         {{ printf 'POST / HTTP/1.0\\r\\nContent-Length: {BYTES}\\r\\n\\r\\n'; cat /tmp/data; }} | nc 10.0.2.2 {} | tail -n 1; echo; \
         echo $(($(frames) - frames)) $(($(segments) - segments))",
        server.url(&BYTES.to_string()),
        server.port
    );
    let text = Guest { system, inserts, ..guest() }.succeed(&command)?.text();
    let said = || format!("Linux says {text:?}");
    let (sum, numbers) = text.trim_end().split_once('\n').with_context(said)?;
    ensure!(sum == checksum(&bytes(BYTES)), "{sum} is not what was sent");
    let (frames, segments) = numbers.split_once(' ').with_context(said)?;
    let [frames, segments] = [frames, segments].map(str::parse::<u32>);
    let (frames, segments) = (frames.with_context(said)?, segments.with_context(said)?);
    println!("# {segments} segments in {frames} frames to the router");
    // On a busy host segments come late, and TCP sends many of them again one by one: how many
    // frames are large differs.
    ensure!(frames < segments, "{segments} segments in {frames} frames: none was large");
    Ok(())
}

/// Without a card Linux starts as fast, and its link is down.
fn absent() -> Result<()> {
    let command = "cat /sys/class/net/eth0/carrier; cat /sys/class/net/eth0/operstate; ip -4 -o addr show dev eth0";
    let text = Guest::default().succeed(command)?.text();
    ensure!(text == "0\ndown\n", "Linux says {text:?}");
    Ok(())
}

/// How often each of the driver and the switch has to die at least.
const DEATHS: usize = 20;
/// Bytes of a file that is transferred while they do.
const LARGE: usize = 100_000_000;

/// What the last run has said so far.
fn console() -> Result<String> {
    guest::log()
}

/// How often driver and switch have died in the last run.
fn deaths() -> Result<[(&'static str, usize); 2]> {
    let log = console()?;
    Ok(["nic", "switch"].map(|victim| {
        let ends = [format!("`{victim}` died"), format!("`{victim}` hangs")];
        (victim, log.lines().filter(|line| ends.iter().any(|end| line.contains(end))).count())
    }))
}

/// Driver and switch die and hang while files are transferred, and one over a single connection:
/// each arrives whole.
pub(super) fn restarts(nic: Nic) -> Result<()> {
    let server = Server::start()?;
    // Each death takes the link down, and Linux forgets whose address is whose. It asks once a
    // second and says "No route to host" when three questions in a row were lost, which happens
    // where something dies twice a second.
    let command = format!(
        "echo 60 > /proc/sys/net/ipv4/neigh/eth0/mcast_solicit; until ip -4 addr show dev eth0 | grep -q inet; do :; done; \
         wget -q -O - {} | sha256sum; while [ \"$(wget -q -O - {})\" = yes ]; do wget -q -O - {} | sha256sum; done; \
         cat /sys/class/net/eth0/statistics/rx_errors",
        server.url(&LARGE.to_string()),
        server.url("more"),
        server.url(&BYTES.to_string())
    );
    let system = "tests/systems/linux-chaos.toml";
    let timeout = Duration::from_secs(600);
    let outcome = Guest { system, timeout, nic, ..guest() }.succeed(&command)?;
    let (large, small, text) = (checksum(&bytes(LARGE)), checksum(&bytes(BYTES)), outcome.text());
    let rest = text
        .strip_prefix(&format!("{large}  -\n"))
        .with_context(|| format!("Linux says {:?} instead of {large}", outcome.said()))?;
    let sums = rest
        .strip_suffix("0\n")
        .with_context(|| format!("Linux says {rest:?}: frames of no length that there is"))?;
    ensure!(
        sums.lines().all(|sum| sum == format!("{small}  -")),
        "Linux says {sums:?} instead of {small}"
    );
    for (victim, deaths) in deaths()? {
        println!("# {victim}: {deaths} deaths");
        ensure!(deaths >= DEATHS, "`{victim}` died {deaths} times, not {DEATHS}");
    }
    Ok(())
}

/// A neighbour sends a million random frames to Linux and to the IP server: both go on, and Linux
/// has nothing to report.
fn flood() -> Result<()> {
    let server = Server::start()?;
    let command = format!(
        "until [ $(wget -q -O - {}) = no ]; do wget -q -O - {} | sha256sum; done; \
         wget -q -O - 10.0.2.40 | sha256sum; dmesg -r | grep '^<[0-3]>'; cat /sys/class/net/eth0/statistics/rx_length_errors",
        server.url("flood"),
        server.url(&BYTES.to_string())
    );
    let (system, timeout) = ("tests/systems/linux-flood.toml", Duration::from_secs(600));
    let text = Guest { system, timeout, ..guest() }.succeed(&command)?.text();
    let sum = checksum(&bytes(BYTES));
    let page = format!("{}  -\n0\n", checksum(&std::fs::read("user/demo/http/pages/index.html")?));
    let sums = text.strip_suffix(&page).with_context(|| format!("Linux says {text:?}"))?;
    let log = console()?;
    let died = log
        .lines()
        .find(|line| [" died", " hangs", " ended with"].iter().any(|what| line.contains(what)));
    ensure!(died.is_none(), "{died:?}");
    ensure!(
        !sums.is_empty() && sums.lines().all(|line| line == format!("{sum}  -")),
        "Linux says {text:?}, not always {sum}"
    );
    Ok(())
}

/// What is in the rings of Linux's network and disk is nonsense again and again, and those at their
/// other ends die: what Linux writes to the disk it reads again, what it is sent is whole, and no
/// request has failed.
pub(super) fn chaos() -> Result<()> {
    chaos_of(100)
}

fn chaos_of(faults: u32) -> Result<()> {
    disk::forget(disk::image_of("linux-chaos-rings"))?;
    let server = Server::start()?;
    let command = format!(
        "echo 60 > /proc/sys/net/ipv4/neigh/eth0/mcast_solicit; {{ while [ ! -e /tmp/end ]; do {}; [ $? = 0 ] || echo failed; echo; done > /tmp/disk; }} & \
         until ip -4 addr show dev eth0 | grep -q inet; do :; done; \
         while [ \"$(wget -q -O - {})\" = yes ]; do wget -q -O /tmp/got {}; echo $? $(wc -c < /tmp/got) $(sha256sum < /tmp/got); done; touch /tmp/end; wait; \
         grep -c failed /tmp/disk; dmesg | grep -c 'l4a: error'; wc -l < /tmp/disk",
        disk::ROUND_TRIP,
        server.url("faults"),
        server.url(&BYTES.to_string())
    );
    let system = with_faults("tests/systems/linux-chaos-rings.toml", faults)?;
    let system = system.to_str().context("a path of letters")?;
    let timeout = Duration::from_secs(600);
    let outcome = Guest { system, timeout, own_time: true, ..guest() }.run(&command)?;
    let text = outcome.text();
    // A transfer that ends early is something else than one with other bytes.
    let sum = format!("0 {BYTES} {} -\n", checksum(&bytes(BYTES)));
    let rest = text.trim_start_matches(&sum);
    let transfers = (text.len() - rest.len()) / sum.len();
    let turns = rest.strip_prefix("0\n0\n").and_then(|turns| turns.trim().parse::<u32>().ok());
    let turns = turns
        .filter(|turns| *turns > 0 && transfers > 0)
        .with_context(|| format!("Linux says {:?}", outcome.said()))?;
    println!(
        "# {transfers} transfers of {BYTES} bytes, {turns} times 4 MiB written and read again"
    );
    let log = console()?;
    let said: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("[chaos] ")).collect();
    said.iter().for_each(|line| println!("# {line}"));
    let are_all = said.contains(&format!("{faults} faults").as_str());
    ensure!(are_all, "not after all faults there was an answer of Linux");
    // In the machine's own time, so that no beat is late because the host was busy.
    let rhythm = said.iter().find(|line| line.starts_with("the rhythm: "));
    ensure!(rhythm.is_some_and(|line| line.contains(" beats, 0 missed")), "{rhythm:?}");
    Ok(())
}

/// Two Linuxes have a card each of one switch, and reach each other and the outside.
fn two() -> Result<()> {
    let server = Server::start()?;
    let command = format!(
        "until ping -6 -c 1 -W 1 -q fe80::5054:ff:fe12:3457%eth0 > /dev/null; do :; done; \
         ping -6 -c 20 -i 0.01 -s 1400 -q fe80::5054:ff:fe12:3457%eth0 | grep -o '.* received'; wget -q -O - {} | sha256sum",
        server.url(&BYTES.to_string())
    );
    let text = Guest { system: "systems/two-linuxes.toml", ..guest() }.succeed(&command)?.text();
    let expected =
        format!("20 packets transmitted, 20 packets received\n{}  -\n", checksum(&bytes(BYTES)));
    ensure!(text == expected, "the first Linux says {text:?} instead of {expected:?}");
    Ok(())
}
