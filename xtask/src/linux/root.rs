// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's first root file systems: that of the shell, the one that mounts a disk, and both with
//! files of a run.

use super::patched::put;
use super::{Part, building, busybox, files, folder, musl, packages};
use crate::machine::board;
use crate::process::once::Once;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The name of the file that Linux makes its first root file system from.
pub const INITRD: &str = "initrd";
/// The file that is the BusyBox root file system.
const BUSYBOX: &str = "busybox";
/// The same with a BusyBox that can be small.
const SMALL_BUSYBOX: &str = "busybox-musl";
/// The file that mounts a root file system on a disk.
const INITRAMFS: &str = "initramfs";

/// The file that a description's `from` names.
pub fn file(from: &str) -> PathBuf {
    if [BUSYBOX, SMALL_BUSYBOX, INITRAMFS].contains(&from) {
        folder().join(from).with_extension("cpio")
    } else {
        PathBuf::from(from)
    }
}

/// Builds what a file of a description is made from, if it is made here and was not in this run.
pub fn make_file(from: &str) -> Result<()> {
    static MADE: Once<()> = Once::new();
    MADE.get(&format!("{} {from}", board::chosen().name()), || match from {
        BUSYBOX => shell(BUSYBOX, &debians_busybox()?),
        SMALL_BUSYBOX => shell(SMALL_BUSYBOX, &musl::busybox()?),
        INITRAMFS => initramfs(),
        _ => Ok(()),
    })
}

/// Whether this file is a root file system with a shell.
pub fn has_shell(from: &str) -> bool {
    [BUSYBOX, SMALL_BUSYBOX].contains(&from)
}

/// What the shell's root file system has besides where there is a screen: a shell on its text
/// console, too.
pub fn text_console() -> Result<Insert> {
    const USUAL: &str = "linux/root/inittab";
    let usual = std::fs::read_to_string(USUAL).context(USUAL)?;
    Ok(Insert {
        guest: "/etc/inittab".into(),
        contents: format!("{usual}tty1::respawn:-/bin/sh\n").into_bytes(),
        mode: 0o644,
    })
}

/// What mounts folders of this machine.
const FOLDERS: &str = "linux/initramfs/folders.sh";

/// What the shell's root file system has besides where there are folders of this machine: they are
/// mounted as soon as all of its own is.
pub fn mounts() -> Result<Insert> {
    const USUAL: &str = "linux/root/rc";
    const NEXT: &str = "ifconfig lo ";
    let usual = std::fs::read_to_string(USUAL).context(USUAL)?;
    let script = std::fs::read_to_string(FOLDERS).context(FOLDERS)?;
    let at = usual.find(NEXT).with_context(|| format!("{USUAL} has no line `{NEXT}...`"))?;
    let (before, after) = usual.split_at(at);
    Ok(Insert {
        guest: "/etc/rc".into(),
        contents: format!("{before}{script}mount_folders '' $(cat /proc/cmdline)\n{after}")
            .into_bytes(),
        mode: 0o644,
    })
}

/// The shell's root file system with more files in it.
pub fn root_with(inserts: &[Insert]) -> Result<PathBuf> {
    let _building = building(Part::Components)?;
    make_file(BUSYBOX)?;
    let root = with_inserts(BUSYBOX, inserts)?;
    let place = board::chosen().out().join("linux-alone");
    std::fs::create_dir_all(&place)?;
    let path = place.join("native.cpio");
    std::fs::write(&path, root)?;
    Ok(path)
}

/// Debian's BusyBox; built of its source for a processor for which Debian has no packages.
pub fn debians_busybox() -> Result<PathBuf> {
    let linux = board::chosen().linux()?;
    if linux.from_source {
        return busybox::build("busybox-static", &linux.compiler(), &[]);
    }
    let binary = folder().join(BUSYBOX);
    if !binary.exists() {
        std::fs::copy(packages::binaries(&["busybox-static"])?.join("bin/busybox"), &binary)?;
    }
    Ok(binary)
}

/// A root file system of the shell: a BusyBox and what is in `linux/root`.
fn shell(name: &str, busybox: &Path) -> Result<()> {
    let mut archive = Archive::with_shell(
        busybox,
        &["etc", "root", "sbin", "sys", "tmp", "usr", "usr/bin", "usr/sbin"],
    )?;
    archive.add("bin/sh", LINK | 0o777, b"busybox", (0, 0))?;
    for path in files("linux/root")? {
        let file =
            path.file_name().context("a file without a name")?.to_string_lossy().into_owned();
        let (place, mode) = match &*file {
            "init" => (file, 0o755),
            "sign" => (format!("usr/bin/{file}"), 0o755),
            "udhcpc" => (format!("etc/{file}"), 0o755),
            _ => (format!("etc/{file}"), 0o644),
        };
        archive.add(&place, FILE | mode, &std::fs::read(&path)?, (0, 0))?;
    }
    put(&file(name), &archive.finish()?)
}

/// What mounts a root file system on a disk, by Debian's BusyBox, and puts files there.
fn initramfs() -> Result<()> {
    let mut archive = Archive::with_shell(&debians_busybox()?, &["disk"])?;
    for folder in ["", "/run", "/run/systemd", "/run/systemd/system"] {
        archive.directory(&format!("{FILES}{folder}"))?;
    }
    let system = format!("{FILES}/run/systemd/system");
    archive.add("init", FILE | 0o755, &std::fs::read("linux/initramfs/init")?, (0, 0))?;
    let folders = "folders.sh";
    archive.add(folders, FILE | 0o644, &std::fs::read(FOLDERS)?, (0, 0))?;
    for (unit, targets) in
        [("batch.service", &["multi-user"][..]), ("batch-failed.service", &["emergency", "rescue"])]
    {
        archive.add(
            &format!("{system}/{unit}"),
            FILE | 0o644,
            &std::fs::read(Path::new("linux/initramfs").join(unit))?,
            (0, 0),
        )?;
        for target in targets {
            let wants = format!("{system}/{target}.target.wants");
            archive.directory(&wants)?;
            archive.add(
                &format!("{wants}/{unit}"),
                LINK | 0o777,
                format!("../{unit}").as_bytes(),
                (0, 0),
            )?;
        }
    }
    put(&file(INITRAMFS), &archive.finish()?)
}

/// Where `linux/initramfs/init` finds the files for the disk.
const FILES: &str = "files";

const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER: u32 = 0o020_000;

/// A cpio archive, as Linux unpacks it into its first root file system.
#[derive(Default)]
struct Archive(Vec<u8>);

impl Archive {
    /// One with this BusyBox in it, and with folders.
    fn with_shell(busybox: &Path, folders: &[&str]) -> Result<Self> {
        let mut archive = Self::default();
        for name in ["bin", "dev", "proc"].iter().chain(folders) {
            archive.directory(name)?;
        }
        archive.add("dev/console", CHARACTER | 0o600, &[], (5, 1))?;
        archive.add("bin/busybox", FILE | 0o755, &std::fs::read(busybox)?, (0, 0))?;
        Ok(archive)
    }

    fn add(&mut self, name: &str, mode: u32, contents: &[u8], device: (u32, u32)) -> Result<()> {
        let entry = cpio::NewcBuilder::new(name)
            .mode(mode)
            .nlink(1)
            .rdev_major(device.0)
            .rdev_minor(device.1);
        let mut writer = entry.write(&mut self.0, contents.len() as u32);
        std::io::Write::write_all(&mut writer, contents)?;
        writer.finish()?;
        Ok(())
    }

    fn directory(&mut self, name: &str) -> Result<()> {
        self.add(name, DIRECTORY | 0o755, &[], (0, 0))
    }

    fn finish(mut self) -> Result<Vec<u8>> {
        cpio::newc::trailer(&mut self.0)?;
        Ok(self.0)
    }
}

/// Where no file that was put there is left when Linux is up.
const MADE_AT_START: [&str; 4] = ["/dev/", "/proc/", "/sys/", "/tmp/"];

/// A file that goes into Linux's root file system.
#[derive(Clone)]
pub struct Insert {
    /// Its absolute path there.
    pub guest: String,
    /// Its bytes.
    pub contents: Vec<u8>,
    /// Its permissions.
    pub mode: u32,
}

impl std::str::FromStr for Insert {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, guest) = text
            .rsplit_once(':')
            .filter(|(_, guest)| guest.starts_with('/'))
            .ok_or("HOST:GUEST is wanted, GUEST from /")?;
        if guest.ends_with('/') || guest.contains('\n') || guest.split('/').any(|part| part == "..")
        {
            return Err(format!(
                "{guest:?}: GUEST is the path of a file, without `..` and line ends"
            ));
        }
        if let Some(made) = MADE_AT_START.iter().find(|folder| guest.starts_with(**folder)) {
            return Err(format!(
                "{guest}: Linux makes {made} when it starts; choose another place"
            ));
        }
        let read = || {
            Ok((
                std::fs::read(host)?,
                std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(host)?.permissions()),
            ))
        };
        let (contents, mode) =
            read().map_err(|error: std::io::Error| format!("cannot read {host}: {error}"))?;
        Ok(Self { guest: guest.into(), contents, mode: mode & 0o7777 })
    }
}

/// The archive of this name with another after it: Linux unpacks one after the other. Each begins
/// at a multiple of 4.
pub fn with_inserts(from: &str, inserts: &[Insert]) -> Result<Vec<u8>> {
    let path = file(from);
    let mut root =
        std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if inserts.is_empty() {
        return Ok(root);
    }
    let mut archive = Archive::default();
    for insert in inserts {
        let name = insert.guest.trim_start_matches('/');
        let name = if from == INITRAMFS { &format!("{FILES}/{name}") } else { name };
        let parents: Vec<_> = Path::new(name)
            .ancestors()
            .skip(1)
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        for parent in parents.iter().rev() {
            archive.directory(&parent.to_string_lossy())?;
        }
        archive.add(name, FILE | insert.mode, &insert.contents, (0, 0))?;
    }
    root.resize(root.len().next_multiple_of(4), 0);
    root.extend(archive.finish()?);
    Ok(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_mounted_on_what_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let [rc, script] = ["linux/root/rc", FOLDERS]
            .map(|file| std::fs::read_to_string(root.join(file)).expect("a script"));
        let place = rc.find("ifconfig lo ").expect("a line");
        assert!(rc[..place].ends_with('\n') && rc[..place].contains("-t ext4 /dev/l4a /mnt"));
        assert!(rc[place..].contains("/run/batch/command") && script.ends_with("}\n"));
    }

    #[test]
    fn files_go_where_they_stay() {
        assert!("Cargo.toml:/opt/x".parse::<Insert>().is_ok());
        assert!(
            "Cargo.toml:/tmp/x"
                .parse::<Insert>()
                .is_err_and(|error| error.contains("makes /tmp/ when"))
        );
        for wrong in ["/opt/", "/opt/../tmp/x", "/opt/a\nb"] {
            assert!(
                format!("Cargo.toml:{wrong}")
                    .parse::<Insert>()
                    .is_err_and(|error| error.contains("path of a file")),
                "{wrong}"
            );
        }
    }
}
