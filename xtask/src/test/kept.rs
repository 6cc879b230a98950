// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which tests passed, and with which inputs: a test whose inputs are the same does not run again.
//!
//! An input is a content, not a time. All tests have the same inputs except for documents: each
//! file of the project that is no document, this tool, the environment, the machine's packages and
//! all programs that a command finds, the host's kernel and processor, and what the command asked
//! for. Documents are inputs of tests that declare them. A test runs if anything is uncertain: a
//! file changed while tests ran, or the tool chain is not Debian's, whose changes are known.

use crate::machine::{accel, board, words};
use crate::process::{aside, fresh, this_tool};
use anyhow::Result;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where it is kept what passed: a test's name, its inputs, and how many checks.
const PASSED: &str = "target/test-passed";
/// What of a processor has an effect on what runs on it.
const OF_PROCESSOR: [&str; 4] = ["processor", "model name", "flags", "Features"];

/// What tests depend on, as it was when the run began.
struct Inputs {
    /// All but this tool and the project's files.
    around: u64,
    /// What is in this tool.
    tool: Option<u64>,
    /// How the project's files were, and what was in them.
    files: BTreeMap<PathBuf, (fresh::State, Option<u64>)>,
}

impl Inputs {
    /// Nothing if they are not all known.
    fn now() -> Result<Option<Self>> {
        let Some(around) = around()? else { return Ok(None) };
        let files = fresh::project()?
            .into_iter()
            .map(|(path, state)| (path.clone(), (state, contents(&path))))
            .collect();
        Ok(Some(Self { around, tool: contents(&this_tool()), files }))
    }

    /// Those of a test that reads these documents.
    fn of(&self, test: &str, documents: &[&str]) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.around, self.tool, test).hash(&mut hasher);
        for (path, (_, contents)) in self.files.iter().filter(|(path, _)| is_read(path, documents))
        {
            (path, contents).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whether none of them has changed since: a change cannot be undone without a trace.
    fn are_unchanged(&self, documents: &[&str]) -> Result<bool> {
        let mut now = fresh::project()?;
        now.retain(|path, _| is_read(path, documents));
        let before = self.files.iter().filter(|(path, _)| is_read(path, documents));
        Ok(before.map(|(path, (state, _))| (path, state)).eq(&now)
            && around()? == Some(self.around))
    }
}

/// Whether a test that reads these documents, or all in these folders, reads a file of the project.
fn is_read(path: &Path, documents: &[&str]) -> bool {
    !fresh::is_document(path)
        || documents.iter().any(|document| path.starts_with(Path::new(".").join(document)))
}

/// What is in a file; nothing if it cannot be read, as an editor's own that is gone by now.
fn contents(path: &Path) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    std::fs::read(path).ok()?.hash(&mut hasher);
    Some(hasher.finish())
}

/// All inputs but this tool and the project's files.
fn around() -> Result<Option<u64>> {
    let Some(around) = fresh::around()? else { return Ok(None) };
    let mut hasher = DefaultHasher::new();
    (around, board::chosen().name(), words::words(), accel::opens().is_ok()).hash(&mut hasher);
    std::fs::read("/proc/version")?.hash(&mut hasher);
    let processors = std::fs::read_to_string("/proc/cpuinfo")?;
    processors
        .lines()
        .filter(|line| OF_PROCESSOR.iter().any(|name| line.starts_with(name)))
        .for_each(|line| line.hash(&mut hasher));
    // Programs may be there that come in no package.
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        let mut programs: Vec<_> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        programs.sort();
        programs
            .iter()
            .map(|program| (program, fresh::State::of(program)))
            .for_each(|program| program.hash(&mut hasher));
    }
    Ok(Some(hasher.finish()))
}

/// What passed.
pub struct Kept {
    /// Nothing if it is not known what tests depend on.
    inputs: Option<Inputs>,
    file: PathBuf,
    passed: Mutex<BTreeMap<String, (u64, usize)>>,
}

impl Kept {
    /// What is kept now.
    ///
    /// # Errors
    /// If the project's files cannot be read.
    pub fn read() -> Result<Self> {
        Ok(Self::of(Path::new(PASSED), Inputs::now()?))
    }

    fn of(file: &Path, inputs: Option<Inputs>) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let passed = text.lines().filter_map(|line| {
            let [test, inputs, checks] = line.split(' ').collect::<Vec<_>>()[..] else {
                return None;
            };
            Some((test.into(), (u64::from_str_radix(inputs, 16).ok()?, checks.parse().ok()?)))
        });
        Self { passed: Mutex::new(passed.collect()), file: file.into(), inputs }
    }

    /// How many checks of a test passed with the inputs of now, if all did.
    pub fn checks(&self, test: &str, documents: &[&str]) -> Option<usize> {
        let wanted = self.inputs.as_ref()?.of(test, documents);
        let (inputs, checks) =
            *self.passed.lock().unwrap_or_else(PoisonError::into_inner).get(test)?;
        (inputs == wanted).then_some(checks)
    }

    /// Keeps that so many checks of a test passed; nothing of it if one failed, or something
    /// changed meanwhile.
    ///
    /// # Errors
    /// If the project's files cannot be read, or the file cannot be written.
    pub fn keep(&self, test: &str, documents: &[&str], checks: Option<usize>) -> Result<()> {
        let Some(inputs) = &self.inputs else { return Ok(()) };
        let is_known = checks.is_some() && inputs.are_unchanged(documents)?;
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        match checks.filter(|_| is_known) {
            Some(checks) => passed.insert(test.into(), (inputs.of(test, documents), checks)),
            None => passed.remove(test),
        };
        let text: String = passed
            .iter()
            .map(|(test, (inputs, checks))| format!("{test} {inputs:016x} {checks}\n"))
            .collect();
        aside(&self.file, |making| Ok(std::fs::write(making, text)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of the project, a document that one test reads, and one that none reads.
    const FILES: [&str; 3] = ["./kernel/src/main.rs", "./docs/tutorial.md", "./README.md"];

    /// These files with these contents.
    fn inputs(around: u64, contents: [u64; 3]) -> Option<Inputs> {
        let state = fresh::State::of(Path::new("Cargo.toml")).expect("a file");
        let files = FILES
            .iter()
            .zip(contents)
            .map(|(path, contents)| (path.into(), (state, Some(contents))));
        Some(Inputs { around, tool: None, files: files.collect() })
    }

    #[test]
    fn inputs_are_what_a_test_reads() {
        let of = |around, contents, documents: &[&str]| {
            inputs(around, contents).expect("inputs").of("a", documents)
        };
        let [guest, tutorial, all]: [&[&str]; 3] = [&[], &["docs/tutorial.md"], &[""]];
        let before = [guest, tutorial, all].map(|documents| of(1, [1, 1, 1], documents));
        let same = |around, contents| {
            let now = [guest, tutorial, all].map(|documents| of(around, contents, documents));
            [0, 1, 2].map(|test| now[test] == before[test])
        };
        assert_eq!(same(1, [1, 1, 1]), [true, true, true]);
        assert_eq!(same(1, [1, 1, 2]), [true, true, false]);
        assert_eq!(same(1, [1, 2, 1]), [true, false, false]);
        assert_eq!(same(1, [2, 1, 1]), [false, false, false]);
        assert_eq!(same(2, [1, 1, 1]), [false, false, false]);
        assert!(inputs(1, [1; 3]).expect("inputs").of("b", guest) != before[0]);
    }

    #[test]
    fn what_passed_is_kept_until_it_fails_or_something_changes() {
        let folder = std::env::temp_dir().join(format!("macadamia-passed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("passed");
        let checks = |contents| Kept::of(&file, inputs(1, contents)).checks("a", &[]);
        assert_eq!(checks([1; 3]), None);
        let key = inputs(1, [1; 3]).expect("inputs").of("a", &[]);
        std::fs::write(&file, format!("a {key:016x} 7\nb 0 1\n")).expect("a file");
        assert_eq!([checks([1, 2, 2]), checks([2, 1, 1])], [Some(7), None]);
        assert_eq!(Kept::of(&file, None).checks("a", &[]), None);
        // The files of these inputs are not there: something changed meanwhile.
        Kept::of(&file, inputs(1, [1; 3])).keep("a", &[], Some(7)).expect("a file");
        assert_eq!(
            (checks([1; 3]), std::fs::read_to_string(&file).expect("a file").as_str()),
            (None, "b 0000000000000000 1\n")
        );
        std::fs::remove_dir_all(folder).expect("a folder");
    }
}
