// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of Alpha's fast path on QEMU's board clipper.

use super::tally::{Test, test};
use crate::bench::alpha;

/// All of them.
pub const ALL: &[Test] = &[test("alpha.ipc", alpha::test)];
