// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the PC with 64-bit words: systems that no other test runs there, machines with little
//! and with much RAM, and Linux.

use super::tally::{Test, on_pc64, slow, test};
use super::{arm, clients, debian, desktop, dialogue, disk, linux, net, server};
use crate::build::{self, Built, Options};
use crate::description::Interface;
use crate::emulator::{self, Machine, batch};
use crate::guest::{self, Guest, insert, program};
use crate::machine::Emulator;
use crate::machine::board;
use crate::machine::spaces::{self, Spaces};
use crate::machine::words;
use crate::process::session::Session;
use abi::boot::{HEADER_BYTES, Header, header_crc};
use anyhow::{Context, Result, ensure};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};
use object::{Object, ObjectSection, ObjectSymbol};
use std::path::Path;
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    test("pc64.systems", || on_pc64(|| each(&SYSTEMS))),
    test("pc64.memory.small", || on_pc64(|| memory("small", 40, false))),
    test("pc64.memory.3g", || on_pc64(|| memory("3g", 2224, false))),
    test("pc64.memory.5g", || on_pc64(|| memory("5g", 3648, true))),
    test("pc64.memory.16g", || on_pc64(|| memory("16g", 11 << 10, true))),
    test("pc64.memory.disk", || on_pc64(disk_above)),
    test("pc64.boot.cdrom", || on_pc64(|| boot(&CDROM))),
    test("pc64.boot.disk", || on_pc64(|| boot(&DISK))),
    test("pc64.boot.uefi", || on_pc64(|| boot(&[&DISK[..], &UEFI[..]].concat()))),
    test("pc64.boot.uefi.q35", || on_pc64(network)),
    test("pc64.boot.off", || on_pc64(|| off_by_tables(&CDROM))),
    test("pc64.boot.uefi.off", || on_pc64(|| off_by_tables(&[&DISK[..], &UEFI, &Q35].concat()))),
    test("pc64.boot.q35", || on_pc64(|| works_on(&Q35))),
    test("pc64.boot.no-legacy", || on_pc64(|| works_on(&NO_LEGACY))),
    test("pc64.boot.microvm", || on_pc64(microvm)),
    test("pc64.boot.x2apic", || on_pc64(by_msrs)),
    test("pc64.boot.words", || on_pc64(long_line)),
    test("pc64.timer", || on_pc64(timers)),
    test("pc64.nmi", || on_pc64(nmi)),
    test("pc64.nmi.area", || on_pc64(|| nmi_in_area(16))),
    slow("pc64.nmi.each", "a machine for each instruction", || on_pc64(|| nmi_in_area(1))),
    test("pc64.linux.abi", || on_pc64(arm::abi)),
    slow("pc64.linux.abi.max", "`pc64.linux.abi` on a processor with AVX", || on_pc64(avx)),
    test("pc64.linux.ring1", || on_pc64(ring1)),
    slow("pc64.linux.bochs", "Bochs takes a minute to Linux's shell", || on_pc64(avx_512)),
    test("pc64.linux.i386", || on_pc64(i386)),
    slow("pc64.linux.batch", "`linux.batch` is the PC's", || on_pc64(linux::batch)),
    slow("pc64.linux.programs", "`pc64.linux.abi` is a boot, too", || on_pc64(arm::programs)),
    slow("pc64.linux.gateway", "`linux.gateway` is the PC's", || on_pc64(linux::gateway)),
    slow("pc64.linux.net", "`linux.net` is the PC's", || on_pc64(|| net::transfers(net::guest()))),
    slow("pc64.linux.disk", "`linux.disk` is the PC's", || {
        on_pc64(|| disk::survives(Interface::Virtio, 2))
    }),
    slow("pc64.linux.faults", "`linux.faults` is the PC's", || on_pc64(server::faults)),
    slow("pc64.linux.attack", "`linux.attack` is the PC's", || on_pc64(dialogue::attack)),
    slow("pc64.linux.memory", "`linux.memory` is the PC's", || on_pc64(linux::memory)),
    slow("pc64.linux.two", "`linux.two` is the PC's", || {
        on_pc64(|| dialogue::two_beside(Interface::Virtio))
    }),
    slow("pc64.linux.large", "gigabytes are written", || on_pc64(server::most_ram)),
    slow("pc64.linux.walk", "`linux.walk` is the PC's", || on_pc64(server::walk)),
    slow("pc64.linux.screen", "it builds the full Linux", || on_pc64(desktop::console)),
    slow("pc64.linux.debian", "it installs Debian", || on_pc64(debian::debian)),
    slow("pc64.linux.debian.batch", "it installs Debian", || on_pc64(debian::batch)),
    slow("pc64.linux.debian.bombs", "it installs Debian", || on_pc64(debian::bombs)),
    slow("pc64.linux.debian.full", "it installs Debian", || on_pc64(debian::full)),
    slow("pc64.linux.debian.net", "it installs Debian", || on_pc64(clients::debian)),
];

/// Where RAM is that 32 bits do not reach.
const HIGH: u64 = 1 << 32;

/// Systems, and what each says last.
const SYSTEMS: [(&str, &str); 3] = [
    ("hello", "[hello] Hello from hello"),
    ("pingpong-group", "[ping] across spaces: "),
    ("tutorial", "[client] sent 5, the sum is "),
];

/// What programs expect of Linux where there is AVX.
fn avx() -> Result<()> {
    let said = arm::abi_on(Some("max"))?;
    ensure!(!said.contains("# no avx\n"), "there was no AVX to look at:\n{said}");
    Ok(())
}

/// What programs expect of Linux's registers where there is AVX-512, which QEMU does not have.
fn avx_512() -> Result<()> {
    let checks = "registers exceptions thread_pointer base_of_gs fpu_signals fpu_fork fpu_exec avx avx_frames avx512 debugging debuggers_gs register_sets";
    let command = format!("for check in {checks}; do abi $check || exit 1; done");
    let o = Guest {
        on: Emulator::Bochs,
        inserts: vec![program("abi")?],
        timeout: Duration::from_secs(120),
        ..Guest::default()
    }
    .succeed(&command)?;
    ensure!(!o.text().contains("# no avx"), "there was no AVX-512 to look at:\n{}", o.text());
    Ok(())
}

/// What programs expect of a Linux at ring 1, in the spaces of its processes, without and with SMEP
/// and SMAP.
fn ring1() -> Result<()> {
    for cpu in [None, Some("max")] {
        spaces::with(Spaces::Force, || arm::abi_on(cpu))?;
        let log = guest::log()?;
        ensure!(log.contains("linux: ring 1, window "), "Linux was not at ring 1: {log}");
    }
    Ok(())
}

/// A program for i386, which exits with 7: its heads, and `mov $1, %eax; mov $7, %ebx; int $0x80`.
fn seven() -> Vec<u8> {
    const PLACE: u32 = 0x0804_8000;
    const HEADS: u32 = 52 + 32;
    const CODE: &[u8] = b"\xb8\x01\0\0\0\xbb\x07\0\0\0\xcd\x80";
    let bytes = HEADS + CODE.len() as u32;
    let halves = |halves: &[u16]| halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let parts: [Vec<u8>; 6] = [
        b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".into(),
        // It is executed, by this processor.
        halves(&[2, 3]),
        words(&[1, PLACE + HEADS, 52, 0, 0]),
        halves(&[52, 32, 1, 0, 0, 0]),
        // All of it is loaded, to be read and executed.
        words(&[1, 0, PLACE, PLACE, bytes, bytes, 5, 4096]),
        CODE.into(),
    ];
    parts.concat()
}

/// A program for i386 is refused, and Linux says why.
fn i386() -> Result<()> {
    let guest = Guest { inserts: vec![insert("/bin/seven", seven())], ..Guest::default() };
    let o = guest.run("seven; [ $? = 7 ] && echo it ran; dmesg | grep -o '/bin/seven is .*'")?;
    let refused = "/bin/seven is a program for i386: this Linux runs programs for amd64 only\n";
    ensure!(o.status == 0 && o.text() == refused, "{}", o.said());
    Ok(())
}

/// Each of these says its line on the board that was chosen, and the machine ends.
pub(super) fn each(systems: &[(&str, &str)]) -> Result<()> {
    for (name, line) in systems {
        let built = build::system(&Path::new("systems").join(name).with_extension("toml"))?;
        let mut session = emulator::session(&built)?;
        session.expect(line)?;
        session.end()?;
    }
    Ok(())
}

/// A component of `tests/ram/NAME.toml` finds so many MiB of RAM that keep what is written there,
/// and memory for devices is at this physical address or above. So it is on each CPU model.
fn memory(name: &str, mib: u32, is_high: bool) -> Result<()> {
    let board = board::chosen();
    for cpu in &board.qemu.tested {
        let file = format!("tests/ram/{name}.toml");
        let options = Options { cpu: Some(cpu), ..Options::default() };
        let built = build::plan(Path::new(&file), options)?.carry_out()?;
        let mut session = emulator::session(&built)?;
        session.expect("[ram] far is at 0x")?;
        let far = session.until("\n")?;
        let far = u64::from_str_radix(far.trim(), 16).with_context(|| format!("`{far}`"))?;
        let where_to = if is_high { "at or above" } else { "below" };
        ensure!(
            (far >= HIGH) == is_high,
            "memory for devices is at {far:#x}, not {where_to} {HIGH:#x}"
        );
        session.expect(&format!("[ram] {mib} MiB keep what is written there"))?;
        session.end()?;
    }
    Ok(())
}

/// A disk reads and writes memory above 4 GiB.
fn disk_above() -> Result<()> {
    let options = Options { memory: Some(16 << 10), ..Options::default() };
    let built = build::plan(Path::new("tests/systems/disk-late.toml"), options)?.carry_out()?;
    let mut session = emulator::session(&built)?;
    session.expect_all(&["[one] the disk works", "[two] the disk works"])
}

/// A drive with the ISO image, which is an image of a disk, too; and Debian's UEFI.
const CDROM: [&str; 2] = ["-cdrom", "{iso}"];
const DISK: [&str; 2] = ["-drive", "file={iso},format=raw,if=ide,snapshot=on"];
const UEFI: [&str; 2] = ["-bios", "/usr/share/ovmf/OVMF.fd"];

/// GRUB starts a system from its ISO image: its components run, and the machine ends.
fn boot(arguments: &[&str]) -> Result<()> {
    let built = build::system(Path::new("systems/tutorial.toml"))?;
    let mut session = emulator::session_of_firmware(&built, arguments)?;
    session.expect("[client] sent 5, the sum is ")?;
    session.end()
}

/// A chip set that QEMU has, and that is not the board's.
const Q35: [&str; 2] = ["-M", "q35"];

/// It has neither the PC's interrupt controllers nor its timer.
const NO_LEGACY: [&str; 2] = ["-M", "q35,pic=off,pit=off"];
/// QEMU's smallest machine, without all that it need not have: no PCI, one serial line. Its other
/// firmware has its tables where QEMU puts the boot image.
const MICROVM: [&str; 4] = ["-M", "microvm,pic=off,pit=off,rtc=off", "-bios", "qboot.rom"];

/// Components run, a disk works, and the machine ends, on such a machine.
fn works_on(machine: &[&str]) -> Result<()> {
    let built = build::plan(Path::new("tests/systems/disk-late.toml"), Options::default())?;
    let mut session = emulator::session_with(&built.carry_out()?, machine)?;
    session.expect_all(&["[one] the disk works", "[two] the disk works"])?;
    let built = build::system(Path::new("systems/tutorial.toml"))?;
    let mut session = emulator::session_with(&built, machine)?;
    session.expect("[client] sent 5, the sum is ")?;
    session.end()
}

/// Components wait for ticks and for input there, and the machine ends as its firmware's tables say.
fn microvm() -> Result<()> {
    let built = build::system(Path::new("systems/echo.toml"))?;
    let mut session = emulator::session_with(&built, &MICROVM)?;
    session.expect("[first] > ")?;
    session.send(b"a line\r")?;
    session.expect("\n[first] a line")?;
    session.send(b"\r\x143\r")?;
    session.end()
}

/// Identities of the chip sets that the root server knows how to turn off.
const CHIPS: [u32; 2] = [0x7113_8086, 0x2918_8086];

/// The system with a root server that does not know them.
fn without_chips(built: Built) -> Result<Built> {
    let mut bytes = std::fs::read(&built.image)?;
    let head = bytes.first_chunk().context("the boot image is no image")?;
    let mut header = Header::from_bytes(*head);
    let root = header.root_offset as usize..(header.root_offset + header.root_bytes) as usize;
    for chip in CHIPS.map(u32::to_le_bytes) {
        let code = &bytes[root.clone()];
        let places: Vec<usize> =
            (0..code.len()).filter(|at| code[*at..].starts_with(&chip)).collect();
        ensure!(!places.is_empty(), "the root server does not know {chip:02x?}");
        for place in places {
            bytes[root.start + place..][..chip.len()].fill(0);
        }
    }
    header.crc = crc32fast::hash(&bytes[HEADER_BYTES as usize..header.total as usize]);
    header.header_crc = header_crc(&header);
    bytes[..HEADER_BYTES as usize].copy_from_slice(&header.to_bytes());
    let image = built.image.with_file_name("without-chips.bin");
    std::fs::write(&image, bytes)?;
    Ok(Built { image, ..built })
}

/// A machine that GRUB starts ends as its firmware's tables say, if the root server does not know its
/// chip set: with a BIOS these tables are above RAM, with UEFI between RAM and RAM.
fn off_by_tables(arguments: &[&str]) -> Result<()> {
    let built = without_chips(build::system(Path::new("systems/tutorial.toml"))?)?;
    let mut session = emulator::session_of_firmware(&built, arguments)?;
    session.expect("[client] sent 5, the sum is ")?;
    session.end()
}

/// The place of a label in the kernel's file.
fn label(built: &Built, name: &str) -> Result<u64> {
    let data = std::fs::read(&built.kernel)?;
    let file = object::File::parse(&*data)?;
    let found = file.symbols().find(|symbol| symbol.name() == Ok(name));
    found.map(|symbol| symbol.address()).with_context(|| format!("there is no `{name}`"))
}

/// The register that says how the local APIC is reached, and its value if that is by MSRs: it is that
/// of the first processor, and where it was.
const APIC_BASE: u32 = 0x1b;
const BY_MSRS: u64 = 0xfee0_0000 | 1 << 11 | 1 << 10 | 1 << 8;

/// The kernel starts where firmware has chosen that the local APIC is reached by MSRs, and uses its
/// timer: with the PC's interrupt controllers, and without.
fn by_msrs() -> Result<()> {
    for machine in [&Q35[..], &NO_LEGACY] {
        let options = Options { cpu: Some("max"), ..Options::default() };
        let built = build::plan(Path::new("systems/echo.toml"), options)?.carry_out()?;
        let (mut session, mut debugger) = emulator::session_with_debugger(&built, machine)?;
        debugger.run_to(label(&built, "enter_pvh")?)?;
        debugger.write_msr(APIC_BASE, BY_MSRS)?;
        debugger.run()?;
        session.expect("[first] > ")?;
        session.send(b"a line\r")?;
        session.expect("\n[first] a line")?;
        has_timer(&mut session, "(vec 32)")?;
    }
    Ok(())
}

/// Words of the kernel's command line count wherever they are, whichever loader gives it.
fn long_line() -> Result<()> {
    const REFUSED: &str =
        "the kernel's command line is wrong: smallspaces= takes auto, force or no";
    let line = format!("{} smallspaces=some", "nothing ".repeat(100));
    let built = build::system(Path::new("systems/tutorial.toml"))?;
    words::with(&line, || emulator::session(&built))?.expect(REFUSED)?;
    words::with(&line, || emulator::session_of_firmware(&built, &CDROM))?.expect(REFUSED)?;
    // The processor decides, and the kernel says why. A hypervisor may keep its name to itself.
    for (cpu, why) in [
        ("max", "QEMU lets ring 1 become ring 0"),
        ("Skylake-Client,-hypervisor", "this processor may have Meltdown"),
    ] {
        let other = Built { cpu: cpu.into(), ..built.clone() };
        let mut session = spaces::with(Spaces::Ring1, || emulator::session(&other))?;
        session.expect(&format!("no servers at ring 1: {why}"))?;
        session.expect("[client] sent 5, the sum is ")?;
    }
    Ok(())
}

/// CPU models with and without a local APIC, and what QEMU's monitor says of its timer.
const TIMERS: [(&str, &str); 3] = [
    ("qemu64", "(vec 32)"),
    ("max", "(vec 32)"),
    ("qemu64,-apic", "local apic state not available"),
];

/// The code segment of a server, as QEMU shows it, and how often it is looked for.
const RING_1: &str = "0041";
const LOOKS: u32 = 10_000;

/// An NMI ends the machine also while a server runs at ring 1, by tables that have nothing of the
/// kernel but the entry area.
fn nmi() -> Result<()> {
    let built = build::system(Path::new("tests/systems/spin.toml"))?;
    let mut session = spaces::with(Spaces::Force, || emulator::session(&built))?;
    session.expect("[conform] spins")?;
    session.send(b"\x01c")?;
    session.expect("(qemu)")?;
    // The console may still be printing.
    let mut looks = 0;
    loop {
        // It stands still, so that the NMI strikes where it was seen.
        session.send(b"stop\ninfo registers\n")?;
        session.expect("CS =")?;
        if session.until("\n")?.starts_with(RING_1) {
            break;
        }
        looks += 1;
        ensure!(looks < LOOKS, "the server does not run");
        session.send(b"cont\n")?;
    }
    session.send(b"nmi\ncont\n")?;
    session.expect("KERNEL PANIC: the machine reports an error (vector 2)")?;
    session.expect("  cs     00000041")?;
    session.expect("backtrace:")?;
    session.end()
}

/// The entry area's code as a server and its alien execute it: from a label up to another one, and of
/// the timer's entry so many bytes.
const WAYS: [(&str, &str); 2] =
    [("area_text", "area_server_call"), ("area_server_call", "area_debug")];
const VECTORS: &str = "area_vectors";
const TIMER: u64 = 32 * 16;
const STUB: u64 = 16;

/// Where each of their instructions is when it is executed.
fn area_code(built: &Built) -> Result<Vec<u64>> {
    let data = std::fs::read(&built.kernel)?;
    let file = object::File::parse(&*data)?;
    let start = label(built, WAYS[0].0)?;
    let timer = label(built, VECTORS)? + TIMER;
    let mut all = Vec::new();
    for (from, to) in [
        (start, label(built, WAYS[0].1)?),
        (label(built, WAYS[1].0)?, label(built, WAYS[1].1)?),
        (timer, timer + STUB),
    ] {
        let mut sections = file.sections();
        let code = sections.find_map(|section| section.data_range(from, to - from).ok().flatten());
        let code = code.context("the entry area's code is not in the kernel's file")?;
        let decoder =
            Decoder::with_ip(64, code, from - start + mmu::area::BASE, DecoderOptions::NONE);
        // Between two labels nothing is executed.
        let is_executed =
            |found: &Instruction| !matches!(found.mnemonic(), Mnemonic::Nop | Mnemonic::INVALID);
        all.extend(decoder.into_iter().filter(is_executed).map(|found| found.ip()));
    }
    Ok(all)
}

/// An NMI that strikes right before an instruction of the entry area's code ends the machine, and
/// the kernel says where it was: so it is before each instruction, or before the first of so many.
fn nmi_in_area(each: usize) -> Result<()> {
    let built = build::system(Path::new("tests/systems/cross.toml"))?;
    let code = area_code(&built)?;
    ensure!(code.len() > 100, "it has {} instructions", code.len());
    for at in code.iter().step_by(each) {
        nmi_at(&built, *at).with_context(|| format!("an NMI at {at:#x}"))?;
    }
    println!("# {} of {} instructions", code.len().div_ceil(each), code.len());
    Ok(())
}

/// It strikes there.
fn nmi_at(built: &Built, at: u64) -> Result<()> {
    let start = || emulator::session_with_debugger(built, &[]);
    let (mut session, mut debugger) = spaces::with(Spaces::Force, start)?;
    debugger.run()?;
    session.expect("[conform] crosses")?;
    debugger.stop()?;
    debugger.run_to(at)?;
    debugger.monitor("nmi")?;
    debugger.run()?;
    session.expect("KERNEL PANIC: the machine reports an error (vector 2)")?;
    session.expect(&format!("  rip    {at:08x}\n  cs     00000008\n"))?;
    session.expect("backtrace:")?;
    session.end()
}

/// The card of a machine that firmware starts.
const CARD: [&str; 4] = [
    "-netdev",
    "user,id=net",
    "-device",
    "virtio-net-pci,netdev=net,addr=6,disable-legacy=on,romfile=",
];

/// UEFI has put a card's registers above 4 GiB though there is no RAM, and the card works.
fn network() -> Result<()> {
    let built = build::system(Path::new("systems/tutorial-net.toml"))?;
    let arguments = [&DISK[..], &UEFI, &Q35, &CARD].concat();
    let mut session = emulator::session_of_firmware(&built, &arguments)?;
    session.expect("[root] PCI device 6: registers at 0x")?;
    let before = session.until(" are at 0x")?;
    ensure!(u64::from_str_radix(&before, 16)? >= HIGH, "the card had its registers at {before}");
    // By DHCP.
    session.expect("[ip] 10.0.2.15/24")
}

/// The timer of the local APIC is used where there is one, and otherwise the board's: components
/// that are to be started again after a while are.
fn timers() -> Result<()> {
    for (cpu, says) in TIMERS {
        let options = Options { cpu: Some(cpu), ..Options::default() };
        let built = build::plan(Path::new("systems/crash.toml"), options)?.carry_out()?;
        let machine = Machine::Qemu { cpu, icount: true, model: None };
        let transcript = batch(&built, machine, Duration::from_secs(60))?;
        ensure!(transcript.is_done(), "with `{cpu}`: {}", transcript.console);
        let built = build::plan(Path::new("systems/echo.toml"), options)?.carry_out()?;
        let mut session = emulator::session(&built)?;
        session.expect("[first] > ")?;
        has_timer(&mut session, says)?;
    }
    Ok(())
}

/// QEMU's monitor says this of the local APIC's timer, at the end if it is a vector.
fn has_timer(session: &mut Session, says: &str) -> Result<()> {
    session.send(b"\x01c")?;
    session.expect("(qemu)")?;
    session.send(b"info lapic\n")?;
    if !says.starts_with('(') {
        return session.expect(says);
    }
    session.expect("LVTT\t")?;
    let timer = session.until("\n")?;
    ensure!(timer.contains("one-shot") && timer.trim_end().ends_with(says), "`{timer}`");
    Ok(())
}
