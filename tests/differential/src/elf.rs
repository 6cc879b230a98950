// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's ELF file: its code, and the places of its symbols.

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSection, ObjectSymbol};
use std::path::Path;

/// A symbol.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Its name, mangled if it is Rust's.
    pub name: String,
    /// The lower half of its address.
    pub address: u32,
    /// Its number of bytes, if the file has it.
    #[allow(dead_code, reason = "not each processor asks for it")]
    pub bytes: u32,
}

/// The file.
pub struct Elf {
    data: Vec<u8>,
    symbols: Vec<Symbol>,
}

impl Elf {
    /// Reads it.
    pub fn read(path: &Path) -> Result<Self> {
        let data =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let named = |s: object::Symbol| {
            Some(Symbol {
                name: s.name().ok()?.into(),
                address: low(s.address())?,
                bytes: s.size().try_into().ok()?,
            })
        };
        let symbols = object::File::parse(&*data)?.symbols().filter_map(named).collect();
        Ok(Self { data, symbols })
    }

    /// All symbols.
    #[allow(dead_code, reason = "not each processor asks for it")]
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// A symbol: by its name; if there is none of that name, the only one of Rust's that ends with
    /// it.
    pub fn find(&self, name: &str) -> Result<&Symbol> {
        let is_rust =
            |symbol: &Symbol| symbol.name.starts_with("_R") && symbol.name.ends_with(name);
        let has_name = self.symbols.iter().any(|symbol| symbol.name == name);
        let mut found = self
            .symbols
            .iter()
            .filter(|symbol| if has_name { symbol.name == name } else { is_rust(symbol) });
        match (found.next(), found.next()) {
            (Some(symbol), None) => Ok(symbol),
            _ => bail!("the kernel has not just one symbol `{name}`"),
        }
    }

    /// Its address.
    pub fn symbol(&self, name: &str) -> Result<u32> {
        self.find(name).map(|symbol| symbol.address)
    }

    /// The bytes between two addresses.
    pub fn bytes(&self, start: u32, end: u32) -> Result<&[u8]> {
        let file = object::File::parse(&*self.data)?;
        let bytes = u64::from(end - start);
        // How far a section's start is before the first byte, if it has all.
        let offset = |s: &object::Section| {
            let offset = start.checked_sub(low(s.address())?).map(u64::from)?;
            (offset + bytes <= s.size()).then_some(offset)
        };
        let found = file.sections().find_map(|s| Some((offset(&s)?, s)));
        let (offset, section) = found.context("the code is in no section")?;
        let range = section.data_range(section.address() + offset, bytes)?;
        range.context("the code has no bytes")
    }
}

/// The lower half of an address whose upper half is the kernel's: zeros, or ones where addresses
/// have 64 bits.
fn low(address: u64) -> Option<u32> {
    matches!(address >> 32, 0 | 0xffff_ffff).then_some(address as u32)
}
