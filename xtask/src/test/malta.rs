// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on the Malta board that no other test runs there: each does what it is for, and the
//! machine ends.

use super::pc64::each;
use super::tally::{Test, on_malta, test};

/// All of them.
pub const ALL: &[Test] = &[test("malta.systems", || on_malta(|| each(&SYSTEMS)))];

/// Systems, and what each says last. Whether the tutorial's server is there again when it is sent 4
/// depends on how busy the host is, and so does the last sum.
const SYSTEMS: [(&str, &str); 2] =
    [("hello", "[hello] Hello from hello"), ("tutorial", "[client] sent 5, the sum is ")];
