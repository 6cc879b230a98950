// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port to the host, for tests.
#![no_std]
