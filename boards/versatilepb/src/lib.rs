// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel and servers both know of ARM's Versatile platform baseboard: where its first
//! serial line is, on which the kernel and the root server speak when nobody else can, the
//! registers of such a line, and how to end the machine. What else the kernel drives is in
//! `kernel/plat/versatilepb`, and what servers drive in `boards/versatilepb.toml`.
#![no_std]
#![forbid(unsafe_code)]

/// A serial line, a PL011: registers of 32 bits, by their offsets.
pub mod uart {
    /// Physical address of the first one's registers, a page.
    pub const FIRST: u32 = 0x101f_1000;
    /// A byte that is sent, or has arrived.
    pub const DATA: u32 = 0;
    /// Flags.
    pub const FLAGS: u32 = 0x18;
    /// In the flags: nothing has arrived.
    pub const NOTHING_ARRIVED: u32 = 1 << 4;
    /// In the flags: there is no room for a byte to send.
    pub const FULL: u32 = 1 << 5;
    /// The length of a bit: 16ths of it in cycles of 24 MHz, and 64ths of such a cycle.
    pub const DIVISOR: u32 = 0x24;
    /// See [`DIVISOR`].
    pub const FRACTION: u32 = 0x28;
    /// The format; a write makes the divisor count.
    pub const LINE: u32 = 0x2c;
    /// In the format: with FIFOs.
    pub const FIFOS: u32 = 1 << 4;
    /// In the format: 8 bits, with one stop bit and no parity.
    pub const EIGHT_BITS: u32 = 3 << 5;
    /// What is on.
    pub const CONTROL: u32 = 0x30;
    /// The line, sending and receiving.
    pub const ON: u32 = 1 | 1 << 8 | 1 << 9;
    /// Causes that interrupt.
    pub const INTERRUPTS: u32 = 0x38;
    /// A cause: bytes have arrived that half fill the FIFO.
    pub const ARRIVED: u32 = 1 << 4;
    /// A cause: bytes have arrived, and none more for a while.
    pub const ARRIVED_LAST: u32 = 1 << 6;
}

/// The system registers.
pub mod system {
    /// Their physical address, a page.
    pub const REGISTERS: u32 = 0x1000_0000;
    /// Lets the next write through, if [`KEY`] is written.
    pub const LOCK: u32 = 0x20;
    /// See [`LOCK`].
    pub const KEY: u32 = 0xa05f;
    /// Resets the board.
    pub const RESET: u32 = 0x40;
    /// To [`RESET`]: all of it, now.
    pub const RESET_ALL: u32 = 0x104;
    /// The PCI backplane: [`PCI_PRESENT`] if there is one, and written to use it.
    pub const PCI: u32 = 0x44;
    /// See [`PCI`].
    pub const PCI_PRESENT: u32 = 1;
}

/// The bridge to PCI, as QEMU's device `versatile_pci` has it. All addresses are physical.
pub mod pci {
    /// The bridge's registers, a page.
    pub const REGISTERS: u32 = 0x1000_1000;
    /// In the registers: the upper 4 bits of the bus's addresses in the second window.
    pub const WINDOW_TOP: u32 = 4;
    /// In the registers: which device the bridge itself is.
    pub const OWN_DEVICE: u32 = 0xc;
    /// In the registers: the upper 4 bits of where in RAM three windows of devices lead.
    pub const RAM_TOP: [u32; 3] = [0x14, 0x18, 0x1c];
    /// The bridge's own configuration space, wherever it is on the bus, and all devices';
    /// [`CONFIG_BYTES`] for each.
    pub const OWN_CONFIG: u32 = 0x4100_0000;
    /// See [`OWN_CONFIG`].
    pub const CONFIG: u32 = 0x4200_0000;
    /// See [`OWN_CONFIG`]: eight functions of 256 bytes.
    pub const CONFIG_BYTES: u32 = 2048;
    /// What the bridge says it is: maker and kind; and its class.
    pub const BRIDGE: u32 = 0x0300_10ee;
    /// See [`BRIDGE`].
    pub const BRIDGE_CLASS: u32 = 0x0b40_0000;
    /// The second window to the bus's memory, 256 MiB.
    pub const MEMORY: u32 = 0x5000_0000;
    /// The part of it that is a device's.
    pub const DEVICE_BYTES: u32 = 1 << 20;
    /// The first of the interrupt lines, how many there are, and which of them device 0 has,
    /// counted from the first.
    pub const FIRST_LINE: u32 = 27;
    /// See [`FIRST_LINE`].
    pub const LINES: u32 = 4;
    /// See [`FIRST_LINE`].
    pub const LINE_OF_0: u32 = 2;
}
