// SPDX-License-Identifier: MIT OR Apache-2.0
//! The portable kernel on Alpha: Rust compiles it to WebAssembly, the translator turns that into C,
//! and GCC compiles the C. It handles the same random system calls there as on the host, with the
//! same results.

use crate::code::{KSEG, succeeds};
use crate::run::{RAM, emulate};
use alpha_core::{Outcome, POOL_BYTES, on_host};
use anyhow::{Result, ensure};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use translator::{OPTIONS, translate};

/// Seeds, and the number of events for each.
const RUNS: [(u64, u32); 4] = [(1, 1), (2, 100), (3, 5000), (4, 200_000)];
/// How many operations must have succeeded at least once, and what percentage of system calls.
const OPERATIONS: u32 = 30;
const GOOD: u64 = 10;

/// Physical addresses, as in `main.c`: of the request, and of the outcome.
const ASKED: u64 = 0x0180_0000;
const OUTCOME: u64 = 0x0180_0040;
/// After the outcome: why the machine ended, and the value that means success.
const WHY: u64 = OUTCOME + 128;
const RIGHT: u64 = 64;

/// The core as C, compiled for clipper.
fn firmware(wasm: &Path, folder: &Path) -> Result<PathBuf> {
    let [c, memory, data, file] =
        ["core.c", "core-memory.S", "core.data", "core"].map(|name| folder.join(name));
    let translated = translate(&std::fs::read(wasm)?, KSEG)?;
    std::fs::write(&c, translated.c)?;
    std::fs::write(&data, translated.data)?;
    let section = "    .section .memory, \"aw\"\n    .incbin";
    std::fs::write(&memory, format!("{section} \"{}\"\n", data.display()))?;
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../alpha-core/c");
    let port = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/arch/alpha/src");
    let mut gcc = Command::new("alpha-linux-gnu-gcc");
    gcc.args(OPTIONS).arg(format!("-Wl,-T,{}", core.join("core.ld").display()));
    for (name, value) in [("start", translated.memory.start), ("end", translated.memory.end)] {
        gcc.arg(format!("-Wl,--defsym=memory_{name}={value:#x}"));
    }
    gcc.arg("-o").arg(&file);
    gcc.args(["start.S", "main.c"].map(|name| core.join(name)));
    gcc.args([port.join("divide.S"), c, memory]);
    succeeds(&mut gcc)?;
    Ok(file)
}

/// The outcome of this many events on Alpha, and the last kernel's memory.
fn on_alpha(firmware: &Path, folder: &Path, seed: u64, events: u32) -> Result<(Outcome, Vec<u8>)> {
    let path = folder.join("core-ram");
    let ram = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    ram.set_len(RAM)?;
    for (at, word) in (ASKED..).step_by(8).zip([seed, events.into()]) {
        ram.write_all_at(&word.to_le_bytes(), at)?;
    }
    emulate(firmware, &path, None)?;
    let read = |at: u64| -> Result<u64> {
        let mut word = [0; 8];
        ram.read_exact_at(&mut word, at)?;
        Ok(u64::from_le_bytes(word))
    };
    let why = read(WHY)?;
    ensure!(why == RIGHT, "the core ended otherwise: {why}");
    let mut pool = vec![0; POOL_BYTES as usize];
    ram.read_exact_at(&mut pool, pool::BASE.into())?;
    let [sum, calls, good, operations, kernels] =
        [0, 1, 2, 3, 4].map(|word| read(OUTCOME + 8 * word));
    let (sum, calls, good) = (sum?, calls?, good?);
    Ok((Outcome { sum, calls, good, operations: operations?, kernels: kernels? }, pool))
}

/// Tests that the translated core does on Alpha what it does on the host.
///
/// # Errors
/// Says what differs.
pub fn test(wasm: &Path, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let firmware = firmware(wasm, folder)?;
    let mut last = Outcome::default();
    for (seed, events) in RUNS {
        let (ours, pool) = on_host(seed, events);
        let (theirs, memory) = on_alpha(&firmware, folder, seed, events)?;
        ensure!(theirs == ours, "with seed {seed} Alpha has {theirs:x?}, and the host {ours:x?}");
        let differs = pool.iter().zip(&memory).position(|(ours, theirs)| ours != theirs);
        ensure!(differs.is_none(), "the kernels' memory differs at {differs:x?}");
        last = theirs;
    }
    // The sums see a difference, and what they are over is not nothing.
    let (seed, events) = RUNS[RUNS.len() - 1];
    let (other, _) = on_host(seed + 1, events);
    ensure!(other.sum != last.sum, "another series has the same sum");
    let Outcome { sum, calls, good, operations, kernels } = last;
    println!(
        "# {calls} system calls, {good} of which succeeded, on {kernels} kernels, by {} operations: \
         {sum:#x}",
        operations.count_ones()
    );
    ensure!(operations.count_ones() >= OPERATIONS, "operations that succeeded: {operations:#x}");
    ensure!(good * 100 >= calls * GOOD, "{good} of {calls} calls are few");
    Ok(())
}
