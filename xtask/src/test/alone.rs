// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Linux alone does with programs of `tests/linux`, with which tests compare. In the machine's
//! own time this is the same in each run, so it is kept in a file of the project: only the slow
//! test that makes this file again has to build Linux alone.

use super::tally::{Test, on_amigaone, on_pc64, slow};
use crate::build;
use crate::guest::{Alone, native_figures, program, small_program};
use crate::linux::{files, server};
use crate::machine::board;
use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    slow("linux.alone", "it builds Linux for the machine itself", renew),
    slow("amigaone.linux.alone", "it builds Linux for the board itself", || on_amigaone(renew)),
    slow("pc64.linux.alone", "it builds Linux for the machine itself", || on_pc64(renew)),
];

/// The file, without the name of the architecture.
const FILE: &str = "tests/linux/alone";
/// What both programs of checks are called in it: as others are linked, and as those that can be
/// small.
const ABI: &str = "abi";
/// See [`ABI`].
pub const SMALL_ABI: &str = "abi-small";

/// What the program of checks is called on a CPU model: on another one than the usual one it has
/// that one's name, too.
pub fn abi_on(cpu: &str) -> String {
    if cpu == board::chosen().qemu.cpu { ABI.into() } else { format!("{ABI}-{cpu}") }
}

/// The CPU models on which the checks run: the usual one and others that tests of systems run on.
fn cpus() -> BTreeSet<&'static str> {
    let qemu = &board::chosen().qemu;
    std::iter::once(&qemu.cpu).chain(&qemu.tested).map(String::as_str).collect()
}

/// What is in the file.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Pins {
    /// What it was made from, by its name.
    from: BTreeMap<String, String>,
    /// The checks that pass, of each program.
    passes: BTreeMap<String, BTreeSet<String>>,
    /// The instructions of each operation of `figures`, by its interval: the median.
    takes: BTreeMap<u16, u64>,
}

impl Pins {
    /// Those of the board, if all that they were made from is as it was.
    ///
    /// # Errors
    /// If there is no such file, or something is not.
    pub fn read() -> Result<Self> {
        let path = path()?;
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let pins = Self::parse(&text).with_context(|| path.display().to_string())?;
        pins.check(&sources()?, &renews()).with_context(|| path.display().to_string())?;
        Ok(pins)
    }

    /// Holds what they were made from against what there is now.
    fn check(&self, now: &BTreeMap<String, String>, renews: &str) -> Result<()> {
        let changed: Vec<&str> = now
            .iter()
            .filter(|(name, hash)| self.from.get(*name) != Some(*hash))
            .map(|(name, _)| name.as_str())
            .collect();
        ensure!(
            changed.is_empty(),
            "made from another {}: `{renews}` makes it again",
            changed.join(", ")
        );
        Ok(())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut pins = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
                ["from", name, hash] => _ = pins.from.insert(name.into(), hash.into()),
                ["passes", program, check] => {
                    _ = pins.passes.entry(program.into()).or_default().insert(check.into())
                }
                ["takes", interval, instructions] => {
                    _ = pins.takes.insert(interval.parse()?, instructions.parse()?)
                }
                _ => bail!("`{line}` begins with none of from, passes, takes"),
            }
        }
        Ok(pins)
    }

    fn text(&self, renews: &str) -> Result<String> {
        let mut text = format!(
            "# What Linux alone does with programs of tests/linux, made by `{renews}`: what it was made from, which checks pass,\n\
             # and how many instructions an interval of `figures` takes.\n"
        );
        for (name, hash) in &self.from {
            writeln!(text, "from {name} {hash}")?;
        }
        for (program, check) in self
            .passes
            .iter()
            .flat_map(|(program, checks)| checks.iter().map(move |check| (program, check)))
        {
            writeln!(text, "passes {program} {check}")?;
        }
        for (interval, instructions) in &self.takes {
            writeln!(text, "takes {interval} {instructions}")?;
        }
        Ok(text)
    }

    /// The checks of a program that pass.
    ///
    /// # Errors
    /// If there are none.
    pub fn passes(&self, program: &str) -> Result<&BTreeSet<String>> {
        self.passes
            .get(program)
            .with_context(|| format!("no check of `{program}` passes on Linux alone: the board's `linux.alone` makes the file"))
    }

    /// The instructions of an operation.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn takes(&self, interval: u16) -> Result<u64> {
        self.takes
            .get(&interval)
            .copied()
            .with_context(|| format!("interval {interval} was not measured on Linux alone: the board's `linux.alone` makes the file"))
    }
}

/// The checks that passed, by what a program printed.
pub fn passed(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| line.strip_prefix("ok ")).map(String::from).collect()
}

/// The command that makes the board's file again.
fn renews() -> String {
    let board = board::chosen();
    format!(
        "./macadamia test {}linux.alone",
        if board.is_default() { String::new() } else { board.name() + "." }
    )
}

/// The board's file.
fn path() -> Result<PathBuf> {
    Ok(Path::new(FILE).with_extension(&board::chosen().linux()?.debian))
}

/// What it is made from, by names: hashes, and the emulator's release. Which compiler and which of
/// Debian's updates of Linux there were is not among it: tests leave room for what these change.
fn sources() -> Result<BTreeMap<String, String>> {
    let board = board::chosen();
    let qemu = Command::new(&board.qemu.program)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot run {}", board.qemu.program))?;
    let linux = board.linux()?;
    let native = [Some(Path::new("linux/native").join(&linux.arch)), linux.firmware.clone()]
        .into_iter()
        .flatten()
        .collect();
    let abi = Path::new("tests/linux/abi");
    let measured = [
        files(abi)?,
        files(abi.join(&board.linux()?.debian))?,
        ["figures.c", "../../bench/linux/measure.h"]
            .map(|file| Path::new("tests/linux").join(file))
            .into(),
    ];
    let machine = format!(
        "{:?} {:?} {} {}",
        board.qemu.arguments,
        board.qemu.linux,
        board.qemu.cpu,
        board.qemu.measured()
    );
    Ok(BTreeMap::from([
        (
            "emulator".into(),
            release(&String::from_utf8_lossy(&qemu.stdout))
                .context("QEMU does not tell its version")?,
        ),
        ("machine".into(), hash([machine.as_bytes()])),
        (
            "kernel".into(),
            of_files(&[vec!["linux/config".into()], native, server::native_patches()?].concat())?,
        ),
        ("root".into(), of_files(&files("linux/root")?)?),
        ("programs".into(), of_files(&measured.concat())?),
    ]))
}

/// A release of QEMU, as it tells its version: without the number of a mending.
fn release(text: &str) -> Option<String> {
    let version = text.strip_prefix("QEMU emulator version ")?.split([' ', '\n']).next()?;
    Some(version.splitn(3, '.').take(2).collect::<Vec<_>>().join("."))
}

fn of_files(files: &[PathBuf]) -> Result<String> {
    let mut files: Vec<&PathBuf> = files.iter().filter(|file| file.is_file()).collect();
    files.sort();
    let read = |file: &&PathBuf| {
        std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
    };
    let contents = files.iter().map(read).collect::<Result<Vec<_>>>()?;
    Ok(hash(contents.iter().map(Vec::as_slice)))
}

/// So many digits of a hash are kept.
const DIGITS: usize = 16;

fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let digits: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    digits[..DIGITS].into()
}

/// Makes the file again, and checks that nothing of it was wrong.
fn renew() -> Result<()> {
    let sources = sources()?;
    let checks = |inserts, cpu, command| {
        anyhow::Ok(passed(&Alone { cpu, inserts, ..Alone::default() }.run(command)?.out))
    };
    let mut passes = BTreeMap::new();
    for cpu in cpus() {
        // On an emulator Linux alone may fail a check, which then is not in the file.
        passes.insert(abi_on(cpu), checks(vec![program("abi")?], Some(cpu), "abi || true")?);
    }
    if board::chosen().processor.has_homes {
        passes.insert(SMALL_ABI.into(), checks(vec![small_program("abi")?], None, "abi || true")?);
    }
    let measured = native_figures(&build::model()?)?;
    let instructions = |report: &model_core::IntervalReport| {
        report.user_instructions.median + report.kernel_instructions.median
    };
    let pins = Pins {
        from: sources,
        passes,
        takes: measured.intervals.iter().map(|(&id, report)| (id, instructions(report))).collect(),
    };
    // Tests run it here only.
    Alone {
        inserts: vec![program("bombs")?],
        timeout: Duration::from_secs(300),
        ..Alone::default()
    }
    .run("bombs")?;
    let (path, text) = (path()?, pins.text(&renews())?);
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    ensure!(
        text == before,
        "{} was not what Linux alone does: it is made again, look at the difference",
        path.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENEWS: &str = "./macadamia test linux.alone";

    fn pins() -> Pins {
        Pins {
            from: BTreeMap::from([
                ("emulator".into(), "10.0".into()),
                ("kernel".into(), "c0ffee".into()),
            ]),
            passes: BTreeMap::from([(
                ABI.into(),
                BTreeSet::from(["a pipe".into(), "time 3: goes on".into()]),
            )]),
            takes: BTreeMap::from([(1, 231), (16, 2_000)]),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let pins = pins();
        let read = Pins::parse(&pins.text(RENEWS).expect("a text")).expect("pins");
        assert_eq!(read, pins);
        assert_eq!(
            (read.takes(16).ok(), read.takes(2).ok(), read.passes(SMALL_ABI).ok()),
            (Some(2_000), None, None)
        );
        assert!(Pins::parse("took 1 2").is_err() && Pins::parse("takes 1 x").is_err());
    }

    #[test]
    fn what_has_changed_is_named_with_the_command() {
        let (pins, mut now) = (pins(), pins().from);
        pins.check(&now, RENEWS).expect("the same");
        now.insert("kernel".into(), "decaf".into());
        now.insert("root".into(), "new".into());
        let error = pins.check(&now, RENEWS).expect_err("it is another").to_string();
        assert_eq!(
            error,
            "made from another kernel, root: `./macadamia test linux.alone` makes it again"
        );
    }

    #[test]
    fn a_hash_tells_files_apart() {
        assert!(hash([b"a".as_slice(), b"bc"]) != hash([b"ab".as_slice(), b"c"]));
        assert_eq!(hash([b"a".as_slice()]).len(), DIGITS);
    }

    #[test]
    fn releases() {
        let of = |text: &str| release(text);
        assert_eq!(
            of("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds)\nCopyright").as_deref(),
            Some("10.0")
        );
        assert_eq!(
            (of("QEMU emulator version 10.1\n").as_deref(), of("Bochs 2.7")),
            (Some("10.1"), None)
        );
    }
}
