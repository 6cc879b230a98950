// SPDX-License-Identifier: MIT OR Apache-2.0
//! Test suites of other projects, which run in Linux on Macadamia and on Linux alone: the same
//! cases must pass. For kselftests a list says which pass on Linux alone; another test checks the
//! list.

use super::tally::{Test, slow};
use crate::guest::{Alone, Guest};
use crate::linux::root::Insert;
use crate::linux::{files, folder, packages, server};
use crate::machine::{Emulator, board};
use crate::process::once::Once;
use crate::process::run;
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    slow("linux.kselftest", "minutes; `linux.abi` has what programs usually expect", kselftest),
    slow("linux.kselftest.alone", "it builds Linux for the machine itself", kselftest_alone),
    slow("linux.busybox", "minutes, and it builds Linux for the machine itself", busybox),
];

/// A Linux with the memory that the suites want.
const SYSTEM: &str = "tests/systems/linux-suites.toml";
/// What of the kernel's own tests is run.
const KSELFTESTS: &str = "tests/linux/kselftests";
/// Fewer cases of BusyBox's suite that pass on Linux alone mean that it was not run as it should
/// be.
const LEAST_OF_BUSYBOX: usize = 500;
/// The longest that a suite may take on one system, in the emulator's own time.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A file of this project that says what of a suite is run.
#[derive(Default)]
struct Pinned {
    /// Files that programs need.
    needs: Vec<String>,
    /// Programs, and their arguments.
    runs: Vec<String>,
    /// Files of the suite that are taken away before.
    without: Vec<String>,
    /// Cases that pass on one of the two only.
    differ: BTreeSet<String>,
    /// How the names of cases begin whose rest is another in each run.
    vary: Vec<String>,
    /// How programs begin that measure time, or take too much of it in Bochs.
    timed: Vec<String>,
}

impl Pinned {
    fn read(path: &str) -> Result<Self> {
        let mut pinned = Self::default();
        let processor = format!("in {} ", board::chosen().linux()?.debian);
        for line in std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {path}"))?
            .lines()
            .map(str::trim)
        {
            let line = line.strip_prefix(&processor).unwrap_or(line);
            match line.split_once(' ') {
                _ if line.is_empty() || line.starts_with('#') => (),
                Some(("in", _)) => (),
                Some(("needs", files)) => {
                    pinned.needs.extend(files.split_whitespace().map(String::from))
                }
                Some(("without", files)) => {
                    pinned.without.extend(files.split_whitespace().map(String::from))
                }
                Some(("run", command)) => pinned.runs.push(command.trim().into()),
                Some(("timed", program)) => pinned.timed.push(program.trim().into()),
                Some(("varies", case)) => pinned.vary.push(case.trim().into()),
                Some(("differs", case)) => _ = pinned.differ.insert(case.trim().into()),
                _ => bail!(
                    "{path}: `{line}` begins with none of in, needs, run, without, timed, varies, differs"
                ),
            }
        }
        Ok(pinned)
    }
}

/// The names of cases that passed. One that occurs again gets a number.
#[derive(Default)]
struct Passed(BTreeMap<String, u32>);

impl Passed {
    fn add(&mut self, case: &str) {
        *self.0.entry(case.into()).or_default() += 1;
    }

    fn cases(&self) -> BTreeSet<String> {
        let named = |(case, times): (&String, &u32)| {
            (1..=*times)
                .map(|time| if time == 1 { case.clone() } else { format!("{case} ({time})") })
                .collect::<Vec<_>>()
        };
        self.0.iter().flat_map(named).collect()
    }
}

/// Keeps what a suite printed as a file.
fn keep(name: &str, kind: &str, text: String) -> Result<String> {
    std::fs::create_dir_all(board::chosen().out())?;
    std::fs::write(board::chosen().out().join(name).with_extension(kind), &text)?;
    Ok(text)
}

/// Runs a script in Linux on Macadamia, in QEMU in its machine's own time, as on Linux alone: what
/// it measures and waits for is the same on a busy host. Returns what it printed, which is kept as
/// a file, too.
fn here(
    name: &str,
    system: &str,
    on: Emulator,
    inserts: Vec<Insert>,
    script: &str,
) -> Result<String> {
    // Bochs is slow, and an emulated ARM in its own time.
    let is_slow = on == Emulator::Bochs || !board::chosen().is_default();
    let timeout = if is_slow { 3 * TIMEOUT } else { TIMEOUT };
    let outcome =
        Guest { system, on, inserts, timeout, own_time: true, ..Guest::default() }.run(script)?;
    let text = keep(name, "here", outcome.text())?;
    ensure!(outcome.status == 0, "{}", outcome.said());
    Ok(text)
}

/// The same on Linux alone.
fn alone(name: &str, inserts: Vec<Insert>, script: &str) -> Result<String> {
    keep(name, "alone", Alone { inserts, timeout: TIMEOUT, ..Alone::default() }.run(script)?.out)
}

/// Whether the cases that passed differ just as it is known. What was printed is in the folder
/// `kept`.
fn compare(
    name: &str,
    kept: &Path,
    here: &BTreeSet<String>,
    alone: &BTreeSet<String>,
    known: &BTreeSet<String>,
) -> Result<()> {
    println!(
        "# {name}: {} cases pass on Linux alone, {} on Macadamia, {} differences are known",
        alone.len(),
        here.len(),
        known.len()
    );
    let mut wrong = Vec::new();
    for case in here.symmetric_difference(alone).filter(|case| !known.contains(*case)) {
        wrong.push(format!(
            "passes only {}: {case}",
            if here.contains(case) { "on Macadamia" } else { "on Linux alone" }
        ));
    }
    for case in known.iter().filter(|case| here.contains(*case) == alone.contains(*case)) {
        wrong.push(format!("differs no more: {case}"));
    }
    ensure!(
        wrong.is_empty(),
        "{}\nwhat was printed is in {1}/{name}.here and of Linux alone in {1}/{name}.alone",
        wrong.join("\n"),
        kept.display()
    );
    Ok(())
}

/// Files of a folder as a compressed archive, which guests unpack at `/tmp/suite`: on both a tmpfs.
fn archive<'a>(folder: &Path, names: impl IntoIterator<Item = &'a str>) -> Result<Insert> {
    let output = Command::new("tar")
        .arg("-czf")
        .arg("-")
        .arg("-C")
        .arg(folder)
        .args(names)
        .output()
        .context("cannot run tar")?;
    ensure!(output.status.success(), "tar failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(Insert { guest: "/suite.tar.gz".into(), contents: output.stdout, mode: 0o644 })
}

/// Unpacks what [`archive`] made; messages of the kernel do not get among the results.
const UNPACK: &str = "dmesg -n 1; mkdir /tmp/suite && tar -xzf /suite.tar.gz -C /tmp/suite && rm /suite.tar.gz || exit 1\n";

/// Runs every line of `/list`: the line, what its program printed (each line after `|`), its
/// status.
const RUN_LIST: &str = r#"while read -r program arguments <&3; do
    echo "run $program $arguments"
    cd "/tmp/suite/${program%/*}"
    timeout -s KILL 60 "./${program##*/}" $arguments > /tmp/output 2>&1 < /dev/null 3<&-
    status=$?
    awk '{ print "|" $0 }' /tmp/output
    echo "status $status"
done 3< /list
"#;

/// The cases of kselftests that passed: of the test anything protocol those that are `ok`, and of
/// each program that its status is 0.
fn kselftest_cases(text: &str, vary: &[String]) -> BTreeSet<String> {
    let mut passed = Passed::default();
    let mut run = "";
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("run ") {
            run = command.trim();
        } else if line == "status 0" {
            passed.add(run);
        } else if let Some(result) = line.strip_prefix("|ok ") {
            let (name, directive) = result.split_once('#').unwrap_or((result, ""));
            let name = name
                .trim()
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .trim_start_matches([' ', '-']);
            if !["SKIP", "XFAIL"].iter().any(|word| directive.trim_start().starts_with(word)) {
                let case = format!("{run}: {name}");
                passed.add(vary.iter().find(|begin| case.starts_with(*begin)).unwrap_or(&case));
            }
        }
    }
    passed.cases()
}

/// The kernel's own tests, of the source that Linux is made from.
pub(super) fn kselftest() -> Result<()> {
    run_kselftests("kselftest", Emulator::Qemu, &Pinned::read(KSELFTESTS)?)
}

/// Those that do not measure time, in Bochs.
pub(super) fn kselftest_on_bochs() -> Result<()> {
    let mut pinned = Pinned::read(KSELFTESTS)?;
    let is_timed = |case: &String| pinned.timed.iter().any(|timed| case.starts_with(timed));
    pinned.runs.retain(|run| !is_timed(run));
    pinned.differ.retain(|case| !is_timed(case));
    run_kselftests("kselftest-bochs", Emulator::Bochs, &pinned)
}

/// What passes on Linux alone on this processor, a case a line.
fn passes_alone() -> Result<PathBuf> {
    Ok(Path::new(KSELFTESTS).with_extension(&board::chosen().linux()?.debian))
}

fn run_kselftests(name: &str, on: Emulator, pinned: &Pinned) -> Result<()> {
    let path = passes_alone()?;
    let list = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let belongs = |case: &str, run: &String| {
        case.strip_prefix(run.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(':') || rest.starts_with(" ("))
    };
    let alone = list
        .lines()
        .filter(|case| pinned.runs.iter().any(|run| belongs(case, run)))
        .map(String::from)
        .collect();
    let text = here(name, SYSTEM, on, kselftest_inserts(pinned)?, &format!("{UNPACK}{RUN_LIST}"))?;
    compare(
        name,
        &board::chosen().out(),
        &kselftest_cases(&text, &pinned.vary),
        &alone,
        &pinned.differ,
    )
}

/// The list of what passes on Linux alone is right, and each program that runs passes something
/// there.
pub(super) fn kselftest_alone() -> Result<()> {
    let pinned = Pinned::read(KSELFTESTS)?;
    let text = alone("kselftest", kselftest_inserts(&pinned)?, &format!("{UNPACK}{RUN_LIST}"))?;
    let cases = kselftest_cases(&text, &pinned.vary);
    for run in &pinned.runs {
        let passes = cases.iter().any(|case| case == run || case.starts_with(&format!("{run}: ")));
        ensure!(passes, "no case of `{run}` passes on Linux alone: do not list it");
    }
    let list: String = cases.iter().map(|case| format!("{case}\n")).collect();
    let found = folder().join("kselftests.alone");
    std::fs::write(&found, &list)?;
    println!("# {} cases pass on Linux alone", cases.len());
    let path = passes_alone()?;
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    ensure!(
        known == list,
        "{} lists other cases than pass on Linux alone; these are in {}",
        path.display(),
        found.display()
    );
    Ok(())
}

/// The suite and what its programs need.
fn kselftest_inserts(pinned: &Pinned) -> Result<Vec<Insert>> {
    let list = pinned.runs.iter().map(|run| format!("{run}\n")).collect::<String>();
    /// The suite of each processor: what Bochs does not run is in it, too.
    static BUILT: Once<Insert> = Once::new();
    let suite =
        BUILT.get(&board::chosen().name(), || build_kselftests(&Pinned::read(KSELFTESTS)?))?;
    let mut inserts =
        vec![suite, Insert { guest: "/list".into(), contents: list.into_bytes(), mode: 0o644 }];
    let place =
        Path::new("/usr").join(board::chosen().linux()?.tools.trim_end_matches('-')).join("lib");
    let loader =
        files(&place)?.into_iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_string()));
    let loader = loader.filter(|name| name.starts_with("ld-linux.so."));
    let libraries = ["libc.so.6", "libgcc_s.so.1", "libm.so.6"].map(String::from);
    let libraries = loader.chain(libraries).map(|name| (format!("/lib/{name}"), place.join(name)));
    let shell = packages::binaries(KSELFTEST_PACKAGES)?.join("bin/bash-static");
    for (guest, host) in libraries.into_iter().chain([("/bin/bash".into(), shell)]) {
        let contents =
            std::fs::read(&host).with_context(|| format!("cannot read {}", host.display()))?;
        inserts.push(Insert { guest, contents, mode: 0o755 });
    }
    Ok(inserts)
}

/// What kselftests are linked with, and a shell that one of them names.
const KSELFTEST_PACKAGES: &[&str] = &["libcap-dev", "libpopt-dev", "bash-static"];

/// Builds what is listed as the suite's Makefiles say, and packs it.
fn build_kselftests(pinned: &Pinned) -> Result<Insert> {
    server::native()?;
    let root = std::env::current_dir()?.join(folder());
    let source = root.join("native");
    let libraries = packages::binaries(KSELFTEST_PACKAGES)?;
    let is_multiarch = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().contains("-linux-gnu"))
    };
    let multiarch = files(libraries.join("usr/lib"))?
        .into_iter()
        .find(is_multiarch)
        .context("Debian has no libraries")?;
    if !source.join("usr/include/linux/version.h").exists() {
        run(server::kernel_make(&source, &board::chosen().linux()?.arch)?.args(["-s", "headers"]))?;
    }
    let out = root.join("kselftest");
    let programs = pinned.runs.iter().filter_map(|run| run.split(' ').next());
    let paths: BTreeSet<&str> = pinned.needs.iter().map(String::as_str).chain(programs).collect();
    let mut folders = BTreeMap::<&str, Vec<&str>>::new();
    for path in &paths {
        let (folder, name) =
            path.rsplit_once('/').with_context(|| format!("`{path}` is not FOLDER/NAME"))?;
        folders.entry(folder).or_default().push(name);
    }
    for (folder, names) in folders {
        let from = source.join("tools/testing/selftests").join(folder);
        let to = out.join(folder);
        std::fs::create_dir_all(&to)?;
        let (sources, targets): (Vec<&str>, Vec<&str>) =
            names.into_iter().partition(|name| from.join(name).exists());
        for name in sources {
            std::fs::copy(from.join(name), to.join(name))?;
        }
        if targets.is_empty() {
            continue;
        }
        let mut make = Command::new("make");
        let linux = board::chosen().linux()?;
        make.args(["-s", "-C"])
            .arg(&from)
            .arg(format!("ARCH={}", linux.arch))
            .arg(format!("CROSS_COMPILE={}", linux.tools));
        make.arg(format!("OUTPUT={}", to.display()));
        make.arg(format!("USERCFLAGS=-w -idirafter {}", libraries.join("usr/include").display()));
        make.arg(format!("USERLDFLAGS=-s -L{}", multiarch.display()));
        run(make
            .args(targets.iter().map(|name| to.join(name)))
            .stdout(std::process::Stdio::null()))?;
    }
    archive(&out, paths)
}

/// BusyBox's own tests, of the source package of Debian's binary.
pub(super) fn busybox() -> Result<()> {
    busybox_of(SYSTEM, Vec::new())
}

/// The same in another system, perhaps with another binary.
pub(super) fn busybox_of(system: &str, binary: Vec<Insert>) -> Result<()> {
    let pinned = Pinned::read("tests/linux/busybox")?;
    let source = packages::source("busybox")?;
    let configuration = std::fs::read(source.join("debian/config/pkg/static"))?;
    let mut inserts = vec![
        archive(&source, ["testsuite"])?,
        Insert { guest: "/config".into(), contents: configuration, mode: 0o644 },
    ];
    inserts.extend(binary);
    let without = pinned.without.join(" ");
    let script = format!(
        "{UNPACK}export SHELL=/bin/sh; cd /tmp/suite && cp /config .config && ln -s /bin/busybox busybox && cd testsuite && rm {without} && \
         timeout -s KILL 600 ./runtest > /tmp/output 2>&1 < /dev/null; grep '^[A-Z]*: ' /tmp/output"
    );
    server::native()?;
    let (here, alone) = std::thread::scope(|scope| {
        let (copy, place) = (inserts.clone(), board::here());
        let script = &script;
        let alone = scope.spawn(move || place.with(|| alone("busybox", copy, script)));
        (here("busybox", system, Emulator::Qemu, inserts, script), alone.join())
    });
    let alone = alone.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let [here, alone] = [here?, alone?].map(|text| {
        let mut passed = Passed::default();
        text.lines()
            .filter_map(|line| line.strip_prefix("PASS: "))
            .for_each(|case| passed.add(case));
        passed.cases()
    });
    ensure!(alone.len() >= LEAST_OF_BUSYBOX, "only {} cases pass on Linux alone", alone.len());
    compare("busybox", &board::chosen().out(), &here, &alone, &pinned.differ)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases() {
        let text = "run a/b -x\n|TAP version 13\n|ok 1 - one\n|ok 2 two # SKIP no\n|not ok 3 three\n|ok 4 one\n|ok 5 after 17 s\n|# ok 6 five\nstatus 1\nrun a/c \nstatus 0\n";
        let expected = ["a/b -x: after", "a/b -x: one", "a/b -x: one (2)", "a/c"].map(String::from);
        assert_eq!(kselftest_cases(text, &["a/b -x: after".into()]), BTreeSet::from(expected));
    }

    #[test]
    fn differences() {
        let set =
            |names: &[&str]| names.iter().map(|name| String::from(*name)).collect::<BTreeSet<_>>();
        assert!(
            compare("x", Path::new("kept"), &set(&["a"]), &set(&["a", "b"]), &set(&["b"])).is_ok()
        );
        assert!(
            compare("x", Path::new("kept"), &set(&["a"]), &set(&["a", "b"]), &set(&[])).is_err()
        );
        assert!(
            compare("x", Path::new("kept"), &set(&["a", "b"]), &set(&["a"]), &set(&[])).is_err()
        );
        assert!(
            compare("x", Path::new("kept"), &set(&["a", "b"]), &set(&["a", "b"]), &set(&["b"]))
                .is_err()
        );
    }
}
