// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a component finds what: at the usual places, all of it within a window, or within a small
//! space's size.

use crate::layout::{self, Layout, Windows};
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Addresses up to [`Windows::users_end`] for what a component maps. Where the kernel has servers it
/// can be one there: the spaces that it makes show it, and have the addresses below.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first address, a multiple of [`Window::ALIGNMENT`], from [`Windows::base`] on. The
    /// kernel's part is there, if windows have one.
    pub start: u32,
    /// Whether the component is made a server where the kernel has any.
    pub serve: bool,
}

impl Window {
    /// What the addresses of windows, and their bytes, are multiples of.
    pub const ALIGNMENT: u32 = 4 << 20;

    /// Where it begins in the component's space.
    #[must_use]
    pub const fn address(self, windows: &Windows) -> u64 {
        windows.base + self.start as u64
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(self, windows: &Windows) -> u64 {
        windows.users_end.wrapping_sub(self.address(windows))
    }

    /// Whether there can be such a window.
    #[must_use]
    pub const fn is_possible(self, windows: &Windows) -> bool {
        let fits = self.start >= windows.end - windows.most
            && self.start < windows.start_block - Self::ALIGNMENT;
        fits && self.start.is_multiple_of(Self::ALIGNMENT)
    }
}

/// A component whose space is small, where the kernel has small spaces: it runs by its home's
/// tables, as the others of its group.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Small {
    /// Which home, by its index in [`System::homes`](crate::System).
    pub home: u16,
    /// Where it lies there, a multiple of its size.
    pub address: u32,
    /// Its size.
    pub bytes: u32,
}

impl Small {
    /// Sizes, powers of two.
    pub const SIZES: core::ops::RangeInclusive<u32> = 16 << 20..=1 << 30;

    /// Whether there can be such a component.
    #[must_use]
    pub fn is_possible(self) -> bool {
        let is_size = Self::SIZES.contains(&self.bytes) && self.bytes.is_power_of_two();
        is_size
            && self.address.is_multiple_of(self.bytes)
            && self.address <= layout::WINDOW_END - self.bytes
    }

    /// Places for spaces of these sizes in one home, whose order stays: none overlaps another. None
    /// if a size is no power of two, or they have no room.
    #[must_use]
    pub fn arrange(sizes: &[u32]) -> Option<Vec<u32>> {
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        // With the largest first, each begins where the one before it ends, which is a multiple of
        // its size.
        order.sort_by_key(|index| core::cmp::Reverse(sizes[*index]));
        let (mut places, mut next) = (vec![0; sizes.len()], 0u32);
        for index in order {
            let small = Self { home: 0, address: next, bytes: sizes[index] };
            if !small.is_possible() {
                return None;
            }
            places[index] = next;
            next += small.bytes;
        }
        Some(places)
    }
}

/// Where a component finds what, beside the kernel's part. With a window, from [`Windows::base`] on.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// The image, and the memory after it, from here on.
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
    /// What it maps itself from here on.
    pub own: u32,
    /// Its end.
    pub own_end: u32,
}

impl Places {
    /// Without a window.
    pub const LOW: Self = Layout::CURRENT.places;

    /// Within a window. Files are below them and not for long: Linux reads its own at the start,
    /// and uses the addresses for something else.
    #[must_use]
    pub const fn within(window: Window, layout: &Layout) -> Self {
        let windows = &layout.windows;
        let image = window.start + windows.kernel_bytes;
        let rest = windows.start_block;
        // One translation table for the start block, the heap and the stack.
        let stack_end = rest + Window::ALIGNMENT;
        let (grants, grants_end) = if windows.have_grants {
            (stack_end, windows.end)
        } else {
            (layout.places.grants, layout.places.grants_end)
        };
        Self {
            image,
            image_end: rest,
            start_block: rest,
            heap: rest + (64 << 10),
            heap_most: 2 << 20,
            stack_end,
            grants,
            grants_end,
            files: image,
            files_end: rest,
            own: windows.end,
            own_end: windows.end,
        }
    }

    /// Within a small space of this size, a quarter for each: two for the image, one for heap and
    /// stack, one for what is mapped.
    #[must_use]
    pub const fn below(bytes: u32) -> Self {
        let quarter = bytes / 4;
        let (start_block, stack_end) = (2 * quarter, 3 * quarter);
        let heap = start_block + (64 << 10);
        let own = stack_end + quarter / 2;
        Self {
            image: layout::IMAGE,
            image_end: start_block,
            start_block,
            heap,
            // Nothing is mapped below the stack.
            heap_most: stack_end - 2 * layout::STACK_BYTES - heap,
            stack_end,
            grants: stack_end,
            grants_end: own,
            files: stack_end,
            files_end: own,
            own,
            own_end: bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_spaces_are_arranged_without_overlap() {
        let mib = |sizes: &[u32]| sizes.iter().map(|size| size << 20).collect::<Vec<_>>();
        for sizes in [
            &[16][..],
            &[16, 64, 16, 32],
            &[1024, 1024, 1024],
            &[16, 1024, 256, 256, 16, 1024],
            &[],
        ] {
            let sizes = mib(sizes);
            let places = Small::arrange(&sizes).expect("there is room");
            for (i, (place, bytes)) in places.iter().zip(&sizes).enumerate() {
                assert!(Small { home: 0, address: *place, bytes: *bytes }.is_possible());
                for (other, size) in places.iter().zip(&sizes).skip(i + 1) {
                    assert!(
                        place + bytes <= *other || other + size <= *place,
                        "{sizes:x?}: {places:x?}"
                    );
                }
            }
        }
        for sizes in [&[8][..], &[24], &[2048], &[1024; 4]] {
            assert_eq!(Small::arrange(&mib(sizes)), None);
        }
    }

    #[test]
    fn a_small_component_finds_all_below_its_size() {
        for bytes in [16 << 20, 64 << 20, 1 << 30] {
            let Places {
                image,
                image_end,
                start_block,
                heap,
                heap_most,
                stack_end,
                grants,
                grants_end,
                own,
                own_end,
                ..
            } = Places::below(bytes);
            let order = [
                image,
                image_end,
                start_block,
                heap,
                heap + heap_most,
                stack_end - 2 * layout::STACK_BYTES,
                stack_end,
                grants,
                grants_end,
                own,
                own_end,
            ];
            assert!(order.is_sorted() && own_end == bytes, "{order:x?}");
            assert!(order.iter().all(|address| address.is_multiple_of(4096)));
        }
    }

    #[test]
    fn windows_are_above_what_else_is_mapped_and_end_where_users_do() {
        let (windows, window) =
            (layout::ia32::LAYOUT.windows, |start| Window { start, serve: true });
        for start in [0x6000_0000, 0xa000_0000, 0xc000_0000] {
            assert!(window(start).is_possible(&windows), "{start:#x}");
        }
        for start in [
            0,
            0x5fc0_0000,
            0xc000_1000,
            0xc010_0000,
            layout::WINDOW_START_BLOCK,
            layout::WINDOW_END,
            u32::MAX,
        ] {
            assert!(!window(start).is_possible(&windows), "{start:#x}");
        }
        assert_eq!(window(0xc000_0000).bytes(&windows), 512 << 20);
    }

    #[test]
    fn what_is_in_a_window_is_apart() {
        let at = Places::within(Window { start: 0xc000_0000, serve: true }, &layout::ia32::LAYOUT);
        assert!(
            at.image == 0xc040_0000 && at.image_end <= at.start_block && at.start_block < at.heap
        );
        // A page at least is free below the stack.
        assert!(at.heap + at.heap_most < at.stack_end - 2 * layout::STACK_BYTES);
        assert!(
            at.stack_end <= at.grants
                && at.files_end <= at.start_block
                && at.grants_end == layout::WINDOW_END
        );
    }

    #[test]
    fn what_is_shared_has_one_address_where_caches_are_virtual() {
        let layout = layout::armv5::LAYOUT;
        let window = Window { start: 0xa000_0000, serve: false };
        let (at, low) = (Places::within(window, &layout), layout.places);
        assert!(
            window.is_possible(&layout.windows)
                && at.image == window.start
                && at.stack_end < layout.windows.end
        );
        assert!(
            (at.grants, at.grants_end) == (low.grants, low.grants_end)
                && at.grants_end <= window.start
        );
    }
}
