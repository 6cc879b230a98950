// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells the linker where the kernel goes.

fn main() {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("arch/ia32/kernel.ld");
    println!("cargo:rerun-if-changed={}", script.display());
    println!("cargo:rustc-link-arg-bins=-T{}", script.display());
}
