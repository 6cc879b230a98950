// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of Alpha's fast path, on QEMU's board clipper and by an interpreter (docs/alpha.md).

use super::tally::{Test, test};
use crate::bench::alpha;
use crate::process::{cargo, run};
use anyhow::Result;

/// All of them.
pub const ALL: &[Test] =
    &[test("alpha.ipc", alpha::test), test("alpha.differential", differential)];

/// The fast path against the portable kernel, on random systems. Not optimised it takes less than
/// to be compiled so.
fn differential() -> Result<()> {
    let seed = std::env::var("MACADAMIA_SEED").unwrap_or_else(|_| "1".into());
    let program = ["run", "--quiet", "--locked", "-p", "differential"];
    let contract = ["--no-default-features", "--features", "alpha", "--"];
    run(cargo().args(program).args(contract).args([&alpha::path()?, &seed]))
}
