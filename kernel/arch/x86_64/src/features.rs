// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the processor can do: CPUID (Intel SDM, volume 2), read once at boot. The first
//! instructions have already checked that it has long mode and can forbid execution of pages.

use crate::panic::Pc;
use crate::regs::{
    self, CR4_FXSR, CR4_MCE, CR4_OSXSAVE, CR4_PAE, CR4_PCIDE, CR4_PGE, CR4_SMAP, CR4_SMEP, CR4_UMIP,
};
use arch_common::platform::refuse;
use core::arch::x86_64::{__cpuid, __cpuid_count};

/// CPUID leaf 1, EDX: time-stamp counter; machine checks; global pages; `fxsave`.
const TSC: u32 = 1 << 4;
const MCE: u32 = 1 << 7;
const PGE: u32 = 1 << 13;
const FXSR: u32 = 1 << 24;
/// CPUID leaf 1, ECX.
const PCID: u32 = 1 << 17;
const XSAVE: u32 = 1 << 26;
/// CPUID leaf 7, EBX and ECX.
const SMEP: u32 = 1 << 7;
const SMAP: u32 = 1 << 20;
const UMIP: u32 = 1 << 2;
/// CPUID leaf 7, EDX: a register says which vulnerabilities the processor does not have; `verw`
/// drops what the processor's buffers have (MD_CLEAR); it can drop its predictions of branches.
const ARCH_CAPABILITIES: u32 = 1 << 29;
const MD_CLEAR: u32 = 1 << 10;
const IBPB: u32 = 1 << 26;
/// CPUID leaf 8000_0008, EBX: the last of these on AMD's (AMD64 manual, volume 3, appendix E).
const IBPB_OF_AMD: u32 = 1 << 12;
/// CPUID leaf 8000_0001, EDX.
const SYSCALL: u32 = 1 << 11;
const RDTSCP: u32 = 1 << 27;

/// CPUID leaf 1, EDX and ECX.
const APIC: u32 = 1 << 9;
const DEADLINE: u32 = 1 << 24;

/// CPUID leaf 1, ECX: this is a virtual machine, and leaf 4000_0000 names the hypervisor.
const HYPERVISOR: u32 = 1 << 31;

/// Names of those who make machines that are not real: QEMU without the host's help, and KVM.
const EMULATED: [[u8; 4]; 3] = [*b"TCGT", *b"CGTC", *b"GTCG"];
const KVM: [[u8; 4]; 3] = [*b"KVMK", *b"VMKV", *b"M\0\0\0"];

/// Who makes this machine, if it is no real one and says so.
fn hypervisor() -> Option<[[u8; 4]; 3]> {
    if __cpuid(1).ecx & HYPERVISOR == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    Some([leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes))
}

/// Whether the local APIC's timer, divided by one, counts nanoseconds: QEMU's does, and KVM's
/// unless another rate was requested (Linux, *The Definitive KVM API Documentation*,
/// KVM_CAP_X86_APIC_BUS_CYCLES_NS).
pub fn counts_nanoseconds() -> bool {
    matches!(hypervisor(), Some(EMULATED | KVM))
}

/// Why the kernel has to be hidden from programs.
pub const MELTDOWN: &str =
    "this processor may have Meltdown, as it does not say otherwise (RDCL_NO)";

/// Why a server must not run at ring 1 on this processor, if nobody insists.
pub fn forbids_servers() -> Option<&'static str> {
    if hypervisor() == Some(EMULATED) {
        // Its ring 1 may load a null selector into SS whose RPL is not its own, and is then ring 0
        // (`helper_load_seg`); a processor refuses that (Intel SDM, volume 2, MOV).
        Some("QEMU lets ring 1 become ring 0")
    } else if has_meltdown() {
        Some(MELTDOWN)
    } else {
        None
    }
}

/// Whether there is a local APIC.
pub fn has_apic() -> bool {
    __cpuid(1).edx & APIC != 0
}

/// Whether its timer can be due when the time-stamp counter is.
pub fn has_deadline() -> bool {
    __cpuid(1).ecx & DEADLINE != 0
}

/// Whether there is `rdtscp`.
pub fn has_rdtscp() -> bool {
    __cpuid(0x8000_0001).edx & RDTSCP != 0
}

/// CPUID leaf 7, EDX; 0: there is no such leaf.
fn protections() -> u32 {
    if __cpuid(0).eax < 7 { 0 } else { __cpuid_count(7, 0).edx }
}

/// Whether the processor says of itself that it does not have this vulnerability.
fn has_not(vulnerability: u64) -> bool {
    // SAFETY: the processor has the register.
    protections() & ARCH_CAPABILITIES != 0
        && unsafe { regs::read_msr(regs::ARCH_CAPABILITIES) } & vulnerability != 0
}

/// Whether the processor can drop its predictions of branches (IBPB).
pub fn drops_predictions() -> bool {
    let has_leaf = __cpuid(0x8000_0000).eax >= 0x8000_0008;
    protections() & IBPB != 0 || has_leaf && __cpuid(0x8000_0008).ebx & IBPB_OF_AMD != 0
}

/// Whether a program may find out by speculation what another one, or the kernel, has last read or
/// written (MDS), unless the kernel drops that, which the processor can.
pub fn needs_clear_buffers() -> bool {
    protections() & MD_CLEAR != 0 && !has_not(regs::MDS_NO)
}

/// Whether a program may find out by speculation what is on supervisor pages that its tables have
/// (Meltdown). That is assumed of each processor that does not say otherwise (RDCL_NO), unless it
/// is AMD's or Hygon's.
pub fn has_meltdown() -> bool {
    let leaf = __cpuid(0);
    let vendor = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes);
    if matches!(vendor.as_flattened(), b"AuthenticAMD" | b"HygonGenuine") {
        return false;
    }
    !has_not(regs::RDCL_NO)
}

/// What the kernel uses of a processor: CR4.
pub fn cr4() -> u64 {
    let leaf = __cpuid(1);
    let (first, others) = (leaf.edx, leaf.ecx);
    let extended = __cpuid(0x8000_0001).edx;
    for (has, bit, what) in [
        (first, TSC, "time-stamp counter (TSC)"),
        (first, PGE, "global pages (PGE)"),
        (first, FXSR, "fxsave (FXSR)"),
        (extended, SYSCALL, "syscall"),
    ] {
        if has & bit == 0 {
            refuse::<Pc>(format_args!("this processor lacks what the kernel needs: {what}"));
        }
    }
    let (seventh, more) = if __cpuid(0).eax < 7 {
        (0, 0)
    } else {
        let leaf = __cpuid_count(7, 0);
        (leaf.ebx, leaf.ecx)
    };
    [
        (first, MCE, CR4_MCE),
        (if keeps_global_pages(leaf.eax) { 0 } else { others }, PCID, CR4_PCIDE),
        (others, XSAVE, CR4_OSXSAVE),
        (seventh, SMEP, CR4_SMEP),
        (seventh, SMAP, CR4_SMAP),
        (more, UMIP, CR4_UMIP),
    ]
    .into_iter()
    .filter(|(has, bit, _)| has & bit != 0)
    .fold(CR4_PAE | CR4_PGE | CR4_FXSR, |all, (.., bit)| all | bit)
}

/// Whether `invlpg` may leave global translations while there are PCIDs (errata ADL063 and RPL042),
/// by the signature of CPUID leaf 1: Alder Lake, Raptor Lake, and the small cores of both. Later
/// microcode fixes that, but the kernel does not check the microcode's version.
const fn keeps_global_pages(signature: u32) -> bool {
    let (family, model) = (signature >> 8 & 15, signature >> 4 & 15 | signature >> 12 & 0xf0);
    family == 6 && matches!(model, 0x97 | 0x9a | 0xb7 | 0xba | 0xbe | 0xbf)
}

const _: () = assert!(keeps_global_pages(0x90672) && !keeps_global_pages(0x806c1));
