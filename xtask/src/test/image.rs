// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of damaged boot images: the kernel refuses each.

use super::tally::Tally;
use crate::build::{self, Built};
use crate::emulator::{Machine, batch};
use crate::machine::Emulator;
use anyhow::{Result, bail};
use std::path::Path;
use std::time::Duration;

/// Boot images that are damaged in each way are refused with a sentence.
pub fn refusals(tally: &mut Tally) {
    let built = match build::system(Path::new("systems/hello.toml")) {
        Ok(built) => built,
        Err(error) => return tally.note("image", Err(error)),
    };
    let image = match std::fs::read(&built.image) {
        Ok(image) => image,
        Err(error) => return tally.note("image", Err(error.into())),
    };
    for (name, expected, damaged) in damages(&image) {
        tally.note(&format!("image.refused.{name}"), refused(&built, &damaged, expected));
    }
}

fn refused(built: &Built, image: &[u8], expected: abi::boot::Refusal) -> Result<()> {
    let path = built.image.with_file_name("damaged.bin");
    std::fs::write(&path, image)?;
    let damaged = Built { image: path, ..built.clone() };
    let transcript =
        batch(&damaged, Machine::of(Emulator::Qemu, &damaged, None), Duration::from_secs(20))?;
    let sentence = format!("boot image refused: {}", expected.text());
    if transcript.ended && transcript.console.contains(&sentence) {
        return Ok(());
    }
    bail!("expected `{sentence}`, got `{}`", transcript.console.trim());
}

/// Every field wrong in turn, checksums mended so that the field itself is found.
fn damages(image: &[u8]) -> Vec<(&'static str, abi::boot::Refusal, Vec<u8>)> {
    use abi::boot::{Header, Refusal, header_crc};
    const HEAD: usize = abi::boot::HEADER_BYTES as usize;
    let with = |change: fn(&mut Header)| {
        let mut damaged = image.to_vec();
        let mut header = Header::from_bytes(std::array::from_fn(|at| damaged[at]));
        change(&mut header);
        header.header_crc = header_crc(&header);
        damaged[..HEAD].copy_from_slice(&header.to_bytes());
        damaged
    };
    let flipped = |at: usize| {
        let mut damaged = image.to_vec();
        damaged[at] ^= 1;
        damaged
    };
    vec![
        ("short", Refusal::TooShort, image[..32].to_vec()),
        ("truncated", Refusal::Truncated, image[..image.len() - 4096].to_vec()),
        ("magic", Refusal::NotAnImage, with(|h| h.magic ^= 1)),
        ("version", Refusal::Version, with(|h| h.version += 1)),
        ("header_crc", Refusal::HeaderDamaged, flipped(17)),
        ("crc", Refusal::ContentsDamaged, flipped(image.len() - 1)),
        ("too_large", Refusal::TooLarge, with(|h| h.total = abi::boot::MAX_BYTES + 4096)),
        ("total", Refusal::Length, with(|h| h.total -= 1)),
        ("reserved", Refusal::Reserved, with(|h| h.reserved[2] = 1)),
        ("root_offset", Refusal::RootPlacement, with(|h| h.root_offset += 1)),
        ("root_bytes", Refusal::RootPlacement, with(|h| h.root_bytes = u32::MAX - 4095)),
        ("root_address", Refusal::RootAddress, with(|h| h.root_address = 0)),
        ("root_address_kernel", Refusal::RootAddress, with(|h| h.root_address = 0xe000_0000)),
        ("root_entry", Refusal::RootEntry, with(|h| h.root_entry = 4)),
        ("root_stack", Refusal::RootEntry, with(|h| h.root_stack = 4)),
        ("system_offset", Refusal::SystemPlacement, with(|h| h.system_offset = h.total)),
        ("system_bytes", Refusal::SystemPlacement, with(|h| h.system_bytes = u32::MAX)),
    ]
}
