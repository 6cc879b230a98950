// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed blocks of kernel memory by index.
#![no_std]
