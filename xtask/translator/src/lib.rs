// SPDX-License-Identifier: MIT OR Apache-2.0
//! WebAssembly to C, for Alpha: Rust has no back end for it, GCC has one (docs/alpha.md).
//!
//! It translates what Rust's compiler and linker make of this project, and refuses the rest: one
//! memory, one table, no floating point. Atomic instructions are atomic, accesses are made as they
//! are written and aligned as WebAssembly says, functions keep their names, and a thread has one
//! stack.
//!
//! | module | room for |
//! |---|---|
//! | `reader` | bytes of a module |
//! | `module` | what it has besides code |
//! | `function` | code, as C |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod function;
mod module;
mod reader;

use anyhow::{Context, Result, ensure};
use module::Module;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

/// Options of the C compiler and its linker, for a 21164A: neither the kernel nor QEMU's PALmode uses
/// floating point. The assembler knows PALcode's instructions by those that QEMU has.
pub const OPTIONS: [&str; 17] = [
    "-mcpu=ev56",
    "-Wa,-m21264",
    "-O2",
    "-w",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-pic",
    "-fno-stack-protector",
    "-fno-strict-aliasing",
    "-fno-tree-loop-distribute-patterns",
    "-mno-fp-regs",
    "-nostdlib",
    "-static",
    "-Wl,--build-id=none",
    "-Wl,--no-warn-execstack",
    "-Wl,--no-warn-rwx-segments",
    "-Wl,-z,max-page-size=8192",
];

/// What a module becomes.
pub struct Translated {
    /// Its functions, in C. Those that it exports have their names, and so have those that it calls
    /// elsewhere.
    pub c: String,
    /// Its memory's addresses: before them it has nothing, and after them either.
    pub memory: Range<u32>,
    /// What is there at first, from the first address on; zeros follow.
    pub data: Vec<u8>,
    /// Its sections that mean nothing to WebAssembly.
    pub custom: BTreeMap<String, Vec<u8>>,
}

/// Where the linker says that memory ends.
const END: &str = "__heap_base";

/// Translates a module, whose memory's address 0 is at `base`.
///
/// # Errors
/// If it is damaged, or has what is not translated; it names the function.
pub fn translate(wasm: &[u8], base: u64) -> Result<Translated> {
    let module = Module::read(wasm)?;
    let mut c = format!("#define BASE {base:#x}ul\n");
    c += include_str!("prelude.h");
    let names = names(&module);
    for (index, name) in names.iter().enumerate() {
        let kind = module.function(index as u32)?;
        let is_outside =
            index < module.imports.len() || module.exports.contains_key(&(index as u32));
        let own = if is_outside { "" } else { "static " };
        let declared = kind.declared(&format!("f{index}"));
        writeln!(c, "{own}{declared} __asm__(\"{name}\");")?;
    }
    table(&module, &mut c)?;
    for (index, body) in (module.imports.len()..).zip(&module.bodies) {
        let kind = module.function(index as u32)?;
        let name = &names[index];
        let code = function::translate(&module, kind, body)
            .with_context(|| format!("the function `{name}`"))?;
        writeln!(c, "{} {{\n{code}}}", kind.declared(&format!("f{index}")))?;
    }
    let (memory, data) = memory(&module)?;
    let custom = module.custom.into_iter().map(|(name, bytes)| (name.to_string(), bytes));
    Ok(Translated { c, memory, data, custom: custom.collect() })
}

/// How the names begin that are the translator's own.
const OWN: [&str; 2] = ["function.", "translator."];

/// What each function is called for the linker: no two are called the same.
fn names(module: &Module) -> Vec<String> {
    let mut taken = std::collections::BTreeSet::new();
    let exports: std::collections::BTreeSet<&str> = module.exports.values().copied().collect();
    (0..module.functions.len())
        .map(|index| {
            let fixed = module.imports.get(index).or_else(|| module.exports.get(&(index as u32)));
            if let Some(name) = fixed {
                return (*name).to_string();
            }
            let known = module.names.get(&(index as u32)).copied().unwrap_or_default();
            let is_good = |c: char| c.is_ascii_alphanumeric() || "_.$".contains(c);
            let is_free = !exports.contains(known)
                && !module.imports.contains(&known)
                && !OWN.iter().any(|own| known.starts_with(own));
            if !known.is_empty() && known.chars().all(is_good) && is_free && taken.insert(known) {
                known.to_string()
            } else {
                format!("function.{index}")
            }
        })
        .collect()
}

/// The table of functions that are called by their number.
fn table(module: &Module, c: &mut String) -> Result<()> {
    if module.table.is_empty() {
        return Ok(());
    }
    writeln!(c, "static const struct element table[{}] OWN(table) = {{", module.table.len())?;
    for function in &module.table {
        match function {
            Some(index) => {
                let kind = module.first_of(module.function(*index)?)?;
                writeln!(c, "    {{(void (*)(void))f{index}, {kind}}},")?;
            }
            // No type has this number.
            None => writeln!(c, "    {{0, ~0u}},")?,
        }
    }
    c.push_str("};\n");
    Ok(())
}

/// Where memory is, and what it has at first.
fn memory(module: &Module) -> Result<(Range<u32>, Vec<u8>)> {
    let end = *module.numbers.get(END).context("nobody says where memory ends")?;
    let first = module.data.iter().map(|(at, _)| *at).min().unwrap_or(end);
    let mut bytes = Vec::new();
    for (at, part) in &module.data {
        let from = (at - first) as usize;
        let to = from + part.len();
        ensure!(to <= (end - first) as usize, "data is beyond the memory's end");
        if bytes.len() < to {
            bytes.resize(to, 0);
        }
        bytes[from..to].copy_from_slice(part);
    }
    Ok((first..end, bytes))
}
