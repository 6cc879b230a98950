// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port to IA-32.
#![no_std]
