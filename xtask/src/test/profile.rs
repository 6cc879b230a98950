// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of profiles: of a system whose counts are known, and of a program in Linux.

use super::tally::{Test, test};
use crate::build::{self, Wire};
use crate::emulator::{self, Machine};
use crate::guest::program;
use crate::profile::{EVERY, HEAD, Request, TIMEOUT, take};
use anyhow::{Context, Result, ensure};
use model_profile::{Frame, Profile};
use std::path::Path;

/// Their names.
pub const ALL: &[Test] = &[test("profile.components", components), test("profile.linux", in_linux)];

/// Of so many instructions one is sampled in a short interval, whose repetitions are all alike: by
/// the first of these primes that does not divide a repetition's instructions. One that does would
/// sample the same few instructions of each.
const OFTEN: [u32; 3] = [7, 11, 13];
/// The interval of `tests/fast-paths` that has calls to another component and nothing else.
const CALLS: u16 = 10;

/// Takes the same profile twice.
fn twice(request: &Request<'_>) -> Result<Profile> {
    let mut files = Vec::new();
    let mut last = None;
    for _ in 0..2 {
        let outcome = take(request, &mut std::io::sink())?;
        ensure!(outcome.status == 0, "the command's exit status is {}", outcome.status);
        files.push(
            ["profile.txt", "flame.svg", "folded.txt"]
                .map(|name| std::fs::read(outcome.folder.join(name)).unwrap_or_default()),
        );
        last = Some(outcome.profile);
    }
    ensure!(
        files[0] == files[1] && files[0].iter().all(|file| !file.is_empty()),
        "two runs differ"
    );
    last.context("no run")
}

/// Samples of the functions that `wanted` names, in themselves and with what they call.
fn samples(profile: &Profile, wanted: impl Fn(&Frame) -> bool) -> (u64, u64) {
    let found = profile.functions().into_iter().filter(|function| wanted(&function.frame));
    found.fold((0, 0), |(own, total), function| (own + function.own, total + function.total))
}

/// The interval of calls from one component to another: both are there, and so is the kernel's fast
/// path for each.
fn components() -> Result<()> {
    let (system, interval, wire) = ("fast-paths", Some(CALLS), Wire::Out);
    let (repetitions, counted) = counted(system)?;
    let repetition = counted.iter().sum::<u64>() / repetitions;
    let every = OFTEN
        .into_iter()
        .find(|every| !repetition.is_multiple_of(u64::from(*every)))
        .context("a repetition is a multiple of all primes")?;
    let request =
        Request { system, command: None, files: &[], interval, every, timeout: None, wire };
    let profile = twice(&request)?;
    println!("# {}", profile.table(HEAD).trim_end().replace('\n', "\n# "));
    let (outside, _) = samples(&profile, |frame| {
        !["kernel", "fast-paths", "server"].contains(&frame.owner.as_str())
    });
    ensure!(outside == 0, "{outside} samples are outside the interval");
    for (what, kernel, counted) in [("kernel", true, counted[0]), ("user", false, counted[1])] {
        let (own, _) = samples(&profile, |frame| (frame.owner == "kernel") == kernel);
        let sampled = own * u64::from(every);
        println!("# {what} instructions: {sampled} by samples, {counted} counted");
        ensure!(
            sampled.abs_diff(counted) * 50 <= counted,
            "{what} instructions: {sampled} by samples, {counted} counted"
        );
    }
    for name in ["fast-paths", "server"] {
        ensure!(samples(&profile, |frame| frame.owner == name).0 > 0, "nothing of `{name}`");
        let fast = |frame: &Frame| frame.owner == "kernel" && frame.name == "enter_large";
        let below =
            profile.paths().filter(|(path, _)| path[0].name == name && path.iter().any(fast));
        ensure!(
            below.map(|(_, times)| times).sum::<u64>() > 0,
            "the fast path's way into a space was never executed for `{name}`"
        );
    }
    Ok(())
}

/// How many repetitions that interval has, and the instructions of the kernel and of user mode in
/// all of them, as the plugin counts them.
fn counted(system: &str) -> Result<(u64, [u64; 2])> {
    let built = build::system(&Path::new("tests/systems").join(system).with_extension("toml"))?;
    let model = build::model()?;
    let machine = Machine::Qemu { cpu: &built.cpu, icount: true, model: Some(&model) };
    let report = emulator::batch(&built, machine, TIMEOUT)?.model.context("nothing was counted")?;
    let interval = report.intervals.get(&CALLS).context("the interval was not counted")?;
    let all = [&interval.kernel_instructions, &interval.user_instructions]
        .map(|each| each.median * interval.repetitions);
    Ok((interval.repetitions, all))
}

/// A program that computes in one function, which main calls through another one.
fn in_linux() -> Result<()> {
    let files = [program("busy")?];
    let (command, wire) = (Some("busy".into()), Wire::Out);
    let request = Request {
        system: "linux",
        command,
        files: &files,
        interval: None,
        every: EVERY,
        timeout: None,
        wire,
    };
    let profile = twice(&request)?;
    println!("# {}", profile.table(HEAD).trim_end().replace('\n', "\n# "));
    let share = |name: &str| samples(&profile, |frame| frame.owner == "busy" && frame.name == name);
    let (own, _) = share("compute");
    let path =
        |path: &[Frame]| path.iter().map(|frame| frame.name.clone()).collect::<Vec<_>>().join(";");
    let called: u64 = profile
        .paths()
        .filter(|(p, _)| path(p).ends_with("main;prepare;compute"))
        .map(|(_, times)| times)
        .sum();
    println!(
        "# {own} of {} samples in compute, {called} of them below main and prepare",
        profile.samples()
    );
    ensure!(own * 2 > profile.samples(), "compute has {own} of {} samples", profile.samples());
    ensure!(called * 100 > own * 99, "only {called} of {own} samples have their callers");
    let server = profile.paths().filter(|(path, _)| {
        path[0].name == "linux" && path.iter().any(|frame| frame.name == "do_exit")
    });
    ensure!(server.count() > 0, "the Linux server's part is not there");
    Ok(())
}
