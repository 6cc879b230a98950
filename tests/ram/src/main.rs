// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests whether all RAM that it was given exists, and no two pieces are the same.
//!
//! It maps all pieces at once, writes words at some addresses, and reads them only after all are
//! written: a physical address that lost its upper bits would lead to another word. If it has the
//! shared memory `far`, it prints the physical address of that memory.
#![no_std]
#![no_main]

use image::slot;
use macadamia::cap::identify;
use macadamia::{Env, Memory, Rights, Space, Word, map, println};

macadamia::main!(run);

/// The address of the first piece, and the distance to the next.
const PLACE: Word = 1 << 40;
const STEP: Word = 4 << 30;
/// The distance of two words: not a multiple of a large page, so that words are at many offsets in
/// a page.
const STRIDE: Word = (256 << 20) - 4096 + 8;

/// A mapped piece of RAM: its address, and its bytes.
struct Piece(Word, Word);

impl Piece {
    /// The addresses of its words: the last is the piece's last.
    fn words(&self) -> impl Iterator<Item = Word> {
        let Self(start, bytes) = *self;
        let last = bytes - size_of::<Word>() as Word;
        (0..last).step_by(STRIDE as usize).chain([last]).map(move |offset| start + offset)
    }
}

fn run(env: Env) {
    if let Some(far) = env.given("far") {
        println!("far is at {:#x}", far.physical);
    }
    let mut pieces = macadamia::alloc::vec::Vec::new();
    for given in env.start.grants.iter().filter(|given| given.name.starts_with("ram")) {
        let memory = Memory(given.slot as Word);
        let (start, rights) =
            (PLACE + pieces.len() as Word * STEP, Rights::READ.union(Rights::WRITE));
        let mapped = identify(memory.0).and_then(|[_, _, bytes]| {
            map::map(Space(slot::SPACE as Word), start, memory, 0, bytes, rights).map(|()| bytes)
        });
        match mapped {
            Ok(bytes) => pieces.push(Piece(start, bytes)),
            Err(error) => panic!("`{}` cannot be mapped: {}", given.name, error.text()),
        }
    }
    for address in pieces.iter().flat_map(Piece::words) {
        // SAFETY: mapped just now for as long as the component lives, where no Rust object lies.
        unsafe { (address as *mut Word).write_volatile(address) };
    }
    for address in pieces.iter().flat_map(Piece::words) {
        // SAFETY: as above.
        let found = unsafe { (address as *const Word).read_volatile() };
        assert!(found == address, "{found:#x} is at {address:#x}");
    }
    let mib = pieces.iter().map(|piece| piece.1 >> 20).sum::<Word>();
    println!("{mib} MiB keep what is written there");
}
