// SPDX-License-Identifier: MIT OR Apache-2.0
//! The portable kernel.
#![no_std]
