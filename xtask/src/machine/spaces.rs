// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether Linux runs in the spaces of its processes: the option `--spaces`, which becomes a word
//! of the kernel's command line.

use super::board;
use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::sync::OnceLock;

/// What overrules the machine: by itself a PC has servers if its processor checks segment limits,
/// and `pc64` has none.
#[derive(Deserialize, Serialize, Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Spaces {
    /// Linux at ring 1 in the spaces of its processes, if the processor is one on which it is kept
    /// off the kernel, and its processes off it.
    Ring1,
    /// The same, also where nothing does that: in QEMU, and on `pc64` with Meltdown.
    Force,
    /// Linux in a space of its own.
    #[value(alias = "ring3")]
    Large,
}

impl Spaces {
    /// The word for the board's kernel.
    fn word(self) -> &'static str {
        match self {
            Self::Ring1 if !board::chosen().processor.facts().asks_for_servers => "",
            Self::Ring1 => "smallspaces=auto",
            Self::Force => "smallspaces=force",
            Self::Large => "smallspaces=no",
        }
    }

    /// What it means.
    const fn text(self) -> &'static str {
        match self {
            Self::Ring1 => {
                "--spaces ring1: Linux runs at ring 1 in the spaces of its processes if this processor allows it"
            }
            Self::Force => {
                "--spaces force: Linux runs at ring 1 in the spaces of its processes. QEMU checks no segment limits, and lets ring 1 \
                 become ring 0 in long mode, so Linux can become the kernel there: for measurements, and for users who trust this Linux"
            }
            Self::Large => {
                "--spaces large: Linux runs in a space of its own, and each of its system calls switches page tables twice"
            }
        }
    }
}

static CHOSEN: OnceLock<Spaces> = OnceLock::new();

/// Makes it so for each system that this command runs, and says what it means.
///
/// # Errors
/// If it was chosen before.
pub fn choose(spaces: Option<Spaces>) -> Result<()> {
    let Some(spaces) = spaces else { return Ok(()) };
    eprintln!("{}", spaces.text());
    CHOSEN.set(spaces).ok().context("--spaces was chosen before")
}

thread_local! {
    /// For what this thread runs, whatever was chosen.
    static HERE: Cell<Option<Spaces>> = const { Cell::new(None) };
}

/// Makes it so for each system that `what` runs on this thread.
pub fn with<T>(spaces: Spaces, what: impl FnOnce() -> T) -> T {
    let before = HERE.replace(Some(spaces));
    let result = what();
    HERE.set(before);
    result
}

/// The kernel's command line.
pub fn words() -> &'static str {
    HERE.get().or(CHOSEN.get().copied()).map_or("", Spaces::word)
}
