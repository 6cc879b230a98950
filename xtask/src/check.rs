// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of the source itself, and of the machine it is built on.

mod circle;
mod dependencies;
pub mod files;
mod includes;
mod modules;

pub use dependencies::check as dependencies;

use crate::linux::server;
use crate::machine::board::Processor;
use crate::process::show;
use anyhow::{Context, Result, bail};
use files::{files, has_extension, read};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which crates of the kernel may see which (ARCHITECTURE.md).
const ARROWS: &[(&str, &[&str])] = &[
    ("abi", &[]),
    ("mmu", &["abi"]),
    ("sizes", &["abi"]),
    ("pool", &["abi", "sizes"]),
    ("kcore", &["abi", "mmu", "pool", "sizes"]),
    ("ruler", &[]),
    ("isa", &[]),
    ("amigaone", &["isa"]),
    ("pc", &["isa"]),
    ("versatilepb", &[]),
    ("plat-amigaone", &["amigaone", "isa", "plat-isa"]),
    ("plat-isa", &["isa"]),
    ("plat-pc", &["isa", "pc", "plat-isa", "ruler"]),
    ("plat-versatilepb", &["versatilepb"]),
    ("ia32-context", &["abi", "mmu", "pool", "kcore"]),
    ("armv5-context", &["abi", "kcore"]),
    ("powerpc-context", &["abi", "kcore"]),
    ("port-map", &["pool", "kcore"]),
    ("arch-common", &["abi", "pool", "kcore"]),
    ("arch-ia32", &["abi", "mmu", "pool", "kcore", "arch-common", "ia32-context", "plat-pc", "port-map"]),
    ("arch-armv5", &["abi", "mmu", "pool", "kcore", "arch-common", "armv5-context", "plat-versatilepb"]),
    ("arch-powerpc", &["abi", "mmu", "pool", "kcore", "arch-common", "powerpc-context", "plat-amigaone", "port-map"]),
    ("arch-host", &["abi", "mmu", "pool", "kcore", "ia32-context"]),
    ("kernel", &["arch-armv5", "arch-common", "arch-ia32", "arch-powerpc"]),
    ("model-core", &["abi"]),
    ("model-profile", &[]),
    ("model-plugin", &["abi", "image", "model-core", "model-profile"]),
    ("image", &[]),
    ("abi-header", &["abi", "image"]),
    ("macadamia", &["abi", "image", "isa"]),
    ("root", &["abi", "amigaone", "image", "isa", "macadamia", "pc", "versatilepb"]),
    ("console", &["macadamia", "versatilepb"]),
    ("hello", &["macadamia"]),
    ("clock", &["macadamia", "versatilepb"]),
    ("pingpong", &["macadamia"]),
    ("pager", &["abi", "image", "macadamia"]),
    ("crash", &["abi", "image", "macadamia"]),
    ("processor", &["abi", "macadamia"]),
    ("conform", &["abi", "image", "macadamia", "processor"]),
    ("known-counts", &["abi", "image", "macadamia", "processor"]),
    ("fast-paths", &["abi", "image", "macadamia", "processor"]),
    ("latency", &["abi", "image", "macadamia", "processor"]),
    ("measured", &["abi", "image", "macadamia"]),
    ("book", &["model-core"]),
    ("hostile", &["abi", "image", "macadamia"]),
    ("rival", &["image", "macadamia"]),
];

/// Crates whose files name each other in one direction only.
const WITHOUT_CIRCLES: &[&str] = &[
    "bench/native",
    "kernel/mmu",
    "kernel/arch/armv5",
    "kernel/arch/armv5-context",
    "kernel/arch/common",
    "kernel/arch/host",
    "kernel/arch/ia32",
    "kernel/arch/ia32-context",
    "kernel/arch/port-map",
    "kernel/arch/powerpc",
    "kernel/arch/powerpc-context",
    "kernel/plat/amigaone",
    "kernel/plat/isa",
    "kernel/plat/pc",
    "kernel/plat/ruler",
    "kernel/plat/versatilepb",
    "user/calendar",
    "user/frames",
    "user/ranges",
    "user/sectors",
    "user/serv/clock",
    "user/serv/ip",
    "user/serv/ranges",
    "user/serv/switch",
    "user/web",
    "xtask",
];

/// Crates whose data name each other, as a Thread its Space and a Space its first Thread, or as the allocator whose free
/// lists lie in the pool that has it. They do so through the crate's root. What a file names of another by that one's own
/// path has one direction here, too.
const THROUGH_THE_ROOT: &[&str] = &["kernel/core", "kernel/pool"];

/// Crates without any unsafe code: the compiler forbids it there.
const SAFE: &[&str] = &[
    "abi",
    "boards/amigaone",
    "boards/versatilepb",
    "kernel/core",
    "kernel/mmu",
    "kernel/sizes",
    "kernel/arch/armv5-context",
    "kernel/arch/ia32-context",
    "kernel/arch/port-map",
    "kernel/arch/powerpc-context",
    "kernel/plat/ruler",
    "user/image",
    "user/serv/root",
    "user/serv/console",
    "user/serv/clock",
    "user/serv/disk",
    "user/serv/nic",
    "user/serv/switch",
    "user/serv/ip",
    "user/serv/ranges",
    "user/ranges",
    "user/demo/domains",
    "user/calendar",
    "user/frames",
    "user/sockets",
    "user/sectors",
    "user/web",
    "linux/abi-header",
    "user/demo/hello",
    "user/demo/pingpong",
    "user/demo/pager",
    "user/demo/crash",
    "user/demo/echo",
    "user/demo/signer",
    "user/demo/date",
    "user/demo/tutorial-client",
    "user/demo/tutorial-server",
    "user/demo/tutorial-net",
    "user/demo/http",
    "model/core",
    "model/profile",
    "bench/book",
    "tests/chaos",
    "tests/conform",
    "tests/known-counts",
    "tests/differential",
    "tests/fast-paths",
    "tests/flood",
    "tests/hostile",
    "tests/latency",
    "tests/rival",
    "tests/sockets",
    "tests/trespass",
    "xtask",
];

/// Unsafe blocks, functions and impls that a crate may have: more needs a reason and a new figure here.
const UNSAFE: &[(&str, usize)] = &[
    ("kernel/pool", 11),
    // Three of them are for servers: the word that says whose tables these are, the question whether limits hold, and the flush
    // of global pages. Another is the way of a fast path that asks for more care than it takes itself.
    ("kernel/arch/ia32", 58),
    ("kernel/arch/host", 1),
    ("kernel/plat/pc", 2),
    // Instructions of ports, six for each processor that has any.
    ("boards/isa", 12),
    // The bridge's configuration space, which is memory.
    ("kernel/plat/amigaone", 3),
    // Registers of the processor, lines of caches, the words and the boot image in memory, the FPU, the way in and out.
    ("kernel/arch/powerpc", 44),
    ("kernel/src", 0),
    // Registers of the coprocessor that may do harm, tables that the processor walks, the way in and out.
    ("kernel/arch/armv5", 30),
    // Statics that are written, the one reference to the kernel, what the boot loader left.
    ("kernel/arch/common", 17),
    ("kernel/plat/versatilepb", 2),
    // 20 of them are a device that reaches memory (virtio/), and what its crate declares unsafe; 12 are memory that others write (net);
    // one counts messages. 23 are for ARM: atomic operations that the compiler calls, copies, and the counter in a page.
    // 14 are PowerPC's: the call, copies, the count of messages, registers.
    ("user/lib", 101),
    ("model/plugin", 26),
    // A call of code that was written to memory, a function that begins with a page, and three that lie in a part of one.
    ("bench/native", 5),
    // The bounds of assembled code, and the bytes between them.
    ("tests/processor", 2),
    // Memory and registers of a machine that nobody else uses, and the way out.
    ("tests/bootm", 3),
];

/// Who sees whom: crates against [`ARROWS`], files of [`WITHOUT_CIRCLES`] and [`THROUGH_THE_ROOT`], headers of Linux's host layer.
pub fn arrows() -> Result<()> {
    for folder in WITHOUT_CIRCLES.iter().chain(THROUGH_THE_ROOT) {
        let source = Path::new(folder).join("src");
        let files = sources(&source)?;
        let names = files.iter().map(|(path, text)| Ok((path.strip_prefix(&source)?.to_str().context("a name")?, text.as_str())));
        let files = modules::Files::new(names.collect::<Result<Vec<_>>>()?);
        let files = if THROUGH_THE_ROOT.contains(folder) { files.without_root() } else { files };
        if let Some(circle) = files.circle() {
            bail!("{folder}: a circle of files, {}: let one of them do without what it names of the next", circle.join(" -> "));
        }
    }
    for processor in [Processor::Ia32, Processor::Armv5] {
        let ours = server::ours(processor)?;
        let texts = ours.iter().map(|(place, file)| Ok((place.to_str().context("a name")?, std::fs::read_to_string(file)?)));
        let texts = texts.collect::<Result<Vec<_>>>()?;
        if let Some(circle) = includes::circle(texts.iter().map(|(place, text)| (*place, text.as_str()))) {
            bail!("linux: a circle of includes, {}: let one of them do without what it names of the next", circle.join(" -> "));
        }
    }
    for manifest in files(Path::new("."), &|path| path.ends_with("Cargo.toml"))? {
        let table = toml::Value::Table(read(&manifest)?.parse()?);
        let Some(name) = table.get("package").and_then(|p| p.get("name")).and_then(|n| n.as_str()) else { continue };
        let Some((_, allowed)) = ARROWS.iter().find(|(crate_name, _)| *crate_name == name) else { continue };
        let of_targets = table.get("target").and_then(|targets| targets.as_table()).into_iter().flat_map(|targets| targets.values());
        let tables = of_targets.chain([&table]).filter_map(|table| table.get("dependencies")?.as_table());
        for dependency in tables.flat_map(|dependencies| dependencies.keys()) {
            let ours = ARROWS.iter().any(|(crate_name, _)| crate_name == dependency);
            if ours && !allowed.contains(&dependency.as_str()) {
                bail!("{}: `{name}` must not see `{dependency}`: it may see only {allowed:?}", manifest.display());
            }
        }
    }
    Ok(())
}

/// A crate's source files, and their texts.
fn sources(folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    files(folder, &|path| has_extension(path, &["rs"]))?.into_iter().map(|path| Ok((path.clone(), read(&path)?))).collect()
}

/// Occurrences of the keyword in code.
fn count_unsafe(text: &str) -> usize {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or("")).filter(|line| !line.contains("unsafe_"));
    code.map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| *word == "unsafe").count()).sum()
}

/// Counts unsafe code per crate and holds it against [`UNSAFE`] and [`SAFE`].
pub fn unsafe_code() -> Result<()> {
    for (folder, most) in UNSAFE.iter().filter(|(folder, _)| Path::new(folder).exists()) {
        let all = sources(Path::new(folder))?;
        let count: usize = all.iter().map(|(_, text)| count_unsafe(text)).sum();
        let lines: usize =
            all.iter().map(|(_, text)| text.lines().filter(|l| !l.trim().is_empty() && !l.trim().starts_with("//")).count()).sum();
        println!("# {folder}: {count} unsafe in {lines} lines of code");
        if count > *most {
            bail!(
                "{folder} has {count} uses of unsafe, {most} are allowed: find a safe way, or raise the figure in xtask/src/check.rs and say why"
            );
        }
    }
    for folder in SAFE {
        let main = ["src/lib.rs", "src/main.rs"].map(|file| Path::new(folder).join(file)).into_iter().find(|file| file.exists());
        let text = std::fs::read_to_string(main.context("a crate without a source file")?)?;
        if !text.contains("#![forbid(unsafe_code)]") {
            bail!("{folder} does not forbid unsafe code");
        }
    }
    Ok(())
}

/// Says which tools are there.
pub fn doctor() -> Result<()> {
    let mut missing = 0;
    for (tool, argument, package) in [
        ("rustc", "--version", "rustc-web"),
        ("cargo", "--version", "cargo-web"),
        ("ld.lld", "--version", "lld"),
        ("qemu-system-i386", "--version", "qemu-system-x86 (10 or later, from backports)"),
        ("qemu-system-arm", "--version", "qemu-system-arm (10 or later, from backports)"),
        ("qemu-system-ppc", "--version", "qemu-system-ppc (10 or later, from backports)"),
        ("bochs", "--help", "bochs bochsbios vgabios bochs-term"),
        ("grub-mkrescue", "--version", "grub-pc-bin grub-common xorriso mtools"),
        ("xorriso", "--version", "xorriso"),
    ] {
        match Command::new(tool).arg(argument).output() {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
                show(&format!("{tool}: {}\n", text.lines().find(|l| l.chars().any(|c| c.is_ascii_digit())).unwrap_or("there").trim()))?;
            }
            Err(_) => {
                missing += 1;
                show(&format!("{tool}: missing; install {package}\n"))?;
            }
        }
    }
    if missing > 0 {
        bail!("{missing} tools are missing: `./macadamia run hello` installs them");
    }
    Ok(())
}
