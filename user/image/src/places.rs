// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a component finds what: at the usual places, or all of it within a window.

use crate::layout;
use serde::{Deserialize, Serialize};

/// Addresses up to [`layout::WINDOW_END`] for all that a component maps. It can be a server there: the spaces that it makes
/// show it, and have the addresses below.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first address, a multiple of [`Window::KERNEL_BYTES`]. The kernel's part is there.
    pub start: u32,
    /// Whether the component is made a server where the kernel has any.
    pub serve: bool,
}

impl Window {
    /// Bytes of the kernel's part: the information page and the UTCBs.
    pub const KERNEL_BYTES: u32 = 4 << 20;

    /// Its bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        layout::WINDOW_END.wrapping_sub(self.start)
    }

    /// Whether there can be such a window.
    #[must_use]
    pub const fn is_possible(self) -> bool {
        let fits = self.start >= layout::WINDOW_END - layout::WINDOW_MOST && self.start < layout::WINDOW_START_BLOCK - Self::KERNEL_BYTES;
        fits && self.start.is_multiple_of(Self::KERNEL_BYTES)
    }
}

/// Where a component finds what, beside the kernel's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// The image, and the memory behind it, from here on.
    pub image: u32,
    /// The end of both.
    pub image_end: u32,
    /// The start block.
    pub start_block: u32,
    /// The heap.
    pub heap: u32,
    /// Most bytes of it.
    pub heap_most: u32,
    /// End of the first thread's stack.
    pub stack_end: u32,
    /// Devices and shared memory from here on.
    pub grants: u32,
    /// Their end.
    pub grants_end: u32,
    /// Files of the boot image from here on.
    pub files: u32,
    /// Their end.
    pub files_end: u32,
}

impl Places {
    /// Without a window.
    pub const LOW: Self = Self {
        image: layout::IMAGE,
        image_end: layout::START_BLOCK,
        start_block: layout::START_BLOCK,
        heap: layout::HEAP,
        heap_most: layout::HEAP_MOST,
        stack_end: layout::STACK_END,
        grants: layout::GRANTS,
        grants_end: layout::GRANTS_END,
        files: layout::GRANTS,
        files_end: layout::GRANTS_END,
    };

    /// Within a window. Start block, heap and stack are near each other, so that one translation table is enough. Files
    /// are below them and not for long: Linux reads its own at the start, and uses the addresses for something else.
    #[must_use]
    pub const fn within(window: Window) -> Self {
        let image = window.start + Window::KERNEL_BYTES;
        let rest = layout::WINDOW_START_BLOCK;
        Self {
            image,
            image_end: rest,
            start_block: rest,
            heap: rest + (64 << 10),
            heap_most: 2 << 20,
            stack_end: rest + Window::KERNEL_BYTES,
            grants: rest + Window::KERNEL_BYTES,
            grants_end: layout::WINDOW_END,
            files: image,
            files_end: rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_above_what_else_is_mapped_and_end_where_users_do() {
        let window = |start| Window { start, serve: true };
        for start in [0x6000_0000, 0xa000_0000, 0xc000_0000] {
            assert!(window(start).is_possible(), "{start:#x}");
        }
        for start in [0, 0x5fc0_0000, 0xc000_1000, 0xc010_0000, layout::WINDOW_START_BLOCK, layout::WINDOW_END, u32::MAX] {
            assert!(!window(start).is_possible(), "{start:#x}");
        }
        assert_eq!(window(0xc000_0000).bytes(), 512 << 20);
    }

    #[test]
    fn what_is_in_a_window_is_apart() {
        let at = Places::within(Window { start: 0xc000_0000, serve: true });
        assert!(at.image == 0xc040_0000 && at.image_end <= at.start_block && at.start_block < at.heap);
        // A page at least is free below the stack.
        assert!(at.heap + at.heap_most < at.stack_end - 2 * layout::STACK_BYTES);
        assert!(at.stack_end <= at.grants && at.files_end <= at.start_block && at.grants_end == layout::WINDOW_END);
    }
}
