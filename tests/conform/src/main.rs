// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance program: named cases for what the manual says about system calls. It runs on
//! every target, and reports a line for each case on the machine-readable line.
//!
//! It owns the cases, and the Quota in which each runs. It knows only the contract (`abi`) and the
//! user library: what the kernel does inside is for other tests.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod alien;
#[cfg(target_arch = "wasm32")]
mod alpha;
#[cfg(target_arch = "arm")]
mod armv5;
mod capability;
mod exception;
#[cfg(target_arch = "x86")]
mod ia32;
mod ipc;
mod large;
mod memory;
#[cfg(not(target_arch = "x86"))]
mod message;
#[cfg(target_arch = "mips64")]
mod mips;
mod notification;
mod object;
mod pager;
#[cfg(target_arch = "powerpc")]
mod powerpc;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod server;
mod thread;
#[cfg(not(target_arch = "arm"))]
mod unlocked;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use abi::{CacheOp, Word};
#[cfg(target_arch = "wasm32")]
use alpha as own;
#[cfg(target_arch = "arm")]
use armv5 as own;
use core::sync::atomic::{AtomicU32, Ordering};
#[cfg(target_arch = "x86")]
use ia32 as own;
use macadamia::alloc::string::String;
use macadamia::cap::delete;
use macadamia::{Env, Error, Quota, Space, Thread, result, start};
#[cfg(target_arch = "mips64")]
use mips as own;
#[cfg(target_arch = "powerpc")]
use powerpc as own;
#[cfg(target_arch = "x86_64")]
use x86_64 as own;

macadamia::main!(run);

/// Why a case failed.
pub type Why = String;
/// A case: its name and its function.
pub type Case = (&'static str, fn(&mut Bed) -> Result<(), Why>);

/// The component's own Quota.
pub const QUOTA: Quota = Quota(image::slot::QUOTA as Word);
/// The component's own Space.
pub const SPACE: Space = Space(image::slot::SPACE as Word);
/// The first thread, every right.
pub const SELF: Thread = Thread(image::slot::THREAD as Word);
/// A free address for mappings. On PowerPC it is in the two lowest segments, like those after it:
/// no fast path switches to a component that uses another segment.
pub const ADDRESS: Word = if cfg!(target_arch = "powerpc") { 0x1200_0000 } else { 0x5000_0000 };
/// Another one.
pub const OTHER: Word = ADDRESS + (16 << 20);
/// Bytes of a page.
pub const PAGE: Word = abi::PAGE_SIZE;

/// The resources of a case; slots that it takes are emptied after it.
pub struct Bed {
    /// A piece of RAM.
    pub ram: macadamia::Memory,
    /// The I/O port 0x80; if there is one, this component may use it.
    pub ports: Option<macadamia::Memory>,
    /// The addresses of a server's window.
    #[cfg(any(target_arch = "x86", target_arch = "powerpc", target_arch = "x86_64"))]
    pub window: macadamia::Memory,
    /// A piece that has room for two large pages.
    pub large: macadamia::Memory,
    first: Word,
    next: Word,
}

impl Bed {
    /// An empty slot.
    pub fn slot(&mut self) -> Word {
        self.next += 1;
        self.next - 1
    }

    fn clean(&mut self) {
        (self.first..self.next).for_each(|slot| {
            let _ = delete(slot);
        });
        self.next = self.first;
        let _ = macadamia::map::unmap(SPACE, ADDRESS, 4 << 20);
        let _ = macadamia::map::unmap(SPACE, OTHER, 4 << 20);
        macadamia::utcb::accept(0);
    }
}

/// `Ok` if the condition holds.
pub fn check(what: &str, holds: bool) -> Result<(), Why> {
    if holds { Ok(()) } else { Err(what.into()) }
}

/// `Ok` if a call failed with this error.
pub fn fails<T>(result: Result<T, Error>, with: Error) -> Result<(), Why> {
    match result {
        Err(error) if error == with => Ok(()),
        Err(error) => Err(macadamia::alloc::format!(
            "failed with `{}` instead of `{}`",
            error.text(),
            with.text()
        )),
        Ok(_) => {
            Err(macadamia::alloc::format!("succeeded instead of failing with `{}`", with.text()))
        }
    }
}

/// The value, or the error as a reason.
pub fn good<T>(result: Result<T, Error>) -> Result<T, Why> {
    result.map_err(|error| error.text().into())
}

/// Writes memory of this component's space, so that it is also visible at other addresses, on every
/// kind of cache.
pub fn fill(address: Word, bytes: Word, with: &[u8]) {
    start::fill(address, bytes, with);
    let _ = cache(SPACE, address, bytes, CacheOp::SyncCode);
}

/// The contents of memory of this component's space, and not what a cache had of it before.
pub fn bytes(address: Word, bytes: Word) -> &'static [u8] {
    let _ = cache(SPACE, address, bytes, CacheOp::CleanAndInvalidate);
    start::bytes(address, bytes)
}

/// Carries out an operation of caches.
pub fn cache(space: Space, address: Word, bytes: Word, operation: CacheOp) -> Result<(), Why> {
    good(space.cache(address, bytes, operation))
}

/// A counter that threads of a case share.
pub static SHARED: AtomicU32 = AtomicU32::new(0);

fn run(mut env: Env) {
    let first = env.free_slot();
    let mut bed = Bed {
        ram: env.memory("ram"),
        large: env.memory("large"),
        #[cfg(any(target_arch = "x86", target_arch = "powerpc", target_arch = "x86_64"))]
        window: env.memory("window"),
        ports: env
            .start
            .arguments
            .iter()
            .any(|argument| argument == "ports")
            .then(|| env.memory("port")),
        first,
        next: first,
    };
    #[cfg(target_arch = "x86_64")]
    for (name, act) in own::FOR_EVER {
        if env.start.arguments.iter().any(|argument| argument == name) {
            return own::stay(&mut bed, name, act);
        }
    }
    let groups: [(&str, &[Case]); 10] = [
        ("capability", capability::CASES),
        ("object", object::CASES),
        ("thread", thread::CASES),
        ("ipc", ipc::CASES),
        ("notification", notification::CASES),
        ("memory", memory::CASES),
        ("large", large::CASES),
        ("exception", exception::CASES),
        ("pager", pager::CASES),
        ("alien", alien::CASES),
    ];
    let mut cases = 0;
    for (group, list) in own::GROUPS.iter().chain(&groups) {
        for (name, case) in *list {
            SHARED.store(0, Ordering::Relaxed);
            let (before, threads) = (QUOTA.info(), QUOTA.threads());
            let outcome = case(&mut bed);
            bed.clean();
            // Page tables of this component's space stay; everything else must have been returned.
            let leak = match (before, QUOTA.info()) {
                (Ok((before, _)), Ok((after, _))) => after.saturating_sub(before),
                _ => Word::MAX,
            };
            cases += 1;
            match outcome {
                Ok(()) if threads != QUOTA.threads() => {
                    result!("not ok {group}.{name}: threads of the quota did not come back")
                }
                Ok(()) if leak <= ALLOWED_GROWTH => result!("ok {group}.{name}"),
                Ok(()) => {
                    result!("not ok {group}.{name}: {leak} bytes of the quota did not come back")
                }
                Err(why) => result!("not ok {group}.{name}: {why}"),
            }
        }
    }
    result!("# {cases} conformance cases");
    result!("done");
}

/// Two tables and an attachment may stay in the component's own space after a case.
const ALLOWED_GROWTH: Word = 2 * PAGE + 256;
