// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words in the page before the boot image: how much RAM there is, how many bytes the image
//! has, and the user's boot words (docs/powerpc.md, *Boot words*).

use crate::layout::WORDS;
use crate::panic::AmigaOne;
use abi::PAGE_SIZE;
use arch_common::options;
use mmu::vsid::{CUT_OFF, Function, USER_SEGMENTS};

/// Their bytes.
fn line() -> impl Iterator<Item = u8> {
    // SAFETY: RAM that is mapped one to one; nobody writes it.
    let page = unsafe { core::slice::from_raw_parts(WORDS as *const u8, PAGE_SIZE as usize) };
    page.iter().copied()
}

/// A number that the loader has to give.
pub fn number(name: &str) -> u32 {
    options::number::<AmigaOne>(line(), name)
}

/// The value of a word that a user may give; without it, `usual`.
fn chosen<T>(name: &str, usual: T, what: &str, parse: impl FnOnce(&str) -> Option<T>) -> T {
    options::chosen::<AmigaOne, T>(line(), name, usual, what, parse)
}

/// The fewest contexts. In each half there must be one for a space itself, one for the server that
/// it shows, and one for the Segment in each of its segments, all at the same time.
const LEAST_CONTEXTS: u32 = 2 * (USER_SEGMENTS + 3);

/// What the idle loop does about pages that a component wants to be cleared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clear {
    /// Nothing: no component can ask for it.
    Off,
    /// It clears them through the cache.
    Cached,
    /// It clears them past the cache.
    Uncached,
    /// It does so, and components are not told.
    Unused,
}

/// What the user chose by boot words.
pub struct Options {
    /// The function that makes VSIDs.
    pub function: Function,
    /// Whether a 603 searches the hashed table.
    pub searches: bool,
    /// Whether the code that looks for a page that a TLB lacks reads the tables past the cache.
    pub uncached_tables: bool,
    /// Whether a BAT shows a block of a server's memory while its window is open.
    pub shows_blocks: bool,
    /// What is done about pages that a component wants to be cleared.
    pub clear: Clear,
    /// Whether the caches are locked while no thread runs.
    pub locks: bool,
    /// Whether lines are prefetched before they are needed.
    pub preloads: bool,
    /// How many contexts there are.
    pub contexts: u32,
    /// Whether the idle loop sweeps the hashed table.
    pub sweep: bool,
    /// Whether assembly inserts entries into the hashed table.
    pub fast_reload: bool,
    /// Ranges of up to this many pages are removed from the hashed table and the TLB page by page.
    pub cut_off: u32,
    /// Whether the hashed table keeps the entries of a space that gets another context.
    pub lazy_flush: bool,
}

/// Whether a word has its only value, which selects something that is not done by default.
fn also(name: &str, is: &str) -> bool {
    !unless(name, is)
}

/// Whether something is done by default: not if its word has its only value, which turns it off.
fn unless(name: &str, is: &str) -> bool {
    chosen(name, true, is, |value| (value == is).then_some(false))
}

impl Options {
    /// Reads the words.
    pub fn read() -> Self {
        let function =
            chosen("vsid", Function::Scattered, "pid, pid16 or scattered", |value| match value {
                "pid" => Some(Function::Process),
                "pid16" => Some(Function::ProcessAndSegment),
                "scattered" => Some(Function::Scattered),
                _ => None,
            });
        let most = function.contexts();
        Self {
            function,
            searches: also("hash", "search"),
            uncached_tables: also("tables", "uncached"),
            shows_blocks: options::is_said(line(), "server-bat"),
            clear: chosen("clear", Clear::Uncached, "off, cached, uncached or unused", |value| {
                match value {
                    "off" => Some(Clear::Off),
                    "cached" => Some(Clear::Cached),
                    "uncached" => Some(Clear::Uncached),
                    "unused" => Some(Clear::Unused),
                    _ => None,
                }
            }),
            locks: also("idle", "locked"),
            preloads: also("preload", "on"),
            contexts: chosen("contexts", most, "a number", |value| value.parse().ok())
                .clamp(LEAST_CONTEXTS, most),
            sweep: unless("sweep", "off"),
            fast_reload: unless("reload", "slow"),
            cut_off: chosen("cutoff", CUT_OFF, "a number or all", |value| {
                if value == "all" { Some(u32::MAX) } else { value.parse().ok() }
            }),
            lazy_flush: unless("flush", "eager"),
        }
    }
}
