// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the Linux server, from Debian's source, our patches and our host layer; and Linux for the
//! bare machine, with which the server is compared. Both are kept below `target/linux`.

use super::patched::{self, put};
use super::{FOLDER, files, folder};
use super::{depends, order};
use crate::machine::board;
use crate::machine::processor::{self, Configuration, Debian, Expected, Linux, Plan, Processor};
use crate::process::fresh;
use crate::process::lock::Lock;
use crate::process::once::Once;
use crate::process::run;
use crate::process::tether::group;
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCE: &str = "/usr/src/linux-source-6.12.tar.xz";
/// Flags for the compiler that leave the code as it is: it does not read each line again to see how
/// that is indented, nor note for messages which macro a word comes from.
const QUICK: &str = "-Wno-misleading-indentation -ftrack-macro-expansion=0";
/// The folder of it as it is, for the trees of all boards.
const SHARED: &str = "shared";
/// Its names for the window's start, where processes end, and for the place of the image.
const START: &str = "L4_USER_END";
const BASE: &str = "L4_SERVER_BASE";
/// The file that a server's own takes the place of.
const LAYOUT_FILE: &str = "layout.h";
/// Folders and files of ours, and where they go in the source.
const OURS: [(&str, &str); 2] =
    [("linux/os-L4", "arch/um/os-L4"), ("linux/tests", "arch/um/os-L4/tests")];
/// What is built of a server.
const IMAGE: &str = "vmlinux";

/// A server that is built here.
#[derive(Clone, Copy)]
struct Server {
    processor: Processor,
    plan: &'static Plan,
}

/// Those of all processors.
fn servers() -> impl Iterator<Item = Server> {
    let of = |processor: Processor| {
        processor
            .facts()
            .linux
            .iter()
            .flat_map(|linux| linux.servers)
            .map(move |plan| Server { processor, plan })
    };
    processor::ALL.into_iter().flat_map(of)
}

fn server(package: &str, processor: Processor) -> Option<Server> {
    servers().find(|server| server.plan.package == package && server.processor == processor)
}

/// What Linux needs to know of a processor.
fn linux(processor: Processor) -> Result<&'static Linux> {
    processor
        .facts()
        .linux
        .as_ref()
        .with_context(|| format!("there is no Linux server for {processor:?}"))
}

/// What tests of Linux expect of the board's processor.
pub fn expected() -> Result<&'static Expected> {
    linux(board::chosen().processor).map(|linux| &linux.expected)
}

/// What tests of Debian expect of it.
pub fn debian_expected() -> Result<&'static Debian> {
    expected()?
        .debian
        .as_ref()
        .with_context(|| format!("there is no Debian for {:?}", board::chosen().processor))
}

/// Whether a component's ELF file is built here, for some processor.
pub fn is_server(package: &str) -> bool {
    servers().any(|server| server.plan.package == package)
}

/// A server's ELF file; nothing if it is not built here.
pub fn elf(package: &str) -> Option<PathBuf> {
    server(package, board::chosen().processor).map(|server| {
        let source = folder().join(server.plan.folder);
        if server.plan.tests {
            with_tests(&source)
        } else {
            order::image(&source, source.join(IMAGE))
        }
    })
}

/// Where a server is, as its header says: from the base of windows on (`image::layout::Windows`).
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Where the window begins.
    pub window: u32,
    /// Its image.
    pub base: u32,
    /// The highest end of its memory.
    pub ram_end: u32,
    /// The end of all that it maps itself.
    pub vmalloc_end: u32,
    /// The base of windows.
    pub from: u64,
}

impl Layout {
    /// Its code and data, as addresses of its space.
    pub fn range(&self) -> Range<u64> {
        self.from + u64::from(self.base)..self.from + u64::from(self.vmalloc_end)
    }
}

impl Server {
    /// Its header: window and image may begin elsewhere, all that is counted from the window's end
    /// is the same.
    fn header(&self) -> String {
        let Some(start) = self.plan.start else { return self.plan.layout.text.into() };
        let line = |line: &str| {
            let placed = |name, address: u32| {
                line.starts_with(&format!("#define {name}"))
                    .then(|| format!("#define {name}\t0x{address:08x}\n"))
            };
            placed(START, start)
                .or_else(|| placed(BASE, start + self.processor.layout.windows.kernel_bytes))
                .unwrap_or_else(|| format!("{line}\n"))
        };
        self.plan.layout.text.lines().map(line).collect()
    }

    /// The bytes of its window.
    fn bytes(&self) -> Result<u32> {
        Ok(self.processor.layout.windows.end - self.layout()?.window)
    }

    fn layout(&self) -> Result<Layout> {
        let (header, from) = (self.header(), self.processor.layout.windows.base);
        let value = |name: &str| {
            let digits = header.lines().find_map(|line| {
                line.strip_prefix("#define ")?.strip_prefix(name)?.trim().strip_prefix("0x")
            });
            let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            let place = number.and_then(|number| number.checked_sub(from)?.try_into().ok());
            place.with_context(|| {
                format!("{}: `{name}` is no address of a window", self.plan.layout.file)
            })
        };
        let [window, base] = [value(START)?, value(BASE)?];
        Ok(Layout {
            window,
            base,
            ram_end: value("L4_RAM_END")?,
            vmalloc_end: value("L4_VMALLOC_END")?,
            from,
        })
    }
}

/// The files of ours that a processor's servers have, each after its place in Linux's source.
pub fn ours(processor: Processor) -> Result<Vec<(PathBuf, PathBuf)>> {
    let parts: Vec<_> = OURS.iter().chain(linux(processor)?.ours).collect();
    // A file that has a place of its own does not go with its folder.
    let has_own_place = |file: &Path| parts.iter().any(|(from, _)| Path::new(from) == file);
    let mut ours = Vec::new();
    for (from, to) in &parts {
        let folder = || {
            anyhow::Ok(
                files(from)?
                    .into_iter()
                    .filter(|file| file.is_file() && !has_own_place(file))
                    .collect(),
            )
        };
        let found = if Path::new(from).is_file() { vec![PathBuf::from(from)] } else { folder()? };
        for file in found {
            ours.push((
                Path::new(to).join(file.file_name().context("a file without a name")?),
                file,
            ));
        }
    }
    Ok(ours)
}

/// Where a server is; nothing if the package is none.
pub fn layout(package: &str, processor: Processor) -> Result<Option<Layout>> {
    server(package, processor).map(|server| server.layout()).transpose()
}

/// The packages that a description may mean by a package's name and a configuration, each with the
/// bytes of its window. The first is meant where no window is said. One that is full on another
/// processor is lean on this one.
pub fn sizes(
    package: &str,
    configuration: Configuration,
    processor: Processor,
) -> Result<Vec<(u32, &'static str)>> {
    let family = || servers().filter(move |server| server.plan.family == package);
    let is_meant = |server: &Server| server.plan.configuration == configuration;
    let elsewhere = family().any(|server| is_meant(&server))
        && !family().any(|server| is_meant(&server) && server.processor == processor);
    let of = |server: Server| Ok((server.bytes()?, server.plan.package));
    family()
        .filter(|server| server.processor == processor && (elsewhere || is_meant(server)))
        .map(of)
        .collect()
}

/// The bytes of the next larger window than a server's, if there is one.
pub fn larger(package: &str, processor: Processor) -> Result<Option<u32>> {
    let Some(server) = server(package, processor) else { return Ok(None) };
    let own = server.bytes()?;
    Ok(sizes(server.plan.family, server.plan.configuration, processor)?
        .into_iter()
        .map(|(bytes, _)| bytes)
        .filter(|bytes| *bytes > own)
        .min())
}

/// Where the first server among the packages is, which the machine model watches.
pub fn watched(packages: &[String]) -> Result<Option<Layout>> {
    let processor = board::chosen().processor;
    packages
        .iter()
        .find_map(|package| server(package, processor))
        .map(|server| server.layout())
        .transpose()
}

/// Builds a server, if the package is one and it was not built in this run.
pub fn build(package: &str) -> Result<()> {
    static BUILT: Once<()> = Once::new();
    let Some(server) = server(package, board::chosen().processor) else { return Ok(()) };
    BUILT.get(&format!("{} {package} {}", board::chosen().name(), order::chosen()), || {
        make_server(server)
    })
}

fn make_server(server: Server) -> Result<()> {
    let package = server.plan.package;
    let source = folder().join(server.plan.folder);
    unpack(&source, &patches(server.processor)?)?;
    for (place, file) in ours(server.processor)? {
        let contents = if file.ends_with(LAYOUT_FILE) {
            server.header().into_bytes()
        } else {
            std::fs::read(&file)?
        };
        put(&source.join(place), &contents)?;
    }
    let header = (linux(server.processor)?.header)();
    put(&source.join("arch/um/os-L4/abi.h"), header.as_bytes())?;
    configure(&source, "um", &choices(server)?)?;
    let (image, elf) = (source.join(IMAGE), elf(package).context("a server is built here")?);
    let what =
        format!("{:?} of {package}, layout {}", kernel_make(&source, "um")?, order::chosen());
    fresh::unless_fresh(&folder().join("fresh"), &what, &[elf], || {
        order::link(&source, &image, || make(&source, "um", &[IMAGE]))?;
        if server.plan.tests {
            make_tests(server, &source)?;
        }
        depends::files(&source)
    })
}

/// What a server's source is patched by: the order of functions, what all servers have, and those of
/// its processor.
fn patches(processor: Processor) -> Result<Vec<PathBuf>> {
    let own = linux(processor)?.patches.map(files).transpose()?.unwrap_or_default();
    Ok([order::patches()?, files("linux/patches")?, own].concat())
}

/// What a server is built with.
fn choices(server: Server) -> Result<String> {
    let mut choices =
        std::fs::read_to_string("linux/config")? + linux(server.processor)?.configuration;
    for file in server.plan.besides {
        choices += &std::fs::read_to_string(file)?;
    }
    Ok(choices)
}

/// The ELF file of the server that has `linux/tests` in it, of a source.
fn with_tests(source: &Path) -> PathBuf {
    source.with_extension("tests")
}

/// Links the server once more with `linux/tests`, if that was not done with this one and these.
fn make_tests(server: Server, source: &Path) -> Result<()> {
    let (plain, of) = (source.join(IMAGE), source.with_extension("tests-of"));
    // What is only for tests leaves the plain image as it is.
    let made_from = || {
        let mut contents = std::fs::read(&plain)?;
        for (_, file) in ours(server.processor)? {
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

/// Linux for the machine itself.
#[derive(Clone)]
pub struct Native {
    /// What a boot loader starts.
    pub kernel: PathBuf,
    /// The board's device tree, if Linux has to be told.
    pub devices: Option<PathBuf>,
    /// What starts it, where no firmware does.
    pub firmware: Option<PathBuf>,
    /// An ELF file with its symbols, of the first layout of its code.
    pub symbols: PathBuf,
}

/// Builds Linux for the machine itself, of the same source, unless it was built in this run. Of our
/// patches it has those for the order of functions only, and what the emulator needs.
pub fn native() -> Result<Native> {
    static BUILT: Once<Native> = Once::new();
    BUILT.get(&format!("{} {}", board::chosen().name(), order::chosen()), make_native)
}

fn make_native() -> Result<Native> {
    // It is another tree than those of servers, and takes minutes.
    let _building = Lock::of(&folder().join("native"))?;
    let linux = board::chosen().linux()?;
    let source = folder().join("native");
    unpack(&source, &native_patches()?)?;
    let own = std::fs::read_to_string(Path::new("linux/native").join(&linux.arch))?;
    // Choices that only User-Mode Linux has, and what this processor's Linux has not.
    let ours = ["CONFIG_UML", "CONFIG_MAGIC_SYSRQ", "CONFIG_VMAP_STACK"];
    let lacks = own.lines().filter_map(|line| line.strip_prefix("# ")?.strip_suffix(" is not set"));
    let without: Vec<&str> = ours.into_iter().chain(lacks).collect();
    let shared = std::fs::read_to_string("linux/config")?;
    let shared =
        shared.lines().filter(|line| !without.iter().any(|choice| line.starts_with(choice)));
    let wanted = shared.map(|line| format!("{line}\n")).collect::<String>() + &own;
    configure(&source, &linux.arch, &wanted)?;
    let image = Path::new(&linux.image);
    let target = image.file_name().unwrap_or_default().to_string_lossy();
    let devices = linux.device_tree.as_deref();
    let targets: Vec<&str> = std::iter::once(&*target).chain(devices).collect();
    let kernel = order::image(&source, source.join(image));
    let what =
        format!("{:?} {targets:?}, layout {}", kernel_make(&source, &linux.arch)?, order::chosen());
    let folder = source.join("arch").join(&linux.arch).join("boot/dts");
    let firmware = linux.firmware.as_deref().map(|source| assemble(linux, source)).transpose()?;
    let native = Native {
        kernel,
        devices: devices.map(|devices| folder.join(devices)),
        firmware,
        symbols: source.join(IMAGE),
    };
    let made: Vec<PathBuf> =
        std::iter::once(&native.kernel).chain(&native.devices).cloned().collect();
    fresh::unless_fresh(&self::folder().join("fresh"), &what, &made, || {
        order::link(&source, &source.join(image), || make(&source, &linux.arch, &targets))?;
        depends::files(&source)
    })?;
    Ok(native)
}

/// What Linux for the machine itself is patched by: the order of functions, and what
/// `linux/native/patches` has for its processor.
pub fn native_patches() -> Result<Vec<PathBuf>> {
    let own = Path::new("linux/native/patches").join(&board::chosen().linux()?.arch);
    let own = if own.is_dir() { files(own)? } else { Vec::new() };
    Ok([order::patches()?, own].concat())
}

/// What a file of assembly is in memory.
fn assemble(linux: &board::Linux, source: &Path) -> Result<PathBuf> {
    let made = folder().join(source.file_stem().context("a file without a name")?);
    let [object, binary] = ["o", "bin"].map(|extension| made.with_extension(extension));
    run(Command::new(linux.compiler())
        .args(["-c", "-Wa,-mregnames", "-o"])
        .arg(&object)
        .arg(source))?;
    run(Command::new(format!("{}objcopy", linux.tools))
        .args(["-O", "binary"])
        .arg(&object)
        .arg(&binary))?;
    Ok(binary)
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
    patched::unpack(source, Path::new(SOURCE), &Path::new(FOLDER).join(SHARED), patches, |source| {
        format!("Linux {}", version(source))
    })
}

/// Whether Linux's Makefile works below a folder.
fn can_hold(folder: &Path) -> bool {
    !folder.to_string_lossy().contains([' ', '\t', '\n', ':'])
}

/// The version that a source tree's Makefile tells.
fn version(source: &Path) -> String {
    let text = std::fs::read_to_string(source.join("Makefile")).unwrap_or_default();
    let of = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.trim().strip_prefix('='))
            .unwrap_or("?")
            .trim()
            .to_string()
    };
    format!("{}.{}.{}", of("VERSION "), of("PATCHLEVEL "), of("SUBLEVEL "))
}

/// `make` in a source tree of the kernel, `um` or for the machine itself.
pub fn kernel_make(source: &Path, arch: &str) -> Result<Command> {
    let linux = board::chosen().linux()?;
    let mut make = Command::new("make");
    if linux.cross {
        make.arg(format!("CROSS_COMPILE={}", linux.tools));
    }
    let asked = std::env::var("KCFLAGS").unwrap_or_default();
    make.arg(format!("KCFLAGS={QUICK} {asked}"));
    make.arg("-C")
        .arg(source)
        .arg(format!("ARCH={arch}"))
        .arg(format!("SUBARCH={}", linux.arch))
        .args([
            "KBUILD_BUILD_USER=macadamia",
            "KBUILD_BUILD_HOST=macadamia",
            // Equal sources make equal images.
            "KBUILD_BUILD_VERSION=1",
            "KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970",
        ]);
    Ok(make)
}

/// Makes `.config` out of the choices, and checks that every one was taken.
fn configure(source: &Path, arch: &str, wanted: &str) -> Result<()> {
    let stamp = source.with_extension("configured");
    if source.join(".config").exists()
        && std::fs::read_to_string(&stamp).is_ok_and(|old| old == wanted)
    {
        return Ok(());
    }
    let choices = std::env::current_dir()?.join(source.with_extension("choices"));
    std::fs::write(&choices, wanted)?;
    let output = kernel_make(source, arch)?
        .arg("allnoconfig")
        .env("KCONFIG_ALLCONFIG", choices)
        .output()
        .context("cannot run make")?;
    ensure!(
        output.status.success(),
        "the configuration of Linux failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let made = std::fs::read_to_string(source.join(".config"))?;
    for line in wanted.lines().filter(|line| line.starts_with("CONFIG_")) {
        ensure!(
            made.lines().any(|other| other == line),
            "linux: `{line}` was not taken; something that it needs is missing"
        );
    }
    std::fs::write(stamp, wanted)?;
    Ok(())
}

/// Compiles, with a line of progress now and then.
fn make(source: &Path, arch: &str, targets: &[&str]) -> Result<()> {
    let jobs = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let log = folder().join("build.log");
    let mut command = kernel_make(source, arch)?;
    command.arg(format!("-j{jobs}")).args(targets);
    let mut command = group(&command);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&log)?)
        .spawn()
        .context("cannot run make")?;
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
        bail!(
            "the build of Linux failed; its messages are in {}:\n{}",
            log.display(),
            std::fs::read_to_string(&log)?
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Window;

    fn ia32() -> Processor {
        processor::named("ia32").expect("a processor")
    }

    fn armv5() -> Processor {
        processor::named("armv5").expect("a processor")
    }

    fn powerpc() -> Processor {
        processor::named("powerpc").expect("a processor")
    }

    fn x86_64() -> Processor {
        processor::named("x86_64").expect("a processor")
    }

    #[test]
    fn servers_keep_to_their_windows() {
        for server in servers() {
            let (at, windows) =
                (server.layout().expect("plain numbers"), server.processor.layout.windows);
            let window = Window { start: at.window, serve: true };
            assert!(
                window.is_possible(&windows) && at.base == at.window + windows.kernel_bytes,
                "{at:x?}"
            );
            assert!(at.base < at.ram_end && at.ram_end + (64 << 20) < at.vmalloc_end, "{at:x?}");
            assert!(
                at.vmalloc_end <= windows.start_block && at.ram_end.is_multiple_of(abi::TABLE_SPAN),
                "{at:x?}"
            );
        }
        assert_eq!(
            layout("linux", ia32()).expect("plain numbers").map(|at| (at.window, at.base)),
            Some((0xc000_0000, 0xc040_0000))
        );
        assert!(layout("hello", ia32()).expect("none").is_none());
    }

    #[test]
    fn only_one_patch_names_the_host() {
        let patches =
            files(concat!(env!("CARGO_MANIFEST_DIR"), "/../linux/patches")).expect("a folder");
        let names_host = |patch: &PathBuf| {
            let text = std::fs::read_to_string(patch).expect("a patch");
            text.lines().any(|line| line.starts_with('+') && line.contains("UML_HOST_L4"))
        };
        let naming: Vec<_> = patches.iter().filter(|patch| names_host(patch)).collect();
        assert!(
            matches!(naming[..], [patch] if patch.to_string_lossy().contains("a-host-layer-for-an-l4-microkernel")),
            "{naming:?}"
        );
    }

    #[test]
    fn a_linux_has_windows_of_several_sizes() {
        let sizes = |package| sizes(package, Configuration::Lean, ia32());
        let all = sizes("linux").expect("plain numbers");
        assert_eq!(all, [(512 << 20, "linux"), (1 << 30, "linux-1g"), (2 << 30, "linux-2g")]);
        let full = |package, processor| {
            super::sizes(package, Configuration::Full, processor).expect("plain numbers")
        };
        assert_eq!(full("linux", ia32()), [(512 << 20, "linux-full")]);
        assert_eq!(full("linux", armv5()), [(512 << 20, "linux-full")]);
        assert_eq!(full("linux", x86_64()), [(7 << 29, "linux-full")]);
        assert_eq!(full("linux", powerpc()), [(512 << 20, "linux")]);
        assert_eq!(full("linux-tests", ia32()), []);
        let at = |package| layout(package, ia32()).expect("plain numbers").expect("a server");
        assert_eq!((at("linux-2g").window, at("linux-2g").base), (0x6000_0000, 0x6040_0000));
        assert_eq!(
            (at("linux-2g").ram_end, at("linux-2g").vmalloc_end),
            (at("linux").ram_end, at("linux").vmalloc_end)
        );
        assert_eq!(sizes("hello").expect("none"), []);
        let larger = |package| larger(package, ia32()).expect("plain numbers");
        assert_eq!(
            ["linux", "linux-1g", "linux-2g", "linux-tests", "hello"].map(larger),
            [Some(1 << 30), Some(2 << 30), None, None, None]
        );
    }
}
