// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells the linker where the loader is placed.

fn main() {
    // Paths are relative to the package's folder for Cargo, and to the workspace's for the linker.
    println!("cargo:rerun-if-changed=bootm.ld");
    println!("cargo:rustc-link-arg-bins=-Ttests/bootm/bootm.ld");
}
