// SPDX-License-Identifier: MIT OR Apache-2.0
//! The benchmark book: from what the machine model counted to figures beside the papers' numbers,
//! as HTML with plots, as Markdown and as JSON. How it is read: docs/bench.md.
//!
//! `bench/sections` says what is measured and gives every figure its name, `bench/papers` has the
//! papers' numbers. Nothing is run here: xtask does that and passes reports in.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod account;
mod counted;
mod counts;
mod evaluate;
pub mod figures;
mod html;
mod json;
mod markdown;
mod papers;
pub mod plan;
mod range;
pub mod row;
mod svg;

pub use counted::{Counted, Parts};
pub use evaluate::{Cpus, Results, evaluate, instructions, of_variant};
pub use figures::{
    Account, Book, Chapter, Chart, Figure, Goal, Line, Model, Path, Provenance, Section,
};
pub use html::page;
pub use json::object;
pub use markdown::{goals, renewed, summary};
pub use papers::{Number, Paper, Papers};
pub use plan::Plan;
pub use range::Range;
