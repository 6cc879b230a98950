// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that can be small (docs/small-spaces.md). They are linked with musl, which finds
//! thread-local data at offsets that are not negative, and they are position-independent, so they
//! can lie anywhere in their region.

use super::recipes::Recipes;
use super::{busybox, folder, packages};
use crate::machine::board;
use crate::process::lock::Lock;
use crate::process::once::Once;
use anyhow::{Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Programs of Debian's source packages.
const RECIPES: &str = "linux/musl/recipes.toml";
/// Where they are kept when they are built.
const BUILT: &str = "musl";

/// Options of Debian's BusyBox that want the regular expressions of glibc.
const NOT_WITH_MUSL: [&str; 2] = ["CONFIG_EXTRA_COMPAT", "CONFIG_FEATURE_VI_REGEX_SEARCH"];

/// What lets Debian's cross compiler make static position-independent programs with Debian's musl
/// for i386.
fn specs() -> Result<PathBuf> {
    static SPECS: Once<PathBuf> = Once::new();
    SPECS.get("musl", write_specs)
}

fn write_specs() -> Result<PathBuf> {
    let tree = packages::binaries(&["musl-dev", "linux-libc-dev"])?.join("usr");
    let (include, lib) = (tree.join("include"), tree.join("lib/i386-linux-musl"));
    ensure!(
        lib.join("rcrt1.o").exists(),
        "{} has no rcrt1.o: Debian's musl-dev is not as expected",
        lib.display()
    );
    let (include, lib) = (include.display(), lib.display());
    let headers = format!(
        "-nostdinc -isystem {include}/i386-linux-musl -isystem {include} -isystem {include}/i386-linux-gnu"
    );
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

/// The same for who takes it as one text.
fn compiler_line() -> Result<String> {
    Ok(format!("{} -specs={}", board::chosen().linux()?.compiler(), specs()?.display()))
}

/// The contents of files that the recipes install at these paths; what was not built is.
///
/// # Errors
/// If no recipe has a path, or something does not build.
pub fn programs(paths: &[String]) -> Result<Vec<Vec<u8>>> {
    // One thread of this process at a time, and one process.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _here = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    fs::create_dir_all(folder())?;
    let _building = Lock::of(&folder().join(BUILT))?;
    let files = Recipes::read(RECIPES, BUILT, Some(compiler_line()?))?.files(paths)?;
    files.iter().map(|file| Ok(fs::read(file)?)).collect()
}

/// BusyBox that can be small, unless it was built before.
pub fn busybox() -> Result<PathBuf> {
    static BUSYBOX: Once<PathBuf> = Once::new();
    BUSYBOX.get("busybox", || busybox::build("busybox-musl", &compiler_line()?, &NOT_WITH_MUSL))
}
