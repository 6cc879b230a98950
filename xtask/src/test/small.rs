// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small processes of Linux: what they may do, what makes them large, and that programs do not
//! notice.

use super::alone::{Pins, SMALL_ABI, passed};
use super::suites;
use super::tally::{Test, slow, test};
use crate::bench;
use crate::build::{self, Model};
use crate::guest::{Guest, Outcome, small_busybox, small_program};
use crate::machine::Emulator;
use crate::machine::spaces::{Spaces, with};
use anyhow::{Context, Result, ensure};
use book::Plan;
use std::path::Path;
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    test("linux.regions", || with(Spaces::Force, || regions(Emulator::Qemu))),
    slow("linux.regions.bochs", "the same as `linux.regions`", || regions(Emulator::Bochs)),
    test("linux.regions.use", || with(Spaces::Force, by_use)),
    test("linux.regions.homes", || with(Spaces::Force, homes)),
    slow("linux.regions.reclaim", "minutes: page tables are compared after each event", || {
        with(Spaces::Force, reclaim)
    }),
    test("linux.regions.bare", || with(Spaces::Force, bare)),
    test("linux.regions.checked", || with(Spaces::Force, checked)),
    test("linux.abi.small", || with(Spaces::Force, abi)),
    slow("linux.x11.small", "it builds an X server of Debian's sources, once", || {
        with(Spaces::Force, x11)
    }),
    slow("linux.busybox.small", "as `linux.busybox`, of small processes", || {
        with(Spaces::Force, busybox)
    }),
];

const SYSTEM: &str = "systems/linux-small-programs.toml";

/// A line of `/proc/macadamia`.
fn count(o: &Outcome, name: &str) -> Result<u64> {
    let text = o.text();
    let line = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(name))
        .with_context(|| format!("no {name} in: {text}"))?;
    line.trim().parse().with_context(|| format!("{name} is {line}"))
}

/// Each way out of a region makes a process large, and it goes on; the neighbours do not notice.
/// Where segment limits hold, they are what tells; in QEMU page faults do.
fn regions(on: Emulator) -> Result<()> {
    let guest = Guest {
        system: SYSTEM,
        on,
        inserts: vec![small_program("regions")?],
        timeout: Duration::from_secs(180),
        ..Guest::default()
    };
    // Processes beside it, that count. Then addresses are so random that a region has no room for
    // that.
    let o = guest.succeed(
        "yes | head -c 3000000 | md5sum & regions && wait && cat /proc/macadamia && \
         echo 16 > /proc/sys/vm/mmap_rnd_bits && for i in 1 2 3 4 5 6 7 8; do regions maps || exit 1; done",
    )?;
    let text = o.text();
    let passed = text.lines().filter(|line| line.starts_with("ok ")).count();
    ensure!(passed == 19, "{passed} checks: {text}");
    ensure!(text.contains(MD5_OF_YES), "the neighbour counted something else: {text}");
    ensure!(count(&o, "promotions")? >= 12, "too few became large: {text}");
    Ok(())
}

/// Of 3,000,000 bytes of `yes`, as `md5sum` of any Linux says.
const MD5_OF_YES: &str = "f30a749ec7a7b55d3a75349f242c4cd8";

/// Without `l4_small=` processes are small where it pays: while they switch to each other often.
fn by_use() -> Result<()> {
    let guest = Guest { inserts: vec![small_program("regions")?], ..Guest::default() };
    let o = guest.succeed("regions use && cat /proc/macadamia")?;
    ensure!(
        count(&o, "small")? == 0 && count(&o, "promotions")? == 0,
        "some are left, or needed more: {}",
        o.text()
    );
    Ok(())
}

/// More processes than a home has regions for, in a ring; nothing of them is left.
fn homes() -> Result<()> {
    let guest =
        Guest { system: SYSTEM, inserts: vec![small_program("regions")?], ..Guest::default() };
    let o = guest.succeed("grep small /proc/macadamia; regions ring 120 10 && regions ring 120 10 && cat /proc/macadamia")?;
    let text = o.text();
    let before = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("small"))
        .context("no figure before")?;
    // `grep` was small then, and now `cat` is.
    ensure!(count(&o, "small")? == before.trim().parse::<u64>()?, "regions are left: {text}");
    ensure!(count(&o, "promotions")? == 0, "some became large: {text}");
    Ok(())
}

/// With less memory than page tables want, some of small processes are reclaimed, too. After each
/// event Linux compares its page tables with the microkernel's.
fn reclaim() -> Result<()> {
    let system = "tests/systems/linux-small-reclaim.toml";
    let guest = Guest {
        system,
        inserts: vec![small_program("regions")?],
        timeout: Duration::from_secs(240),
        ..Guest::default()
    };
    let o = guest.succeed("regions ring 50 20 any && ls -lR /proc/self | wc && regions ring 50 20 any && cat /proc/macadamia")?;
    let reclaims = count(&o, "reclaims")?;
    ensure!(reclaims > 10, "tables were reclaimed {reclaims} times: {}", o.text());
    println!("# tables were reclaimed {reclaims} times");
    Ok(())
}

/// Whose processes are large or small, and the most instructions of the kernel that a round trip by
/// pipes may take there: four system calls and two switches, with TLS descriptors or without.
const ROUND_TRIPS: [(&str, &str, u64); 2] =
    [("systems/linux.toml", "large", 660), (SYSTEM, "small", 840)];

/// Processes without TLS descriptors go the fast way, too.
fn bare() -> Result<()> {
    let (model, program) = (build::model()?, small_program("bare")?);
    let mut above = Vec::new();
    for (system, size, most) in ROUND_TRIPS {
        let o = Guest {
            system,
            inserts: vec![program.clone()],
            model: Some(&model),
            ..Guest::default()
        }
        .succeed("bare")?;
        let report = o.report.context("no report")?;
        for (id, what) in [(1, "with TLS descriptors"), (2, "without")] {
            let interval = report
                .intervals
                .get(&id)
                .with_context(|| format!("{size} processes {what} were not measured"))?;
            let kernel = interval.kernel_instructions.median;
            println!("# {size}, {what}: {kernel} kernel instructions a round trip, at most {most}");
            if kernel > most {
                above.push(format!("{size} processes {what}: {kernel}, at most {most}"));
            }
        }
    }
    ensure!(above.is_empty(), "kernel instructions of a round trip: {}", above.join("; "));
    Ok(())
}

/// The machine model looks at each access, and at each return to a small space: none reaches beyond
/// its region or uses what is stale.
fn checked() -> Result<()> {
    let model = Model { check: true, ..build::model()? };
    let inserts = vec![small_program("regions")?];
    let guest = Guest {
        system: SYSTEM,
        inserts,
        model: Some(&model),
        timeout: Duration::from_secs(400),
        ..Guest::default()
    };
    let o = guest.succeed("regions ring 60 10 && yes | head -c 300000 | md5sum && ls -lR / | wc && cat /proc/macadamia")?;
    ensure!(count(&o, "promotions")? == 0, "some became large: {}", o.text());
    let report = o.report.context("no report")?;
    ensure!(
        report.violations.is_empty() && report.errors.is_empty(),
        "{:?} {:?}",
        report.violations,
        report.errors
    );
    let checked = report.checked.context("nothing was checked")?;
    ensure!(checked > 1_000_000, "only {checked} accesses were checked");
    println!("# {checked} accesses to data checked, all processes small");
    Ok(())
}

/// What programs expect of Linux, of a program that is small: the same as the same program gets
/// from Linux alone. Some checks are about glibc, and pass on neither.
fn abi() -> Result<()> {
    let inserts = vec![small_program("abi")?];
    let pins = Pins::read()?;
    let o = Guest { system: SYSTEM, inserts, own_time: true, ..Guest::default() }
        .run("abi || true; cat /proc/macadamia")?;
    // Only what was small can become large: it looks at addresses beyond.
    ensure!(count(&o, "promotions")? > 0, "it was never small");
    let (alone, here) = (pins.passes(SMALL_ABI)?, passed(&o.text()));
    ensure!(
        alone.len() >= 40 && *alone == here,
        "passes on one only: {:?}",
        alone.symmetric_difference(&here)
    );
    println!(
        "# {} checks pass as on Linux alone, of a program that is linked with musl and small",
        here.len()
    );
    Ok(())
}

/// The programs of the book's section `x11`: the client checks the X server's answers. Both are
/// small, or large, as the section says.
fn x11() -> Result<()> {
    let plan = Plan::read(Path::new(bench::FOLDER))?;
    for (name, region) in [("x11-small", 65536), ("x11", 0)] {
        let run = plan.runs.get(name).with_context(|| format!("no run `{name}`"))?;
        let (system, client) = (run.linux.as_deref(), run.program.as_deref());
        let guest = Guest {
            system: system.context("a system")?,
            inserts: bench::inserts(run, Path::new(client.context("a client")?))?,
            ..Guest::default()
        };
        let o = guest.succeed(
            "/src/x11.sh sh -c 'xops && sed -n s/^L4Small/server/p /proc/$(pidof Xvfb)/status'",
        )?;
        let text = o.text();
        let sizes: Vec<u32> =
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        ensure!(sizes == [region; 2], "{name}: {}", o.said());
    }
    Ok(())
}

/// BusyBox's own tests, with all of its processes small.
fn busybox() -> Result<()> {
    let (system, inserts) = ("tests/systems/linux-suites-small.toml", vec![small_busybox()?]);
    Guest { system, inserts: inserts.clone(), ..Guest::default() }
        .succeed("grep 'L4Small.*65536 kB' /proc/self/status")?;
    suites::busybox_of(system, inserts)
}
