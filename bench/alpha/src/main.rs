// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast path of IPC on Alpha, as PALcode in QEMU's clipper, on a kernel's own objects
//! (docs/alpha.md).
//!
//! ```text
//! alpha-ipc test FOLDER          10,000 round trips, and faults that have to be found
//! alpha-ipc path FOLDER          assembles it for the test `differential`, and says where it is
//! alpha-ipc count FOLDER CPU     what a call and a reply take, as a report of the machine model
//! alpha-ipc core FOLDER WASM     the portable kernel, translated, against itself on the host
//! ```
//!
//! FOLDER gets what is made. CPU is a file of `model/cpus`, and WASM the crate `alpha-core` as
//! WebAssembly.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod check;
mod code;
mod run;
mod system;
mod trace;
mod translated;

use anyhow::{Context as _, Result, bail};
use code::Code;
use model_core::Cpu;
use std::path::Path;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["test", folder] => check::test(Path::new(folder)),
        ["path", folder] => {
            println!("{}", Code::by_itself(Path::new(folder))?.display());
            Ok(())
        }
        ["count", folder, cpu] => {
            let text =
                std::fs::read_to_string(cpu).with_context(|| format!("cannot read {cpu}"))?;
            print!("{}", check::count(Path::new(folder), &Cpu::parse(&text)?)?.to_json()?);
            Ok(())
        }
        ["core", folder, wasm] => translated::test(Path::new(wasm), Path::new(folder)),
        _ => bail!("alpha-ipc test FOLDER, path FOLDER, count FOLDER CPU, or core FOLDER WASM"),
    }
}
