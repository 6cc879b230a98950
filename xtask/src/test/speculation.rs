// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of what the kernel for x86-64 does against speculation (docs/entry-area.md, *Speculation*).
//! The emulators' processors have none, so the kernel's command line says what it is to do; the
//! instructions do nothing there.

use super::model::system;
use super::tally::{Test, on_pc64, slow, test};
use crate::build::{self, Built, Options};
use crate::emulator::{self, Machine, batch};
use crate::machine::spaces::{self, Spaces};
use crate::machine::words;
use crate::process::session::Session;
use abi::PAGE_SIZE;
use anyhow::{Context, Result, bail, ensure};
use object::{Object, ObjectSymbol};
use std::path::Path;
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[
    test("pc64.speculation", || on_pc64(forgets)),
    test("pc64.speculation.conform", || on_pc64(conforms)),
    test("pc64.speculation.fpu", || on_pc64(fpu)),
    test("pc64.isolation", || on_pc64(isolates)),
    slow("pc64.isolation.conform", "`pc64.system.conform` runs so in Bochs", || {
        on_pc64(isolated_conforms)
    }),
];

/// What the kernel's command line says, and the function that it then calls again and again.
const FORGETS: [(&str, &str); 2] =
    [("ibpb=force", "::regs::drop_predictions"), ("verw=force", "::regs::clear_buffers")];
/// The way out to a server.
const WAY: &str = "leave_by_area";
/// How often that is looked for.
const TURNS: u32 = 4;

/// Where the kernel has the symbol whose name ends so.
fn place(built: &Built, name: &str) -> Result<u64> {
    let data = std::fs::read(&built.kernel)?;
    let file = object::File::parse(&*data)?;
    let is_it = |symbol: &object::Symbol<'_, '_>| {
        let found = symbol.name().map(|name| format!("{:#}", rustc_demangle::demangle(name)));
        found.is_ok_and(|found| found.ends_with(name))
    };
    let found = file.symbols().find(is_it);
    found.map(|symbol| symbol.address()).with_context(|| format!("there is no `{name}`"))
}

/// While two servers take turns, the processor is made to forget its predictions of branches each
/// time before the other one is entered, and what its buffers have before the kernel is left.
fn forgets() -> Result<()> {
    let built = build::system(Path::new("tests/systems/turns.toml"))?;
    let way = place(&built, WAY)?;
    for (words, name) in FORGETS {
        let place = place(&built, name)?;
        let start = || emulator::session_with_debugger(&built, &[]);
        let (mut session, mut debugger) =
            spaces::with(Spaces::Force, || words::with(words, start))?;
        debugger.run()?;
        session.expect("[conform] alternates")?;
        debugger.stop()?;
        for turn in 0..TURNS {
            let turns = || format!("with `{words}`, turn {turn}");
            debugger.run_to(place).with_context(turns)?;
            debugger.run_to(way).with_context(turns)?;
        }
    }
    Ok(())
}

/// All is as the manual says also where nothing goes by a fast path, and the processor forgets.
fn conforms() -> Result<()> {
    conforms_with(&FORGETS.map(|(words, _)| words).join(" "))
}

/// The same where components do not have the kernel's pages.
fn isolated_conforms() -> Result<()> {
    conforms_with(ISOLATES)
}

fn conforms_with(said: &str) -> Result<()> {
    let built = system("conform-ring1")?;
    let run = || {
        let machine = Machine::Qemu { cpu: &built.cpu, icount: false, model: None };
        batch(&built, machine, Duration::from_secs(300))
    };
    let transcript = spaces::with(Spaces::Force, || words::with(said, run))?;
    let results = &transcript.results;
    ensure!(transcript.is_done() && !results.contains("not ok"), "{results}{}", transcript.console);
    Ok(())
}

/// What the kernel's command line says for and against isolation, and a processor that does not say
/// that it has no Meltdown.
const ISOLATES: &str = "isolation=force";
const SHOWS: &str = "isolation=no";
const INTELS: &str = "Nehalem";
/// What the kernel says on it.
const WHY: &str = "components do not have the kernel's pages: this processor may have Meltdown";
/// The first address that is no user's, and how often a component is looked at.
const UPPER: u64 = 1 << 63;
const TIMES: u32 = 5;

/// While a component runs, its tables have nothing of the kernel but the entry area's pages: if the
/// command line says so, or the processor may have Meltdown.
fn isolates() -> Result<()> {
    for (cpu, words, is_isolated) in
        [(None, SHOWS, false), (None, ISOLATES, true), (Some(INTELS), "", true)]
    {
        let options = Options { cpu, ..Options::default() };
        let built = build::plan(Path::new("systems/pingpong.toml"), options)?.carry_out()?;
        let mut session = words::with(words, || emulator::session(&built))?;
        if cpu.is_some() {
            session.expect(WHY)?;
        }
        let pages = upper_pages(&mut session).with_context(|| format!("{cpu:?}, `{words}`"))?;
        let is_part = |page: &u64| {
            let place = page.wrapping_sub(mmu::area::BASE) / u64::from(PAGE_SIZE);
            mmu::area::PARTS.iter().any(|part| part.page as u64 == place)
                || mmu::area::PORTS.iter().any(|port| *port as u64 == place)
        };
        let others: Vec<&u64> = pages.iter().filter(|page| !is_part(page)).collect();
        ensure!(
            others.is_empty() == is_isolated && !pages.is_empty(),
            "{cpu:?}, `{words}`: a component has {} of the kernel's pages: {others:x?}",
            others.len()
        );
    }
    Ok(())
}

/// The first pages above users' addresses of each range that QEMU's monitor shows while a component
/// runs, several times.
fn upper_pages(session: &mut Session) -> Result<Vec<u64>> {
    session.send(b"\x01c")?;
    session.expect("(qemu)")?;
    let (mut pages, mut seen) = (Vec::new(), 0);
    for _ in 0..LOOKS {
        session.send(b"stop\ninfo registers\n")?;
        let is_component = shown(session, "CPL=", " ")? == "3";
        session.expect("(qemu)")?;
        if is_component {
            session.send(b"info mem\n")?;
            session.expect("info mem")?;
            for range in session.until("(qemu)")?.lines() {
                let Some((first, rest)) = range.trim().split_once('-') else { continue };
                let end = rest.split(' ').next().unwrap_or_default();
                let [first, end] = [first, end].map(|number| u64::from_str_radix(number, 16));
                let (first, end) = (first?, end?.wrapping_sub(1));
                if end >= UPPER {
                    // Of the kernel's own part, which is large, a few pages do.
                    pages.extend((first..=end).step_by(PAGE_SIZE as usize).take(MOST));
                }
            }
            seen += 1;
            if seen == TIMES {
                return Ok(pages);
            }
        }
        session.send(b"cont\n")?;
        session.expect("(qemu)")?;
    }
    bail!("a component was seen {seen} times only")
}

/// How many pages of a range are looked at.
const MOST: usize = 64;

/// What the first of the two servers has in its register RSI and in the FPU, and the other one not.
const SECRET: &str = "00000000005ec4e7";
/// The code segment of a server, as QEMU's monitor shows it, and how often it is looked for.
const RING_1: &str = "0041";
const LOOKS: u32 = 2_000;
/// How often each of the two has to be seen.
const SEEN: u32 = 20;

/// What QEMU's monitor shows next between these.
fn shown(session: &mut Session, before: &str, after: &str) -> Result<String> {
    session.expect(before)?;
    Ok(session.until(after)?.trim().to_owned())
}

/// While another thread runs, a thread's registers are not in the FPU, where it could find them by
/// speculation though the FPU traps (LazyFP).
fn fpu() -> Result<()> {
    let built = build::system(Path::new("tests/systems/turns.toml"))?;
    let mut session = spaces::with(Spaces::Force, || emulator::session(&built))?;
    session.expect("[conform] alternates")?;
    session.send(b"\x01c")?;
    session.expect("(qemu)")?;
    let mut seen = [0; 2];
    for _ in 0..LOOKS {
        session.send(b"info registers\n")?;
        let argument = shown(&mut session, "\nRSI=", " ")?;
        let segment = shown(&mut session, "\nCS =", " ")?;
        let register = shown(&mut session, "\nXMM00=", "XMM01=")?;
        session.expect("(qemu)")?;
        if segment != RING_1 {
            continue;
        }
        let is_its = argument == SECRET;
        seen[usize::from(is_its)] += u32::from(is_its == register.ends_with(SECRET));
        ensure!(is_its || !register.ends_with(SECRET), "after {seen:?} looks: {register}");
        if seen.iter().all(|seen| *seen >= SEEN) {
            return Ok(());
        }
    }
    bail!("the two were seen {seen:?} times only")
}
