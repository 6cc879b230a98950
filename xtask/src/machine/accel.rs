// SPDX-License-Identifier: MIT OR Apache-2.0
//! What executes a machine's instructions in QEMU: the option `--accel`. It tries KVM before it
//! says that KVM works.

use super::Emulator;
use super::board::Board;
use crate::process::patience::{Deadline, Limit};
use crate::process::tether::tethered;
use anyhow::{Result, bail};
use clap::ValueEnum;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Who executes instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accel {
    /// QEMU, which checks no segment limits. What is tested and measured is executed so.
    #[default]
    Tcg,
    /// The host's processor, by its kernel.
    Kvm,
}

impl Accel {
    /// As QEMU calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcg => "tcg",
            Self::Kvm => "kvm",
        }
    }
}

/// Who is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wanted {
    /// The host's processor where /dev/kvm can be used, otherwise QEMU.
    Auto,
    /// The host's processor.
    Kvm,
    /// QEMU.
    Tcg,
}

/// Who does it in the end.
#[derive(Debug, PartialEq, Eq)]
pub struct Choice {
    pub accel: Accel,
    /// What is to be told of it first.
    pub said: Option<String>,
}

/// Why KVM cannot be used, if it cannot.
type Probed = std::result::Result<(), String>;

impl Wanted {
    /// Who does it in the end; `kvm` looks whether the host's processor can be used.
    ///
    /// # Errors
    /// If it is to be the host's processor, and cannot be.
    pub fn choose(
        self,
        on: Emulator,
        board: &Board,
        kvm: impl FnOnce() -> Probed,
    ) -> Result<Choice> {
        let (accel, said) = match (self, on) {
            (Self::Tcg, _) | (Self::Auto, Emulator::Bochs) => (Accel::Tcg, None),
            (Self::Kvm, Emulator::Bochs) => {
                bail!("Bochs executes all itself: leave out `--accel kvm`, or `--on bochs`")
            }
            (Self::Auto, _) if !board.qemu.kvm => (Accel::Tcg, None),
            (Self::Kvm, _) if !board.qemu.kvm => {
                bail!(
                    "no KVM has the processor of the board `{}`: leave out `--accel kvm`",
                    board.name()
                )
            }
            (wanted, _) => match kvm() {
                Ok(()) => (Accel::Kvm, Some(BY_KVM.into())),
                Err(reason) if wanted == Self::Auto => (
                    Accel::Tcg,
                    Some(format!("QEMU executes instructions itself, as without KVM: {reason}")),
                ),
                Err(reason) => bail!("KVM cannot be used: {reason}; or leave out `--accel kvm`"),
            },
        };
        Ok(Choice { accel, said })
    }
}

/// What is told of KVM.
const BY_KVM: &str = "this machine's processor executes instructions by KVM, and checks segment limits: a Linux runs at ring 1 by itself";

/// Opens /dev/kvm as QEMU does.
///
/// # Errors
/// Why that cannot be, and what would help.
pub fn opens() -> Probed {
    if !matches!(std::env::consts::ARCH, "x86" | "x86_64") {
        return Err("this machine's processor is no x86: use another machine".into());
    }
    let cure = "load the module kvm_intel or kvm_amd, and be in the group `kvm`";
    File::options()
        .read(true)
        .write(true)
        .open("/dev/kvm")
        .map(drop)
        .map_err(|error| format!("/dev/kvm: {error}: {cure}"))
}

/// Has KVM execute a few instructions in this program, as our kernel begins: some that can be
/// opened know no paging of 32 bits. Takes what the firmware takes, less than a second, or up to
/// four where KVM itself is played.
///
/// # Errors
/// Why it cannot be used, and what would help.
pub fn executes(program: &str, folder: &Path) -> Probed {
    opens()?;
    let failed = |error: &dyn std::fmt::Display| format!("the trial of KVM failed: {error}");
    std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    // Several runs may try at once.
    let file = folder.join(format!("kvm-trial.{}", std::process::id()));
    std::fs::write(&file, TRIAL).map_err(|error| failed(&error))?;
    let status = trial(program, &file).map_err(|error| failed(&format!("{error:#}")));
    let _ = std::fs::remove_file(&file);
    match status? {
        Some(PASSED) => Ok(()),
        Some(_) => Err("this machine's KVM cannot turn on paging of 32 bits: use a machine that has KVM in hardware".into()),
        None => Err(format!(
            "the trial of KVM did not end in {} s: try again when this machine does less, or use another one",
            TRIAL_LIMIT.as_secs()
        )),
    }
}

/// The exit status of QEMU that executes a program by KVM; nothing if it does not end.
fn trial(program: &str, kernel: &Path) -> Result<Option<i32>> {
    let mut command = Command::new(program);
    command.args([
        "-M",
        "pc",
        "-accel",
        Accel::Kvm.name(),
        "-cpu",
        "pentium3",
        "-m",
        "8",
        "-nodefaults",
        "-display",
        "none",
        "-no-reboot",
    ]);
    command.args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-kernel"]).arg(kernel);
    let mut child = tethered(&command, &[])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut deadline = Deadline::new(child.id(), Limit::Wall(TRIAL_LIMIT));
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code().unwrap_or_default()));
        }
        if deadline.is_over() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::park_timeout(POLL);
    }
}

/// The longest that a trial takes, and between two looks at it.
const TRIAL_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);
/// The exit status of QEMU if all went well: twice what the program writes to `isa-debug-exit`, and 1.
const PASSED: i32 = 0x21;

/// A program for the Multiboot protocol, at 1 MiB: it turns on paging with a page of 4 MiB, and
/// ends QEMU.
const TRIAL: &[u8] = &[
    0x02, 0xb0, 0xad, 0x1b, 0x00, 0x00, 0x01, 0x00, 0xfe, 0x4f, 0x51,
    0xe4, // the magic number; addresses follow; the sum is 0
    0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x10, 0x00, 0x49, 0x00, 0x10,
    0x00, // this header's, the start of what is loaded, its end
    0x49, 0x00, 0x10, 0x00, 0x20, 0x00, 0x10,
    0x00, // the end of what is zero; the entry, which is the next byte
    0xb8, 0x00, 0x00, 0x20, 0x00, // mov $0x200000, %eax: the page directory
    0xc7, 0x00, 0x83, 0x00, 0x00,
    0x00, // movl $0x83, (%eax): the first 4 MiB, which can be written
    0x0f, 0x20, 0xe1, 0x83, 0xc9, 0x10, 0x0f, 0x22, 0xe1, // CR4.PSE by %ecx
    0x0f, 0x22, 0xd8, // mov %eax, %cr3
    0x0f, 0x20, 0xc0, 0x0d, 0x00, 0x00, 0x00, 0x80, 0x0f, 0x22, 0xc0, // CR0.PG by %eax
    0xb0, 0x10, 0xe6, 0xf4, // mov $0x10, %al; out %al, $0xf4
    0xf4, 0xeb, 0xfd, // hlt, for ever
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn board(name: &str) -> Board {
        Board::read(&Path::new("../boards").join(name).with_extension("toml")).expect("a board")
    }

    #[test]
    fn who_executes() {
        let (pc, arm) = (board("pc"), board("versatilepb"));
        let choose = |wanted: Wanted, on, board: &Board, there: bool| {
            let kvm = || {
                if there { Ok(()) } else { Err("/dev/kvm: Permission denied: be another".into()) }
            };
            wanted
                .choose(on, board, kvm)
                .map(|choice| (choice.accel, choice.said))
                .map_err(|error| error.to_string())
        };
        let without = "QEMU executes instructions itself, as without KVM: /dev/kvm: Permission denied: be another";
        for (wanted, there, accel, said) in [
            (Wanted::Auto, true, Accel::Kvm, Some(BY_KVM)),
            (Wanted::Auto, false, Accel::Tcg, Some(without)),
            (Wanted::Kvm, true, Accel::Kvm, Some(BY_KVM)),
            (Wanted::Tcg, true, Accel::Tcg, None),
        ] {
            assert_eq!(
                choose(wanted, Emulator::Qemu, &pc, there),
                Ok((accel, said.map(String::from))),
                "{wanted:?}, {there}"
            );
        }
        let refused = choose(Wanted::Kvm, Emulator::Qemu, &pc, false).err().unwrap_or_default();
        assert_eq!(
            refused,
            "KVM cannot be used: /dev/kvm: Permission denied: be another; or leave out `--accel kvm`"
        );
        assert_eq!(choose(Wanted::Auto, Emulator::Qemu, &arm, true), Ok((Accel::Tcg, None)));
        let refused = choose(Wanted::Kvm, Emulator::Qemu, &arm, true).err().unwrap_or_default();
        assert_eq!(
            refused,
            "no KVM has the processor of the board `versatilepb`: leave out `--accel kvm`"
        );
        assert_eq!(choose(Wanted::Auto, Emulator::Bochs, &pc, true), Ok((Accel::Tcg, None)));
        assert!(
            choose(Wanted::Kvm, Emulator::Bochs, &pc, true)
                .is_err_and(|error| error.starts_with("Bochs executes all itself"))
        );
    }

    #[test]
    fn the_trial_is_a_multiboot_program() {
        let words: Vec<u32> =
            TRIAL.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).take(8).collect();
        let [magic, flags, sum, header, load, end, zero, entry] = words[..] else {
            panic!("no header")
        };
        assert_eq!((magic, magic.wrapping_add(flags).wrapping_add(sum)), (0x1bad_b002, 0));
        assert_eq!(
            (header, end, zero, entry),
            (load, load + TRIAL.len() as u32, end, load + 8 * 4)
        );
    }
}
