// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cost of a network frame by parts: samples of streams say in whose code they are.

use super::program::{Program, timeout};
use crate::build::Model;
use crate::guest::Alone;
use crate::profile::{EVERY, Request, take};
use anyhow::{Context, Result, ensure};
use book::plan::Run;
use book::{Counted, Parts};
use model_core::Report;
use model_profile::{Frame, Profile};
use std::collections::BTreeMap;

/// The intervals of bench/linux/stream.c: bytes from the host, and to it.
const INTERVALS: [u16; 2] = [600, 601];
/// The system whose Linux has the streams.
const SYSTEM: &str = "linux";
/// All parts together, and frames without data, which go the other way.
const ALL: &str = "all";
const BACK: &str = "back";
/// Parts that must be there, or they are not what they are called any more.
const PARTS: [&str; 6] = ["driver", "switch", "copy", "linux", "program", "kernel"];

/// Samples each stream here, and has both on Linux alone.
pub fn carry_out(run: &Run, program: &Program, model: &Model) -> Result<Counted> {
    let wire = program.wire(run, None);
    let alone = Alone {
        wire,
        inserts: program.inserts.clone(),
        model: Some(model),
        timeout: timeout(run),
        ..Alone::default()
    }
    .run(&program.command)?;
    let native = alone.report.context("no report of Linux alone")?;
    let (mut parts, mut instructions) = (Parts::new(), 0);
    for id in INTERVALS {
        let request = Request {
            system: SYSTEM,
            command: Some(program.command.clone()),
            files: &program.inserts,
            interval: Some(id),
            every: EVERY,
            timeout: Some(timeout(run)),
            wire,
        };
        let mut out = Vec::new();
        let outcome = take(&request, &mut out)?;
        let out = String::from_utf8_lossy(&out);
        ensure!(outcome.status == 0, "status {}: {out}", outcome.status);
        let (ours, theirs) = (frames(&out, id)?, frames(&alone.out, id)?);
        let interval = native
            .intervals
            .get(&id)
            .with_context(|| format!("Linux alone has no interval {id}"))?;
        let (kernel, user) =
            (interval.kernel_instructions.median, interval.user_instructions.median);
        let alone = BTreeMap::from([(ALL, kernel + user), ("linux", kernel), ("program", user)]);
        let samples = samples(&outcome.profile);
        for part in PARTS {
            ensure!(
                samples.contains_key(part),
                "no instructions of `{part}`, of {:?}",
                samples.keys()
            );
        }
        for (part, samples) in samples {
            let sampled = samples * u64::from(EVERY);
            instructions += if part == ALL { sampled } else { 0 };
            parts.insert(
                (id, part.into()),
                (
                    sampled as f64 / ours.data,
                    alone.get(part).map(|count| *count as f64 / theirs.data),
                ),
            );
        }
        parts.insert((id, BACK.into()), (ours.back / ours.data, Some(theirs.back / theirs.data)));
    }
    Ok(Counted { ours: Report { instructions, ..Report::default() }, native: Some(native), parts })
}

/// How many frames an interval had.
struct Frames {
    data: f64,
    back: f64,
}

/// As the program prints them: the interval, frames that came, frames that went.
fn frames(out: &str, id: u16) -> Result<Frames> {
    let line = out.lines().find_map(|line| line.trim().strip_prefix(&format!("{id} ")));
    let numbers = line
        .and_then(|line| line.split_once(' '))
        .and_then(|(came, went)| Some((came.parse().ok()?, went.parse().ok()?)));
    let (came, went): (f64, f64) =
        numbers.with_context(|| format!("no frames of interval {id}: {out}"))?;
    let (data, back) = if id == INTERVALS[0] { (came, went) } else { (went, came) };
    ensure!(data > 0.0, "interval {id} had no frames");
    Ok(Frames { data, back })
}

/// How many samples each part has.
fn samples(profile: &Profile) -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    for (path, times) in profile.paths() {
        *sums.entry(ALL).or_default() += times;
        *sums.entry(part(path)).or_default() += times;
    }
    sums
}

/// Whose a call path is.
fn part(path: &[Frame]) -> &'static str {
    let (Some(space), Some(function)) = (path.first(), path.last()) else { return "others" };
    match &*space.name {
        _ if function.owner == "kernel" => "kernel",
        "nic" => "driver",
        // `user/lib` has functions of their own for copies.
        "switch" if function.name.contains("::copy_") => "copy",
        "switch" => "switch",
        "linux" => "linux",
        "process" | "stream" => "program",
        _ => "others",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_what_the_program_prints() {
        let out = "600 2900 450\r\n601 500 3000\n";
        let [from, to] = INTERVALS
            .map(|id| frames(out, id).map(|frames| (frames.data, frames.back)).expect("frames"));
        assert_eq!((from, to), ((2900.0, 450.0), (3000.0, 500.0)));
        for wrong in ["", "600 0 0", "600 1", "6000 1 1"] {
            assert!(frames(wrong, 600).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_path_is_of_one_part() {
        let path = |names: &[(&str, &str)]| -> Vec<Frame> {
            names
                .iter()
                .map(|(owner, name)| Frame { owner: (*owner).into(), name: (*name).into() })
                .collect()
        };
        let of = |names: &[(&str, &str)]| part(&path(names));
        assert_eq!(
            of(&[
                ("switch", "switch"),
                ("switch", "run"),
                ("switch", "macadamia::arch::ia32::copy_words")
            ]),
            "copy"
        );
        assert_eq!(of(&[("switch", "switch"), ("switch", "run")]), "switch");
        assert_eq!(of(&[("nic", "nic"), ("kernel", "send")]), "kernel");
        assert_eq!(of(&[("clock", "clock"), ("clock", "run")]), "others");
    }
}
