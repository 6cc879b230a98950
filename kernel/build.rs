// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells the linker where the kernel goes. What is said here is kept in `target`: paths have no
//! place of the checkout in them, so that a copy does not link by the script of the original.

/// It says which crate is the port to a processor.
const MANIFEST: &str = include_str!("Cargo.toml");

fn main() {
    let processor = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let dependencies = MANIFEST
        .split("\n[")
        .find(|table| table.contains(&format!("cfg(target_arch = \"{processor}\")")));
    let crates = dependencies
        .into_iter()
        .flat_map(str::lines)
        .find_map(|line| line.strip_prefix("arch-")?.split_once(' '));
    let Some((port, _)) = crates else { panic!("there is no port to the processor `{processor}`") };
    if processor == "wasm32" {
        // What is linked here is WebAssembly: its memory's data follow PALcode. The script is for
        // what becomes of it.
        println!("cargo:rustc-link-arg-bins=--global-base=32768");
        return;
    }
    // Cargo looks from the package's folder, the linker runs in the workspace's.
    println!("cargo:rerun-if-changed=arch/{port}/kernel.ld");
    println!("cargo:rustc-link-arg-bins=-Tkernel/arch/{port}/kernel.ld");
}
