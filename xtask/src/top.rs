// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command `top`: runs a system and shows again and again what the system's web server says
//! about components and the network (docs/ip.md).
//!
//! It owns the table on the terminal. It does not know how the numbers come about: the web server
//! sends them as text.

use crate::build::{self, Options, Wire};
use crate::catalogue;
use crate::description::{self, Component, Description};
use crate::emulator;
use crate::machine::network::{Forward, Protocol, free_port};
use crate::machine::{Emulator, board};
use crate::process::patience::Limit;
use anyhow::{Context, Result, bail, ensure};
use std::io::{IsTerminal, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// The package of the web server.
const SERVER: &str = "http";
/// Its port, unless an argument says another one.
const PORT: u16 = 80;
/// Between two tables.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the server may be silent.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is asked without an answer: a system takes a while to start.
const ATTEMPTS: u32 = 60;
/// To the upper left, and nothing after it.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Shows so many tables, or one after the other until the system ends.
///
/// # Errors
/// If the system has no web server, cannot be built or run, or says nothing.
pub fn run(
    system: &str,
    forwards: &[Forward],
    count: Option<u32>,
    out: &mut impl Write,
) -> Result<()> {
    let path = catalogue::system(system)?;
    let (address, guest) = server(&description::read(&path, board::chosen())?, system)?;
    let host = free_port()?;
    let own = Forward { protocol: Protocol::Tcp, host, address, guest };
    let forwards: Vec<Forward> = forwards.iter().cloned().chain([own]).collect();
    let plan = build::plan(
        &path,
        Options { wire: Wire::Card { forwards: &forwards, options: &[] }, ..Options::default() },
    )?;
    let network = plan
        .built
        .network
        .clone()
        .with_context(|| format!("`{system}` has no network: add `net` to its description"))?;
    network.check()?;
    let built = plan.carry_out()?;
    let mut machine =
        emulator::headless(&built, emulator::Machine::of(Emulator::Qemu, &built, None))?;
    if let Some(mut line) = machine.line.take() {
        // Nobody wants what tests say there, and the machine is not to wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut line, &mut std::io::sink()));
    }
    let result = show(&mut machine, host, count, out);
    machine.end()?;
    result
}

fn show(
    machine: &mut emulator::Headless,
    host: u16,
    count: Option<u32>,
    out: &mut impl Write,
) -> Result<()> {
    let clear = if std::io::stdout().is_terminal() { CLEAR } else { "" };
    let (mut shown, mut failed) = (0, 0);
    while count != Some(shown) {
        match table(host) {
            Ok(text) => {
                writeln!(out, "{clear}{text}")?;
                out.flush()?;
                (shown, failed) = (shown + 1, 0);
            }
            Err(error) => {
                failed += 1;
                ensure!(
                    failed < ATTEMPTS,
                    "the web server says nothing ({error:#}); what the system says is in {}",
                    machine.log.display()
                );
            }
        }
        let mut pause = machine.deadline(Limit::Wall(PAUSE));
        if machine.wait(Some(&mut pause))? {
            bail!("the system has ended; what it said is in {}", machine.log.display());
        }
    }
    Ok(())
}

/// Where the system's web server is.
fn server(description: &Description, system: &str) -> Result<(Option<Ipv4Addr>, u16)> {
    let all = &description.component;
    let server = all.iter().find(|component| component.package() == SERVER).with_context(|| {
        format!("`{system}` has no component `{SERVER}`, which says how the others are: add it as systems/net.toml has it, or `top net`")
    })?;
    let argument = |component: &Component, name: &str| {
        component
            .arguments
            .iter()
            .find_map(|argument| argument.strip_prefix(name).map(String::from))
    };
    let ip = server.calls.iter().find_map(|peer| {
        all.iter()
            .find(|other| other.name.get_ref() == peer.to.get_ref() && other.package() == "ip")
    });
    let ip = ip.with_context(|| format!("`{SERVER}` has no sockets: write `sockets = \"ip\"`"))?;
    // Without one it is the component that asks for an address first.
    let address =
        argument(ip, "address=").and_then(|address| address.split('/').next()?.parse().ok());
    let port = argument(server, "port=").map_or(Ok(PORT), |port| port.parse());
    Ok((address, port.with_context(|| format!("`{SERVER}` has a port that is none"))?))
}

/// The table as it is now.
fn table(host: u16) -> Result<String> {
    let mut stream =
        TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, host)), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /status.txt HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").context("no answer")?;
    ensure!(
        head.starts_with("HTTP/1.1 200"),
        "it answers {}",
        head.lines().next().unwrap_or_default()
    );
    Ok(body.into())
}
