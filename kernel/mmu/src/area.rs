// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64's entry area: all that a server at ring 1, and its processes, have of the kernel in their
//! tables. What they must not access is not there: in long mode no segment ends before the kernel,
//! and ring 1 can access supervisor pages just as ring 0 can.
//!
//! The area is the last 2 MiB of all addresses: one table of pages, which the list [`PARTS`] fills.
//! The kernel's own tables have pages at some of these addresses, too: so code that changes from
//! one table to the other continues at the same address.
//!
//! Ring 0 may do no more with a page than ring 1, because `CR0.WP` is set. So the area's code at
//! ring 0 does nothing that a server could not do itself, and a server gains nothing if it misleads
//! that code.

use crate::x86_64::bits::{ADDRESS, GLOBAL, LARGE, NO_EXECUTE, PRESENT, USER, WRITABLE};

/// The area's first address.
pub const BASE: u64 = 0xffff_ffff_ffe0_0000;
/// Bytes of a page.
const PAGE_SIZE: u64 = 4096;

/// What a page of the area has: its place in the area's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Page {
    /// The code between a server and its alien, and from either to the kernel.
    Text = 0,
    /// Where each interrupt and exception goes: to that code.
    Interrupts = 1,
    /// Segment descriptors.
    Segments = 2,
    /// What only the kernel writes: its own CR3, and where the alien's registers go.
    Constants = 3,
    /// Words that the server may write, because they are about itself, and the stacks of entries.
    Words = 4,
    /// The task-state segment. In the kernel's tables the I/O bitmap follows.
    Task = 8,
}

impl Page {
    /// Its address.
    #[must_use]
    pub const fn address(self) -> u64 {
        BASE + self as u64 * PAGE_SIZE
    }
}

/// What a ring may do with a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// Read it.
    pub read: bool,
    /// Write it.
    pub write: bool,
    /// Execute it.
    pub execute: bool,
}

impl Access {
    /// Nothing.
    pub const NONE: Self = Self { read: false, write: false, execute: false };
    /// Read it.
    pub const READ: Self = Self { read: true, ..Self::NONE };
    /// Read and write it.
    pub const WRITE: Self = Self { write: true, ..Self::READ };
    /// Read and execute it.
    pub const EXECUTE: Self = Self { execute: true, ..Self::READ };
}

/// A page of the area.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Which one.
    pub page: Page,
    /// Whether each server has its own.
    pub is_own: bool,
    /// What rings 0, 1 and 3 may do.
    pub rings: [Access; 3],
}

const fn part(page: Page, is_own: bool, supervisor: Access) -> Part {
    Part { page, is_own, rings: [supervisor, supervisor, Access::NONE] }
}

/// All of it.
pub const PARTS: [Part; 6] = [
    part(Page::Text, false, Access::EXECUTE),
    part(Page::Interrupts, false, Access::READ),
    part(Page::Segments, false, Access::READ),
    part(Page::Constants, true, Access::READ),
    part(Page::Words, true, Access::WRITE),
    part(Page::Task, false, Access::READ),
];

/// Where the area of components has the two pages of the I/O bitmap, and the page of ones that ends
/// it, while a thread with I/O ports runs.
pub const PORTS: [usize; 3] =
    [Page::Task as usize + 1, Page::Task as usize + 2, Page::Task as usize + 3];

/// Enters these pages, by their physical addresses, at [`PORTS`]: ring 0 may read them.
pub fn show_ports(table: &mut [u64], pages: [u64; 3]) {
    for (place, page) in PORTS.into_iter().zip(pages) {
        if let Some(entry) = table.get_mut(place) {
            *entry = page | PRESENT | NO_EXECUTE;
        }
    }
}

/// The entry that names a table of the area: each level but the last allows everything to the
/// supervisor.
#[must_use]
pub const fn table(physical: u64) -> u64 {
    physical | PRESENT | WRITABLE
}

/// The entry of a part that is at a physical address.
#[must_use]
pub const fn entry(part: &Part, physical: u64) -> u64 {
    let [most, ..] = part.rings;
    physical
        | PRESENT
        | if most.write { WRITABLE } else { 0 }
        | if most.execute { 0 } else { NO_EXECUTE }
}

/// What a ring may do with the page of an entry, by the processor's rules (Intel SDM volume 3,
/// section 4.6): with `CR0.WP` set, with user pages that the supervisor cannot execute, and if the
/// upper entries allow everything.
#[must_use]
pub const fn access(entry: u64, ring: u8) -> Access {
    let is_users = entry & USER != 0;
    if entry & PRESENT == 0 || ring == 3 && !is_users {
        return Access::NONE;
    }
    let execute = entry & NO_EXECUTE == 0 && (ring == 3 || !is_users);
    Access { read: true, write: entry & WRITABLE != 0, execute }
}

/// Fills the area's table: `physical` says where a page is.
pub fn fill(table: &mut [u64], physical: impl Fn(Page) -> u64) {
    for part in &PARTS {
        if let Some(place) = table.get_mut(part.page as usize) {
            *place = entry(part, physical(part.page));
        }
    }
}

/// The first place of an area's table with something that does not belong there: another page than
/// the list has, at another address, or with another right.
#[must_use]
pub fn stray(table: &[u64], physical: impl Fn(Page) -> u64) -> Option<usize> {
    table.iter().enumerate().position(|(place, found)| {
        let part = PARTS.iter().find(|part| part.page as usize == place);
        // The processor notes what it used.
        let kept = ADDRESS | PRESENT | WRITABLE | USER | LARGE | GLOBAL | NO_EXECUTE;
        found & kept != part.map_or(0, |part| entry(part, physical(part.page)))
    })
}
