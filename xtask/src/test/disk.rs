// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of Linux's disk, with each interface that the disk server drives.

use super::tally::{Test, on_board, on_malta, on_pc64, slow, test};
use crate::build::{self, Options, Wire};
use crate::description::Interface;
use crate::emulator;
use crate::guest::batch::TIMED_OUT;
use crate::guest::{self, Guest, program};
use crate::machine::Emulator;
use crate::machine::board;
use crate::process::session::{PROMPT, Session};
use anyhow::{Context, Result, ensure};
use gpt::mbr::ProtectiveMBR;
use gpt::{GptConfig, partition_types};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// All of them.
pub const ALL: &[Test] = &[
    test("linux.disk", disk),
    slow("linux.disk.long", "more kills than `linux.disk`", disk_long),
    test("linux.disk.throughput", throughput),
    test("linux.disk.flush", flush),
    test("linux.disk.restart", restart),
    test("linux.disk.hangs", hangs),
    slow("linux.disk.hangs.ata", "as `linux.disk.hangs`, with the other kind of disk", || {
        hangs_with(Interface::Ata)
    }),
    test("linux.disk.shared", shared),
    test("linux.disk.depth", depth),
    test("linux.disk.absent", absent),
    test("disk.absent", refuses),
    test("disk.late", late),
    test("linux.disk.bochs", on_bochs),
    test("disk.errors", errors),
    slow("versatilepb.linux.disk", "more kills, as `linux.disk.long`", || {
        on_board(|| survives(Interface::Virtio, 20))
    }),
    slow(
        "versatilepb.disk.errors",
        "the same as `disk.errors`; `versatilepb.model.devices` has the board's disk",
        || on_board(errors),
    ),
    test("pc64.disk.errors", || on_pc64(errors)),
    test("malta.disk.errors", || on_malta(errors)),
    test("linux.fsx", fsx),
    slow("linux.fsx.long", "more operations than `linux.fsx`", fsx_long),
];

const SYSTEM: &str = "tests/systems/linux-crash.toml";

/// Its disk's image.
fn image() -> PathBuf {
    image_of("linux-crash")
}

/// The image of the disk of the system of this name.
pub(super) fn image_of(name: &str) -> PathBuf {
    board::chosen().out().join(name).join("disk.img")
}

/// The next run has a new disk.
pub(super) fn forget(image: impl AsRef<Path>) -> Result<()> {
    if image.as_ref().exists() {
        std::fs::remove_file(image)?;
    }
    Ok(())
}

/// What the superblock says, as text.
pub(super) fn superblock(image: impl AsRef<Path>) -> Result<String> {
    let output = Command::new("/sbin/dumpe2fs").arg("-h").arg(image.as_ref()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The file system has no fault.
pub(super) fn check(image: impl AsRef<Path>) -> Result<()> {
    let checked = Command::new("/sbin/e2fsck").args(["-f", "-n"]).arg(image.as_ref()).output()?;
    ensure!(
        checked.status.success(),
        "the disk has faults: {}",
        String::from_utf8_lossy(&checked.stdout)
    );
    Ok(())
}

/// What is written goes to the disk, or else the messages say why not.
const MOUNTED: &str = "grep -q ' /mnt ' /proc/mounts || { dmesg; exit 1; }";

/// Writes what no cache can know, and reads it from the disk again.
pub(super) const ROUND_TRIP: &str = "dd if=/dev/urandom of=/mnt/random bs=64k count=64 2>/dev/null; md5sum /mnt/random > /mnt/sum; sync; \
                          echo 3 > /proc/sys/vm/drop_caches; md5sum -c -s /mnt/sum";

/// The interfaces that the board's disk may have.
fn interfaces() -> Vec<Interface> {
    let medium = board::chosen().device.get("disk").and_then(|device| device.medium.as_ref());
    let has = |interface: &Interface| match interface {
        Interface::Virtio => medium.is_some_and(|medium| medium.virtio.is_some()),
        Interface::Ata => medium.is_some_and(|medium| medium.ata.is_some()),
    };
    [Interface::Virtio, Interface::Ata].into_iter().filter(has).collect()
}

/// What was written is there after `poweroff`, and what was synchronised after the machine was
/// killed.
fn disk() -> Result<()> {
    survives(Interface::Virtio, 6)?;
    survives(Interface::Ata, 2)
}

/// The same with more kills.
pub(super) fn disk_long() -> Result<()> {
    survives(Interface::Virtio, 20)?;
    survives(Interface::Ata, 4)
}

/// Lives that may be added on a busy machine: the last is 32 times as long as others.
const ADDED: u32 = 5;

/// Kills the machine so often under a write load.
pub(super) fn survives(interface: Interface, kills: u32) -> Result<()> {
    forget(image())?;
    let inserts = vec![program("records")?];
    let guest = || Guest {
        system: SYSTEM,
        interface: Some(interface),
        inserts: inserts.clone(),
        ..Guest::default()
    };
    // What the command leaves running does not keep the file system from being unmounted.
    let o = guest().run(&format!(
        "while :; do echo >> /mnt/busy; done & echo kept > /mnt/file; {ROUND_TRIP}"
    ))?;
    ensure!(o.status == 0, "what was written is not what is read: {}", o.said());
    let header = superblock(image())?;
    ensure!(
        header.contains("Filesystem state:") && !header.contains("needs_recovery"),
        "it was not unmounted: {header}"
    );
    let o = guest().run("cat /mnt/file && md5sum -c -s /mnt/sum")?;
    ensure!(o.status == 0 && o.text() == "kept\n", "after poweroff: {}", o.said());
    // Each life checks what the one before left, then writes on; the last one only checks. On a busy
    // machine a guest gets less far in the same time, so lives are added, each twice as long as the
    // one before, until a record is promised.
    let (mut promised, mut checks) = (0, 0);
    for kill in 0.. {
        let last = kill >= kills && promised > 0;
        let added = (kill + 1).saturating_sub(kills);
        ensure!(last || added <= ADDED, "no record is promised in lives of up to a minute");
        // Seeded points of the emulator's own time: from the first writes on, spread by a
        // generator.
        let milliseconds = 800 + u64::from(kill.wrapping_mul(2_654_435_761) >> 21) * 3 / 4;
        let length = Duration::from_millis(milliseconds << added);
        let timeout = if last { guest().timeout } else { length };
        let write = if last { "" } else { "records write /mnt/log" };
        let command = format!(
            "{MOUNTED}; [ ! -e /mnt/log ] || records check /mnt/log || exit; echo writes; {write}"
        );
        let o = Guest { timeout, ..guest() }.run(&command)?;
        let expected = if last { 0 } else { TIMED_OUT };
        ensure!(o.status == expected, "life {kill}: {}", o.said());
        // Killed before it wrote: nothing new.
        let text = o.text();
        let Some((checked, written)) = text.split_once("writes\n") else {
            ensure!(!last, "the last life checks nothing: {}", o.said());
            continue;
        };
        if promised > 0 {
            let found: u32 = checked
                .trim()
                .parse()
                .with_context(|| format!("life {kill}: records are not counted: {}", o.said()))?;
            ensure!(
                found >= promised,
                "life {kill}: {promised} records were promised, {found} are there"
            );
            checks += 1;
        }
        promised = written
            .lines()
            .filter_map(|line| line.parse::<u32>().ok())
            .next_back()
            .map_or(promised, |last| last + 1);
        if last {
            break;
        }
    }
    ensure!(checks > 0, "{promised} records were promised, none of them was counted");
    check(image())?;
    println!("# {interface:?}: {kills} kills, {promised} records, counted {checks} times");
    Ok(())
}

/// Writing and reading 32 MiB by `dd` with the virtio disk and with the ATA disk, in milliseconds
/// of the emulator's own time.
fn throughput() -> Result<()> {
    let [virtio, ata] = [Interface::Virtio, Interface::Ata].map(|interface| -> Result<[u32; 2]> {
        forget(image())?;
        let built = build::plan(
            Path::new(SYSTEM),
            Options { interface: Some(interface), ..Options::default() },
        )?
        .carry_out()?;
        let mut session = emulator::session(&built)?;
        // Of an ATA disk a busy host makes a slow one.
        session.patience = Duration::from_secs(120);
        session.expect(PROMPT)?;
        let mut took = |command: &str| -> Result<u32> {
            let start = session.own_time();
            session.send(format!("{command} && echo do'n'e\r").as_bytes())?;
            session.expect("\ndone\n")?;
            let took = session.own_time() - start;
            session.expect(PROMPT)?;
            Ok(took.as_millis().max(1) as u32)
        };
        let written = took("dd if=/dev/zero of=/mnt/zeros bs=1M count=32 2>/dev/null; sync")?;
        took("echo 3 > /proc/sys/vm/drop_caches")?;
        let read = took("dd if=/mnt/zeros of=/dev/null bs=1M 2>/dev/null")?;
        session.send(b"poweroff\r")?;
        session.end()?;
        Ok([written, read])
    });
    let (virtio, ata) = (virtio?, ata?);
    for (what, virtio, ata) in [("written", virtio[0], ata[0]), ("read", virtio[1], ata[1])] {
        let speed = |time: u32| 32_000 / time;
        println!(
            "# 32 MiB {what}: virtio {} MiB/s, ATA {} MiB/s, ratio {:.1}",
            speed(virtio),
            speed(ata),
            f64::from(ata) / f64::from(virtio)
        );
        ensure!(virtio * 2 < ata, "{what}: virtio took {virtio} ms, ATA {ata} ms");
    }
    Ok(())
}

/// `sync` reaches the device: QEMU counts what it is told to flush.
fn flush() -> Result<()> {
    for interface in [Interface::Virtio, Interface::Ata] {
        let built = build::plan(
            Path::new(SYSTEM),
            Options { interface: Some(interface), ..Options::default() },
        )?
        .carry_out()?;
        let mut session = emulator::session(&built)?;
        session.expect(PROMPT)?;
        let [before, ..] = counts(&mut session)?;
        session.send(b"for i in 1 2 3; do echo $i > /mnt/$i; sync; done; echo re'a'dy\r")?;
        session.expect("ready")?;
        session.expect(PROMPT)?;
        let [after, writes, written] = counts(&mut session)?;
        ensure!(
            after >= before + 3,
            "{interface:?}: after three times `sync` there were {} flushes",
            after - before
        );
        // A machine that stops leaves a block of the file system old or new, never half of each.
        ensure!(
            writes > 0 && written >= writes * BLOCK,
            "{interface:?}: {written} bytes were written in {writes} pieces"
        );
        session.send(b"poweroff\r")?;
        session.end()?;
    }
    Ok(())
}

/// Bytes of the smallest block of a file system, as of its superblock.
const BLOCK: u64 = 1024;

/// What QEMU was told to do with the first disk: flushes, writes, and their bytes.
fn counts(session: &mut Session) -> Result<[u64; 3]> {
    // Ctrl-A c: from the serial line to the monitor and back.
    session.send(b"\x01cinfo blockstats\n")?;
    session.expect(" rd_bytes=")?;
    let line = session.line()?;
    session.send(b"\x01c")?;
    let count = |name: &str| {
        line.split(' ')
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
            .with_context(|| format!("no {name}: {line}"))
    };
    Ok([count("flush_operations")?, count("wr_operations")?, count("wr_bytes")?])
}

/// Bytes of the disk of that test: sectors are numbered by all that 32 bits can.
const FAR: u64 = 2 << 40;
/// The most of its image that is on the host's disk.
const FAR_KEPT: u64 = 256 << 20;
/// Writes the last 64 sectors, which the file system does not use yet, and reads them from the disk
/// again.
const AT_THE_END: &str = "dd if=/dev/urandom of=/tmp/far bs=512 count=64 && umount /mnt && \
                          dd if=/tmp/far of=/dev/l4a bs=512 seek=4294967232 conv=notrunc,fsync && mount /dev/l4a /mnt || exit; \
                          echo 3 > /proc/sys/vm/drop_caches; dd if=/dev/l4a bs=512 skip=4294967232 | cmp - /tmp/far || exit; ";

/// A disk server that ends is started again, and nobody loses anything, up to the end of the
/// largest disk.
pub(super) fn restart() -> Result<()> {
    let image = &image_of("linux-disk-restart");
    for interface in interfaces() {
        forget(image)?;
        let o = Guest { system: "tests/systems/linux-disk-restart.toml", interface: Some(interface), ..Guest::default() }.run(&format!(
            "{AT_THE_END}for i in 1 2 3; do {ROUND_TRIP} || exit; for j in $(seq 50); do echo $i $j > /mnt/file; sync; done; done; dmesg | grep -c 'l4a: error'"
        ))?;
        ensure!(o.text() == "0\n", "{interface:?}: {}", o.said());
        let log = guest::log()?;
        let ends = log.matches("`disk` ended with code 1").count();
        ensure!(ends == 20, "{interface:?}: it ended {ends} times");
        let mut end = [0; 512];
        let file = File::open(image)?;
        file.read_exact_at(&mut end, FAR - 512)?;
        ensure!(end != [0; 512], "{interface:?}: nothing is at the disk's end");
        let kept = file.metadata()?.blocks() * 512;
        ensure!(
            kept <= FAR_KEPT,
            "{interface:?}: the image takes {} MiB of the host's disk",
            kept >> 20
        );
    }
    forget(image)
}

/// How often the disk server has to die, and to hang, at least.
const ENDS: usize = 5;

/// The disk server is killed and hangs at any moment, and is started again: what Linux writes
/// meanwhile it reads again, and no request has failed.
pub(super) fn hangs() -> Result<()> {
    hangs_with(*interfaces().first().context("the board has no disk")?)
}

/// The same with a disk of this kind.
fn hangs_with(interface: Interface) -> Result<()> {
    forget(image_of("linux-disk-hangs"))?;
    let guest = Guest {
        system: "tests/systems/linux-disk-hangs.toml",
        interface: Some(interface),
        wire: Wire::USER,
        ..Guest::default()
    };
    let o = guest.run(&format!(
        "for i in $(seq 3); do {ROUND_TRIP} || exit; done; dmesg | grep -c 'l4a: error'"
    ))?;
    ensure!(o.text() == "0\n", "{interface:?}: {}", o.said());
    let log = guest::log()?;
    for end in ["`disk` died", "`disk` hangs"] {
        let ends = log.matches(end).count();
        println!("# {interface:?}: {end} {ends} times");
        ensure!(ends >= ENDS, "{interface:?}: {end} {ends} times, not {ENDS}");
    }
    Ok(())
}

/// Bytes of the part that a Linux has of a shared disk.
const PART: usize = 4 << 20;

/// A disk of 64 MiB with two partitions of such a size. The bytes of these.
fn partitioned(image: &Path) -> Result<[Range<usize>; 2]> {
    const SECTOR: u64 = 512;
    std::fs::create_dir_all(image.parent().context("a folder")?)?;
    let mut file =
        File::options().read(true).write(true).create(true).truncate(true).open(image)?;
    file.set_len(64 << 20)?;
    ProtectiveMBR::with_lb_size((64 << 20) / SECTOR as u32 - 1).overwrite_lba0(&mut file)?;
    let mut disk = GptConfig::new().writable(true).create_from_device(file, None)?;
    for _ in 0..2 {
        disk.add_partition("part", PART as u64, partition_types::LINUX_FS, 0, None)?;
    }
    let bytes = |number| -> Result<Range<usize>> {
        let part = disk.partitions().get(&number).context("a partition")?;
        Ok((part.first_lba * SECTOR) as usize..((part.last_lba + 1) * SECTOR) as usize)
    };
    let both = [bytes(1)?, bytes(2)?];
    disk.write()?;
    Ok(both)
}

/// Each client of a disk has its part, and what it does elsewhere is refused.
fn shared() -> Result<()> {
    let image = &image_of("linux-disk-shared");
    for interface in [Interface::Virtio, Interface::Ata] {
        let [one, trespass] = partitioned(image)?;
        let two = 32 << 20..(32 << 20) + PART;
        let before = std::fs::read(image)?;
        let run = |component, command: &str| -> Result<()> {
            let system = "tests/systems/linux-disk-shared.toml";
            let o = Guest {
                system,
                component: Some(component),
                interface: Some(interface),
                ..Guest::default()
            }
            .succeed(command)?;
            ensure!(o.text() == format!("0\n{PART}\n"), "{interface:?}: {component}: {}", o.said());
            let log = guest::log()?;
            ensure!(
                log.contains("requests beyond the range were refused"),
                "{interface:?}: nobody trespassed"
            );
            ensure!(
                !log.contains("panicked") && !log.contains("ended with code"),
                "{interface:?}: somebody died"
            );
            Ok(())
        };
        // Bytes that are not its own, and all of them.
        let check = |byte| {
            format!(
                "echo 3 > /proc/sys/vm/drop_caches; tr -d {byte} < /dev/l4a | wc -c; wc -c < /dev/l4a"
            )
        };
        let fill = |byte| {
            format!(
                "tr '\\0' {byte} < /dev/zero | dd of=/dev/l4a bs=64k 2>/dev/null; sync; {}",
                check(byte)
            )
        };
        run("one", &fill('1'))?;
        run("two", &fill('2'))?;
        run("one", &check('1'))?;
        let after = std::fs::read(image)?;
        for (range, byte) in [(&one, b'1'), (&two, b'2')] {
            ensure!(
                after[range.clone()] == *vec![byte; range.len()],
                "{interface:?}: {range:?} is not full of {byte}"
            );
        }
        ensure!(
            after[trespass.end - 512..trespass.end] == *0x0bad_0bad_u32.to_le_bytes().repeat(128),
            "its own sector was not written"
        );
        let mut owned = [&one, &two, &trespass];
        owned.sort_by_key(|range| range.start);
        let starts = std::iter::once(0).chain(owned.iter().map(|range| range.end));
        let ends = owned.iter().map(|range| range.start).chain([before.len()]);
        let mut nobodys = starts.zip(ends).map(|(start, end)| start..end);
        let changed = nobodys.find(|part| before[part.clone()] != after[part.clone()]);
        ensure!(
            changed.is_none(),
            "{interface:?}: of the bytes {changed:?}, which belong to nobody, some were changed"
        );
    }
    Ok(())
}

/// Eight random reads under way at any time, each compared with what the cache has, take half as
/// long as one after the other.
fn depth() -> Result<()> {
    forget(image())?;
    let guest = || {
        Ok::<_, anyhow::Error>(Guest {
            system: SYSTEM,
            inserts: vec![program("reads")?],
            ..Guest::default()
        })
    };
    let o = guest()?.succeed(
        "dd if=/dev/urandom of=/mnt/noise bs=1M count=32 2>/dev/null; sync; for n in 1 8 16; do reads /dev/l4a $n 2000 check || exit; done",
    )?;
    ensure!(o.text().lines().count() == 3, "{}", o.said());
    let o = guest()?
        .succeed("for i in 1 2 3 4 5; do reads /dev/l4a 1 4000; reads /dev/l4a 8 4000; done")?;
    let times: Vec<u32> =
        o.text().lines().map(|line| line.parse().context("microseconds")).collect::<Result<_>>()?;
    let median = |first: usize| {
        let mut of: Vec<u32> = times.iter().skip(first).step_by(2).copied().collect();
        of.sort_unstable();
        of.get(2).copied().context("five times")
    };
    let (one, eight) = (median(0)?, median(1)?);
    println!(
        "# 4,000 random reads of 4 KiB: {one} us one by one, {eight} us with 8 under way, ratio {:.2}",
        f64::from(one) / f64::from(eight)
    );
    ensure!(eight * 2 <= one, "8 under way take {eight} us, one {one} us");
    Ok(())
}

/// Without a disk the server says so, and Linux does without.
fn absent() -> Result<()> {
    let mut built = build::system(Path::new(SYSTEM))?;
    built.disks.clear();
    let mut session = emulator::session(&built)?;
    session.expect("[disk] no ATA disk: nothing is there (port 0x1f0)")?;
    session.expect("l4a: no disk")?;
    session.expect(PROMPT)?;
    session.send(b"poweroff\r")?;
    session.end()
}

const LATE: &str = "tests/systems/disk-late.toml";

/// Without a disk the server sends heartbeats, and says so each time that it is asked.
fn refuses() -> Result<()> {
    let mut built = build::system(Path::new(LATE))?;
    built.disks.clear();
    let mut session = emulator::session_in_own_time(&built)?;
    for _ in 0..6 {
        session.expect("no disk: ")?;
    }
    ensure!(!session.said().contains("`disk` hangs"), "{}", session.transcript);
    Ok(())
}

/// An ATA disk that is slower than the heartbeats is waited for. One that does not answer is given
/// up: what comes afterwards is given to nobody, and the server's next life uses it again.
fn late() -> Result<()> {
    let options = Options { interface: Some(Interface::Ata), ..Options::default() };
    let built = build::plan(Path::new(LATE), options)?.carry_out()?;
    let image = &built.disks.first().context("a disk")?.image;
    forget(image)?;
    let drive = format!("drive.disk.file=blkdebug::{}", image.display());
    let mut arguments = vec!["-set", &drive];
    arguments.extend(emulator::OWN_TIME);
    let mut session = emulator::session_with(&built, &arguments)?;
    // Ctrl-A c: from the serial line to the monitor and back. The next read waits until it is told
    // not to.
    let tell = |session: &mut Session, what: &str| {
        session.send(format!("\x01cqemu-io disk \"{what}\"\n\x01c").as_bytes())
    };
    session.expect_all(&["one] the disk works", "two] the disk works"])?;
    tell(&mut session, "break read_aio late")?;
    session.expect("no answer for long")?;
    tell(&mut session, "resume late")?;
    session.expect("a late answer")?;
    tell(&mut session, "break read_aio lost")?;
    session.expect("refused: TIMED_OUT")?;
    tell(&mut session, "resume lost")?;
    session.expect("the server is ended")?;
    for right in ["one] refused: TIMED_OUT", "two] refused: TIMED_OUT", "it is reset and not used"]
    {
        ensure!(session.transcript.contains(right), "no {right}: {}", session.transcript);
    }
    for wrong in ["`disk` hangs", "panicked", "another error"] {
        ensure!(!session.transcript.contains(wrong), "{wrong}: {}", session.transcript);
    }
    session.expect_all(&["one] the disk works", "two] the disk works"])?;
    ensure!(!session.said().contains("panicked"), "{}", session.transcript);
    Ok(())
}

/// The same system in Bochs, which has ATA only.
fn on_bochs() -> Result<()> {
    forget(image())?;
    Guest { system: SYSTEM, on: Emulator::Bochs, ..Guest::default() }.succeed(ROUND_TRIP)?;
    Ok(())
}

/// Sectors that cannot be read the first time, and as many that cannot be written.
const BAD: u32 = 40;
/// How many of these errors a client has to see at least.
const SEEN: u32 = 20;

/// How many requests the server has to have had in all, at least, when it ended.
const CUT: u32 = 20;

/// The device says that it failed, and the server dies and hangs: a request that failed is told to
/// have, and what was answered is on the disk.
fn errors() -> Result<()> {
    let built = build::plan(Path::new("tests/systems/disk-errors.toml"), Options::default())?
        .carry_out()?;
    let image = &built.disks.first().context("a disk")?.image;
    let folder = image.parent().context("a folder")?;
    forget(image)?;
    // The client's blocks are in the first 2,048 sectors.
    let rule = |(kind, sector): (&str, u32)| {
        format!(
            "[inject-error]\nevent = \"none\"\niotype = \"{kind}\"\nerrno = \"5\"\nonce = \"on\"\nsector = \"{sector}\"\n"
        )
    };
    let rules: String = (0..BAD)
        .flat_map(|number| [("write", number * 50), ("read", number * 50 + 25)])
        .map(rule)
        .collect();
    let file = folder.join("errors");
    std::fs::write(&file, rules)?;
    let drive = format!("drive.disk.file=blkdebug:{}:{}", file.display(), image.display());
    let mut session = emulator::session_with(&built, &["-set", &drive])?;
    let before = session.until(" requests repeated that failed")?;
    let failed = before
        .split_whitespace()
        .next_back()
        .and_then(|count| count.parse::<u32>().ok())
        .context("no count")?;
    println!("# {}", before.lines().last().unwrap_or_default());
    ensure!(failed >= SEEN, "{failed} requests failed, not {SEEN}");
    let cut = session.until(" that had no answer")?;
    let cut: u32 = cut.trim_start_matches(", ").parse().context("no count")?;
    println!("# the server ended with {cut} of them");
    ensure!(cut >= CUT, "the server ended with {cut} requests, not {CUT}");
    ensure!(before.contains(" 0 wrong"), "{before}");
    session.expect("40 faults")?;
    session.end()
}

/// Random operations on a file of the disk agree with a model in memory; then the file system is
/// checked.
fn verified(seeds: std::ops::Range<u32>, operations: u32, timeout: Duration) -> Result<()> {
    forget(image())?;
    let inserts = vec![program("fsx")?];
    let guest = Guest { system: SYSTEM, inserts, timeout, ..Guest::default() };
    // Two files at a time, so that requests of one come between those of the other.
    let seeds: String = seeds.map(|seed| format!("{seed} ")).collect();
    let command = format!(
        "for seed in {seeds}; do fsx /mnt/first $seed {operations} & fsx /mnt/second $((seed + 1000)) {operations} || exit 1; wait $! || exit 1; done"
    );
    let start = Instant::now();
    let o = guest.succeed(&command)?;
    check(image())?;
    o.text().lines().for_each(|line| println!("# {line}"));
    println!("# in {:.1} s", start.elapsed().as_secs_f32());
    Ok(())
}

fn fsx() -> Result<()> {
    verified(1..2, 3_000, Duration::from_secs(60))
}

fn fsx_long() -> Result<()> {
    verified(2..7, 8_000, Duration::from_secs(1200))
}
