// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of Alpha: its fast path, on QEMU's board clipper and by an interpreter, and the port
//! (docs/alpha.md).

use super::latency;
use super::model::system;
use super::pc64::each;
use super::tally::{ONE_MORE_COMPILER, Test, on_clipper, slow, test};
use crate::bench::alpha;
use crate::build::{self, FOLDER, cargo_for};
use crate::emulator::{Machine, batch};
use crate::process::{cargo, run};
use anyhow::Result;
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    test("alpha.ipc", alpha::test),
    test("alpha.differential", differential),
    slow("alpha.core", ONE_MORE_COMPILER, core),
    slow("clipper.systems", ONE_MORE_COMPILER, || on_clipper(|| each(&SYSTEMS))),
    slow("clipper.latency", ONE_MORE_COMPILER, || on_clipper(worst)),
];

/// Systems, and what each says last.
const SYSTEMS: [(&str, &str); 2] =
    [("hello", "[hello] Hello from hello"), ("tutorial", "[client] sent 5, the sum is ")];

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

/// The worst that a component can do to the latency.
fn worst() -> Result<()> {
    let (built, model) = (system("latency-large-pages")?, build::model()?);
    let cpu = &built.board.qemu.cpu;
    let machine = Machine::Qemu { cpu, icount: true, model: Some(&model) };
    latency::worst("latency", batch(&built, machine, Duration::from_secs(600))?)
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
