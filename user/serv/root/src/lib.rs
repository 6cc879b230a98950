// SPDX-License-Identifier: MIT OR Apache-2.0
//! The root server.
#![no_std]
