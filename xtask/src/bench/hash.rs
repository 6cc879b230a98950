// SPDX-License-Identifier: MIT OR Apache-2.0
//! How three functions that make VSIDs fill PowerPC's hashed table (docs/powerpc.md, *Spaces*).

use crate::process::show;
use anyhow::Result;
use mmu::hash::PLACES;
use mmu::scatter::{Filled, Function, GROUPS, fill};
use std::fmt::Write;

/// Their names, whether the kernel's pages are in the table, and the use that the paper has
/// (section 5.2), in per cent.
const FUNCTIONS: [(&str, bool, u32); 3] = [
    ("the process's number", true, 37),
    ("number x 16 + segment", true, 57),
    ("scattered, as the kernel's", false, 75),
];

/// Prints it.
///
/// # Errors
/// If nothing can be printed.
pub fn run() -> Result<()> {
    let mut text = format!(
        "{GROUPS} groups of {PLACES}, 24 large programs of equal layout; groups with 0 to {PLACES} entries\n"
    );
    for (function, (name, with_kernel, paper)) in Function::ALL.into_iter().zip(FUNCTIONS) {
        line(&mut text, name, &fill(function, with_kernel), paper)?;
    }
    Ok(show(&text)?)
}

fn line(text: &mut String, name: &str, filled: &Filled, paper: u32) -> Result<()> {
    let used = filled.use_in_thousandths();
    write!(
        text,
        "{name:<28}{:>3}.{} % used (paper {paper} %), {:>5} evicted  ",
        used / 10,
        used % 10,
        filled.evicted
    )?;
    filled.histogram.iter().try_for_each(|groups| write!(text, " {groups:>5}"))?;
    Ok(writeln!(text)?)
}
