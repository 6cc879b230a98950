// SPDX-License-Identifier: MIT OR Apache-2.0
//! A Linux and its network under load for minutes: afterwards the system uses no more than before.

use super::net::{BYTES, Server, bytes, checksum, guest};
use super::tally::{Test, slow};
use crate::guest::{Guest, program};
use anyhow::{Context, Result, ensure};
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[slow("linux.load", "ten minutes of the machine's own time", load)];

/// Seconds of the machine's own time, turns in it at least, and how many seconds nothing is done
/// after each.
const LOAD: u32 = 600;
const TURNS: usize = 3;
const PAUSE: u32 = 2;
/// KiB of kernel memory, and capability slots, that a Linux may have more: it has some process more
/// or less.
const FEW_KIB: u32 = 16;
const FEW_SLOTS: u32 = 8;

/// What a system uses, by its web server's page and by Linux's.
#[derive(Debug)]
struct Used {
    /// Components: name, restarts, KiB of kernel memory.
    components: Vec<(String, u32, u32)>,
    /// Capability slots in use by root server and IP server, and free bytes of their heaps.
    servers: Vec<(u32, u32)>,
    /// Capability slots in use by Linux.
    linux: u32,
}

impl Used {
    /// Of `/status.txt` and `/proc/macadamia`.
    fn read(text: &str) -> Result<Self> {
        let rows = || text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        // Name, state, restarts, KiB of kernel memory, quota, messages.
        let component = |row: &Vec<&str>| match row[..] {
            [name, "runs", restarts, kib, ..] => {
                Some((name.to_string(), restarts.parse().ok()?, kib.parse().ok()?))
            }
            _ => None,
        };
        let server = |row: &Vec<&str>| match row[..] {
            [_, "server:", slots, .., heap, "bytes", "of", "heap", "free"] => {
                Some((slots.parse().ok()?, heap.parse().ok()?))
            }
            _ => None,
        };
        let linux = rows().find_map(|row| row.strip_prefix(&["slots"])?.first()?.parse().ok());
        Ok(Self {
            components: rows().filter_map(|row| component(&row)).collect(),
            servers: rows().filter_map(|row| server(&row)).collect(),
            linux: linux.with_context(|| format!("no slots in {text:?}"))?,
        })
    }

    /// Whether it is no more than before.
    fn is_within(&self, before: &Self) -> bool {
        let components = before.components.iter().zip(&self.components).all(|(one, other)| {
            let more = if one.0 == "linux" { FEW_KIB } else { 0 };
            (&one.0, one.1) == (&other.0, other.1) && other.2 <= one.2 + more
        });
        let servers = before
            .servers
            .iter()
            .zip(&self.servers)
            .all(|(one, other)| other.0 == one.0 && other.1 >= one.1);
        components && servers && self.linux <= before.linux + FEW_SLOTS
    }
}

/// Ten minutes of the machine's own time with transfers both ways, connections to the native web
/// server and pings: afterwards each component has no more kernel memory than after the first turn,
/// root server, IP server and Linux no more capabilities, the servers' heaps as much room, and none
/// was started again.
fn load() -> Result<()> {
    let server = Server::start()?;
    let note = |file: &str| {
        format!("{{ wget -q -O - 10.0.2.40/status.txt; cat /proc/macadamia; }} > /tmp/{file}")
    };
    let command = format!(
        "turn() {{ wget -q -O /tmp/data {} && sha256sum < /tmp/data; {{ printf 'POST / HTTP/1.0\\r\\nContent-Length: {BYTES}\\r\\n\\r\\n'; cat /tmp/data; }} | nc 10.0.2.2 {} | tail -n 1; echo; \
         connections 10.0.2.40 80 50 > /dev/null || echo failed; ping -c 20 -i 0.01 -q 10.0.2.40 | grep -o '[0-9]* packets received'; rm /tmp/data; sleep {PAUSE}; }}; \
         turn; {}; end=$(($(cut -d . -f 1 /proc/uptime) + {LOAD})); while [ $(cut -d . -f 1 /proc/uptime) -lt $end ]; do turn; done; {}; \
         echo before; cat /tmp/before; echo after; cat /tmp/after",
        server.url(&BYTES.to_string()),
        server.port,
        note("before"),
        note("after"),
    );
    let inserts = vec![program("connections")?];
    let guest = Guest {
        system: "tests/systems/linux-load.toml",
        inserts,
        own_time: true,
        timeout: Duration::from_secs(1200),
        ..guest()
    };
    let text = guest.succeed(&command)?.text();
    let (turns, rest) =
        text.split_once("before\n").with_context(|| format!("Linux says {text:?}"))?;
    let (before, after) =
        rest.split_once("after\n").with_context(|| format!("Linux says {text:?}"))?;
    let sum = checksum(&bytes(BYTES));
    let turn = format!("{sum}  -\n{sum}\n20 packets received\n");
    let count = turns.len() / turn.len();
    ensure!(count >= TURNS && turns == turn.repeat(count), "Linux says {turns:?}");
    let (before, after) = (Used::read(before)?, Used::read(after)?);
    println!("# {count} turns; before {before:?}, afterwards {after:?}");
    let are_all = |used: &Used| used.components.len() == 7 && used.servers.len() == 2;
    ensure!(
        are_all(&before) && are_all(&after) && after.is_within(&before),
        "it was {before:?}, and is {after:?}"
    );
    Ok(())
}
