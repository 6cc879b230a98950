// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows of servers: the processor's segments from some address to the end of users' addresses,
//! which a space that shows the server has for it.
//!
//! While a thread of the space runs, these segments are shut. While a thread of the server runs
//! with the space's tables, they have the server's VSIDs. Everything else stays as it is, so the
//! server accesses the space's memory at the space's own addresses.

use crate::regs;
use abi::UserAddr;
use arch_common::shared::Shared;
use kcore::Space;
use mmu::Format;
use mmu::block::{Block, largest};
use mmu::powerpc::PowerPc as Tables;
use mmu::vsid::{Function, NO_TOKEN, SEGMENTS, SHUT, Segments, USER_SEGMENTS};
use pool::{Link, Pool, Ref};
use powerpc_context::hw;

/// The first of the two segments whose window fast paths open and shut.
pub const FIRST: u32 = USER_SEGMENTS - 2;

/// All segments below such a window.
pub const BELOW: Segments = (1 << FIRST) - 1;

/// What fast paths know of a window; nothing if there is none, or if it does not have two segments.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Shown {
    /// The space whose tables the processor has.
    pub tables: Link<Space>,
    /// The server that it shows.
    pub server: Link<Space>,
    /// The server's VSIDs there.
    pub vsids: [u32; 2],
    /// The value of `hw::SIMPLE` of spaces to which a fast path may switch from these tables: those
    /// that show the same server.
    pub token: u32,
}

impl Shown {
    /// There is none.
    pub const NONE: Self =
        Self { tables: Link::NULL, server: Link::NULL, vsids: [0; 2], token: NO_TOKEN };
}

/// The window in the tables that the processor has. A fast path that switches to the tables of
/// another space records that here. It lies below 32 KiB, like the hot words (`layout.rs`).
#[unsafe(link_section = ".hot")]
pub static SHOWN: Shared<Shown> = Shared::new(Shown::NONE);

/// With the boot word `server-bat`: the upper word of the BAT that shows a block of the server's
/// memory while the window is open; 0 if there is no such block. Assembly reads it (`words.S`).
#[unsafe(link_section = ".hot")]
pub static BLOCK: Shared<u32> = Shared::new(0);

/// Whether a space is a server.
pub fn is_server(pool: &Pool, space: Ref<Space>) -> bool {
    pool[space].window != UserAddr::default()
}

/// The server that a space shows.
pub fn shown(pool: &Pool, space: Ref<Space>) -> Option<Ref<Space>> {
    Link::from_value(pool[space].hw[hw::SERVER]).get()
}

/// Whether a window can begin at an address: it consists of whole segments.
pub const fn fits(start: UserAddr) -> bool {
    start.0 << 4 == 0 && start.0 >> 28 < USER_SEGMENTS
}

/// The segments of a server's window.
pub fn segments(pool: &Pool, server: Ref<Space>) -> Segments {
    numbers(pool, server).fold(0, |all, segment| all | 1 << segment)
}

fn numbers(pool: &Pool, server: Ref<Space>) -> impl Iterator<Item = u32> {
    pool[server].window.0 >> 28..USER_SEGMENTS
}

/// Shuts a server's window, or opens it with the VSIDs of the server's context.
pub fn set(pool: &Pool, server: Ref<Space>, open_by: Option<u32>, function: Function) {
    for segment in numbers(pool, server) {
        regs::set_segment(segment, open_by.map_or(SHUT, |context| function.vsid(context, segment)));
    }
}

/// Shuts these segments.
pub fn shut(segments: Segments) {
    (0..USER_SEGMENTS)
        .filter(|segment| segments & 1 << segment != 0)
        .for_each(|segment| regs::set_segment(segment, SHUT));
}

/// Finds the block of a server's memory that a BAT can show, without showing it yet; if there is no
/// server, there is no block.
pub fn find_block(pool: &Pool, server: Option<Ref<Space>>) {
    let found = server.and_then(|server| {
        let (start, top) = (pool[server].window, pool[server].region.top.get()?);
        largest(pool[top].entries::<Tables>().get(Tables::table_index(start)..)?, start)
    });
    let Block { upper, lower } = found.unwrap_or(Block { upper: 0, lower: 0 });
    regs::place_block(lower);
    // SAFETY: as of `SHOWN`, below.
    unsafe { *BLOCK.get() = upper };
}

/// Shows the block, or hides it.
pub fn show_block(is_open: bool) {
    // SAFETY: as of `SHOWN`, below.
    let upper = unsafe { *BLOCK.get() };
    regs::show_block(if is_open { upper } else { 0 });
}

/// Whether fast paths can open and shut a server's window.
pub fn is_fast(pool: &Pool, server: Ref<Space>) -> bool {
    numbers(pool, server).eq(FIRST..USER_SEGMENTS)
}

/// Records for fast paths the window in the space whose tables the processor has; `shown` is the
/// server with its context. `token` is the space's token, if fast paths may switch from it and to
/// it.
pub fn tell(
    pool: &Pool,
    tables: Ref<Space>,
    shown: Option<(Ref<Space>, u32)>,
    (token, function): (Option<u32>, Function),
) {
    let told = match shown {
        Some((server, context)) if is_fast(pool, server) => Shown {
            tables: tables.link(),
            server: server.link(),
            vsids: [FIRST, FIRST + 1].map(|segment| function.vsid(context, segment)),
            token: token.unwrap_or(NO_TOKEN),
        },
        _ => Shown::NONE,
    };
    // SAFETY: the words are plain data, and assembly touches them only while no Rust runs; no other
    // reference is alive.
    unsafe { *SHOWN.get() = told };
}

/// The space whose tables the processor has, if it shows a server by such a window.
pub fn tables() -> Link<Space> {
    // SAFETY: as above.
    unsafe { (*SHOWN.get()).tables }
}

const _: () = assert!(FIRST + 1 < SEGMENTS);
