// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the firmware in QEMU's clipper, whose memory is a file.

use crate::code::{BOOT, CODE, Code, KSEG, MAILBOX, RIGHT, SLOW, USER};
use crate::system::{CLIENT_DELIVERY, CLIENT_TAG, Place, SERVER_DELIVERY, SERVER_TAG, System};
use anyhow::{Context as _, Result, bail, ensure};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes of RAM.
pub const RAM: u64 = 32 << 20;
/// Bytes of a page.
const PAGE: u32 = abi::PAGE_SIZE as u32;
/// Physical addresses of translation tables, three for each space, and of the pages of data.
const TABLES: u32 = BOOT + PAGE;
const DATA: u32 = TABLES + 6 * PAGE;
/// Addresses in user mode: of the client's code, the server's, and either one's data.
const AT: [u64; 2] = [9 * PAGE as u64, 10 * PAGE as u64];
const DATA_AT: u64 = 16 * PAGE as u64;
/// Where in its page each has its stack pointer: at different offsets, so that a stack pointer that
/// is not switched is found.
const STACKS: [u64; 2] = [0, 4096];
/// The first number of the series that both know.
const SEED: u64 = 0x0123_4567_89ab_cdef;
/// Seconds after which a run counts as hung.
const TIMEOUT: &str = "120";

/// Entries of tables: valid, of both modes, and for pages of data writable, too.
const TABLE: u64 = 0x1101;
const READ: u64 = 0x0301;
const WRITE: u64 = 0x3301;

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// Why: see `code`.
    pub why: u64,
    /// The user's registers.
    registers: [u64; 31],
    /// PALmode's registers: those of `ipc.S` in its order, and both tags.
    pub processor: [u64; 7],
    /// The address at which it ended.
    at: u64,
    /// The kernel's memory.
    pub pool: Vec<u8>,
}

impl Ended {
    /// Checks that everything was right.
    ///
    /// # Errors
    /// Says what was not.
    pub fn is_right(&self) -> Result<()> {
        let Self { why, registers, at, .. } = self;
        match (*why, registers[16]) {
            (USER, RIGHT) => Ok(()),
            (USER, number) => {
                bail!("a thread found a wrong value in register {number}, before {at:#x}")
            }
            (SLOW, _) => bail!("the fast path gave up, after {at:#x}"),
            _ => bail!("an exception at {at:#x}: {why:#x}"),
        }
    }
}

/// The addresses of the two, by the firmware's symbols.
///
/// # Errors
/// If there is no such symbol.
pub fn system(code: &Code) -> Result<System> {
    let place = |index: usize, goes_on: &str| -> Result<Place> {
        let offset = code.symbol(goes_on)? - KSEG - u64::from(CODE[index]);
        Ok(Place { entry: AT[index], goes_on: AT[index] + offset, sp: DATA_AT + STACKS[index] })
    };
    let places = [place(0, "client_goes_on")?, place(1, "server_goes_on")?];
    System::new(places, [TABLES, TABLES + 3 * PAGE])
}

/// Whose code is at an address of user mode: 0 is the client, 1 the server.
#[must_use]
pub fn side(at: u64) -> Option<usize> {
    AT.iter().position(|start| (*start..start + u64::from(PAGE)).contains(&at))
}

/// The physical address of what the client or the server has at an address.
///
/// # Errors
/// If it has nothing there.
pub fn physical(at: u64, of: usize) -> Result<u64> {
    let page = u64::from(PAGE);
    let first = match at / page * page {
        DATA_AT => DATA + of as u32 * PAGE,
        start if start == AT[of] => CODE[of],
        _ => bail!("thread {of} has nothing at {at:#x}"),
    };
    Ok(u64::from(first) + at % page)
}

/// Runs this many round trips, with or without a log.
///
/// # Errors
/// If QEMU cannot be run, or ends otherwise than the firmware does.
pub fn run(
    code: &Code,
    system: &mut System,
    rounds: u64,
    folder: &Path,
    log: Option<&Path>,
) -> Result<Ended> {
    let path = folder.join("ram");
    let ram = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    ram.set_len(RAM)?;
    let write = |at: u32, word: u64| ram.write_all_at(&word.to_le_bytes(), at.into());
    ram.write_all_at(system.pool(), pool::BASE.into())?;
    for (at, word) in (BOOT..).step_by(8).zip(system.processor()) {
        write(at, word)?;
    }
    for (index, first, [tag, delivery]) in [
        (0, TABLES, [CLIENT_TAG, CLIENT_DELIVERY]),
        (1, TABLES + 3 * PAGE, [SERVER_TAG, SERVER_DELIVERY]),
    ] {
        let entry = |page: u32, rights: u64| u64::from(page / PAGE) << 32 | rights;
        let last = first + 2 * PAGE;
        write(first, entry(first + PAGE, TABLE))?;
        write(first + PAGE, entry(last, TABLE))?;
        let of = |address: u64| last + 8 * (address / u64::from(PAGE)) as u32;
        write(of(AT[index as usize]), entry(CODE[index as usize], READ))?;
        let data = DATA + index * PAGE;
        write(of(DATA_AT), entry(data, WRITE))?;
        let stack = data + STACKS[index as usize] as u32;
        for (at, word) in (stack..).step_by(8).zip([SEED, rounds, tag.into(), delivery.into()]) {
            write(at, word)?;
        }
    }
    emulate(&code.path, &path, log)?;
    let read = |at: u32| {
        let mut word = [0; 8];
        ram.read_exact_at(&mut word, at.into()).map(|()| u64::from_le_bytes(word))
    };
    let mut ended = Ended {
        why: read(MAILBOX)?,
        registers: [0; 31],
        processor: [0; 7],
        at: read(MAILBOX + 336)?,
        pool: vec![0; system.pool().len()],
    };
    for (index, register) in (1..).zip(&mut ended.registers) {
        *register = read(MAILBOX + 8 * index)?;
    }
    for (at, register) in [0, 1, 2, 3, 4, 8, 9].into_iter().zip(&mut ended.processor) {
        *register = read(MAILBOX + 256 + 8 * at)?;
    }
    ram.read_exact_at(&mut ended.pool, pool::BASE.into())?;
    Ok(ended)
}

/// Runs a firmware in QEMU's clipper, whose RAM is a file of [`RAM`] bytes, until it switches the
/// machine off. A log has every instruction, with the registers before it.
///
/// # Errors
/// If QEMU cannot be run, or ends otherwise.
pub fn emulate(firmware: &Path, ram: &Path, log: Option<&Path>) -> Result<()> {
    let memory =
        format!("memory-backend-file,id=ram,size={RAM},share=on,mem-path={}", ram.display());
    let mut qemu = Command::new("timeout");
    // In the foreground it gets what ends this process, by Ctrl-C, too.
    qemu.args([
        "--foreground",
        TIMEOUT,
        "qemu-system-alpha",
        "-machine",
        "clipper,memory-backend=ram",
    ])
    .args(["-m", &format!("{}", RAM >> 20), "-object", &memory, "-bios"])
    .arg(firmware)
    .args([
        "-display",
        "none",
        "-monitor",
        "none",
        "-serial",
        "none",
        "-nic",
        "none",
        "-no-reboot",
    ]);
    if let Some(log) = log {
        qemu.args(["-accel", "tcg,one-insn-per-tb=on", "-d", "exec,cpu,nochain", "-D"]).arg(log);
    }
    let output = qemu.stdin(Stdio::null()).output().context("cannot run timeout")?;
    ensure!(
        output.status.success(),
        "qemu-system-alpha, of qemu-system-misc, ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
