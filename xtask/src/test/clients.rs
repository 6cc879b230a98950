// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients of other projects, in a Debian: they reach servers on this machine's loopback interface,
//! or the native web server on the same card.

use super::mirror::{FORGED, NAME, Names, REPLACED};
use super::net::{BYTES, Server, bytes, checksum, guest, meet, open_ssh};
use super::tally::{Test, slow};
use super::{disk, mirror};
use crate::guest::{Guest, insert};
use crate::machine::network::free_port;
use anyhow::{Result, ensure};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[slow("linux.debian.net", "it installs Debian", debian)];

/// How often `ab` asks the web server, ten at a time.
const REQUESTS: u32 = 200;

/// Debian has the network as systemd sets it up: an address and names, by a server of this machine.
/// `curl`, `ab` and `wrk` fetch what is to be fetched, `dhclient` gets the address, too, `apt-get`
/// installs a package from a signed repository and refuses what is not signed, `ssh` goes out and
/// comes in.
pub(super) fn debian() -> Result<()> {
    disk::forget(disk::image_of("net-debian"))?;
    let (server, names, ssh) = (Server::start()?, Names::start()?, free_port()?);
    let resolved = format!("[Resolve]\nDNS=10.0.2.2:{}\nDomains=~.\nDNSSEC=no\n", names.port);
    let inserts = vec![
        open_ssh(),
        insert("/etc/systemd/resolved.conf.d/test.conf", resolved.into_bytes()),
        insert("/etc/apt/mirror.asc", std::fs::read("tests/mirror/key.asc")?),
    ];
    let address = format!("http://{NAME}:{}", server.port);
    let command = format!(
        "systemctl is-system-running --wait; /lib/systemd/systemd-networkd-wait-online --timeout=60; \
         curl -s {} | sha256sum; grep -c ^nameserver /etc/resolv.conf; \
         getent ahostsv4 {NAME} | cut -d ' ' -f 1 | sort -u; getent hosts nobody.example.org; echo $?; curl -s {address}/{BYTES} | sha256sum; \
         get() {{ apt-get -q -o Dir::Etc::SourceList=/etc/apt/mirror.list -o Dir::Etc::SourceParts=- -o APT::Update::Error-Mode=any \"$@\"; }}; \
         install() {{ echo \"deb [signed-by=/etc/apt/mirror.asc] {address}/mirror/$1 suite/\" > /etc/apt/mirror.list; \
         {{ get update && get install -y greeting; }} > /tmp/log 2>&1; }}; \
         install {FORGED}; echo $?; grep -o -m 1 BADSIG /tmp/log; install {REPLACED}; echo $?; grep -o -m 1 'Hash Sum mismatch' /tmp/log; \
         install good || cat /tmp/log; greeting; \
         ssh -q -p {ssh} -o BatchMode=yes -o StrictHostKeyChecking=accept-new root@{NAME} 'echo $SSH_CONNECTION | wc -w; cat > /tmp/bash' < /bin/bash; \
         cmp /tmp/bash /bin/bash; echo $?; curl -s 10.0.2.40/status.txt | grep -c runs; \
         ab -q -n {REQUESTS} -c 10 http://10.0.2.40/ | grep -e ^Complete -e ^Failed | tr -s ' '; \
         wrk -t 1 -c 10 -d 5s http://10.0.2.40/ > /tmp/wrk; echo $?; grep -c -e 'Socket errors' -e Non-2xx /tmp/wrk; \
         awk '/requests in/ {{ print ($1 >= {REQUESTS}) ? \"enough\" : \"few\" }}' /tmp/wrk; \
         dhclient -1 -v -sf /bin/true -lf /tmp/leases -pf /tmp/pid eth0 > /tmp/dhclient 2>&1; grep -o -e '^DHCPACK of [0-9.]*' -e '^bound to [0-9.]*' /tmp/dhclient; \
         kill $(cat /tmp/pid); curl -s {}",
        server.url(&BYTES.to_string()),
        server.url("wait")
    );
    let guest = Guest {
        system: "tests/systems/net-debian.toml",
        inserts,
        timeout: Duration::from_secs(300),
        ..guest()
    };
    let greeting = |port| {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    };
    let (line, outcome) = meet(&server, guest, (ssh, 22), &command, greeting)?;
    ensure!(line.starts_with("SSH-2.0-OpenSSH"), "the SSH server says {line:?}");
    let sum = checksum(&bytes(BYTES));
    let expected = format!(
        "running\n{sum}  -\n1\n10.0.2.2\n2\n{sum}  -\n100\nBADSIG\n100\nHash Sum mismatch\n{}\n4\n0\n8\n\
         Complete requests: {REQUESTS}\nFailed requests: 0\n0\n0\nenough\nDHCPACK of 10.0.2.15\nbound to 10.0.2.15\n",
        mirror::GREETING
    );
    ensure!(outcome.text() == expected, "Debian says {:?} instead of {expected:?}", outcome.said());
    Ok(())
}
