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
    fn now(&self) -> u64;
    /// Asks for a tick at this time, or for none. Early ticks are allowed.
    fn set_timer(&mut self, deadline: Option<u64>);
    /// Lets a line interrupt, or not.
    fn set_irq(&mut self, line: u32, enabled: bool);
    /// Whether an interrupt waits to be taken: long operations then stop.
    fn interrupt_pending(&mut self) -> bool;
}
