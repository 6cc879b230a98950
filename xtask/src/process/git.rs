// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is checked out: the commit, and whether the tree has changes. It only reads the repository.

use anyhow::{Context, Result, ensure};
use std::process::Command;

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).output().context("cannot run git")?;
    ensure!(
        output.status.success(),
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_string())
}

/// The commit.
///
/// # Errors
/// If this is no Git work tree.
pub fn commit() -> Result<String> {
    git(&["rev-parse", "HEAD"])
}

/// Checks that the tree is what its commit says.
///
/// # Errors
/// If it is not.
pub fn clean() -> Result<()> {
    let changed = git(&["status", "--porcelain"])?;
    ensure!(
        changed.is_empty(),
        "results are kept under the commit, and the tree differs from it:\n{changed}"
    );
    Ok(())
}

/// The last commits, the one that is checked out first.
///
/// # Errors
/// If this is no Git work tree, or its history is not all here.
pub fn last(count: usize) -> Result<Vec<String>> {
    ensure!(
        git(&["rev-parse", "--is-shallow-repository"])? == "false",
        "the history is not all here"
    );
    Ok(git(&["rev-list", "--max-count", &count.to_string(), "HEAD"])?
        .lines()
        .map(String::from)
        .collect())
}
