// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of the tests of the source, and of the tests that run on the host.

use super::system;
use super::tally::{DOCUMENTS, Test, slow, test};
use crate::build::{self, Options, Seed, cargo_bare, cargo_check, cargo_for};
use crate::machine::{board, processor};
use crate::process::run;
use crate::{check, manual, pages, quotes};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::Path;

/// All of them.
pub const ALL: &[Test] = &[
    test("source.format", || cargo(&["fmt", "--all", "--check"])),
    test("source.arrows", check::arrows),
    test("source.unsafe", check::unsafe_code),
    test("source.ports", check::ports).reading(&["docs/porting.md"]),
    test("source.dependencies", check::dependencies).reading(DOCUMENTS),
    test("source.manual", manual::check).reading(&["docs/system-calls.md", "docs/contract.md"]),
    test("source.words", check::words).reading(DOCUMENTS),
    test("source.figures", quotes::check).reading(DOCUMENTS),
    slow("source.book", "it compiles mdbook, once", || pages::make().map(drop)).reading(DOCUMENTS),
    test("source.clippy.host", || {
        cargo(&["clippy", "--quiet", "--all-targets", "--", "-D", "warnings"])
    }),
    test("source.docs", docs),
    slow("source.docs.bare", "minutes: each crate is documented for each board", || {
        pages::document_boards().map(drop)
    }),
    test("source.clippy.wide", || {
        cargo(&[
            "clippy",
            "--quiet",
            "-p",
            HOST,
            "--features",
            WIDE,
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ])
    }),
    slow(
        "source.clippy.contracts",
        "minutes: tests of fast paths, once for each processor; `source.clippy.host` has one of them",
        clippy_contracts,
    ),
    test("source.clippy.bare", || clippy_bare(|board| FIRST.contains(&board))),
    slow(
        "source.clippy.bare.elsewhere",
        "minutes: boards that compile much of what `source.clippy.bare` looks at again",
        || clippy_bare(|board| !FIRST.contains(&board)),
    ),
    slow("source.portable", "boards have words of both widths and both orders of bytes", portable),
    test("host", host),
    test("host.tool", host_tool).reading(DOCUMENTS),
    test("host.wide", || cargo(&["test", "--quiet", "--tests", "-p", HOST, "--features", WIDE])),
    slow("host.frames", "25,000 cases of each property of which `host` tries 32", frames),
    test("host.contracts", || contracts(&["test", "--quiet", "--tests"], &[])),
    slow("host.fuzz", "a million of each of which `host` tries thousands", fuzz),
    test("differential", differential),
];

/// This tool: its tests read documents.
const TOOL: &str = "xtask";
/// The port to the host, and the feature with which it has 64-bit words and four levels of tables.
const HOST: &str = "arch-host";
const WIDE: &str = "wide";

/// What holds fast paths against the portable kernel.
const DIFFERENTIAL: &str = "differential";
/// It is compiled for each processor, and runs for a short time: to optimise it with all
/// crates as one takes four times as long as is gained. A message names the line that it is of.
const QUICKLY_COMPILED: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
];

/// What measures the fast path of Alpha, and what translates the core to it, on the host.
const ALPHA: &str = "alpha-ipc";
const ALPHA_CORE: &str = "alpha-core";

/// Crates without a processor in them.
const PORTABLE: &[&str] =
    &["abi", "sizes", "pool", "mmu", "kcore", "frames", "image", "macadamia", "sectors"];
/// A processor without a port that they compile for.
const PORTLESS: &str = "riscv64gc-unknown-none-elf";

/// 25,000 cases of each property of what neighbours send to the IP server, where `host` tries 32.
fn frames() -> Result<()> {
    let settings = [("PROPTEST_CASES", "200000"), ("CARGO_PROFILE_DEV_OPT_LEVEL", "2")];
    run(crate::process::cargo()
        .args([
            "test",
            "--quiet",
            "-p",
            "sockets",
            "--test",
            "sockets",
            "--",
            "neighbours::",
            "peers::",
        ])
        .envs(settings))
}

/// Cases of each reader of what comes from outside, and the most memory in bytes that it may have
/// for one at a time.
const CASES: &str = "1000000";
const MEMORY: &str = "--as=2147483648";

/// Descriptions, boot images and frames that nobody would write.
fn fuzz() -> Result<()> {
    let arguments = ["test", "--quiet", "--profile", "fuzz", "-p", "xtask", "fuzz_"];
    cargo(&[&arguments[..], &["--no-run"]].concat())?;
    let mut bounded = std::process::Command::new("prlimit");
    bounded
        .arg(MEMORY)
        .arg(crate::process::cargo().get_program())
        .args(arguments)
        .env("MACADAMIA_FUZZ_CASES", CASES);
    run(&mut bounded)
}

/// Documentation of crates that run on the host has no warnings, and that of no crate has examples,
/// which tests leave out.
fn docs() -> Result<()> {
    check::examples()?;
    pages::document()
}

/// What cargo says of the project.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_default_members: Vec<String>,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    targets: Vec<Target>,
}

/// Something that cargo compiles of a package.
#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    /// Whether it has tests.
    test: bool,
}

/// Arguments for tests of the packages of the host that are `wanted`. All packages are named, and of
/// them what is tested: so other crates have the features that they have for this tool and for
/// Clippy, and none is compiled once more. Documentation has no examples to test.
fn tests(metadata: &Metadata, wanted: impl Fn(&Package) -> bool) -> Vec<&str> {
    let is_library = |target: &&Target| target.kind.iter().any(|kind| kind.ends_with("lib"));
    let has_no_test =
        |package: &&&Package| package.targets.iter().find(is_library).is_some_and(|it| !it.test);
    let is_here = |package: &&Package| metadata.workspace_default_members.contains(&package.id);
    let here: Vec<&Package> = metadata.packages.iter().filter(is_here).collect();
    let mut arguments = Vec::new();
    for package in here.iter().filter(|package| !has_no_test(package)) {
        arguments.extend(["-p", package.name.as_str()]);
        for target in package.targets.iter().filter(|target| target.test && wanted(package)) {
            match target.kind.first().map(String::as_str) {
                Some("test") => arguments.extend(["--test", target.name.as_str()]),
                Some("bin") => arguments.extend(["--bin", target.name.as_str()]),
                _ if arguments.contains(&"--lib") => {}
                _ => arguments.push("--lib"),
            }
        }
    }
    arguments
}

/// Tests of all that runs on the host but this tool.
fn host() -> Result<()> {
    run_tests(|package| package.name != TOOL)
}

/// Tests of this tool.
fn host_tool() -> Result<()> {
    run_tests(|package| package.name == TOOL)
}

fn run_tests(wanted: impl Fn(&Package) -> bool) -> Result<()> {
    let output = crate::process::cargo()
        .args(["metadata", "--locked", "--no-deps", "--format-version", "1"])
        .output();
    let output = output.context("cannot run cargo")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    run(crate::process::cargo().args(["test", "--quiet"]).args(tests(&metadata, wanted)))
}

fn cargo(arguments: &[&str]) -> Result<()> {
    run(crate::process::cargo().args(arguments))
}

/// Boards that have words of both widths.
const FIRST: [&str; 2] = [board::DEFAULT, "pc64"];

/// Programs of each of these boards, and what they are made of.
fn clippy_bare(is_wanted: impl Fn(&str) -> bool) -> Result<()> {
    let crates = check::Crates::read()?;
    for board in board::all()? {
        let name = board.name();
        if !is_wanted(&name) {
            continue;
        }
        board::with(board, || {
            // The standard library is compiled for programs of a board that fast tests run; for
            // another one it is only checked, which takes a quarter of that.
            let runs = system::slow(&format!("{name}.")).is_none();
            let mut command = if runs { cargo_check("clippy")? } else { cargo_bare("clippy") };
            command.arg("--quiet");
            crates.programs(&name).for_each(|package| _ = command.args(["-p", package]));
            run(command.args(["--", "-D", "warnings"]))
                .with_context(|| format!("for the board `{name}`"))
        })?;
    }
    Ok(())
}

/// What is portable compiles for a processor that has no port.
fn portable() -> Result<()> {
    let mut command = cargo_for("check", PORTLESS);
    command.arg("--quiet");
    PORTABLE.iter().for_each(|package| _ = command.args(["-p", package]));
    run(&mut command)
}

/// Does this with the saved registers of each processor whose contract the host has not by itself,
/// and with that contract.
fn contracts(what: &[&str], end: &[&str]) -> Result<()> {
    for processor in processor::ALL {
        let Some(contract) = processor.contract.filter(|contract| !contract.is_empty()) else {
            continue;
        };
        let context = format!("{}-context", processor.name);
        cargo(&[what, &["-p", &context], contract, end].concat())
            .with_context(|| format!("of {processor:?}"))?;
    }
    Ok(())
}

/// What knows the contract of a processor that the host has not by itself.
fn clippy_contracts() -> Result<()> {
    let (clippy, end) = (["clippy", "--quiet", "--all-targets", "-p"], ["--", "-D", "warnings"]);
    contracts(&[&clippy[..], &[DIFFERENTIAL]].concat(), &end)?;
    cargo(&[&clippy[..], &[ALPHA, "-p", ALPHA_CORE], &end].concat())?;
    let alpha = ["--no-default-features", "--features", "alpha"];
    cargo(&[&clippy[..], &[DIFFERENTIAL], &alpha, &end].concat())
}

/// Each processor's fast paths as built against the portable kernel.
fn differential() -> Result<()> {
    let seed = std::env::var("MACADAMIA_SEED").unwrap_or_else(|_| "1".into());
    for processor in processor::ALL {
        let Some(contract) = processor.contract else { continue };
        let mut boards = board::all()?.into_iter();
        let board = boards
            .find(|board| board.processor == processor)
            .with_context(|| format!("no board has {processor:?}"))?;
        let options =
            Options { seed: Seed::Fixed, folder: Some(DIFFERENTIAL), ..Options::default() };
        let built = board::with(board, || {
            build::plan(Path::new("systems/hello.toml"), options)?.carry_out()
        })?;
        let kernel = built.kernel.to_string_lossy();
        let program = ["run", "--quiet", "--release", "-p", DIFFERENTIAL];
        let arguments = [&program, contract, &["--", &kernel, &seed]].concat();
        let mut cargo = crate::process::cargo();
        cargo.args(arguments).envs(QUICKLY_COMPILED);
        // It finds thousands of errors, which it counts: nobody is to note of each how it came about.
        run(cargo.env("RUST_LIB_BACKTRACE", "0")).with_context(|| format!("of {processor:?}"))?;
    }
    Ok(())
}
