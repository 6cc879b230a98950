// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames that come on the second serial line.

use super::{Chance, all, damage};
use crate::guest::batch::{Batch, Fetch, Frame};

/// Frames as Linux sends them, some with damage.
fn line(chance: &mut Chance) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..chance.below(8) {
        let status = [0, 256, -2, 9, i32::MIN, i32::MAX, chance.word() as i32];
        let contents: Vec<u8> = match chance.below(3) {
            0 => chance.of(&status).to_le_bytes().into(),
            1 => (0..chance.below(32)).map(|_| chance.word() as u8).collect(),
            _ => vec![b'x'; *chance.of(&[0, 3, 4, 5, 511, 512, 513, 65_535])],
        };
        bytes.push(chance.below(4) as u8);
        bytes.extend((contents.len() as u16).to_le_bytes());
        bytes.extend(contents);
    }
    for _ in 0..chance.below(3) {
        damage(&mut bytes, chance);
    }
    bytes
}

/// Whatever comes is frames up to an end or an error, and not more than came. Whatever frames are
/// has an exit status or an error.
#[test]
fn fuzz_frames() {
    let nowhere = std::path::Path::new("/dev/null");
    let gets = ["/a", "/b"].map(|guest| Fetch { guest: guest.into(), host: nowhere.into() });
    let batch = Batch { gets: gets.into(), ..Batch::default() };
    all(line, |bytes| {
        let (mut rest, mut before) = (bytes.as_slice(), bytes.len());
        while let Ok(Some(_)) = Frame::read(&mut rest) {
            assert!(rest.len() < before);
            before = rest.len();
        }
        let (mut rest, mut out, mut err) = (bytes.as_slice(), Vec::new(), Vec::new());
        let mut next = || Frame::read(&mut rest)?.ok_or_else(|| anyhow::anyhow!("the end"));
        let _ = batch.results(&mut next, &mut || Ok(()), &mut out, &mut err);
        assert!(out.len() <= bytes.len());
    });
}
