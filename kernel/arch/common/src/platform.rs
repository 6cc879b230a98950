// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a port supplies for messages of the kernel, and for the end of the machine.

use core::fmt::{Display, Write};

/// The board, as far as the kernel's messages need it.
pub trait Platform {
    /// The first serial line, and the screen where the kernel knows it.
    type Console: Write + Default;

    /// Ends the machine.
    fn power_off() -> !;
}

/// Prints a line.
pub fn say<P: Platform>(line: impl Display) {
    // Writing to the serial line cannot fail; there would be nobody to tell.
    let _ = writeln!(P::Console::default(), "{line}");
}

/// Prints why the kernel cannot start, and ends the machine.
pub fn refuse<P: Platform>(reason: impl Display) -> ! {
    say::<P>(reason);
    P::power_off()
}
