// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells the linker where the loader is placed.

fn main() {
    // Cargo looks from the package's folder, the linker runs in the workspace's.
    println!("cargo:rerun-if-changed=bootm.ld");
    println!("cargo:rustc-link-arg-bins=-Ttests/bootm/bootm.ld");
}
