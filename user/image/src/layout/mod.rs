// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a component without a window finds what, beside the kernel's area ([`Places`] has both).
//! The tool places devices and shared memory; the root server refuses what is elsewhere. What
//! depends on the processor is in a module for each.

use crate::{Places, Small, Window};

pub mod alpha;
pub mod armv5;
pub mod ia32;
pub mod mips;
pub mod powerpc;
pub mod x86_64;

#[cfg(all(target_arch = "wasm32", target_os = "none"))]
pub use alpha as current;
#[cfg(target_arch = "arm")]
pub use armv5 as current;
// For a processor that has a contract and no port yet, portable crates are compiled, and no
// component is: what is said here reaches nobody. On a host programs and tests are about IA-32,
// where no argument says otherwise.
#[cfg(any(
    target_arch = "x86",
    target_arch = "riscv64",
    all(not(target_os = "none"), not(any(target_arch = "arm", target_arch = "powerpc")))
))]
pub use ia32 as current;
#[cfg(target_arch = "mips64")]
pub use mips as current;
#[cfg(target_arch = "powerpc")]
pub use powerpc as current;
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
pub use x86_64 as current;

#[cfg(all(
    target_os = "none",
    not(any(
        target_arch = "arm",
        target_arch = "mips64",
        target_arch = "powerpc",
        target_arch = "riscv64",
        target_arch = "wasm32",
        target_arch = "x86",
        target_arch = "x86_64"
    ))
))]
compile_error!(
    "nobody says where a component finds what on this processor: that is a file of user/image/src/layout"
);

/// Images of components lie from here on.
pub const IMAGE: u32 = Places::LOW.image;
/// Devices and shared memory lie from here on.
pub const GRANTS: u32 = Places::LOW.grants;
/// End of devices and shared memory.
pub const GRANTS_END: u32 = Places::LOW.grants_end;
/// Most bytes of the registers of one PCI device: only the machine knows how many there are.
pub const PCI_SPAN: u32 = 64 << 20;
/// Bytes of every stack, and its alignment: its last word is the address of the
/// thread's UTCB, found by setting the low bits of the stack pointer. Nothing that can be written
/// is mapped below the first thread's, so that an overflow is an exception.
pub const STACK_BYTES: u32 = 65536;
/// So far below the end of the first thread's stack is the word in which a component counts the
/// messages that its threads send: calls, sends and replies, modulo 2^32. The last word but one of
/// every stack is its address.
pub const MESSAGES: u32 =
    if cfg!(all(any(target_pointer_width = "64", target_arch = "wasm32"), target_os = "none")) {
        24
    } else {
        12
    };
/// End of all windows.
pub const WINDOW_END: u32 = Layout::CURRENT.windows.end;
/// The start block of every component with a window, and the end of its memory and files.
pub const WINDOW_START_BLOCK: u32 = Layout::CURRENT.windows.start_block;

/// Where components find what on a processor.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Without a window.
    pub places: Places,
    /// Windows.
    pub windows: Windows,
}

/// Where windows can be.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// What is added to an address of a component with a window: where windows lie beyond 4 GiB,
    /// what is said of them are distances from here.
    pub base: u64,
    /// The end of the users' addresses, where all of them end. That is an address as it is.
    pub users_end: u64,
    /// The end of what such a component finds.
    pub end: u32,
    /// Bytes of the largest.
    pub most: u32,
    /// Bytes at the start of each that are the kernel's: the information page and the UTCBs.
    pub kernel_bytes: u32,
    /// The start block, and the end of memory and files. After it are heap and stack.
    pub start_block: u32,
    /// Whether devices and shared memory lie after the stack, too. Elsewhere they are where those
    /// of other components are: what is shared has one address in all.
    pub have_grants: bool,
}

impl Layout {
    /// That of the processor which this is compiled for; of IA-32 on the host.
    pub const CURRENT: Self = current::LAYOUT;

    /// Where a component with a window or a small space, or with neither, finds what.
    #[must_use]
    pub const fn of(&self, window: Option<Window>, small: Option<Small>) -> Places {
        match (window, small) {
            (Some(window), _) => Places::within(window, self),
            (None, Some(small)) => Places::below(small.bytes),
            (None, None) => self.places,
        }
    }
}
