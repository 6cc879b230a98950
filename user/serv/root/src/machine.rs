// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine while nothing else runs, or nothing else is left: to say something without the
//! console, and to end it.

use crate::board::{self, Line};

/// Says something without the console: by the serial line, polled.
pub fn say(text: core::fmt::Arguments<'_>) {
    struct Text(Line);
    impl core::fmt::Write for Text {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            text.bytes()
                .flat_map(|b| (b == b'\n').then_some(b'\r').into_iter().chain([b]))
                .for_each(|byte| self.0.put(byte));
            Ok(())
        }
    }
    // Where there is no line, there is nobody to tell.
    if let Ok(line) = Line::open() {
        let _ = core::fmt::Write::write_fmt(&mut Text(line), format_args!("[root] {text}\n"));
    }
}

/// Ends the machine.
pub fn power_off() -> ! {
    board::power_off();
    loop {
        let _ = macadamia::ipc::wait(0);
    }
}
