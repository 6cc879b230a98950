// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of native components' sockets: this machine connects to a port of its own that leads into
//! QEMU's user network.

use super::desk::Desk;
use super::net::{bytes, checksum};
use super::system;
use super::tally::{Test, on_amigaone, on_board, on_pc64, slow, test};
use crate::bench::ping::{Peer, Questions};
use crate::build::{self, Built, Options, Seed, Wire};
use crate::description::Interface;
use crate::emulator::{self, Machine, Transcript, batch};
use crate::guest::{self, Guest};
use crate::machine::monitor::Picture;
use crate::machine::network::{Forward, Nic, free_port};
use crate::top;
use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// All of them.
pub const ALL: &[Test] = &[
    test("net.tutorial", tutorial).reading(&["docs/tutorial-net.md"]),
    test("net.tutorial.both", both).reading(&["docs/tutorial-both.md"]),
    test("net.echo", || echo(Nic::Virtio)),
    test("net.restarts", restarts),
    test("versatilepb.net.tutorial", || on_board(tutorial)).reading(&["docs/tutorial-net.md"]),
    test("versatilepb.net.echo", || on_board(|| echo(Nic::Virtio))),
    slow("versatilepb.net.echo.e1000", "as `versatilepb.net.echo`, with another card", || {
        on_board(|| echo(Nic::E1000))
    }),
    slow("versatilepb.net.restarts", "the same as `net.restarts`", || on_board(restarts)),
    slow("versatilepb.net.flood", "the same as `net.flood`", || on_board(|| flood(Nic::Virtio))),
    test("pc64.net.tutorial", || on_pc64(tutorial)).reading(&["docs/tutorial-net.md"]),
    test("pc64.net.echo", || on_pc64(|| echo(Nic::Virtio))),
    slow("pc64.net.echo.e1000", "as `pc64.net.echo`, with another card", || {
        on_pc64(|| echo(Nic::E1000))
    }),
    test("pc64.net.chaos.e1000", || on_pc64(chaos)),
    test("pc64.net.memory", || on_pc64(|| memory(Nic::Virtio, &MEMORIES))),
    test("pc64.net.memory.e1000", || on_pc64(|| memory(Nic::E1000, &MEMORIES[2..]))),
    slow("pc64.net.restarts", "the same as `net.restarts`", || on_pc64(restarts)),
    slow("pc64.net.flood", "the same as `net.flood`", || on_pc64(|| flood(Nic::Virtio))),
    test("net.web", || web(Nic::Virtio).map(drop)),
    test("pc64.net.web", || on_pc64(|| web(Nic::Virtio).map(drop))),
    test("amigaone.net.web", || on_amigaone(counted)),
    test("net.top", table),
    test("net.http", http),
    test("net.many", many),
    test("net.flood", || flood(Nic::Virtio)),
    slow("net.flood.e1000", "the same as `net.flood` with another card", || flood(Nic::E1000)),
    test("net.chaos.e1000", chaos),
    slow("chaos.long", "minutes: four times the faults of `system.chaos`", many_faults),
    slow("pc64.chaos.long", "minutes: `chaos.long` is the PC's", || on_pc64(many_faults)),
    slow("amigaone.chaos.long", "minutes: `chaos.long` is the PC's", || on_amigaone(many_faults)),
    slow("versatilepb.chaos.long", "minutes: `chaos.long` is the PC's", || on_board(many_faults)),
];

/// The longest that a test with Linux may take.
const MINUTES: Duration = Duration::from_secs(180);
/// How long a peer of the loopback interface may be silent.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same if somebody on the way may have died: QEMU sends again after one or two seconds, and is
/// told then.
const DOUBT: Duration = Duration::from_secs(3);

/// A system of which a port of TCP is forwarded, and this machine's port.
fn built(system: &str, guest: &str, nic: Nic) -> Result<(Built, u16)> {
    let host = free_port()?;
    let forwards: [Forward; 1] = [format!("{host}:{guest}").parse().map_err(anyhow::Error::msg)?];
    let options = Options {
        wire: Wire::Card { forwards: &forwards, options: &[] },
        nic,
        ..Options::default()
    };
    Ok((build::plan(Path::new(system), options)?.carry_out()?, host))
}

fn connect(port: u16) -> Result<TcpStream> {
    connect_within(port, PATIENCE)
}

fn connect_within(port: u16, patience: Duration) -> Result<TcpStream> {
    let stream =
        TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    Ok(stream)
}

/// Sends bytes, and compares what comes back, up to the end: whether that was all of them.
fn echoes(stream: &TcpStream, data: &[u8]) -> Result<bool> {
    let mut back = Vec::new();
    let (come, sent) = std::thread::scope(|scope| {
        let sends = scope.spawn(|| {
            let mut stream = stream;
            stream.write_all(data)?;
            stream.shutdown(Shutdown::Write)
        });
        let mut reader = stream;
        let come = reader.read_to_end(&mut back);
        (come, sends.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    ensure!(data.starts_with(&back), "what comes back is not what was sent");
    Ok(come.is_ok() && sent.is_ok() && back.len() == data.len())
}

/// The same of a peer that lives.
fn echoes_all(stream: &TcpStream, data: &[u8]) -> Result<()> {
    ensure!(echoes(stream, data)?, "the connection has ended in the middle");
    Ok(())
}

/// The tutorial's page promises this output.
fn tutorial() -> Result<()> {
    let page = std::fs::read_to_string("docs/tutorial-net.md")?;
    let (built, port) = built("systems/tutorial-net.toml", "7", Nic::Virtio)?;
    let mut session = emulator::session(&built)?;
    let promised = page
        .lines()
        .skip_while(|line| *line != "$ ./macadamia run tutorial-net --forward 7007:7")
        .skip(1);
    let promised: Vec<&str> = promised.take_while(|line| *line != "```").collect();
    ensure!(promised.len() > 2, "the tutorial shows no output");
    promised.iter().try_for_each(|line| session.expect(line))?;
    echoes_all(&connect(port)?, b"hello\n")
}

/// A component with a socket and a picture: a visitor is told its number, and the screen changes.
/// The tutorial's page has the files as they are.
fn both() -> Result<()> {
    let page = std::fs::read_to_string("docs/tutorial-both.md")?;
    for (path, language) in [
        ("user/demo/tutorial-both/Cargo.toml", "toml"),
        ("user/demo/tutorial-both/src/main.rs", "rust"),
        ("systems/tutorial-both.toml", "toml"),
    ] {
        let file = std::fs::read_to_string(path)?;
        let block = format!("`{path}`:\n\n```{language}\n{file}```\n");
        ensure!(page.contains(&block), "docs/tutorial-both.md does not have {path} as it is");
    }
    let (built, port) = built("systems/tutorial-both.toml", "7", Nic::Virtio)?;
    let mut desk = Desk::start(&built)?;
    desk.session.expect("[visitors] listening at 0.0.0.0:7")?;
    // Where the number is, in the corner below the bar.
    let number = |picture: &Picture| -> Vec<Option<u32>> {
        (864..1024)
            .flat_map(|x| (20..60).map(move |y| (x, y)))
            .map(|(x, y)| picture.at(x, y))
            .collect()
    };
    let ink = Some(0xf0_f0e0);
    let mut shown = number(&desk.until("a number", |picture| number(picture).contains(&ink))?);
    for visitor in 1..=2 {
        let mut told = String::new();
        connect(port)?.read_to_string(&mut told)?;
        ensure!(told == format!("you are visitor {visitor}\n"), "a visitor is told: {told}");
        let changed = |picture: &Picture| {
            let now = number(picture);
            now != shown && now.contains(&ink)
        };
        shown = number(&desk.until("another number", changed)?);
    }
    Ok(())
}

/// Bytes of a large transfer, and of each of many at once.
const LARGE: usize = 4 << 20;
const SMALL: usize = 64 << 10;
/// How many at once. QEMU takes one at a time, and the host tries again after a second.
const CONNECTIONS: usize = 30;

/// Every byte comes back, over one connection and over many at a time; those that went leave room
/// for others.
fn echo(nic: Nic) -> Result<()> {
    let (built, port) = built("systems/tutorial-net.toml", "7", nic)?;
    let mut session = emulator::session(&built)?;
    session.expect("[echo] listening at 0.0.0.0:7")?;
    echoes_all(&connect(port)?, &bytes(LARGE))?;
    let data = bytes(SMALL);
    for _ in 0..2 {
        let streams: Vec<TcpStream> =
            (0..CONNECTIONS).map(|_| connect(port)).collect::<Result<_>>()?;
        std::thread::scope(|scope| {
            let all: Vec<_> =
                streams.iter().map(|stream| scope.spawn(|| echoes_all(stream, &data))).collect();
            all.into_iter().try_for_each(|one| {
                one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })?;
    }
    Ok(())
}

/// MiB of RAM: few; as many as a description can ask for; more than there is room for below the
/// addresses of devices, some of which the firmware puts above 4 GiB then.
const MEMORIES: [u32; 3] = [64, 3072, 6144];
/// MiB of RAM from which on some is above 4 GiB.
const HIGH: u32 = 4096;

/// Every byte comes back, however much memory there is, of which drivers have the end.
fn memory(nic: Nic, memories: &[u32]) -> Result<()> {
    for &memory in memories {
        let (built, port) = built("systems/tutorial-net.toml", "7", nic)?;
        let mut session = emulator::session(&Built { memory, ..built })?;
        // An 82540EM has all of its addresses in 32 bits.
        if memory > HIGH && nic == Nic::Virtio {
            session.expect("[root] PCI device 6: registers at 0x")?;
            let before = session.until(" are at 0x")?;
            let before = u64::from_str_radix(&before, 16).with_context(|| before.clone())?;
            ensure!(before >> 32 != 0, "the card had its registers at {before:#x}");
        }
        session.expect_all(&["[ip] 10.0.2.15/24", "[echo] listening at 0.0.0.0:7"])?;
        echoes_all(&connect(port)?, &bytes(SMALL))?;
    }
    Ok(())
}

/// A native web server without a Linux gives its page as it is, and a table that has each component.
/// Returns the table.
fn web(nic: Nic) -> Result<String> {
    let (built, port) = built("systems/web.toml", "80", nic)?;
    let mut session = emulator::session(&built)?;
    // Without an address nobody answers at the port.
    session.expect_all(&["[ip] 10.0.2.15/24", "[http] listening at port 80"])?;
    let get = |path: &str| -> Result<Vec<u8>> {
        let mut stream = connect(port)?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let end = answer.windows(4).position(|part| part == b"\r\n\r\n").context("no header")?;
        Ok(answer.split_off(end + 4))
    };
    let page = std::fs::read("user/demo/http/pages/index.html")?;
    ensure!(get("/")? == page, "the page is another one");
    let table = String::from_utf8(get("/status.txt")?)?;
    for name in ["console", "http", "ip", "nic", "switch"] {
        let runs = |line: &str| {
            line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with("runs "))
        };
        ensure!(table.lines().any(runs), "`{name}` does not run in {table}");
    }
    Ok(table)
}

/// The table has what PowerPC's kernel counts, too.
fn counted() -> Result<()> {
    let table = web(Nic::E1000)?;
    let entries = table.lines().find_map(|line| {
        line.strip_prefix("kernel: ")?.strip_suffix(" entries put into the hashed table")
    });
    let entries = entries.with_context(|| format!("no counts of the kernel in {table}"))?;
    ensure!(entries.parse::<u32>()? > 0, "nothing was put into the hashed table: {table}");
    Ok(())
}

/// How often each of driver, switch and IP server has to die at least.
const DEATHS: usize = 10;

/// Driver, switch and IP server die and hang: new connections work each time, and each carries its
/// bytes whole or ends with an error.
fn restarts() -> Result<()> {
    let (built, port) = built("tests/systems/net-restarts.toml", "10.0.2.40:7", Nic::Virtio)?;
    let mut session = emulator::session(&built)?;
    session.expect("[echo] listening at 0.0.0.0:7")?;
    let victims = ["nic", "switch", "ip"];
    let mut deaths = [0; 3];
    let (mut whole, mut broken) = (0, 0);
    let data = bytes(SMALL);
    let end = Instant::now() + Duration::from_secs(600);
    while whole < DEATHS || deaths.iter().any(|count| *count < DEATHS) {
        ensure!(Instant::now() < end, "after {whole} connections only these have died: {deaths:?}");
        // While driver or switch are dead nobody answers: QEMU refuses the connection then, or ends
        // it.
        match connect_within(port, DOUBT) {
            Ok(stream) if echoes(&stream, &data)? => whole += 1,
            _ => broken += 1,
        }
        let said = session.said();
        for (victim, count) in victims.iter().zip(&mut deaths) {
            let ends = [format!("`{victim}` died"), format!("`{victim}` hangs")];
            *count = said.lines().filter(|line| ends.iter().any(|end| line.contains(end))).count();
        }
    }
    println!(
        "# {whole} connections were whole, {broken} were not, while {victims:?} died {deaths:?} times"
    );
    Ok(())
}

/// The table has each component, and the frames and messages by which it came.
fn table() -> Result<()> {
    let mut text = Vec::new();
    top::run("net", &[], Some(2), &mut text)?;
    let text = String::from_utf8(text)?;
    let rows = |name: &str| {
        text.lines().filter(|line| line.split_whitespace().next() == Some(name)).count()
    };
    for name in ["linux", "http", "ip", "nic", "switch", "console", "clock"] {
        // Clients of the switch have a row of components and one of ports, in each of the two
        // tables.
        let wanted = if ["linux", "ip", "switch"].contains(&name) { 4 } else { 2 };
        ensure!(rows(name) == wanted, "{} rows of `{name}` in {text}", rows(name));
    }
    let frames = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("card")?.split_whitespace().next()?.parse::<u64>().ok());
    ensure!(frames.is_some_and(|frames| frames > 0), "no frames of the card in {text}");
    // "http             runs            0           52          512          345"
    let messages = |name: &str| -> Vec<u64> {
        let rows = text
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix("runs"));
        rows.filter_map(|row| row.split_whitespace().nth(3)?.parse().ok()).collect()
    };
    for name in ["http", "ip", "nic", "switch"] {
        ensure!(
            matches!(messages(name)[..], [first, second] if first > 0 && second >= first),
            "messages of `{name}` in {text}"
        );
    }
    ensure!(
        messages("http").is_sorted_by(|first, second| first < second),
        "no messages of the second request in {text}"
    );
    let refused = top::run("hello", &[], Some(1), &mut Vec::new())
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    ensure!(refused.starts_with("`hello` has no component `http`"), "{refused}");
    Ok(())
}

/// Connections of one address that ask for nothing, and how many of them the web server keeps.
const SLOW: usize = 70;
const KEPT: usize = 12;
/// Requests at once on one connection.
const PIPELINED: usize = 62;

/// A Linux beside the web server on one card fetches its page, asks for what is not there or cannot
/// be, and pings it. Then it asks for many pages at once; and while one address has as many
/// connections as it can, another one is served.
fn http() -> Result<()> {
    let ask = |request: &str| format!("printf '{request}' | nc 10.0.2.40 80 | head -n 1; ");
    let command = String::from(
        "wget -q -O - http://10.0.2.40/ | sha256sum; wget -q -O - http://10.0.2.40/status.txt > /tmp/status; grep -c runs /tmp/status; grep -o '^[^ ]* *[0-9 ]*$' /tmp/status | cut -d ' ' -f 1; awk '$2 == \"runs\" && $6 > 0' /tmp/status | wc -l; wget -q -O - 10.0.2.40/status | grep -c '<th>messages</th>'; wget -q -O - 10.0.2.40/status.svg | tail -n 1; ",
    ) + &ask("GET /nothing HTTP/1.0\\r\\n\\r\\n")
        + &ask("POST / HTTP/1.0\\r\\n\\r\\n")
        + &ask("\\001\\r\\n\\r\\n")
        + "{ printf 'GET / HTTP/1.0\\r\\nA: '; head -c 9000 /dev/zero | tr '\\0' a; } | nc 10.0.2.40 80 | head -n 1; ping -c 20 -i 0.01 -s 1400 -q 10.0.2.40 | grep -o '.* received'; "
        + &format!(
            "{{ for i in $(seq {PIPELINED}); do printf 'GET /status HTTP/1.1\\r\\n\\r\\n'; done; printf 'GET / HTTP/1.0\\r\\n\\r\\n'; }} | nc 10.0.2.40 80 | grep -c '^HTTP/1.1 200'; \
             ip addr add 10.0.2.16/24 dev eth0; ip route add 10.0.2.40 dev eth0 src 10.0.2.16; \
             for i in $(seq {SLOW}); do sleep 1000 | nc 10.0.2.40 80 > /tmp/slow.$i & done; \
             until [ $(cat /tmp/slow.* | grep -c '^HTTP/1.1 503') = {} ]; do usleep 10000; done; \
             ip route del 10.0.2.40; wget -q -O - http://10.0.2.40/ | sha256sum; killall sleep",
            SLOW - KEPT
        );
    let text = Guest { system: "systems/net.toml", wire: Wire::USER, ..Guest::default() }
        .succeed(&command)?
        .text();
    let page = checksum(&std::fs::read("user/demo/http/pages/index.html")?);
    let expected = format!(
        "{page}  -\n7\ncard\nip\nlinux\n7\n1\n</svg>\nHTTP/1.1 404 Not Found\r\nHTTP/1.1 405 Method Not Allowed\r\nHTTP/1.1 400 Bad Request\r\n\
         HTTP/1.1 431 Request Header Fields Too Large\r\n20 packets transmitted, 20 packets received\n{}\n{page}  -\n",
        PIPELINED + 1
    );
    ensure!(text == expected, "Linux says {text:?} instead of {expected:?}");
    Ok(())
}

/// Connections at once.
const MANY: u32 = 500;

/// So many connections at once to the native web server, twice, and to one in Linux: each is
/// answered whole.
fn many() -> Result<()> {
    let command = format!(
        "connections 10.0.2.40 80 {MANY} 2>&1; connections 10.0.2.40 80 {MANY} 2>&1; wget -q -O - 10.0.2.40 | wc -c; \
         mkdir /tmp/www; echo hello > /tmp/www/index.html; httpd -p 81 -h /tmp/www; connections 127.0.0.1 81 {MANY} | grep -o '.*connections'"
    );
    let inserts = vec![guest::program("connections")?];
    let guest = Guest {
        system: "tests/systems/net-many.toml",
        wire: Wire::USER,
        inserts,
        timeout: MINUTES,
        ..Guest::default()
    };
    let text = guest.succeed(&command)?.text();
    let page = std::fs::metadata("user/demo/http/pages/index.html")?.len();
    let lines: Vec<&str> = text.lines().collect();
    let [first, second, alone, linux] = lines[..] else { bail!("Linux says {text:?}") };
    ensure!(
        first == second && first.starts_with(&format!("{MANY} connections, ")),
        "Linux says {text:?}"
    );
    ensure!(
        alone.trim() == page.to_string() && linux == format!("{MANY} connections"),
        "Linux says {text:?}"
    );
    Ok(())
}

/// Frames that nobody should send, by the card. Of 32 one is longer, and the card may drop it.
const FRAMES: u32 = 1_020_000;
/// Pings that are answered afterwards.
const PINGS: u32 = 10;

/// So many frames by the card, too short, too long and random: driver, switch and IP server go on.
fn flood(nic: Nic) -> Result<()> {
    let peer = Peer::start(Questions::Noise(FRAMES, PINGS))?;
    let options = Options { wire: peer.wire(), nic, ..Options::default() };
    let built = build::plan(Path::new("tests/systems/net-flood.toml"), options)?.carry_out()?;
    let transcript =
        batch(&built, Machine::Qemu { cpu: &built.cpu, icount: false, model: None }, 5 * MINUTES)?;
    let answered = peer.end();
    let Transcript { results, console, .. } = &transcript;
    results.lines().filter(|line| line.starts_with('#')).for_each(|line| println!("{line}"));
    ensure!(transcript.is_done() && results.contains("ok flood.card\n"), "{results}{console}");
    let died = console.lines().find(|line| {
        [" died", " hangs", " ended with", "begins again"].iter().any(|what| line.contains(what))
    });
    ensure!(died.is_none(), "{died:?}");
    answered.map(|_| ())
}

/// Faults of the drivers of an e1000 and of an ATA disk, and of who uses them: all works again each
/// time, in the machine's own time.
fn chaos() -> Result<()> {
    let options = Options {
        seed: Seed::Fixed,
        wire: Wire::USER,
        nic: Nic::E1000,
        interface: Some(Interface::Ata),
        ..Options::default()
    };
    let built = build::plan(Path::new("tests/systems/chaos-e1000.toml"), options)?.carry_out()?;
    survives(&built)
}

/// 1,000 faults of all kinds of the drivers of network and disk, the switch and the IP server.
fn many_faults() -> Result<()> {
    survives(&system::chaos(system::MANY_FAULTS)?)
}

/// A system with `tests/chaos` works again after each fault.
fn survives(built: &Built) -> Result<()> {
    let transcript =
        batch(built, Machine::Qemu { cpu: &built.cpu, icount: true, model: None }, 10 * MINUTES)?;
    let Transcript { results, console, .. } = &transcript;
    results.lines().filter(|line| line.starts_with('#')).for_each(|line| println!("{line}"));
    let good = ["verified", "slots", "recovers", "rhythm"]
        .iter()
        .all(|name| results.contains(&format!("ok chaos.{name}\n")));
    ensure!(transcript.is_done() && good && !results.contains("not ok"), "{results}{console}");
    Ok(())
}
