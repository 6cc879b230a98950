// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs for a processor that Rust has no back end for: what Rust's compiler and linker make is
//! WebAssembly, which becomes C, and that a C compiler's (docs/alpha.md).

use super::commands::place;
use crate::machine::processor::{Native, Runtime};
use crate::process::{aside, run};
use abi::arch::alpha::constant::Constant;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use translator::{Translated, translate};

/// The section of a module that has constants for assembly.
const CONSTANTS: &str = "constants";
/// The package that is no component.
const KERNEL: &str = "kernel";

/// Makes a package's ELF file of its WebAssembly, unless that is as it was.
///
/// # Errors
/// If it has what is not translated, or assembly has a name that Rust does not give it.
pub fn link(native: &Native, package: &str) -> Result<()> {
    let file = |end: &str| place().join("release").join(format!("{package}{end}"));
    let runtime = if package == KERNEL { &native.kernel } else { &native.component };
    let wasm = file(".wasm");
    let wasm = std::fs::read(&wasm).with_context(|| format!("cannot read {}", wasm.display()))?;
    let translated = translate(&wasm, runtime.base).with_context(|| package.to_string())?;
    let assembly = assembly(runtime, &translated).with_context(|| package.to_string())?;
    let script = std::fs::read(runtime.script)?;
    let data = file(".data");
    // The assembler reads it where the file is.
    let memory = format!("    .section .memory, \"aw\"\n    .incbin \"{}\"\n", data.display());
    let parts: [(PathBuf, Vec<u8>); 4] = [
        (file(".c"), translated.c.into_bytes()),
        (file(".S"), (assembly + &memory).into_bytes()),
        (data, translated.data),
        (file(".ld"), script),
    ];
    let is_same =
        |(path, text): &(PathBuf, Vec<u8>)| std::fs::read(path).is_ok_and(|old| old == *text);
    let elf = file("");
    if elf.exists() && parts.iter().all(is_same) {
        return Ok(());
    }
    // A run that is interrupted leaves none that does not fit.
    if elf.exists() {
        std::fs::remove_file(&elf)?;
    }
    for (path, text) in &parts {
        std::fs::write(path, text)?;
    }
    let [(c, _), (assembly, _), _, (script, _)] = &parts;
    let range = [("start", translated.memory.start), ("end", translated.memory.end)];
    aside(&elf, |elf| {
        let mut compiler = Command::new(native.compiler);
        compiler.args(native.arguments).arg("-o").arg(elf);
        compiler.arg(format!("-Wl,-T,{}", script.display()));
        for (name, value) in range {
            compiler.arg(format!("-Wl,--defsym=memory_{name}={value:#x}"));
        }
        run(compiler.args([c, assembly])).with_context(|| package.to_string())
    })
}

/// All assembly of a program, with numbers for the names in braces. A name is refused if Rust does
/// not give it, and one that Rust gives if nobody uses it.
fn assembly(runtime: &Runtime, translated: &Translated) -> Result<String> {
    let bytes = translated.custom.get(CONSTANTS).context("it has no constants for assembly")?;
    let mut constants = constants(bytes)?;
    let mut result = String::new();
    for path in runtime.assembly {
        let text = std::fs::read_to_string(path).with_context(|| (*path).to_string())?;
        for line in text.lines() {
            let mut rest = line.split("//").next().unwrap_or(line).trim_end();
            while let Some((before, name)) = rest.split_once('{') {
                let (name, after) = name.split_once('}').context("a brace is open")?;
                let constant = constants.get_mut(name);
                let (value, is_used) =
                    constant.with_context(|| format!("{path}: no constant is called {name}"))?;
                result += &format!("{before}({value})");
                *is_used = true;
                rest = after;
            }
            result += rest;
            result.push('\n');
        }
    }
    match constants.into_iter().find(|(_, (_, is_used))| !is_used) {
        Some((name, _)) => bail!("no assembly uses the constant {name}"),
        None => Ok(result),
    }
}

/// Constants as the contract has them: each by its name, and whether it is used.
fn constants(bytes: &[u8]) -> Result<BTreeMap<String, (i32, bool)>> {
    let damaged = "constants for assembly are damaged";
    ensure!(bytes.len().is_multiple_of(Constant::BYTES), damaged);
    let one = |bytes: &[u8]| {
        let constant = Constant::from_bytes(bytes.try_into()?);
        Ok((constant.name().context(damaged)?.to_string(), (constant.value(), false)))
    };
    bytes.chunks_exact(Constant::BYTES).map(one).collect()
}
