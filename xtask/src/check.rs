// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of the source, and of the machine on which it is built (`doctor`).
//!
//! It owns what a check reports. It runs no emulator and builds nothing; the list of tests is in
//! `test::source`.

mod circle;
mod crates;
mod dependencies;
mod examples;
pub mod files;
mod includes;
mod metadata;
mod modules;
mod ports;
pub mod prose;
mod words;

pub use crates::Crates;
pub use dependencies::check as dependencies;
pub use examples::examples;
pub use metadata::{HOST, Metadata, Package};
pub use ports::ports;
pub use words::words;

use crate::linux::server;
use crate::machine::processor;
use crate::process::show;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// What sees what: crates by their layers, files of a crate, headers of Linux's host layer.
pub fn arrows() -> Result<()> {
    let crates = Crates::read()?;
    crates.arrows()?;
    crates.circles()?;
    for processor in processor::ALL.into_iter().filter(|processor| processor.linux.is_some()) {
        let ours = server::ours(processor)?;
        let texts = ours.iter().map(|(place, file)| {
            Ok((place.to_str().context("a name")?, std::fs::read_to_string(file)?))
        });
        let texts = texts.collect::<Result<Vec<_>>>()?;
        if let Some(circle) =
            includes::circle(texts.iter().map(|(place, text)| (*place, text.as_str())))
        {
            bail!(
                "linux: a circle of includes, {}: in one of them, remove what it uses of the next",
                circle.join(" -> ")
            );
        }
    }
    Ok(())
}

/// Counts unsafe code of each crate.
pub fn unsafe_code() -> Result<()> {
    Crates::read()?.unsafe_code()
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
        ("qemu-system-mips64", "--version", "qemu-system-mips (10 or later, from backports)"),
        ("bochs", "--help", "bochs bochsbios vgabios bochs-x"),
        ("Xvfb", "-help", "xvfb"),
        ("grub-mkrescue", "--version", "grub-pc-bin grub-efi-amd64-bin grub-common xorriso mtools"),
        ("xorriso", "--version", "xorriso"),
    ] {
        match Command::new(tool).arg(argument).output() {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned()
                    + &String::from_utf8_lossy(&output.stderr);
                show(&format!("{tool}: {}\n", version(&text).unwrap_or("there")))?;
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

/// The first line with two numbers and a dot between them. Xvfb's help has none.
fn version(text: &str) -> Option<&str> {
    let is_one = |three: &[u8]| matches!(three, [b'0'..=b'9', b'.', b'0'..=b'9']);
    text.lines().find(|line| line.as_bytes().windows(3).any(is_one)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found() {
        let bochs =
            "=====\n   Bochs x86 Emulator 2.7\n Built from SVN snapshot on August  1, 2021\n";
        assert_eq!(version(bochs), Some("Bochs x86 Emulator 2.7"));
        assert_eq!(version("use: X [:<display>] [option]\nc #   key-click volume (0-100)\n"), None);
    }
}
