// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the images for U-Boot, by a loader of our own: no real U-Boot was tried.

use super::tally::{Test, test};
use crate::build::{self, Built, Options, Seed};
use crate::emulator::{Machine, batch};
use crate::machine::board;
use crate::process::run;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] =
    &[test("versatilepb.bootm", || board::with(board::get("versatilepb")?, starts))];

/// Bytes of an image that are damaged: one of the header, the first of all, one of the data.
const HEADER: usize = 0x24;
/// See [`HEADER`].
const FIRST: usize = 0;
/// See [`HEADER`].
const DATA: usize = 0x1000;

/// Where the loader of `tests/bootm` finds the images.
const LOADED: [&str; 2] = ["0x02000000", "0x03000000"];

/// `hello`, started by a loader that does what `bootm` does; and with each part damaged, what that
/// loader says.
fn starts() -> Result<()> {
    let options = Options { seed: Seed::Fixed, folder: Some("bootm"), ..Options::default() };
    let built = build::plan(Path::new("systems/hello.toml"), options)?.carry_out()?;
    let board = built.board;
    let images = built.flat.wrap(
        &built.name,
        board.processor,
        board.flat.as_ref().context("no flat images")?.address,
    )?;
    run(build::cargo_for("build", &board.target).args(["--quiet", "-p", "bootm"]))?;
    let loaded = |file: &Path, address: &str| {
        ["-device".into(), format!("loader,file={},addr={address},force-raw=on", file.display())]
    };
    let mut board = board.clone();
    board.qemu.system = vec!["-kernel".into(), build::elf("bootm").display().to_string()];
    board
        .qemu
        .system
        .extend(images.iter().zip(LOADED).flat_map(|(file, address)| loaded(file, address)));
    let built = Built { board: Box::leak(Box::new(board)), ..built };
    let console = || -> Result<String> {
        let machine = Machine::Qemu { cpu: &built.cpu, icount: false, model: None };
        let transcript = batch(&built, machine, Duration::from_secs(30))?;
        ensure!(transcript.ended, "did not end: {}", transcript.console);
        Ok(transcript.console)
    };
    let sound = console()?;
    ensure!(
        sound.contains("bootm: starting") && sound.contains("[root] every component has ended"),
        "not started: {sound}"
    );
    for (file, at, refusal) in [
        (&images[0], HEADER, "bootm: kernel refused: the header's checksum is wrong"),
        (&images[0], DATA, "bootm: kernel refused: the data's checksum is wrong"),
        (&images[1], FIRST, "bootm: RAM disk refused: it is no image of U-Boot"),
        (&images[1], DATA, "bootm: RAM disk refused: the data's checksum is wrong"),
    ] {
        let bytes = std::fs::read(file)?;
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        std::fs::write(file, damaged)?;
        let said = console();
        std::fs::write(file, bytes)?;
        let said = said?;
        ensure!(said.trim() == refusal, "not `{refusal}`: {said}");
        println!("# {refusal}");
    }
    Ok(())
}
