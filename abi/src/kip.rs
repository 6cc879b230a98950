// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel information page, mapped read-only at [`crate::utcb::KIP_ADDRESS`]
//! in every native space.

pub use crate::arch::current::kip::{Clock, FEATURE_FXSR, FEATURE_SSE, FEATURE_SYSENTER, INT_VECTOR, scale};
use bytemuck::{Pod, Zeroable};

/// First word of the page: "MKIP" in memory order.
pub const MAGIC: u32 = u32::from_le_bytes(*b"MKIP");
/// Version of this contract; a library built for another refuses to start.
pub const VERSION: u32 = 2;

/// What the page holds.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub struct Kip {
    /// [`MAGIC`].
    pub magic: u32,
    /// [`VERSION`].
    pub version: u32,
    /// What the processor has, as bits of its `arch::*::kip`.
    pub features: u32,
    /// Threads that the kernel can hold.
    pub max_threads: u32,
    /// How the processor's counter becomes time.
    pub clock: Clock,
    /// Time slice in nanoseconds.
    pub slice_ns: u32,
    /// Bytes in the kernel pool.
    pub pool_bytes: u32,
    /// Kernel version, UTF-8, padded with zeros.
    pub text: [u8; 64],
}
