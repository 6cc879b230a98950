// SPDX-License-Identifier: MIT OR Apache-2.0
//! How this kernel computes VSIDs.

use std::str::FromStr;

/// The factor that reverses this kernel's scattering of VSIDs (`kernel/mmu/src/vsid.rs`).
const GATHER: u32 = 0x007a_1659;
/// Bits of a VSID, and of a context.
const VSID: u32 = 0xff_ffff;
const CONTEXT: u32 = 0xf_ffff;

/// The function that made the VSIDs, as the kernel's boot word `vsid=` says (docs/powerpc.md, *Boot
/// words*).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Function {
    /// The context's number, with the segment in upper bits.
    Process,
    /// Sixteen times the context's number, plus the segment.
    ProcessAndSegment,
    /// The kernel's own.
    #[default]
    Scattered,
}

impl Function {
    /// The context that a VSID is of.
    #[must_use]
    pub const fn context(self, vsid: u32) -> u32 {
        match self {
            Self::Process => vsid & CONTEXT,
            Self::ProcessAndSegment => (vsid & VSID) >> 4,
            Self::Scattered => (vsid.wrapping_mul(GATHER) & VSID) >> 4,
        }
    }
}

/// The function with the name that the boot word takes.
impl FromStr for Function {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "pid" => Ok(Self::Process),
            "pid16" => Ok(Self::ProcessAndSegment),
            "scattered" => Ok(Self::Scattered),
            _ => Err("is none of vsid=pid, vsid=pid16, vsid=scattered".into()),
        }
    }
}

/// Whether no space has this VSID, whatever the function is: a shut segment has it.
#[must_use]
pub const fn is_shut(vsid: u32) -> bool {
    Function::Scattered.context(vsid) == 0
}
