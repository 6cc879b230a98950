// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that can be small (docs/small-spaces.md): linked with musl, which finds what belongs to a thread at offsets that are not
//! negative; and position-independent, so that they need not lie where others do.

use super::{folder, packages};
use crate::machine::board;
use crate::process::once::Once;
use crate::process::tether::group;
use crate::process::{complete, run};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Options of Debian's BusyBox that want the regular expressions of glibc.
const NOT_WITH_MUSL: [&str; 2] = ["CONFIG_EXTRA_COMPAT", "CONFIG_FEATURE_VI_REGEX_SEARCH"];

/// What lets Debian's cross compiler make static position-independent programs with Debian's musl for i386.
fn specs() -> Result<PathBuf> {
    static SPECS: Once<PathBuf> = Once::new();
    SPECS.get("musl", write_specs)
}

fn write_specs() -> Result<PathBuf> {
    let tree = packages::binaries(&["musl-dev", "linux-libc-dev"])?.join("usr");
    let (include, lib) = (tree.join("include"), tree.join("lib/i386-linux-musl"));
    ensure!(lib.join("rcrt1.o").exists(), "{} has no rcrt1.o: Debian's musl-dev is not as expected", lib.display());
    let (include, lib) = (include.display(), lib.display());
    let headers = format!("-nostdinc -isystem {include}/i386-linux-musl -isystem {include} -isystem {include}/i386-linux-gnu");
    let text = format!(
        "%rename cpp_options other_cpp_options\n\
         %rename cc1 other_cc1\n\n\
         *cpp_options:\n{headers} %(other_cpp_options)\n\n\
         *cc1:\n{headers} -fPIE %(other_cc1)\n\n\
         *link_libgcc:\n-L{lib} -L .%s\n\n\
         *libgcc:\nlibgcc.a%s libgcc_eh.a%s\n\n\
         *startfile:\n{lib}/rcrt1.o {lib}/crti.o crtbeginS.o%s\n\n\
         *endfile:\ncrtendS.o%s {lib}/crtn.o\n\n\
         *link:\n-m elf_i386 %{{!r:-static -pie --no-dynamic-linker -z text -z noexecstack}}\n"
    );
    let path = std::env::current_dir()?.join(folder()).join("musl.specs");
    if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
        fs::write(&path, text)?;
    }
    Ok(path)
}

/// The compiler for such programs.
pub fn compiler() -> Result<Command> {
    let mut gcc = Command::new(board::chosen().linux()?.compiler());
    gcc.arg(format!("-specs={}", specs()?.display()));
    Ok(gcc)
}

/// BusyBox with Debian's options for its static one, built of Debian's source as its authors made it, unless that was done before.
pub fn busybox() -> Result<PathBuf> {
    static BUSYBOX: Once<PathBuf> = Once::new();
    BUSYBOX.get("busybox", build_busybox)
}

fn build_busybox() -> Result<PathBuf> {
    let tree = std::env::current_dir()?.join(folder()).join("busybox-musl");
    let program = tree.join("busybox");
    if program.exists() {
        return Ok(program);
    }
    let specs = specs()?;
    let source = packages::source("busybox")?;
    eprintln!("building BusyBox with musl");
    let making = tree.with_extension("making");
    if making.exists() {
        fs::remove_dir_all(&making)?;
    }
    run(Command::new("cp").arg("-a").arg(source).arg(&making))?;
    let options = making.join("debian/config/pkg/static");
    let options = fs::read_to_string(&options).with_context(|| format!("cannot read {}", options.display()))?;
    let is_wanted = |line: &&str| !NOT_WITH_MUSL.iter().any(|option| line.starts_with(option));
    let without = NOT_WITH_MUSL.map(|option| format!("# {option} is not set\n"));
    let wanted: String = options.lines().filter(is_wanted).flat_map(|line| [line, "\n"]).collect();
    fs::write(making.join(".config"), wanted + &without.concat())?;
    let log = making.join("build.log");
    let linux = board::chosen().linux()?;
    let mut make = Command::new("make");
    make.current_dir(&making).arg(format!("-j{}", std::thread::available_parallelism()?));
    make.arg(format!("CROSS_COMPILE={}", linux.tools)).arg(format!("CC={} -specs={}", linux.compiler(), specs.display()));
    let mut make = group(&make);
    make.stdin(Stdio::null()).stdout(fs::File::create(&log)?).stderr(fs::File::options().append(true).open(&log)?);
    complete("make".as_ref(), &mut make).with_context(|| format!("BusyBox does not build with musl: see {}", log.display()))?;
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    fs::rename(making, &tree)?;
    Ok(program)
}
