// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Linux server: Debian's packaged source, our patches and host layer, built and
//! cached under `target/linux`; and the root file system for its shell.

use crate::board;
use crate::packages;
use crate::patched::{self, put};
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A server that is built here.
struct Server {
    /// What a description calls it.
    package: &'static str,
    /// Its source, unpacked, under `target/linux`.
    folder: &'static str,
    /// The header that places it.
    layout: &'static str,
    /// Whether `linux/tests` is in it.
    tests: bool,
}

const SERVERS: [Server; 3] = [
    Server { package: "linux", folder: "source", layout: "linux/os-L4/layout.h", tests: false },
    Server { package: "linux-tests", folder: "source", layout: "linux/os-L4/layout.h", tests: true },
    Server { package: "linux-small", folder: "small", layout: "tests/linux/small-layout.h", tests: false },
];
/// The name of the file that Linux makes its first root file system from.
pub const INITRD: &str = "initrd";
/// The file that is the BusyBox root file system.
const BUSYBOX: &str = "busybox";
/// The file that mounts a root file system on a disk.
const INITRAMFS: &str = "initramfs";

const SOURCE: &str = "/usr/src/linux-source-6.12.tar.xz";
/// Where what is built and fetched is kept.
pub const FOLDER: &str = "target/linux";
/// The file that a server's own takes the place of.
const LAYOUT: &str = "layout.h";
/// Folders of ours, and where they go in the source.
const OURS: [(&str, &str); 4] = [
    ("linux/os-L4", "arch/um/os-L4"),
    ("linux/tests", "arch/um/os-L4/tests"),
    ("linux/x86", "arch/x86/um/os-L4"),
    ("linux/vdso", "arch/x86/um/asm/vdso"),
];
/// What is built of a server.
const IMAGE: &str = "vmlinux";

/// The file that a description's `from` names.
pub fn file(from: &str) -> PathBuf {
    if [BUSYBOX, INITRAMFS].contains(&from) { Path::new(FOLDER).join(from).with_extension("cpio") } else { PathBuf::from(from) }
}

fn server(package: &str) -> Option<&'static Server> {
    SERVERS.iter().find(|server| server.package == package)
}

/// Whether a component's ELF file is built here.
pub fn is_server(package: &str) -> bool {
    server(package).is_some()
}

/// A server's ELF file; nothing if it is not built here.
pub fn elf(package: &str) -> Option<PathBuf> {
    server(package).map(|server| {
        let source = Path::new(FOLDER).join(server.folder);
        if server.tests { with_tests(&source) } else { source.join(IMAGE) }
    })
}

/// Where the code of the first server among the packages is, for the machine model: `START-END`.
pub fn code(packages: &[String]) -> Result<Option<String>> {
    let Some(server) = packages.iter().find_map(|package| server(package)) else { return Ok(None) };
    let header = std::fs::read_to_string(server.layout)?;
    let value = |name: &str| {
        let number = header.lines().find_map(|line| line.strip_prefix("#define ")?.strip_prefix(name)?.trim().strip_prefix("0x"));
        number.with_context(|| format!("{}: `{name}` is no hexadecimal number", server.layout))
    };
    Ok(Some(format!("{}-{}", value("L4_SERVER_BASE")?, value("L4_VMALLOC_END")?)))
}

/// Builds what a file of a description is made from, if it is made here.
pub fn make_file(from: &str) -> Result<()> {
    match from {
        BUSYBOX => busybox(),
        INITRAMFS => initramfs(),
        _ => Ok(()),
    }
}

/// What is in a folder, in the order of the names.
pub fn files(folder: &str) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.sort();
    Ok(found)
}

/// Builds a server, if the package is one.
pub fn build(package: &str) -> Result<()> {
    let Some(server) = server(package) else { return Ok(()) };
    let source = Path::new(FOLDER).join(server.folder);
    unpack(&source, &files("linux/patches")?)?;
    for (from, to) in OURS {
        for file in files(from)? {
            let name = file.file_name().context("a file without a name")?;
            let file = if name == LAYOUT { Path::new(server.layout) } else { &file };
            put(&source.join(to).join(name), &std::fs::read(file)?)?;
        }
    }
    put(&source.join("arch/um/os-L4/abi.h"), abi_header::header().as_bytes())?;
    configure(&source, "um", &std::fs::read_to_string("linux/config")?)?;
    make(&source, "um", &[IMAGE])?;
    if server.tests { make_tests(&source) } else { Ok(()) }
}

/// The ELF file of the server that has `linux/tests` in it, of a source.
fn with_tests(source: &Path) -> PathBuf {
    source.with_extension("tests")
}

/// Links the server once more with `linux/tests`, if that was not done with this one and these.
fn make_tests(source: &Path) -> Result<()> {
    let (plain, of) = (source.join(IMAGE), source.with_extension("tests-of"));
    // What is only for tests leaves the plain image as it is.
    let made_from = || {
        let mut contents = std::fs::read(&plain)?;
        for file in OURS.iter().map(|(from, _)| files(from)).collect::<Result<Vec<_>>>()?.concat() {
            contents.append(&mut std::fs::read(file)?);
        }
        anyhow::Ok(contents)
    };
    if with_tests(source).exists() && std::fs::read(&of).ok() == Some(made_from()?) {
        return Ok(());
    }
    make(source, "um", &[IMAGE, "L4_TESTS=y"])?;
    std::fs::copy(&plain, with_tests(source))?;
    make(source, "um", &[IMAGE])?;
    std::fs::write(&of, made_from()?)?;
    Ok(())
}

/// Builds Linux for the machine itself, of the same source without our patches.
pub fn native() -> Result<PathBuf> {
    let source = Path::new(FOLDER).join("native");
    unpack(&source, &[])?;
    // Choices that only User-Mode Linux has.
    let ours = ["CONFIG_UML", "CONFIG_M686", "CONFIG_MAGIC_SYSRQ", "CONFIG_VMAP_STACK"];
    let shared = std::fs::read_to_string("linux/config")?;
    let shared = shared.lines().filter(|line| !ours.iter().any(|choice| line.starts_with(choice)));
    let wanted = shared.map(|line| format!("{line}\n")).collect::<String>() + &std::fs::read_to_string("linux/native-config")?;
    let linux = &board::chosen().linux;
    let image = Path::new(&linux.image);
    configure(&source, &linux.arch, &wanted)?;
    make(&source, &linux.arch, &[&image.file_name().unwrap_or_default().to_string_lossy()])?;
    Ok(source.join(image))
}

/// The shell's root file system with more files in it.
pub fn root_with(inserts: &[Insert]) -> Result<PathBuf> {
    busybox()?;
    let root = with_inserts(BUSYBOX, inserts)?;
    let path = Path::new(FOLDER).join("native.cpio");
    std::fs::write(&path, root)?;
    Ok(path)
}

/// Unpacks and patches the source, as far as it was not done.
fn unpack(source: &Path, patches: &[PathBuf]) -> Result<()> {
    let place = std::env::current_dir()?;
    ensure!(
        can_hold(&place),
        "Linux cannot be built in {}: its Makefile refuses folders with a space or a colon in their path; move the checkout",
        place.display()
    );
    ensure!(Path::new(SOURCE).exists(), "{SOURCE} is missing: install linux-source-6.12");
    patched::unpack(source, Path::new(SOURCE), patches, |source| format!("Linux {}", version(source)))
}

/// Whether Linux's Makefile works below a folder.
fn can_hold(folder: &Path) -> bool {
    !folder.to_string_lossy().contains([' ', '\t', '\n', ':'])
}

/// The version that a source tree's Makefile tells.
fn version(source: &Path) -> String {
    let text = std::fs::read_to_string(source.join("Makefile")).unwrap_or_default();
    let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix('=')).unwrap_or("?").trim().to_string();
    format!("{}.{}.{}", of("VERSION "), of("PATCHLEVEL "), of("SUBLEVEL "))
}

/// `make` in a source tree of the kernel.
pub fn kernel_make(source: &Path, arch: &str) -> Command {
    let mut make = Command::new("make");
    make.arg("-C").arg(source).arg(format!("ARCH={arch}")).arg(format!("SUBARCH={}", board::chosen().linux.arch)).args([
        "KBUILD_BUILD_USER=macadamia",
        "KBUILD_BUILD_HOST=macadamia",
        // Equal sources make equal images.
        "KBUILD_BUILD_VERSION=1",
        "KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970",
    ]);
    make
}

/// Makes `.config` out of the choices, and checks that every one was taken.
fn configure(source: &Path, arch: &str, wanted: &str) -> Result<()> {
    let stamp = source.with_extension("configured");
    if source.join(".config").exists() && std::fs::read_to_string(&stamp).is_ok_and(|old| old == wanted) {
        return Ok(());
    }
    let choices = std::env::current_dir()?.join(source.with_extension("choices"));
    std::fs::write(&choices, wanted)?;
    let output = kernel_make(source, arch).arg("allnoconfig").env("KCONFIG_ALLCONFIG", choices).output().context("cannot run make")?;
    ensure!(output.status.success(), "the configuration of Linux failed:\n{}", String::from_utf8_lossy(&output.stderr));
    let made = std::fs::read_to_string(source.join(".config"))?;
    for line in wanted.lines().filter(|line| line.starts_with("CONFIG_")) {
        ensure!(made.lines().any(|other| other == line), "linux: `{line}` was not taken; something that it needs is missing");
    }
    std::fs::write(stamp, wanted)?;
    Ok(())
}

/// Compiles, with a line of progress now and then.
fn make(source: &Path, arch: &str, targets: &[&str]) -> Result<()> {
    let jobs = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let log = Path::new(FOLDER).join("build.log");
    let mut command = kernel_make(source, arch);
    command.arg(format!("-j{jobs}")).args(targets).stdout(Stdio::piped()).stderr(std::fs::File::create(&log)?);
    let mut child = command.spawn().context("cannot run make")?;
    let stdout = child.stdout.take().context("no output of make")?;
    let mut objects = 0;
    for line in BufReader::new(stdout).lines() {
        if line?.trim_start().starts_with("CC ") {
            objects += 1;
            if objects % 50 == 0 {
                eprintln!("building linux ({arch}): {objects} objects");
            }
        }
    }
    if !child.wait()?.success() {
        bail!("the build of Linux failed; its messages are in {}:\n{}", log.display(), std::fs::read_to_string(&log)?);
    }
    Ok(())
}

/// The root file system of the shell: Debian's BusyBox for i386 and what is in `linux/root`.
fn busybox() -> Result<()> {
    let mut archive = Archive::with_shell(&["etc", "root", "sbin", "sys", "tmp", "usr", "usr/bin", "usr/sbin"])?;
    archive.add("bin/sh", LINK | 0o777, b"busybox", (0, 0))?;
    for path in files("linux/root")? {
        let name = path.file_name().context("a file without a name")?.to_string_lossy().into_owned();
        let (place, mode) = match &*name {
            "init" => (name, 0o755),
            "sign" => (format!("usr/bin/{name}"), 0o755),
            _ => (format!("etc/{name}"), 0o644),
        };
        archive.add(&place, FILE | mode, &std::fs::read(&path)?, (0, 0))?;
    }
    put(&file(BUSYBOX), &archive.finish()?)
}

/// What mounts a root file system on a disk, by Debian's BusyBox, and puts files there.
fn initramfs() -> Result<()> {
    let mut archive = Archive::with_shell(&["disk"])?;
    for folder in ["", "/run", "/run/systemd", "/run/systemd/system", "/run/systemd/system/multi-user.target.wants"] {
        archive.directory(&format!("{FILES}{folder}"))?;
    }
    let system = format!("{FILES}/run/systemd/system");
    archive.add("init", FILE | 0o755, &std::fs::read("linux/initramfs/init")?, (0, 0))?;
    archive.add(&format!("{system}/batch.service"), FILE | 0o644, &std::fs::read("linux/initramfs/batch.service")?, (0, 0))?;
    archive.add(&format!("{system}/multi-user.target.wants/batch.service"), LINK | 0o777, b"../batch.service", (0, 0))?;
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
    /// One with BusyBox in it, and with folders.
    fn with_shell(folders: &[&str]) -> Result<Self> {
        let binary = Path::new(FOLDER).join("busybox");
        if !binary.exists() {
            std::fs::copy(packages::binaries(&["busybox-static"])?.join("bin/busybox"), &binary)?;
        }
        let mut archive = Self::default();
        for name in ["bin", "dev", "proc"].iter().chain(folders) {
            archive.directory(name)?;
        }
        archive.add("dev/console", CHARACTER | 0o600, &[], (5, 1))?;
        archive.add("bin/busybox", FILE | 0o755, &std::fs::read(&binary)?, (0, 0))?;
        Ok(archive)
    }

    fn add(&mut self, name: &str, mode: u32, contents: &[u8], device: (u32, u32)) -> Result<()> {
        let entry = cpio::NewcBuilder::new(name).mode(mode).nlink(1).rdev_major(device.0).rdev_minor(device.1);
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
const MADE_ANEW: [&str; 4] = ["/dev/", "/proc/", "/sys/", "/tmp/"];

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
        let (host, guest) =
            text.rsplit_once(':').filter(|(_, guest)| guest.starts_with('/')).ok_or("HOST:GUEST is wanted, GUEST from /")?;
        if guest.ends_with('/') || guest.contains('\n') || guest.split('/').any(|part| part == "..") {
            return Err(format!("{guest:?}: GUEST is the path of a file, without `..` and line ends"));
        }
        if let Some(anew) = MADE_ANEW.iter().find(|folder| guest.starts_with(**folder)) {
            return Err(format!("{guest}: Linux makes {anew} anew when it starts; choose another place"));
        }
        let read = || Ok((std::fs::read(host)?, std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(host)?.permissions())));
        let (contents, mode) = read().map_err(|error: std::io::Error| format!("cannot read {host}: {error}"))?;
        Ok(Self { guest: guest.into(), contents, mode: mode & 0o7777 })
    }
}

/// The archive of this name with another behind it: Linux unpacks one after the other. Each begins at a multiple of 4.
pub fn with_inserts(from: &str, inserts: &[Insert]) -> Result<Vec<u8>> {
    let path = file(from);
    let mut root = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if inserts.is_empty() {
        return Ok(root);
    }
    let mut archive = Archive::default();
    for insert in inserts {
        let name = insert.guest.trim_start_matches('/');
        let name = if from == INITRAMFS { &format!("{FILES}/{name}") } else { name };
        let parents: Vec<_> = Path::new(name).ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
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
    fn files_go_where_they_stay() {
        assert!("Cargo.toml:/opt/x".parse::<Insert>().is_ok());
        assert!("Cargo.toml:/tmp/x".parse::<Insert>().is_err_and(|error| error.contains("makes /tmp/ anew")));
        for wrong in ["/opt/", "/opt/../tmp/x", "/opt/a\nb"] {
            assert!(format!("Cargo.toml:{wrong}").parse::<Insert>().is_err_and(|error| error.contains("path of a file")), "{wrong}");
        }
    }
}
