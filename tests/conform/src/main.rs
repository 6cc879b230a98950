// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance program.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

macadamia::main!(run);

fn run(_: macadamia::Env) {}
