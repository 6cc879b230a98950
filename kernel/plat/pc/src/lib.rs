// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PC board: serial line, interrupt controller, timer.
#![no_std]
