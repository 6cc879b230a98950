// SPDX-License-Identifier: MIT OR Apache-2.0
//! How well three functions that make VSIDs fill PowerPC's hashed table (docs/powerpc.md,
//! *Spaces*).

use crate::process::show;
use anyhow::Result;
use book::Parts;
use mmu::hash::PLACES;
use mmu::scatter::{Filled, GROUPS, fill};
use mmu::vsid::Function;
use std::fmt::Write;

/// A function, and what the paper has of it (section 5.2).
struct Measured {
    function: Function,
    /// For people, and in figures.
    names: [&'static str; 2],
    /// Whether the kernel's pages are in the table.
    with_kernel: bool,
    /// How much of the table is used, in per cent.
    paper: u32,
}

const FUNCTIONS: [Measured; 3] = [
    Measured {
        function: Function::Process,
        names: ["the process's number", "pid"],
        with_kernel: true,
        paper: 37,
    },
    Measured {
        function: Function::ProcessAndSegment,
        names: ["number x 16 + segment", "pid16"],
        with_kernel: true,
        paper: 57,
    },
    Measured {
        function: Function::Scattered,
        names: ["scattered, as the kernel's", "scattered"],
        with_kernel: false,
        paper: 75,
    },
];

/// Prints it.
///
/// # Errors
/// If nothing can be printed.
pub fn run() -> Result<()> {
    let mut text = format!(
        "{GROUPS} groups of {PLACES}, 24 large programs of equal layout; groups with 0 to {PLACES} entries\n"
    );
    for Measured { function, names, with_kernel, paper } in FUNCTIONS {
        line(&mut text, names[0], &fill(function, with_kernel), paper)?;
    }
    Ok(show(&text)?)
}

/// The same as numbers of the book: of each function what is used, what is left, and how far that
/// is from the paper.
pub fn parts() -> Parts {
    let of = |measured: Measured| {
        let used = fill(measured.function, measured.with_kernel).use_in_thousandths() as f64 / 10.0;
        let numbers = [
            ("used", used),
            ("left", 100.0 - used),
            ("distance", (used - f64::from(measured.paper)).abs()),
        ];
        numbers.map(|(what, value)| ((0, format!("{} {what}", measured.names[1])), (value, None)))
    };
    FUNCTIONS.into_iter().flat_map(of).collect()
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
