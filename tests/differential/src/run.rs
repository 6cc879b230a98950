// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems and their events, and whether these were the right ones.

use anyhow::{Context, Result, ensure};
use arch_host::Host;
use fastrand::Rng;
use kcore::Kernel;
use kcore::port::Registers;
use mmu::Format;
use std::path::Path;

/// Events in one system, at most.
const EVENTS_A_SYSTEM: u32 = 80;

/// How often something has happened.
pub struct Count {
    /// What.
    pub name: &'static str,
    /// How often.
    pub count: u64,
    /// How often it has to.
    pub least: u64,
}

/// The fast paths of a processor.
pub trait FastPaths: Sized {
    /// A simulated system, and what is known about it.
    type System;

    /// Reads them from the kernel's ELF file.
    fn read(kernel: &Path) -> Result<Self>;

    /// A random system.
    fn system(&self, rng: &mut Rng) -> Self::System;

    /// One more event of it, by the assembly and by the portable kernel; nothing if nobody can do anything any more.
    fn step(&mut self, system: &mut Self::System, rng: &mut Rng) -> Option<Result<()>>;

    /// How many there were.
    fn events(&self) -> u64;

    /// The ways that they took.
    fn taken(&self) -> Vec<Count>;

    /// Prints what else was counted, and returns how often that has to have happened: nothing, unless there is something.
    fn further(&self) -> Vec<Count> {
        Vec::new()
    }

    /// Instructions that were never executed, as text.
    fn missed(&self) -> Vec<String>;
}

/// Carries on until a thread runs. Nobody may be ready: then alarms are the only thing that time brings.
pub fn settle<R: Registers, F: Format>(kernel: &mut Kernel<Host<R, F>>) {
    while kernel.carry_on() {}
    for _ in 0..4 {
        if kernel.current().is_none() {
            kernel.port.now += 10_000_000;
            kernel.tick();
            while kernel.carry_on() {}
        }
    }
}

/// Does what the crate's head says.
pub fn run<F: FastPaths>() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().context("usage: differential KERNEL [SEED] [EVENTS]")?;
    let seed = arguments.next().map_or(Ok(1), |s| s.parse())?;
    let wanted: u64 = arguments.next().map_or(Ok(200_000), |s| s.parse())?;
    let mut paths = F::read(path.as_ref())?;
    let mut rng = Rng::with_seed(seed);
    while paths.events() < wanted {
        let before = rng.get_seed();
        let mut system = paths.system(&mut rng);
        for number in 0..EVENTS_A_SYSTEM {
            let Some(done) = paths.step(&mut system, &mut rng) else { break };
            done.with_context(|| format!("system of seed {before}, event {number}"))?;
        }
    }
    let taken = paths.taken();
    let text: Vec<String> = taken.iter().map(|Count { name, count, .. }| format!("{count} {name}")).collect();
    println!("# {} events by fast paths: {}", paths.events(), text.join(", "));
    let further = paths.further();
    let missed = paths.missed();
    ensure!(missed.is_empty(), "never executed: {}", missed.join("; "));
    for Count { name, count, least } in taken.into_iter().chain(further) {
        ensure!(count >= least, "only {count} {name}: the events are not the right ones");
    }
    Ok(())
}
