// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on the PC with words of 64 bits that no other test runs there: each does what it is for,
//! and the machine ends.

use super::tally::{Test, on_pc64, test};
use crate::build;
use crate::emulator;
use anyhow::Result;
use std::path::Path;

/// All of them.
pub const ALL: &[Test] = &[test("pc64.systems", || on_pc64(systems))];

/// Systems, and what each says last.
const SYSTEMS: [(&str, &str); 3] = [
    ("hello", "[hello] Hello from hello"),
    ("pingpong-group", "[ping] across spaces: "),
    ("tutorial", "[client] sent 5, the sum is 5"),
];

fn systems() -> Result<()> {
    for (name, line) in SYSTEMS {
        let built = build::system(&Path::new("systems").join(name).with_extension("toml"))?;
        let mut session = emulator::session(&built)?;
        session.expect(line)?;
        session.end()?;
    }
    Ok(())
}
