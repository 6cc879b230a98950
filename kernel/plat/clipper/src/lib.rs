// SPDX-License-Identifier: MIT OR Apache-2.0
//! The board clipper of QEMU (hw/alpha/dp264.c): I/O ports, interrupts, power, and what the board has
//! in common with a PC: the serial line for the kernel's messages, and the interrupt controllers.
//!
//! Registers are accessed by assembly of the port (`entry.S` of `kernel/arch/alpha`), as WebAssembly
//! has no addresses of more than 32 bits.
#![cfg(target_arch = "wasm32")]
#![no_std]

pub mod interrupts;

pub use plat_isa::{pic, uart};

unsafe extern "C" {
    fn clipper_read8(at: u64) -> u32;
    fn clipper_read16(at: u64) -> u32;
    fn clipper_read32(at: u64) -> u32;
    fn clipper_read64(at: u64) -> u64;
    fn clipper_write8(at: u64, value: u32);
    fn clipper_write16(at: u64, value: u32);
    fn clipper_write32(at: u64, value: u32);
    fn clipper_write64(at: u64, value: u64);
    safe fn clipper_halt();
}

/// Where the kernel sees I/O port 0: physical address 0x801_fc00_0000.
const PORTS: u64 = 0xffff_fd01_fc00_0000;
/// Where it sees the registers of the memory controller's Cchip: 0x801_a000_0000.
const CCHIP: u64 = 0xffff_fd01_a000_0000;

/// Makes an access to a port, of 1, 2 or 4 bytes: writes a value, or returns what was read.
pub fn access_port(port: u16, bytes: u32, written: Option<u32>) -> Option<u32> {
    let at = PORTS + u64::from(port);
    // SAFETY: a device's register. Who may use which port the caller has checked; the kernel itself
    // uses those of its own devices.
    unsafe {
        match (bytes, written) {
            (1, None) => return Some(clipper_read8(at)),
            (1, Some(value)) => clipper_write8(at, value),
            (2, None) => return Some(clipper_read16(at)),
            (2, Some(value)) => clipper_write16(at, value),
            (_, None) => return Some(clipper_read32(at)),
            (_, Some(value)) => clipper_write32(at, value),
        }
    }
    None
}

/// What `isa::io` is in the kernel; in a component it is a `CALL_PAL`.
#[unsafe(no_mangle)]
extern "C" fn isa_read(port: u32, bytes: u32) -> u32 {
    access_port(port as u16, bytes, None).unwrap_or_default()
}

/// See [`isa_read`].
#[unsafe(no_mangle)]
extern "C" fn isa_write(port: u32, bytes: u32, value: u32) {
    access_port(port as u16, bytes, Some(value));
}

/// Reads a register of the Cchip.
fn read(register: u64) -> u64 {
    // SAFETY: a register of the board that reading does not change.
    unsafe { clipper_read64(CCHIP + register) }
}

/// Writes a register of the Cchip.
fn write(register: u64, value: u64) {
    // SAFETY: registers of interrupts (`interrupts.rs`), which only the kernel has.
    unsafe { clipper_write64(CCHIP + register, value) };
}

/// Ends the machine. If it cannot, it stops here.
pub fn power_off() -> ! {
    loop {
        clipper_halt();
    }
}
