// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells the linker where the kernel goes. What is said here is kept in `target`: paths have no place of
//! the checkout in them, so that a copy does not link by the script of the original.

fn main() {
    let port = match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("arm") => "armv5",
        Ok("powerpc") => "powerpc",
        Ok("x86") => "ia32",
        other => panic!("there is no port to this processor: {other:?}"),
    };
    // Cargo looks from the package's folder, the linker runs in the workspace's.
    println!("cargo:rerun-if-changed=arch/{port}/kernel.ld");
    println!("cargo:rustc-link-arg-bins=-Tkernel/arch/{port}/kernel.ld");
}
