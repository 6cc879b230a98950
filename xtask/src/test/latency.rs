// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the kernel looks at no interrupts, in every run in which the machine model measures it.

use anyhow::{Context, Result, ensure};
use model_core::{Report, StretchReport};

/// The most instructions of the kernel between two looks at interrupts, whatever user code does.
const MOST: u64 = 10_000;

/// Cases of `tests/latency`, and tests without cases, that take more. One that takes no more any longer has to
/// leave this list.
const EXCEED: &[&str] = &[
    "alarms",
    "alarms.due",
    "alarms.set",
    "attachments_answer",
    "attachments_answer.handle",
    "attachments_answer.no_handle",
    "attachments_map",
    "attachments_map.pages",
    "attachments_map.segment",
    "attachments_map.table",
    "cleaning",
    "conform",
    "death.delete",
    "death_of_a_replier.delete",
    "death_of_an_alien.delete",
    "figures",
    "hostile",
    "large_pages.map",
    "large_pages.split",
    "large_pages.unmap",
    "large_space",
    "large_space.delete",
    "latency",
    "linux.figures",
    "misfits.receive",
    "nested_quotas.delete",
    "nested_spaces.delete",
    "own_ground",
    "own_ground.delete",
    "ports.map",
    "ports.unmap",
    "priorities.change",
    "priorities.join",
    "reset.reset",
    "revoke_everywhere",
    "revoke_everywhere.revoke",
    "revoke_out_of_large",
    "revoke_out_of_large.revoke",
    "shared_deletion",
    "shared_deletion.delete",
    "shared_large_pages.map",
    "shared_large_pages.protect",
    "shared_large_pages.split",
    "shared_large_pages.unmap",
    "shared_pages.map",
    "shared_pages.protect",
    "shared_pages.unmap",
    "shared_revocation",
    "shared_revocation.revoke",
    "shared_small_pages.map",
    "shared_small_pages.protect",
    "shared_small_pages.unmap",
    "small_pages.map",
    "small_pages.protect",
    "small_pages.replace",
    "small_pages.unmap",
    "space_of_objects",
    "space_of_objects.delete",
    "space_of_tables",
    "space_of_tables.delete",
    "space_of_threads.delete",
    "wide_segment",
    "wide_segment.attach",
    "wide_segment.delete",
    "wide_segment.detach",
];

/// Holds each case of a run to [`MOST`]; a run without cases has the name of its system. Shows the longest stretch of
/// each case and everything above the limit.
pub fn check(system: &str, report: &Report) -> Result<()> {
    let latency = report.latency.as_ref().context("the latency was not measured")?;
    let mut wrong = Vec::new();
    let name = |stretch: &StretchReport| if stretch.case.is_empty() { system.to_string() } else { stretch.case.clone() };
    for stretch in latency.stretches.iter().filter(|stretch| stretch.instructions > MOST) {
        println!("# {}: {stretch}", name(stretch));
    }
    for stretch in latency.cases() {
        let name = name(stretch);
        if stretch.instructions <= MOST {
            println!("# {name}: {stretch}");
        }
        match (stretch.instructions <= MOST, EXCEED.contains(&name.as_str())) {
            (false, false) => wrong.push(format!("{name}: {stretch}")),
            (true, true) => wrong.push(format!("{name} is within the limit: it has to leave the list in xtask/src/test/latency.rs")),
            _ => {}
        }
    }
    ensure!(wrong.is_empty(), "more than {MOST} instructions without a look at interrupts: {}", wrong.join("; "));
    Ok(())
}
