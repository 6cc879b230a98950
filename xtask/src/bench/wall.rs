// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times by the clock, in QEMU, here and on Linux alone: of Linux's operations (`bench wall`), of
//! its network (`bench wall-net`), and of datagrams (`bench wall-echo`). They are no figures of the
//! book, because an emulator's time is not a machine's: each write of CR3 empties the emulator's
//! TLB.

use super::program::{PEERS, Program};
use super::run::by_the_clock;
use crate::build::Wire;
use crate::guest::{Alone, Clock, Guest, compile, insert, program};
use crate::machine::board;
use crate::machine::spaces::{self, Spaces};
use crate::process::show;
use anyhow::{Context, Result, ensure};
use book::Plan;
use book::plan::Run;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Runs of each, in turn.
const PAIRS: usize = 5;
/// How much goes through a stream.
const STREAM_MIB: u32 = 128;
/// Datagrams.
const ECHOES: u32 = 2000;
/// The runs of the book that have datagrams sent back, and who sends them.
const WAYS: [(&str, &str); 4] = [
    ("echo", "a datagram, a native component"),
    ("echo-small", "a datagram, a native component of one home"),
    ("echo-linux", "a datagram, Linux in a space of its own"),
    ("echo-linux-server", "a datagram, Linux at ring 1"),
];
/// The longest that one may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// An operation's nanoseconds: here and on Linux alone, of each pair.
struct Row {
    name: String,
    pairs: Vec<(f64, f64)>,
}

/// Measures operations and prints the table.
pub fn run() -> Result<()> {
    let guest = Guest { inserts: vec![program("wall")?], ..Guest::default() };
    pairs(&guest, "wall", &[(None, "")])
}

/// Measures streams of TCP and prints the table.
pub fn streams() -> Result<()> {
    let peers = PEERS.map(String::from);
    let wire = Wire::Card { forwards: &[], options: &peers };
    let inserts = vec![insert("/bin/stream", compile("bench/linux/stream.c")?)];
    let both = [
        (Some(Spaces::Large), ", Linux in a space of its own"),
        (Some(Spaces::Force), ", Linux at ring 1"),
    ];
    pairs(&Guest { inserts, wire, ..Guest::default() }, &format!("stream {STREAM_MIB}"), &both)
}

/// Measures datagrams that are sent back, and prints the table.
pub fn echoes(plan: &Plan) -> Result<()> {
    let find = |name: &str| -> Result<Run> {
        let run = plan.runs.get(name).with_context(|| format!("there is no run `{name}`"))?;
        Ok(Run { echoes: Some(ECHOES), ..run.clone() })
    };
    let of = |took: Duration| took.as_nanos() as f64 / f64::from(ECHOES - 1);
    let linux = find("echo-linux")?;
    let program = Program::of(&linux, Path::new(linux.program.as_deref().context("no program")?))?;
    let mut rows: Vec<Row> =
        WAYS.iter().map(|(_, name)| Row { name: (*name).into(), pairs: Vec::new() }).collect();
    for pair in 1..=PAIRS {
        eprintln!("[{pair}/{PAIRS}] on Macadamia and on Linux alone");
        let alone = of(program.alone(&linux, None)?.took.context("nobody is behind the card")?);
        for (row, (run, _)) in rows.iter_mut().zip(WAYS) {
            row.pairs.push((of(by_the_clock(&find(run)?, &program)?), alone));
        }
    }
    show(&table(&rows))?;
    Ok(())
}

/// Runs a command in turn here, in each of the ways, and on Linux alone, and prints the table.
fn pairs(guest: &Guest<'_>, command: &str, ways: &[(Option<Spaces>, &str)]) -> Result<()> {
    let mut rows: Vec<Row> = Vec::new();
    for pair in 1..=PAIRS {
        eprintln!("[{pair}/{PAIRS}] on Macadamia and on Linux alone");
        let alone = read(
            &Alone {
                wire: guest.wire,
                clock: Clock::Host,
                inserts: guest.inserts.clone(),
                timeout: TIMEOUT,
                ..Alone::default()
            }
            .run(command)?
            .out,
        )?;
        let mut found = Vec::new();
        for (way, label) in ways {
            let cpu = Some(board::chosen().qemu.measured());
            let here = || {
                Guest {
                    cpu,
                    inserts: guest.inserts.clone(),
                    wire: guest.wire,
                    timeout: TIMEOUT,
                    ..Guest::default()
                }
                .succeed(command)
            };
            let here = read(&way.map_or_else(here, |way| spaces::with(way, here))?.text())?;
            ensure!(
                here.iter().map(|(name, _)| name).eq(alone.iter().map(|(name, _)| name)),
                "not the same operations"
            );
            found.extend(
                here.into_iter()
                    .zip(&alone)
                    .map(|((name, ours), (_, theirs))| (format!("{name}{label}"), (ours, *theirs))),
            );
        }
        if rows.is_empty() {
            rows.extend(
                found.iter().map(|(name, _)| Row { name: name.clone(), pairs: Vec::new() }),
            );
        }
        for (row, (_, pair)) in rows.iter_mut().zip(found) {
            row.pairs.push(pair);
        }
    }
    show(&table(&rows))?;
    Ok(())
}

/// Lines of a name and nanoseconds.
fn read(text: &str) -> Result<Vec<(String, f64)>> {
    let line = |line: &str| {
        let (name, value) =
            line.split_once(' ').with_context(|| format!("`{line}` is no figure"))?;
        let value: f64 = value.trim().parse().with_context(|| format!("`{line}` is no figure"))?;
        ensure!(value > 0.0, "`{line}` took no time");
        Ok((name.to_string(), value))
    };
    text.lines().map(line).collect()
}

/// The middle one, or of an even number the upper of the two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| operation | ns on Macadamia | ns on Linux alone | ratio | of pairs |\n|---|---|---|---|---|\n",
    );
    for row in rows {
        let ratios: Vec<f64> = row.pairs.iter().map(|(ours, theirs)| ours / theirs).collect();
        let (least, most) = ratios.iter().fold((f64::MAX, 0.0_f64), |(least, most), ratio| {
            (least.min(*ratio), most.max(*ratio))
        });
        let ours = median(row.pairs.iter().map(|pair| pair.0).collect());
        let theirs = median(row.pairs.iter().map(|pair| pair.1).collect());
        let middle = median(ratios);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {ours:.0} | {theirs:.0} | {middle:.1} | {least:.1} to {most:.1} |",
            row.name.replace('-', " ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_program_prints() {
        assert_eq!(
            read("getpid 12\nread-4K 30\n").expect("figures"),
            [("getpid".to_string(), 12.0), ("read-4K".to_string(), 30.0)]
        );
        for wrong in ["getpid", "getpid x", "getpid 0"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_ratio_is_that_of_the_middle_pair() {
        let rows =
            [Row { name: "read-4K".into(), pairs: vec![(20.0, 10.0), (90.0, 10.0), (30.0, 10.0)] }];
        assert!(
            table(&rows).ends_with("| read 4K | 30 | 10 | 3.0 | 2.0 to 9.0 |\n"),
            "{}",
            table(&rows)
        );
    }
}
