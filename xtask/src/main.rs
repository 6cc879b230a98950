// SPDX-License-Identifier: MIT OR Apache-2.0
//! Build, image, run, test.
fn main() {}
