// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ports have in common.
//!
//! | module | room for |
//! |---|---|
//! | [`shared`] | statics that are written |
//! | [`stack`] | the kernel's stacks |
//! | [`words`] | what the kernel says when it panics |
#![no_std]

pub mod shared;
pub mod stack;
pub mod words;
