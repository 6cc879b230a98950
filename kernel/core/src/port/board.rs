// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel drives of a board.

use crate::Irq;
use bytemuck::Zeroable;
use pool::Link;

/// Clock, timer and interrupt controller.
pub trait Board {
    /// A link for each interrupt line, at most [`abi::boot::MAX_IRQS`]: an array.
    type Irqs: AsRef<[Link<Irq>]> + AsMut<[Link<Irq>]> + Zeroable;

    /// Nanoseconds since boot.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | the time-stamp counter, scaled by what was measured at boot | a counter of the board | the time base | as IA-32 | Count, of whose 32 bits the kernel keeps 64 | the nanoseconds that the emulator counts |
    fn now(&self) -> u64;
    /// Asks for a tick at this time, or for none. The tick may come early: then the kernel asks
    /// again.
    ///
    /// It is called when an alarm or the end of a slice is due earlier than the tick for which the
    /// kernel asked last.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | a one-shot count of the 8254; without a deadline it stays as it is | a timer of the SP804 | the decrementer | a one-shot count of the local APIC, or the time-stamp counter at which it is due; without one as IA-32 | Compare; one that Count passes while it is written is set again | the emulator's alarm; without a deadline there is none |
    fn set_timer(&mut self, deadline: Option<u64>);
    /// Lets a line interrupt, or not.
    ///
    /// A line is closed when it fires, when it is bound or unbound, and when its Irq is deleted;
    /// `AckIrq` opens it.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | the mask of the 8259; a line of the second one that fired is also quiet as long as it is in service | the mask of the PL190, or of the secondary controller | as IA-32 | as IA-32 | as IA-32 | as IA-32 |
    fn set_irq(&mut self, line: u32, enabled: bool);
    /// Whether an interrupt is pending: then a long operation stops, and is continued later.
    ///
    /// It is called between two steps of such an operation. From one call to the next the kernel
    /// executes at most 10,000 instructions.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | opens interrupts for a moment: what comes is noted and handled on the way out | asks the controller | asks the controller, and the decrementer | as IA-32 | asks Cause | asks the Cchip |
    fn interrupt_pending(&mut self) -> bool;
}
