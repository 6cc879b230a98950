// SPDX-License-Identifier: MIT OR Apache-2.0
// What wasm2c asserts is whether the module was initialised: `main` does that first.
#define assert(condition) ((void)(condition))
