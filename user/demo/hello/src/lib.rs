// SPDX-License-Identifier: MIT OR Apache-2.0
//! Says hello.
#![no_std]
