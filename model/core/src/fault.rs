// SPDX-License-Identifier: MIT OR Apache-2.0
//! Markers that make no sense where they are: errors of the measured program.

use std::fmt;

/// A misplaced marker. The report has the number of each kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// END of an interval that is not open.
    EndWithoutBegin(u16),
    /// BEGIN of an interval that is open: the repetition so far is dropped.
    BeginWhileOpen(u16),
    /// The machine stopped before the interval's END: the repetition is dropped.
    OpenAtExit(u16),
    /// A marker of an unknown kind (first field).
    UnknownKind(u8, u16),
    /// A marker in kernel mode: ignored, as intervals are of user code.
    InKernel(u16),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndWithoutBegin(id) => write!(f, "interval {id}: END without BEGIN"),
            Self::BeginWhileOpen(id) => {
                write!(f, "interval {id}: BEGIN while open, the repetition so far is dropped")
            }
            Self::OpenAtExit(id) => write!(
                f,
                "interval {id}: still open when the machine stopped, the repetition is dropped"
            ),
            Self::UnknownKind(kind, id) => {
                write!(f, "interval {id}: marker of unknown kind {kind} ignored")
            }
            Self::InKernel(id) => write!(f, "interval {id}: marker in kernel mode ignored"),
        }
    }
}
