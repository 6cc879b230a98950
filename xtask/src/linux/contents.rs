// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contents of disks that this tool can make.

use serde::{Deserialize, Serialize};

/// What is on a new disk.
#[derive(Deserialize, Serialize, Clone, Copy, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Contents {
    /// An empty ext4 file system.
    #[default]
    Ext4,
    /// Debian on an ext4 file system.
    Debian,
    /// Programs that are built of Debian's source, for a board for which Debian has no packages.
    Programs,
    /// A C compiler that is built in this way, and what it calls.
    Compiler,
    /// Debian's packages, of which those are unpacked that the others need to be installed.
    DebianPackages,
    /// Debian with a desktop.
    DebianDesktop,
}
