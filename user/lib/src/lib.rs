// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library for native components.
#![no_std]
