// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system for a machine on which no boot loader runs: one file, which the emulator puts into
//! memory.

use crate::machine::words;
use crate::process::aside;
use anyhow::{Result, ensure};
use std::path::Path;

/// Bytes of the words.
const PAGE: usize = abi::PAGE_SIZE as usize;

/// Makes the file of a boot image and the kernel's symbols, for a machine with so many MiB of RAM.
pub fn write(file: &Path, [image, symbols]: [&Path; 2], memory: u32) -> Result<()> {
    let parts = [std::fs::read(image)?, std::fs::read(symbols)?].concat();
    let contents = [page(memory, parts.len(), &words::words())?, parts].concat();
    aside(file, |file| Ok(std::fs::write(file, contents)?))
}

/// The words, which end with a zero.
fn page(memory: u32, bytes: usize, words: &str) -> Result<Vec<u8>> {
    let mut page = format!("memory={} image={bytes} {words}", u64::from(memory) << 20).into_bytes();
    ensure!(page.len() < PAGE, "the kernel's command line is too long: {words}");
    page.resize(PAGE, 0);
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_what_lies_there() {
        let page = page(128, 5, "sweep=off").expect("short");
        assert_eq!(page.len(), PAGE);
        assert!(page.starts_with(b"memory=134217728 image=5 sweep=off\0"));
        assert!(super::page(128, 5, &"x".repeat(PAGE)).is_err());
    }
}
