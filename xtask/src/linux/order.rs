// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order of Linux's functions in memory, by the same rule in a server and in Linux alone: the
//! functions of `linux/order/functions` come first, next to each other, in that order. `./macadamia
//! bench order` makes that list.
//!
//! To measure how much the places of functions matter, there are other layouts, with padding
//! between them.

use crate::linux::files;
use crate::linux::patched::put;
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The list: names, each in a line.
pub const LIST: &str = "linux/order/functions";
/// The patches that have it read.
const FOLDER: &str = "linux/order";
/// Where the linker script finds it in Linux's source.
const HEADER: &str = "include/asm-generic/text_order.h";

/// How many layouts there are.
pub const LAYOUTS: u8 = 5;
/// Bytes of the largest line of a cache.
const LINE: u32 = 64;
/// So many functions keep their distances.
const TOGETHER: usize = 16;
/// A pad between them is shorter than so many lines.
const PAD: u8 = 8;
/// And the one before all of them, than so many: a page.
const FIRST_PAD: u8 = 64;

thread_local! {
    /// What this thread builds and runs. The first has no pads.
    static HERE: Cell<u8> = const { Cell::new(0) };
}

/// Gives each Linux that `what` builds or runs on this thread the layout of this number.
pub fn with<T>(layout: u8, what: impl FnOnce() -> T) -> T {
    let before = HERE.replace(layout);
    let result = what();
    HERE.set(before);
    result
}

/// The chosen layout.
pub fn chosen() -> u8 {
    HERE.get()
}

/// Where a Linux of the chosen layout is, whose image of the first one is `image`, of the source
/// tree `source`.
pub fn image(source: &Path, image: PathBuf) -> PathBuf {
    match chosen() {
        0 => image,
        layout => source.with_extension(format!("layout-{layout}")),
    }
}

/// The patches for it, which come before others.
pub fn patches() -> Result<Vec<PathBuf>> {
    Ok(files(FOLDER)?
        .into_iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "patch"))
        .collect())
}

/// Puts it into a source tree.
pub fn place(source: &Path, layout: u8) -> Result<()> {
    let list = std::fs::read_to_string(LIST).with_context(|| format!("cannot read {LIST}"))?;
    put(&source.join(HEADER), header(&list, layout).as_bytes())
}

/// Has `make` link a source tree in the chosen layout. If that is another than the first, its image
/// is copied to where it belongs, and the tree is left with the first one again: others rely on it.
pub fn link(source: &Path, image: &Path, make: impl Fn() -> Result<()>) -> Result<()> {
    if chosen() != 0 {
        place(source, chosen())?;
        make()?;
        std::fs::copy(image, self::image(source, image.into()))?;
    }
    place(source, 0)?;
    make()
}

/// The list as a part of a linker script. A name that this Linux does not have, or whose function
/// the compiler has made part of another one, is harmless; what the compiler adds to a name begins
/// with a dot.
fn header(list: &str, layout: u8) -> String {
    let mut text = String::from("/* SPDX-License-Identifier: GPL-2.0 */\n#define TEXT_ORDER");
    for (i, name) in list.lines().enumerate() {
        let pad = if i % TOGETHER == 0 { pad(layout, i / TOGETHER) } else { 0 };
        if pad > 0 {
            // Writing to a string cannot fail, here and below.
            let _ = write!(text, " \\\n\t. = . + {pad};");
        }
        let _ = write!(text, " \\\n\t*(.text.{name} .text.{name}.*)");
    }
    text + "\n"
}

/// Bytes before the functions of a group: the same in each build.
fn pad(layout: u8, group: usize) -> u32 {
    let lines = if group == 0 { FIRST_PAD } else { PAD };
    let random = Sha256::digest(format!("{layout} {group}"))[0];
    if layout == 0 { 0 } else { u32::from(random % lines) * LINE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_differ_in_pads_alone() {
        let list: String = (0..40).map(|i| format!("f{i}\n")).collect();
        let texts: Vec<String> = (0..LAYOUTS).map(|layout| header(&list, layout)).collect();
        let is_pad = |line: &&str| line.starts_with("\t. = . + ");
        assert!(!texts[0].lines().any(|line| is_pad(&line)), "{}", texts[0]);
        assert!(
            texts[0].contains(
                "#define TEXT_ORDER \\\n\t*(.text.f0 .text.f0.*) \\\n\t*(.text.f1 .text.f1.*) \\\n"
            ),
            "{}",
            texts[0]
        );
        let functions = |text: &str| {
            text.lines().filter(|line| !is_pad(line)).map(String::from).collect::<Vec<_>>()
        };
        for (i, text) in texts.iter().enumerate() {
            assert_eq!(functions(text), functions(&texts[0]));
            assert!(
                texts[..i].iter().all(|other| other != text),
                "layouts {i} and an earlier one are the same"
            );
        }
    }

    #[test]
    fn a_layout_has_an_image_of_its_own() {
        let at = |layout| with(layout, || image(Path::new("a/source"), "a/source/vmlinux".into()));
        assert_eq!([at(0), at(2)], [PathBuf::from("a/source/vmlinux"), "a/source.layout-2".into()]);
        assert_eq!(chosen(), 0);
    }

    #[test]
    fn the_list_names_each_function_once() {
        let list = std::fs::read_to_string(Path::new("..").join(LIST)).expect("the list");
        let names: Vec<&str> = list.lines().collect();
        let is_name = |name: &&str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        assert!(names.iter().all(is_name) && names.len() > 500, "{} names", names.len());
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len());
    }
}
