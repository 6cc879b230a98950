// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel prints when it panics on this processor.

use crate::layout::HOT;
use arch_common::platform::Platform;
use arch_common::words::{self, State};
use core::fmt::Display;
use plat_clipper::uart::Console;

pub use crate::regs::frame;

/// The board.
pub struct Clipper;

impl Platform for Clipper {
    type Console = Console;

    fn power_off() -> ! {
        plat_clipper::power_off()
    }
}

/// Prints what happened and ends the machine. The thread of `state` is filled in here.
pub fn report(cause: &dyn Display, state: State<'_>) -> ! {
    // SAFETY: the word is an integer, and nothing else runs.
    let thread = unsafe { (*HOT.get()).0.current.value() };
    words::report::<Clipper>(cause, State { thread, ..state })
}
