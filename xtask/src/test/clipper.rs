// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of Alpha's fast path, on QEMU's board clipper and by an interpreter (docs/alpha.md).

use super::tally::{Test, slow, test};
use crate::bench::alpha;
use crate::build::{FOLDER, cargo_for};
use crate::process::{cargo, run};
use anyhow::Result;

/// All of them.
pub const ALL: &[Test] = &[
    test("alpha.ipc", alpha::test),
    test("alpha.differential", differential),
    slow("alpha.core", "it needs two more compilers, and is about none of what is built", core),
];

/// What the core is compiled to first.
const WASM: &str = "wasm32v1-none";

/// The fast path against the portable kernel, on random systems. Not optimised it takes less than
/// to be compiled so.
fn differential() -> Result<()> {
    let seed = std::env::var("MACADAMIA_SEED").unwrap_or_else(|_| "1".into());
    let program = ["run", "--quiet", "--locked", "-p", "differential"];
    let contract = ["--no-default-features", "--features", "alpha", "--"];
    run(cargo().args(program).args(contract).args([&alpha::path()?, &seed]))
}

/// The portable kernel on Alpha, by way of WebAssembly and C, against itself on the host.
fn core() -> Result<()> {
    let crate_type = ["-p", "alpha-core", "--lib", "--crate-type", "cdylib"];
    run(cargo_for("rustc", WASM)
        .args(["--quiet", "--locked"])
        .args(crate_type)
        .env("CARGO_TARGET_WASM32V1_NONE_LINKER", "wasm-ld"))?;
    alpha::core(&format!("{FOLDER}/{WASM}/release/alpha_core.wasm"))
}
