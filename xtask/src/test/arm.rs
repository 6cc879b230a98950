// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the machine model on the ARM board: the checker reports nothing about the kernel as it
//! is, and finds kernels that leave out an operation of caches, TLBs, domains or the process
//! identifier.

use super::alone::passed;
use super::model::{clean, finished, run, system};
use super::tally::{Test, on_board, slow, test};
use super::{debian, dialogue, latency, linux, server, suites};
use crate::build::{self, Built, Model, Wire};
use crate::emulator::{Machine, batch};
use crate::guest::{Guest, insert, program};
use crate::linux::{files, packages};
use anyhow::{Context, Result, bail, ensure};
use model_core::Rule;
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[
    test("versatilepb.model.conform", || on_board(conform)),
    slow("versatilepb.model.hostile", "minutes under the checker", || {
        on_board(|| checked("hostile", 1200))
    }),
    test("versatilepb.model.rival", || on_board(|| checked("rival", 60))),
    test("versatilepb.model.fast-paths", || on_board(cpus)),
    slow("versatilepb.model.sockets", "minutes under the checker", || {
        on_board(|| checked("sockets", 600))
    }),
    test("versatilepb.model.devices", || on_board(|| chaos(&few_faults()?, 120))),
    slow("versatilepb.model.chaos", "half an hour of faults under the checker", || {
        on_board(|| chaos(&super::system::chaos(super::system::MANY_FAULTS)?, 1800))
    }),
    test("versatilepb.dialogue.focus", || on_board(dialogue::focus)),
    slow("versatilepb.linux.batch", "`linux.batch` is the PC's", || on_board(linux::batch)),
    test("versatilepb.linux.abi", || on_board(abi)),
    slow(
        "versatilepb.linux.programs",
        "`versatilepb.linux.model` runs them, too, under the checker",
        || on_board(programs),
    ),
    slow(
        "versatilepb.linux.dynamic",
        "minutes; programs of Debian, as `versatilepb.linux.debian` has them",
        || on_board(dynamic),
    ),
    slow("versatilepb.linux.systems", "minutes: three more systems", || on_board(systems)),
    slow("versatilepb.linux.debian", "it installs Debian", || on_board(debian::debian)),
    slow("versatilepb.linux.debian.batch", "it installs Debian", || on_board(debian::batch)),
    slow("versatilepb.linux.debian.bombs", "it installs Debian", || on_board(debian::bombs)),
    slow("versatilepb.linux.project", "it installs Debian", || on_board(debian::project)),
    slow("versatilepb.linux.stress", "it installs Debian", || on_board(debian::stress)),
    slow("versatilepb.linux.attack", "minutes; `linux.attack` is the PC's", || {
        on_board(dialogue::attack)
    }),
    slow("versatilepb.linux.faults", "`linux.faults` is the PC's", || on_board(server::faults)),
    slow("versatilepb.linux.walk", "minutes: each table of each process is compared", || {
        on_board(server::walk)
    }),
    slow("versatilepb.linux.busybox", "minutes, and it builds Linux for the board itself", || {
        on_board(suites::busybox)
    }),
    slow("versatilepb.linux.kselftest", "minutes", || on_board(suites::kselftest)),
    slow("versatilepb.linux.kselftest.alone", "it builds Linux for the board itself", || {
        on_board(suites::kselftest_alone)
    }),
    slow("versatilepb.linux.memory", "`linux.memory` is the PC's", || on_board(linux::memory)),
    test("versatilepb.linux.model", || on_board(|| linux_checked(PROGRAMS))),
    slow(
        "versatilepb.linux.model.abi",
        "minutes under the checker; `versatilepb.linux.abi` runs it without",
        || on_board(|| linux_checked("abi")),
    ),
    slow("versatilepb.linux.written", "minutes under the checker", || on_board(written)),
    slow("versatilepb.linux.crowd", "minutes: 200 processes under the checker", || on_board(crowd)),
    test("versatilepb.fault.dma-clean", || {
        on_board(|| {
            fault_in(more_faults()?, 120, CLEAN_FOR_DEVICE, Found::By(&[Rule::DirtyElsewhere]))
        })
    }),
    test("versatilepb.fault.dma-drop", || {
        on_board(|| fault_in(more_faults()?, 120, DROP_FOR_DEVICE, Found::By(&[Rule::OldLine])))
    }),
    test("versatilepb.fault.line-clean", || {
        on_board(|| fault(CLEAN_LINE, Found::By(&[Rule::DirtyTable])))
    }),
    test("versatilepb.fault.line-drop", || {
        on_board(|| fault(DROP_LINE, Found::By(&[Rule::CacheAlias, Rule::OldLine])))
    }),
    test("versatilepb.fault.cache-clean", || {
        on_board(|| fault(TEST_CLEAN, Found::By(&[Rule::CacheAlias, Rule::LateWriteBack])))
    }),
    test("versatilepb.fault.unlock", || on_board(unlocks_nothing)),
    test("versatilepb.fault.tlb-flush", || {
        on_board(|| fault(FLUSH_TLB, Found::By(&[Rule::StaleTranslation])))
    }),
    test("versatilepb.fault.entry-flush", || {
        on_board(|| fault(FLUSH_ENTRY, Found::By(&[Rule::StaleTranslation])))
    }),
    test("versatilepb.fault.domains", || on_board(|| fault(DOMAINS, Found::InResults))),
    test("versatilepb.fault.process", || on_board(|| fault(PROCESS, Found::InResults))),
];

/// The board's processor, as QEMU and as the model name it.
const ARM926: &str = "arm926";
/// The XScale core, likewise.
const XSCALE: [&str; 2] = ["pxa255", "pxa255-400"];

/// An instruction in any condition, with one register or any, and what is there in its place.
#[derive(Clone, Copy)]
struct Damage {
    instruction: u32,
    instead: u32,
}

/// `mov r0, r0`
const NOTHING: u32 = 0xe1a0_0000;
/// `cmp r0, r0`: all is clean.
const EQUAL: u32 = 0xe150_0000;
/// What of an instruction is neither condition nor register.
const OPERATION: u32 = 0x0fff_0fff;
/// Its register; 0: any.
const REGISTER: u32 = 0xf000;

/// `mcr p15, 0, REGISTER, FIRST, SECOND, OPERATION` left out.
const fn without(first: u32, second: u32, operation: u32) -> Damage {
    Damage { instruction: 0x0e00_0f10 | first << 16 | operation << 5 | second, instead: NOTHING }
}

const CLEAN_LINE: Damage = without(7, 10, 1);
const DROP_LINE: Damage = without(7, 6, 1);
/// Only of `Cache` on a part of a page, which has another register than the rest: `mcr p15, 0,
/// r11, c7, c10, 1`, and `mcr p15, 0, r11, c7, c6, 1`.
const CLEAN_FOR_DEVICE: Damage = Damage { instruction: 0x0e07_bf3a, ..CLEAN_LINE };
const DROP_FOR_DEVICE: Damage = Damage { instruction: 0x0e07_bf36, ..DROP_LINE };
const UNLOCK: Damage = without(9, 2, 1);
const FLUSH_TLB: Damage = without(8, 7, 0);
const FLUSH_ENTRY: Damage = without(8, 6, 1);
/// Only the fast path's, which has another register than the rest: `mcr p15, 0, r11, c3, c0, 0`.
const DOMAINS: Damage = Damage { instruction: 0x0e03_bf10, ..without(3, 0, 0) };
const PROCESS: Damage = without(13, 0, 0);
/// `mrc p15, 0, apsr_nzcv, c7, c14, 3`
const TEST_CLEAN: Damage = Damage { instruction: 0x0e17_0f7e, instead: EQUAL };

/// How a fault is noticed.
enum Found {
    /// The checker reports one of these.
    By(&'static [Rule]),
    /// The system does not do what it should, which the emulator shows by itself: it has domains
    /// and process identifiers.
    InResults,
}

fn checker() -> Result<Model> {
    Ok(Model { check: true, ..build::model()? })
}

/// A system's run of so many seconds at most, of which the checker has nothing to report and the
/// latency is short enough.
fn checked(name: &str, seconds: u64) -> Result<()> {
    let (built, model) = (system(name)?, checker()?);
    let machine = Machine::Qemu { cpu: &built.cpu, icount: true, model: Some(&model) };
    let report = finished(batch(&built, machine, Duration::from_secs(seconds))?)?;
    clean(&report)?;
    latency::check(name, &report)
}

/// Disk and network, whose servers die. Some of them jump to where their own data is: the code that
/// they execute then was not cleaned.
fn chaos(built: &Built, seconds: u64) -> Result<()> {
    let model = checker()?;
    let machine = Machine::Qemu { cpu: &built.cpu, icount: true, model: Some(&model) };
    let mut report = finished(batch(built, machine, Duration::from_secs(seconds))?)?;
    report.violations.retain(|violation| violation.rule != Rule::DirtyCode.to_string());
    clean(&report)
}

/// The conformance program, on both cores: they clean their caches in different ways.
fn conform() -> Result<()> {
    checked("conform-fast", 120)?;
    let transcript = run(&on_xscale()?, &checker()?)?;
    let failed: Vec<&str> =
        transcript.results.lines().filter(|line| line.starts_with("not ok")).collect();
    ensure!(failed.is_empty(), "on an XScale core: {}", failed.join(", "));
    clean(&finished(transcript)?)
}

/// The conformance program on an XScale core.
fn on_xscale() -> Result<Built> {
    Ok(Built { cpu: XSCALE[0].into(), ..system("conform-fast")? })
}

/// Lines that are locked stay when the whole cache is to be clean.
fn unlocks_nothing() -> Result<()> {
    fault_in(on_xscale()?, 30, UNLOCK, Found::By(&[Rule::DirtyElsewhere]))
}

/// The interval of `tests/fast-paths` in which a table of 64 lines is read, and how many of them
/// may be missing if they are locked: some are the stack's.
const TABLE: (u16, u64, u64) = (80, 64, 4);

/// Fast paths, with caches and TLBs as large as they are.
fn cpus() -> Result<()> {
    for [qemu, cpu] in [[ARM926; 2], XSCALE] {
        let built = Built { cpu: qemu.into(), ..system("fast-paths")? };
        let report = finished(run(&built, &Model { cpu: Some(cpu.into()), ..checker()? })?)?;
        ensure!(
            report.errors.is_empty() && report.violations.is_empty(),
            "{cpu}: {:?}, {:?}",
            report.errors,
            report.violations
        );
        println!("# {cpu}: {:?} accesses to data checked", report.checked);
        latency::check("fast-paths", &report)?;
        let (interval, lines, few) = TABLE;
        let events = report.intervals.get(&interval).context("no table")?.events;
        let missing = events.map(|part| part.map(|spread| spread.median)).total().l1d_misses;
        let are_locked = cpu == XSCALE[1];
        println!(
            "# {cpu}: {missing} of {lines} lines are read that {} locked",
            if are_locked { "are" } else { "cannot be" }
        );
        ensure!(
            if are_locked { missing <= few } else { missing >= lines },
            "{cpu}: {missing} lines of a table of {lines} were missing"
        );
    }
    Ok(())
}

/// What Linux's programs do with processes, memory and descriptors.
const PROGRAMS: &str = "set -e; maps; descriptors; for i in 1 2 3 4 5 6 7 8 9 10; do echo $i | sed 's/./&&/' | tr 1-9 a-i; done | \
                        sort -r | head -n 2 | tail -n 1; mkfifo /tmp/f; (cat /tmp/f & echo through > /tmp/f; wait)";

/// What programs expect of Linux, which has nothing to warn of.
pub(super) fn abi() -> Result<()> {
    abi_on(None).map(drop)
}

/// The same on another CPU model of QEMU's than the usual one; what the program printed.
pub(super) fn abi_on(cpu: Option<&str>) -> Result<String> {
    let inserts = vec![program("abi")?];
    let o = Guest { cpu, inserts, own_time: true, ..Guest::default() }
        .run("abi && ! dmesg | grep WARNING:")?;
    let passed = passed(&o.text()).len();
    ensure!(
        o.status == 0 && passed > 0,
        "{} checks failed, {passed} passed:\n{}",
        o.status,
        o.text()
    );
    println!("# {passed} checks of what programs expect of Linux");
    Ok(o.text())
}

/// Programs in Linux, which work as on any other.
pub(super) fn programs() -> Result<()> {
    let inserts = vec![program("maps")?, program("descriptors")?];
    let o = Guest { inserts, own_time: true, ..Guest::default() }.succeed(PROGRAMS)?;
    ensure!(o.text().ends_with("hh\nthrough\n"), "{}", o.text());
    Ok(())
}

/// Debian's packages of programs that are linked with shared libraries, and of these.
const DYNAMIC: [&str; 7] =
    ["libc6", "dash", "sed", "coreutils", "libselinux1", "libpcre2-8-0", "libacl1"];

/// Debian's own programs, with their dynamic linker and libraries, lie in a slot with all that they
/// have.
fn dynamic() -> Result<()> {
    let tree = packages::binaries(&DYNAMIC)?;
    let mut inserts = Vec::new();
    for path in ["bin/dash", "bin/sed", "bin/ls", "bin/sleep", "usr/bin/sort"] {
        inserts.push(insert(
            &format!("/debian/{}", path.rsplit('/').next().unwrap_or(path)),
            std::fs::read(tree.join(path))?,
        ));
    }
    for folder in ["lib/arm-linux-gnueabi", "usr/lib/arm-linux-gnueabi"] {
        for path in files(tree.join(folder))?.into_iter().filter(|path| path.is_file()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if ["ld-linux", "libc.", "libselinux.", "libpcre2-8.", "libacl."]
                .iter()
                .any(|start| name.starts_with(start))
            {
                inserts.push(insert(&format!("/lib/{name}"), std::fs::read(&path)?));
            }
        }
    }
    let o = Guest { inserts, ..Guest::default() }.succeed(
        "set -e; PATH=/debian:$PATH; dash -c 'ls /debian | sort -r | sed s/^/./'; dash -c 'grep -E \"^(L4Slot|L4Outside)\" /proc/$$/status'; \
         (/debian/sleep 1000 & grep -E '^L4' /proc/$!/status; until grep -q libc.so /proc/$!/maps; do :; done; sed -n 's/-.* / /p' /proc/$!/maps; kill $!)",
    )?;
    let text = o.text();
    ensure!(text.starts_with(".sort\n.sleep\n.sed\n.ls\n.dash\n"), "{text}");
    ensure!(
        text.matches("L4Outside:\t0 kB").count() == 2
            && !text.contains("L4Slot:\t0\n")
            && text.contains(" /lib/libc.so.6"),
        "{text}"
    );
    Ok(())
}

/// More processes than half of the slots of relocation: how many they have, of how many, and how
/// many they are found in.
const SLOTS: &str = "for i in $(seq 40); do sleep 1000 & done; sed -n 's/^relocation *\\([0-9]*\\) of /\\1 /p' /proc/macadamia; \
                     cat /proc/[0-9]*/status | grep L4Slot | sort -u | wc -l; kill $(jobs -p)";

/// Linux beside other components: one that it calls, another Linux, a disk, the network.
fn systems() -> Result<()> {
    linux::gateway()?;
    let two = Guest { system: "systems/two-linuxes.toml", ..Guest::default() };
    let o = two.succeed(&format!("test -e /dev/l4a && uname -m && {SLOTS}"))?;
    let text = o.text();
    let (name, counts) = text.split_once('\n').context("one line")?;
    let counts: Vec<u32> = counts.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // Components that are no Linux have a slot each.
    let [used, all, distinct] = counts[..] else { bail!("{}", o.said()) };
    ensure!(
        name == "armv5tel" && used == all && (20..=31).contains(&all) && distinct <= all,
        "{}",
        o.said()
    );
    let disk = Guest { system: "systems/linux-disk.toml", wire: Wire::USER, ..Guest::default() };
    let o = disk.succeed(
        "head -c 3000000 /bin/busybox > /mnt/here && sync && echo 3 > /proc/sys/vm/drop_caches && cmp -n 3000000 /bin/busybox /mnt/here && \
         until ifconfig eth0 | grep -q addr:10.0.2.15; do usleep 100000; done; echo up",
    )?;
    ensure!(o.text() == "up\n", "{}", o.said());
    Ok(())
}

/// A command under the checker, such as the same programs, or what programs expect of Linux: no
/// line of a cache is stale, none is written back late.
fn linux_checked(command: &str) -> Result<()> {
    let model = boards_checker()?;
    let inserts = vec![program("maps")?, program("descriptors")?, program("abi")?];
    let guest = Guest {
        inserts,
        model: Some(&model),
        timeout: Duration::from_secs(600),
        ..Guest::default()
    };
    let o = guest.succeed(command)?;
    clean(&o.report.context("no report")?)
}

/// The checker with the board's caches: Linux relies on stores that make no lines when they miss,
/// as in all caches of these processors.
fn boards_checker() -> Result<Model> {
    Ok(Model { cpu: Some("arm926".into()), ..checker()? })
}

/// A file on a disk that processes write to where it is mapped shared, under the checker: nobody
/// reads an old line of it.
fn written() -> Result<()> {
    let model = boards_checker()?;
    let inserts = vec![program("written")?];
    let system = "systems/linux-disk.toml";
    let guest = Guest {
        system,
        inserts,
        model: Some(&model),
        timeout: Duration::from_secs(600),
        ..Guest::default()
    };
    let o = guest.succeed("written /mnt/written && written /tmp/written")?;
    ensure!(o.text() == "ok\nok\n", "{}", o.said());
    clean(&o.report.context("no report")?)
}

/// More processes than there are slots, and many more than there are domains, which all run, under
/// the checker.
fn crowd() -> Result<()> {
    let model = boards_checker()?;
    let inserts = vec![program("round")?];
    let guest = Guest {
        inserts,
        model: Some(&model),
        timeout: Duration::from_secs(600),
        ..Guest::default()
    };
    let o = guest.succeed("round 200 3")?;
    ensure!(o.text() == "59700\n", "{}", o.said());
    let report = o.report.context("no report")?;
    let events = report
        .intervals
        .get(&1)
        .context("no rounds")?
        .events
        .map(|part| part.map(|spread| spread.median))
        .total();
    let of_a_switch = |flushes: u64| flushes as f64 / 200.0;
    let (tlb, caches) = (of_a_switch(events.tlb_flushes), of_a_switch(events.cache_flushes));
    println!(
        "# a switch of one of 200 to the next: {tlb:.2} flushes of the TLB, {caches:.2} of the instruction cache"
    );
    ensure!(tlb < 2.0 && caches < 0.1, "what a round of 200 did: {events:?}");
    clean(&report)
}

/// The system with a kernel that has the damage wherever the instruction is, and at how many
/// places.
fn damage(built: Built, Damage { instruction, instead }: Damage) -> Result<(Built, usize)> {
    let mut kernel = std::fs::read(&built.flat.kernel)?;
    let mut places = 0;
    for word in kernel.chunks_exact_mut(4) {
        let found = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let same = if instruction & REGISTER == 0 { OPERATION } else { OPERATION | REGISTER };
        if found & same == instruction && found >> 28 != 15 {
            word.copy_from_slice(&instead.to_le_bytes());
            places += 1;
        }
    }
    ensure!(places > 0, "the kernel has no such code");
    let mut flat = built.flat.clone();
    flat.kernel.set_file_name("damaged.bin");
    std::fs::write(&flat.kernel, kernel)?;
    Ok((Built { flat, ..built }, places))
}

/// The conformance program on a damaged kernel.
fn fault(how: Damage, found: Found) -> Result<()> {
    fault_in(system("conform-fast")?, 30, how, found)
}

/// Disk and network as in [`chaos`], whose servers die some times.
fn few_faults() -> Result<Built> {
    super::system::chaos(4)
}

/// The same for a damaged kernel, whose run ends at the first report. Whether one of the first
/// faults leads to it depends on when the host answers: a line that was not dropped may have been
/// replaced by then.
fn more_faults() -> Result<Built> {
    super::system::chaos(64)
}

/// A system on a damaged kernel, so many seconds at most.
fn fault_in(system: Built, seconds: u64, how: Damage, found: Found) -> Result<()> {
    let (built, places) = damage(system, how)?;
    // What comes after the first one adds nothing.
    let until = if let Found::By(rules) = found { rules.to_vec() } else { Vec::new() };
    let model = Model { until, ..checker()? };
    let machine = Machine::Qemu { cpu: &built.cpu, icount: true, model: Some(&model) };
    let transcript = batch(&built, machine, Duration::from_secs(seconds))?;
    match found {
        Found::By(rules) => {
            let report = transcript.model.context("the damaged system did not end in time")?;
            let is = |rule: &String| rules.iter().any(|known| known.to_string() == *rule);
            let violation = report.violations.iter().find(|violation| is(&violation.rule));
            let violation = violation.with_context(|| {
                format!("not noticed: {places} places are damaged; found: {:?}", report.violations)
            })?;
            println!("# {places} places are damaged: {violation:?}");
        }
        Found::InResults if transcript.is_done() && !transcript.results.contains("not ok") => {
            bail!("not noticed: {places} places are damaged")
        }
        Found::InResults => println!(
            "# {places} places are damaged: {}",
            transcript.results.lines().last().unwrap_or("no results")
        ),
    }
    Ok(())
}
