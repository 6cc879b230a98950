// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts what was executed, from QEMU's log: it has each instruction's address, and the registers
//! before it.
//!
//! An interval is a way: from the instruction by which one side enters the kernel to the one by
//! which the other side does next.

use crate::code::{Code, KSEG};
use crate::run;
use anyhow::{Context as _, Result, bail, ensure};
use model_core::{
    ByOwner, Cache, Cpu, Events, IntervalReport, Outcome, Report, Spread, VisitReport,
};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Interval of the call, and of the reply that is the server's next wait.
pub const INTERVALS: [u16; 2] = [1, 2];
/// How many ways at the beginning are not counted, because the caches are still empty.
const WARM_UP: usize = 4;
/// Bytes of a line.
const LINE: u64 = 32;

/// An instruction that was executed.
struct Step {
    at: u64,
    registers: [u64; 31],
}

/// A way.
#[derive(Default)]
struct Way {
    kernel: Events,
    user: Events,
    code: BTreeSet<u64>,
    data: BTreeSet<u64>,
}

/// The instructions of a log, in their order.
fn steps(log: &Path) -> Result<Vec<Step>> {
    let file = File::open(log).with_context(|| format!("cannot read {}", log.display()))?;
    let mut steps: Vec<Step> = Vec::new();
    let mut known = 0;
    for line in BufReader::new(file).lines() {
        let line = line?;
        let hex = |text: &str| u64::from_str_radix(text, 16);
        if line.starts_with("Trace ") {
            let at = line.split('/').nth(1).context("a line has no address")?;
            ensure!(steps.is_empty() || known == 31, "an instruction has {known} registers");
            steps.push(Step { at: hex(at)?, registers: [0; 31] });
            known = 0;
            continue;
        }
        let Some(step) = steps.last_mut().filter(|_| !line.starts_with("PC")) else { continue };
        // Names and values by turns, in the order of numbers.
        for value in line.split_whitespace().skip(1).step_by(2) {
            if let Some(register) = step.registers.get_mut(known) {
                *register = hex(value)?;
                known += 1;
            }
        }
    }
    Ok(steps)
}

/// The address that an instruction accesses, if it does, and whether it writes: at most 8 bytes, in
/// one line.
fn access(word: u32, registers: &[u64; 31]) -> Option<(u64, bool)> {
    let base = registers.get((word >> 16 & 31) as usize).copied().unwrap_or(0);
    let signed = |bits: u32| (word << (32 - bits)) as i32 >> (32 - bits);
    let (bits, write) = match word >> 26 {
        // hw_ld and hw_st, ldl and ldq, stl and stq.
        0x1b => (12, false),
        0x1f => (12, true),
        0x28 | 0x29 => (16, false),
        0x2c | 0x2d => (16, true),
        _ => return None,
    };
    Some((base.wrapping_add_signed(signed(bits).into()), write))
}

/// Caches of the model.
struct Caches {
    code: Option<Cache>,
    data: Cache,
    second: Option<Cache>,
}

impl Caches {
    fn new(cpu: &Cpu) -> Self {
        let geometry = &cpu.geometry;
        Self {
            code: geometry.l1i.as_ref().map(Cache::new),
            data: Cache::new(&geometry.l1d),
            second: geometry.l2.as_ref().map(Cache::new),
        }
    }

    fn second(&mut self, physical: u32, events: &mut Events) {
        let missed = |cache: &mut Cache| cache.access(physical, physical, false) != Outcome::Hit;
        events.l2_misses += u64::from(self.second.as_mut().is_some_and(missed));
    }

    fn fetch(&mut self, at: u32, physical: u32, events: &mut Events) {
        let Some(code) = &mut self.code else { return };
        if code.access(at, physical, false) != Outcome::Hit {
            events.l1i_misses += 1;
            self.second(physical, events);
        }
    }

    /// A store does not wait: a write buffer takes it.
    fn access(&mut self, physical: u32, write: bool, events: &mut Events) {
        if self.data.access(physical, physical, write) != Outcome::Hit && !write {
            events.l1d_misses += 1;
            self.second(physical, events);
        }
    }
}

/// The report of a log, by a CPU model.
///
/// # Errors
/// If the log has something that is not known here.
pub fn report(code: &Code, log: &Path, cpu: &Cpu) -> Result<Report> {
    let mut caches = Caches::new(cpu);
    let (mut ways, mut in_kernel): (Vec<(usize, Way)>, bool) = (Vec::new(), true);
    let mut side = 0;
    for Step { at, registers } in steps(log)? {
        let kernel = at >= KSEG;
        let enters = kernel && !in_kernel;
        in_kernel = kernel;
        if let (false, Some(of)) = (kernel, run::side(at)) {
            side = of;
        }
        if enters {
            ways.push((side, Way::default()));
        }
        let Some((_, way)) = ways.last_mut() else { continue };
        let physical = if kernel { at - KSEG } else { run::physical(at, side)? };
        let events = if kernel { &mut way.kernel } else { &mut way.user };
        events.instructions += 1;
        if enters {
            events.trap_entries += 1;
            events.far_returns += 1;
        }
        caches.fetch(at as u32, physical as u32, events);
        if kernel {
            way.code.insert(at / LINE);
        }
        let Some((address, write)) = access(code.at(physical)?, &registers) else { continue };
        // The kernel's addresses are physical.
        let data = if kernel { address } else { run::physical(address, side)? };
        caches.access(data as u32, write, events);
        if kernel {
            way.data.insert(address / LINE);
        }
    }
    // The last one ends with the machine.
    ways.pop();
    ensure!(ways.len() > 2 * WARM_UP, "{} ways are too few", ways.len());
    let mut report = Report::default();
    for (side, interval) in INTERVALS.into_iter().enumerate() {
        let of: Vec<&Way> =
            ways[WARM_UP..].iter().filter(|(from, _)| *from == side).map(|(_, way)| way).collect();
        report.intervals.insert(interval, summary(&of)?);
        report.instructions +=
            of.iter().map(|way| way.kernel.instructions + way.user.instructions).sum::<u64>();
    }
    Ok(report)
}

fn spread(values: impl Iterator<Item = u64>) -> Result<Spread> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    let [min, .., max] = values[..] else { bail!("a way was gone less than twice") };
    Ok(Spread { median: values[(values.len() - 1) / 2], min, max })
}

fn summary(ways: &[&Way]) -> Result<IntervalReport> {
    let of = |value: &dyn Fn(&Way) -> u64| spread(ways.iter().map(|way| value(way)));
    let events = |part: &dyn Fn(&Way) -> &Events| -> Result<Events<Spread>> {
        let median = |value: &dyn Fn(&Events) -> u64| of(&|way| value(part(way)));
        Ok(Events {
            instructions: median(&|events| events.instructions)?,
            l1i_misses: median(&|events| events.l1i_misses)?,
            l1d_misses: median(&|events| events.l1d_misses)?,
            l2_misses: median(&|events| events.l2_misses)?,
            trap_entries: median(&|events| events.trap_entries)?,
            far_returns: median(&|events| events.far_returns)?,
            ..Events::default()
        })
    };
    let (kernel_instructions, user_instructions) =
        (of(&|way| way.kernel.instructions)?, of(&|way| way.user.instructions)?);
    let (code, data) = (of(&|way| way.code.len() as u64)?, of(&|way| way.data.len() as u64)?);
    let once = Spread { median: 1, min: 1, max: 1 };
    Ok(IntervalReport {
        repetitions: ways.len() as u64,
        kernel_instructions,
        user_instructions,
        server_instructions: Spread::default(),
        kernel_entries: once,
        cr3_writes: Spread::default(),
        invlpg: Spread::default(),
        kernel_code_lines_32: code,
        kernel_data_lines_32: data,
        events: ByOwner {
            kernel: events(&|way| &way.kernel)?,
            server: Events::default(),
            components: events(&|way| &way.user)?,
            user: Events::default(),
        },
        apart: None,
        disturbed: 0,
        visits: vec![VisitReport {
            kernel_instructions: kernel_instructions.median,
            kernel_code_lines_32: code.median,
            kernel_data_lines_32: data.median,
            cr3_writes: 0,
        }],
    })
}
