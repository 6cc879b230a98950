// SPDX-License-Identifier: MIT OR Apache-2.0
//! Assembles the code. Everything that it knows of Rust is here.
//!
//! | file | room for |
//! |---|---|
//! | `ipc.S` | the fast path |
//! | `machine.S` | the firmware around it |
//! | `user.S` | client and server |
//!
//! A name in braces in these files is a constant of the list below. A name that is not in the list
//! is refused, and so is one in the list that no file uses.

use crate::system;
use abi::tag::REGISTER_WORDS;
use abi::{Delivery, MessageKind, Op, Rights, Tag};
use alpha_context::{hw, word};
use anyhow::{Context as _, Result, bail, ensure};
use core::mem::offset_of;
use kcore::port::CONTEXT_WORDS;
use kcore::space::HEADER_BYTES;
use kcore::thread::{ANCHOR, BYTES, SEQUENCE, gate};
use kcore::{Slot, Space, Thread};
use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the kernel has physical addresses: QEMU loads firmware there.
pub const KSEG: u64 = 0xffff_fc00_0000_0000;
/// Physical addresses of the client's code and the server's, a page each.
pub const CODE: [u32; 2] = [0x4000, 0x6000];
/// What the firmware reads: the registers of PALmode.
pub const BOOT: u32 = 0x0100_0000;
/// What the firmware writes at the end.
pub const MAILBOX: u32 = BOOT + 64;

/// Why it ends: the fast path gave up.
pub const SLOW: u64 = 1;
/// Why it ends: a thread asked for it.
pub const USER: u64 = 2;
/// Why it ends: an exception, to which its number is added.
pub const EXCEPTION: u64 = 0x1000;
/// What a thread reports if everything is right; otherwise it reports the register that was wrong.
pub const RIGHT: u64 = 64;

/// CALL_PAL of system calls: the last one, so no other entry point follows its code.
pub const CALL_PAL: u32 = 0xbf;
/// CALL_PAL that ends the machine.
const CALL_PAL_END: u32 = 0xbe;
/// Where PALmode is entered by a CALL_PAL of user mode.
const fn entry(number: u32) -> u32 {
    0x2000 + 64 * (number - 0x80)
}

/// The machine for which the code is assembled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum For {
    /// QEMU's clipper.
    Qemu,
    /// The processor of the paper.
    Alpha21164,
}

/// The offset of a saved register from a reference to its thread. It is negative.
const fn saved(word: usize) -> i64 {
    (word as i64 - CONTEXT_WORDS as i64) * 8
}

/// The offset of a Thread's field from a reference to the Thread.
macro_rules! field {
    ($name:ident) => {
        offset_of!(Thread, $name) as i64 - ANCHOR as i64
    };
}

/// The offset of the port's words in a Space.
const fn of_space(word: usize) -> i64 {
    (offset_of!(Space, hw) + 4 * word) as i64
}

/// The names in the files of one object.
fn constants(code_for: For, is_whole: bool) -> Vec<(&'static str, i64)> {
    let mut all = vec![
        ("call_right", Rights::CALL.0.into()),
        ("cap_limit", field!(cap_limit)),
        ("delivery_reply", Delivery::new(MessageKind::Reply, 0, 0, 0).0.into()),
        ("gate", field!(gate)),
        ("gate_open", gate::OPEN.into()),
        ("gate_ready", gate::READY.into()),
        ("gate_reply", gate::REPLY.into()),
        ("handle", field!(handle)),
        ("op_call", Tag::new(Op::Call, 0, 0).0.into()),
        ("op_reply_wait", Tag::new(Op::ReplyWait, 0, 0).0.into()),
        ("partner", field!(partner)),
        ("pc", saved(word::PC)),
        ("rights", Rights::ALL.0.into()),
        ("sequence_high", (SEQUENCE >> 16).into()),
        ("signals", field!(signals)),
        ("slot_shift", size_of::<Slot>().trailing_zeros().into()),
        ("slots", HEADER_BYTES.into()),
        ("sp", saved(word::SP)),
        ("space", field!(space)),
        ("table", of_space(hw::TABLE)),
        ("tag", of_space(hw::TAG)),
        ("thread_shift", BYTES.trailing_zeros().into()),
        ("words", REGISTER_WORDS.into()),
        // Registers of QEMU's (target/alpha/translate.c), and of the 21164 (DEC's `ev5_defs`):
        // where an exception came from, temporaries, the tables, the tags.
        ("qemu", i64::from(code_for == For::Qemu)),
        ("qemu_exc_addr", 6),
        ("qemu_ptbr", 8),
        ("qemu_tbia", 255),
        ("qemu_temporaries", 40),
        ("exc_addr", 0x10b),
        ("temporaries", 0x140),
        ("itb_asn", 0x103),
        ("dtb_asn", 0x200),
    ];
    if is_whole {
        all.extend([
            ("boot", BOOT.into()),
            ("call_pal", CALL_PAL.into()),
            ("call_pal_end", CALL_PAL_END.into()),
            ("mailbox", MAILBOX.into()),
            ("qemu_halt", 252),
            ("qemu_ps", 0),
            ("right", RIGHT as i64),
            ("selector", system::SELECTOR.into()),
            // Interrupts may come, and the mode is that of users.
            ("user_mode", 0x18),
            ("why_exception", EXCEPTION as i64),
            ("why_slow", SLOW as i64),
            ("why_user", USER as i64),
        ]);
    }
    all
}

// `ipc.S`: pairs of words are read at once, and displacements have ten bits.
const _: () = {
    assert!(field!(priority) == field!(gate) + 4 && field!(partner) == field!(handle) + 4);
    assert!(field!(senders) == field!(signals) + 4);
    assert!(field!(gate) % 8 == 0 && field!(handle) % 8 == 0 && field!(signals) % 8 == 0);
    assert!(of_space(hw::TABLE) % 8 == 0 && of_space(hw::TAG) == of_space(hw::TABLE) + 8);
    assert!(HEADER_BYTES < 512 && saved(0) > -512 && of_space(hw::TAG) < 512);
    assert!(SEQUENCE & 0xffff == 0 && Rights::ALL.0 < 256);
};

/// The text with numbers in place of names, and without comments. A name that is not in the list is
/// refused, and so is one in the list that the text does not use.
fn with_constants(text: &str, constants: &[(&str, i64)]) -> Result<String> {
    let (mut result, mut used) = (String::new(), BTreeSet::new());
    for line in text.lines() {
        let mut rest = line.split("//").next().unwrap_or(line).trim_end();
        while let Some((before, name)) = rest.split_once('{') {
            let (name, after) = name.split_once('}').context("a brace is open")?;
            let constant = constants.iter().find(|(known, _)| *known == name);
            let (_, value) = constant.with_context(|| format!("no constant is called {name}"))?;
            result += &format!("{before}({value})");
            used.insert(name);
            rest = after;
        }
        result += rest;
        result.push('\n');
    }
    let unused = constants.iter().find(|(name, _)| !used.contains(name));
    if let Some((name, _)) = unused {
        bail!("nobody uses the constant {name}");
    }
    Ok(result)
}

/// What is assembled and linked: its file, and its symbols.
pub struct Code {
    /// The file.
    pub path: PathBuf,
    data: Vec<u8>,
}

/// A fault that is put in: lines of `ipc.S`, and the lines that replace them.
pub type Fault<'a> = (&'a str, &'a str);

impl Code {
    /// The firmware for QEMU, with a fault or without.
    ///
    /// # Errors
    /// If it cannot be assembled, or the fault's lines are not there.
    pub fn firmware(folder: &Path, fault: Option<Fault>) -> Result<Self> {
        let mut path = include_str!("../../../kernel/arch/alpha/src/fast/ipc.S").to_string();
        if let Some((lines, instead)) = fault {
            ensure!(path.contains(lines), "`ipc.S` has no `{lines}`");
            path = path.replace(lines, instead);
        }
        let text = [&path, include_str!("machine.S"), include_str!("user.S")].concat();
        let object = assemble(folder, &text, For::Qemu)?;
        let file = folder.join("firmware");
        let at = |section: &str, address: u32| {
            format!("--section-start={section}={:#x}", KSEG + u64::from(address))
        };
        let mut linker = Command::new("alpha-linux-gnu-ld");
        linker.args(["-N", "-static", "--build-id=none", "-e", "start"]).args([
            at(".vectors", 0),
            at(".end", entry(CALL_PAL_END)),
            at(".fast", entry(CALL_PAL)),
            at(".machine", 0x3800),
            at(".client", CODE[0]),
            at(".server", CODE[1]),
        ]);
        succeeds(linker.arg("-o").args([&file, &object]))?;
        Self::read(file)
    }

    /// The fast path as QEMU has it, and the code to which it jumps, at its physical address: for
    /// an interpreter.
    ///
    /// # Errors
    /// If it cannot be assembled.
    pub fn by_itself(folder: &Path) -> Result<PathBuf> {
        let Self { path: object, .. } = Self::fast_path(folder, For::Qemu)?;
        let file = folder.join("fast-path");
        let at = format!("--section-start=.fast={:#x}", entry(CALL_PAL));
        let mut linker = Command::new("alpha-linux-gnu-ld");
        linker.args(["-N", "-static", "--build-id=none", "-e", "entry", &at, "-o"]);
        succeeds(linker.args([&file, &object]))?;
        Ok(file)
    }

    /// The fast path by itself.
    ///
    /// # Errors
    /// If it cannot be assembled.
    pub fn fast_path(folder: &Path, code_for: For) -> Result<Self> {
        let text = [
            include_str!("../../../kernel/arch/alpha/src/fast/ipc.S"),
            "    .globl slow\nslow:\n    call_pal 0\n",
        ]
        .concat();
        Self::read(assemble(folder, &text, code_for)?)
    }

    fn read(path: PathBuf) -> Result<Self> {
        let data =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self { path, data })
    }

    /// A symbol's address.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn symbol(&self, name: &str) -> Result<u64> {
        let file = object::File::parse(&*self.data)?;
        let mut symbols = file.symbols();
        let found = symbols.find(|symbol| symbol.name() == Ok(name));
        Ok(found.with_context(|| format!("there is no symbol {name}"))?.address())
    }

    /// The word at a physical address of the firmware.
    ///
    /// # Errors
    /// If nothing is there.
    pub fn at(&self, physical: u64) -> Result<u32> {
        let file = object::File::parse(&*self.data)?;
        let address = KSEG + physical;
        let found = file.sections().find_map(|section| section.data_range(address, 4).ok()?);
        let word = found.and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        word.with_context(|| format!("there is no code at {physical:#x}"))
    }

    /// The words of the fast path between two symbols.
    ///
    /// # Errors
    /// If they are not there.
    pub fn words(&self, between: [&str; 2]) -> Result<Vec<u32>> {
        let file = object::File::parse(&*self.data)?;
        let section = file.section_by_name(".fast").context("there is no fast path")?;
        let [start, end] = [self.symbol(between[0])?, self.symbol(between[1])?];
        let range: Range<usize> =
            (start - section.address()) as usize..(end - section.address()) as usize;
        let bytes = section.data()?.get(range).context("it is elsewhere")?;
        Ok(bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect())
    }
}

fn assemble(folder: &Path, text: &str, code_for: For) -> Result<PathBuf> {
    let is_whole = text.contains("{boot}");
    let text = with_constants(text, &constants(code_for, is_whole))?;
    let (source, object) = (folder.join("code.s"), folder.join("code.o"));
    std::fs::create_dir_all(folder)?;
    std::fs::write(&source, format!("    .set noat\n    .set nomacro\n{text}"))?;
    let processor = match code_for {
        For::Qemu => "-m21264",
        For::Alpha21164 => "-m21164",
    };
    succeeds(Command::new("alpha-linux-gnu-as").arg(processor).arg("-o").args([&object, &source]))?;
    Ok(object)
}

/// Runs a program.
///
/// # Errors
/// What it says if it fails.
pub fn succeeds(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot run {program}: `./macadamia test alpha` installs it"))?;
    ensure!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
