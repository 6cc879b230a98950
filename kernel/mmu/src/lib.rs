// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pure algorithms of address-space multiplexing.
#![no_std]
