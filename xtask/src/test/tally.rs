// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the list and the runner need to know of a test, on which board it runs, and the counting of
//! results.

use crate::machine::board;
use crate::process::patience::spent;
use anyhow::{Result, bail};
use std::time::Instant;

/// What a check does.
pub type Check = fn() -> Result<()>;

/// A test.
pub struct Test {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub check: Check,
    /// Why it runs only when it is named, or everything is asked for, if so.
    pub slow: Option<&'static str>,
    /// The documents that it reads, or folders of such.
    pub documents: &'static [&'static str],
}

/// Why a test for Alpha is slow.
pub const ONE_MORE_COMPILER: &str = "it needs one more compiler";

/// All documents.
pub const DOCUMENTS: &[&str] = &[""];

/// One of those that always run.
pub const fn test(name: &'static str, check: Check) -> Test {
    Test { name, check, slow: None, documents: &[] }
}

/// One that runs only when it is named, or everything is asked for, and why.
pub const fn slow(name: &'static str, why: &'static str, check: Check) -> Test {
    Test { name, check, slow: Some(why), documents: &[] }
}

impl Test {
    /// The same test, which reads these documents, or all in these folders: it runs again when one
    /// of them changes.
    pub const fn reading(self, documents: &'static [&'static str]) -> Self {
        Self { documents, ..self }
    }
}

/// Runs a test on the ARM board.
pub fn on_board(test: impl FnOnce() -> Result<()>) -> Result<()> {
    board::with(board::get("versatilepb")?, test)
}

/// Runs a test on the PowerPC board.
pub fn on_amigaone(test: impl FnOnce() -> Result<()>) -> Result<()> {
    board::with(board::get("amigaone")?, test)
}

/// Runs a test on the MIPS board.
pub fn on_malta(test: impl FnOnce() -> Result<()>) -> Result<()> {
    board::with(board::get("malta")?, test)
}

/// Runs a test on the board with an Alpha.
pub fn on_clipper(test: impl FnOnce() -> Result<()>) -> Result<()> {
    board::with(board::get("clipper")?, test)
}

/// Runs a test on the PC with words of 64 bits.
pub fn on_pc64(test: impl FnOnce() -> Result<()>) -> Result<()> {
    board::with(board::get("pc64")?, test)
}

/// Counts and prints results.
#[derive(Default)]
pub struct Tally {
    /// How many passed.
    pub passed: usize,
    /// What failed, and why.
    pub failures: Vec<String>,
    /// How many tests passed before with the same inputs, and how many of the results are theirs.
    pub kept: (usize, usize),
}

impl Tally {
    /// Notes a result, and prints it.
    pub fn note(&mut self, name: &str, result: Result<()>) {
        match result {
            Ok(()) => {
                self.passed += 1;
                println!("ok {name}");
            }
            Err(error) => {
                println!("not ok {name}: {error:#}");
                self.failures.push(format!("{name}: {error:#}"));
            }
        }
    }

    /// Counts a test that passed before with the same inputs, and was not run again.
    pub fn keep(&mut self, checks: usize) {
        self.passed += checks;
        self.kept = (self.kept.0 + 1, self.kept.1 + checks);
    }

    /// Says what failed, once more and together, and the sums; an error if something failed.
    pub fn end(self, start: Instant) -> Result<()> {
        let failed = self.failures.len();
        self.failures.iter().for_each(|failure| println!("failed: {failure}"));
        println!("# {} s, {} s of processors", start.elapsed().as_secs(), spent().as_secs());
        if let (tests @ 1.., checks) = self.kept {
            println!(
                "# {checks} results of {tests} tests are kept: their inputs are as when they passed; `--fresh` runs them again"
            );
        }
        println!("{} passed, {failed} failed", self.passed);
        if failed > 0 {
            bail!("{failed} tests failed");
        }
        Ok(())
    }
}
