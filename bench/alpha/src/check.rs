// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round trips with every register and the kernel's whole memory compared, and faults that have to
//! be found.

use crate::code::{Code, Fault, For};
use crate::run::{self, run};
use crate::trace::{self, INTERVALS};
use anyhow::{Context as _, Result, bail, ensure};
use model_core::{Cpu, Report};
use std::path::Path;

/// Round trips without a fault: the sequence of a handle begins again every 256.
const ROUNDS: u64 = 10_000;
/// Round trips with a fault.
const FEW: u64 = 300;
/// Round trips in a log.
const LOGGED: u64 = 12;

/// A fault, its lines, and what the message about it has to contain.
type Seeded = (&'static str, Fault<'static>, &'static str);

/// A line of `ipc.S` on the way to the other thread: lines that are inserted after it are executed
/// both by a call and by a reply.
const ON_THE_WAY: &str = "    hw_mtpr $14, dtb_asn\n";

const FAULTS: [Seeded; 9] = [
    (
        "a word of the message changes",
        (ON_THE_WAY, "    hw_mtpr $14, dtb_asn\n    addq $19, 1, $19\n"),
        "register 19,",
    ),
    (
        "the kernel's reference to a thread stays in a register",
        (ON_THE_WAY, "    hw_mtpr $14, dtb_asn\n    bis $12, $12, $22\n"),
        "register 22,",
    ),
    ("a TLB keeps the tag", (ON_THE_WAY, ""), "PALmode's registers"),
    ("the tables stay", ("    hw_mtpr $25, ptbr\n", ""), "an exception"),
    ("the TLB is not dropped", ("    hw_mtpr $31, {qemu_tbia}\n", ""), "register 1,"),
    ("the stack pointer stays", ("    hw_ldq/p $30, {sp}($12)\n", ""), "register 1,"),
    (
        "the badge is not delivered",
        ("    bis $10, $11, $0\n", "    bis $10, $10, $0\n"),
        "register 0,",
    ),
    (
        "each call has the same handle",
        ("{sequence_high}($16)", "{sequence_high} - {sequence_high}($16)"),
        "the portable kernel has",
    ),
    ("the caller's gate stays", ("    hw_stl/p $13, {gate}($8)\n", ""), "gave up"),
];

/// Round trips in QEMU and by the portable kernel, with the same result.
fn round_trips(code: &Code, rounds: u64, folder: &Path, log: Option<&Path>) -> Result<()> {
    let mut system = run::system(code)?;
    let ended = run(code, &mut system, rounds, folder, log)?;
    ended.is_right()?;
    for _ in 0..rounds {
        system.round_trip()?;
    }
    system.compare(&ended.pool)?;
    let [tag, _] = system.space()?;
    let expected = [&system.processor()[..], &[tag, tag]].concat();
    let found = ended.processor;
    ensure!(found[..] == expected, "PALmode's registers are {found:x?}, not {expected:x?}");
    Ok(())
}

/// Tests that the fast path does what the portable kernel does, and that the test finds faults.
///
/// # Errors
/// Says what is wrong.
pub fn test(folder: &Path) -> Result<()> {
    let code = Code::firmware(folder, None)?;
    round_trips(&code, ROUNDS, folder, None)?;
    println!("# {ROUNDS} round trips");
    for (what, fault, finding) in FAULTS {
        let code = Code::firmware(folder, Some(fault)).context(what)?;
        let Err(error) = round_trips(&code, FEW, folder, None) else {
            bail!("a fault is not found: {what}")
        };
        let said = format!("{error:#}");
        ensure!(said.contains(finding), "{what}: expected `{finding}`, but {said}");
        println!("# found: {what}: {said}");
    }
    Ok(())
}

/// Counts what a round trip takes, with a CPU model.
///
/// # Errors
/// If something is wrong, or the 21164 would not execute as many instructions as QEMU.
pub fn count(folder: &Path, cpu: &Cpu) -> Result<Report> {
    let (code, log) = (Code::firmware(folder, None)?, folder.join("log"));
    round_trips(&code, LOGGED, folder, Some(&log))?;
    let report = trace::report(&code, &log, cpu)?;
    for processor in [For::Qemu, For::Alpha21164] {
        let path = Code::fast_path(folder, processor)?;
        let call = path.words(["entry", "call_end"])?.len();
        let reply = path.words(["entry", "call"])?.len()
            + path.words(["reply_wait", "reply_wait_end"])?.len();
        for (interval, length) in INTERVALS.into_iter().zip([call, reply]) {
            let counted = report.intervals[&interval].kernel_instructions;
            ensure!(
                counted.min == length as u64 && counted.max == counted.min,
                "a path of {length} instructions, but {counted:?} were executed"
            );
        }
    }
    Ok(report)
}
