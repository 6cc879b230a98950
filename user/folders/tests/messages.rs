// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is a message, and what is none.

use folders::field::{message, text};
use folders::{Checked, Errno, check};
use image::protocol::folder::{HEAD, MESSAGE, MOST_FIDS};
use proptest::prelude::*;

const TAG: u16 = 0x1234;
/// Some fields.
const FID: &[u8] = &7_u32.to_le_bytes();
const WORD: &[u8] = &0o644_u32.to_le_bytes();
const LONG: &[u8] = &9_u64.to_le_bytes();
const BYTE: &[u8] = &[1];

fn checked(kind: u8, fields: &[&[u8]]) -> Result<Checked, Errno> {
    let mut message = message(kind, TAG, fields);
    let bytes = message.len() as u32;
    check(&mut message, bytes)
}

/// Every message that a client needs, but those that write.
fn all() -> Vec<(u8, Vec<Vec<u8>>)> {
    let of = |fields: &[&[u8]]| fields.iter().map(|field| field.to_vec()).collect::<Vec<_>>();
    let name = text(b"name");
    let user = text(b"user.name");
    let version = text(b"9P2000.L");
    let names = [&[2, 0][..], &name, &name].concat();
    let no_fid = u32::MAX.to_le_bytes();
    let most = 8192_u32.to_le_bytes();
    [8, 22, 120, 122]
        .into_iter()
        .map(|kind| (kind, of(&[FID])))
        .chain([
            (12, of(&[FID, WORD])),
            (50, of(&[FID, WORD])),
            (14, of(&[FID, &name, WORD, WORD, WORD])),
            (16, of(&[FID, &name, &name, WORD])),
            (18, of(&[FID, &name, WORD, WORD, WORD, WORD])),
            (20, of(&[FID, FID, &name])),
            (30, of(&[FID, FID, &name])),
            (24, of(&[FID, LONG])),
            (26, of(&[FID, WORD, WORD, WORD, WORD, LONG, LONG, LONG, LONG, LONG])),
            (32, of(&[FID, &user, LONG, WORD])),
            (40, of(&[FID, LONG, WORD])),
            (116, of(&[FID, LONG, WORD])),
            (52, of(&[FID, BYTE, WORD, LONG, LONG, WORD, &name])),
            (54, of(&[FID, BYTE, LONG, LONG, WORD, &name])),
            (70, of(&[FID, FID, &name])),
            (72, of(&[FID, &name, WORD, WORD])),
            (74, of(&[FID, &name, FID, &name])),
            (76, of(&[FID, &name, WORD])),
            (100, of(&[&most, &version])),
            (104, of(&[FID, &no_fid, &name, &name, WORD])),
            (108, of(&[&[1, 0]])),
            (110, of(&[FID, FID, &names])),
        ])
        .collect()
}

#[test]
fn whole_messages_are_taken_and_others_are_not() {
    for (kind, fields) in all() {
        let fields: Vec<&[u8]> = fields.iter().map(Vec::as_slice).collect();
        assert_eq!(checked(kind, &fields), Ok(Checked { kind, tag: TAG, data: 0 }), "{kind}");
        let whole = message(kind, TAG, &fields);
        for bytes in 0..whole.len() {
            // Its size is that of what is there, or what it was.
            let mut part = whole[..bytes].to_vec();
            assert!(check(&mut part, bytes as u32).is_err(), "{kind}: {bytes}");
            if bytes >= 4 {
                part[..4].copy_from_slice(&(bytes as u32).to_le_bytes());
            }
            assert!(check(&mut part, bytes as u32).is_err(), "{kind}: {bytes}");
        }
        let mut more = message(kind, TAG, &[&fields.concat(), &[0]]);
        let bytes = more.len() as u32;
        assert_eq!(check(&mut more, bytes), Err(Errno::INVALID), "{kind}");
        let mut whole = whole;
        let bytes = whole.len() as u32;
        assert_eq!(check(&mut whole, bytes + 1), Err(Errno::INVALID), "{kind}");
    }
}

#[test]
fn a_write_says_how_much_it_writes() {
    let written = |count: u32, bytes: u32| {
        let mut message = message(118, TAG, &[FID, LONG, &count.to_le_bytes()]);
        message[..4].copy_from_slice(&bytes.to_le_bytes());
        check(&mut message, bytes)
    };
    for count in [0, 1, 4096, MESSAGE - 23] {
        let expected = Checked { kind: 118, tag: TAG, data: count };
        assert_eq!(written(count, 23 + count), Ok(expected));
        assert_eq!(written(count, 24 + count), Err(Errno::INVALID));
        assert_eq!(written(count + 1, 23 + count), Err(Errno::INVALID));
    }
    assert_eq!(written(MESSAGE, 23 + MESSAGE), Err(Errno::INVALID));
    assert_eq!(written(u32::MAX - 5, 17), Err(Errno::INVALID));
}

#[test]
fn no_client_needs_the_others() {
    let known: Vec<u8> = all().into_iter().map(|(kind, _)| kind).chain([118]).collect();
    for kind in (0..=u8::MAX).filter(|kind| !known.contains(kind)) {
        assert_eq!(checked(kind, &[FID]), Err(Errno::UNSUPPORTED), "{kind}");
    }
}

#[test]
fn numbers_and_names_have_limits() {
    let name = text(b"name");
    let least = MOST_FIDS.to_le_bytes();
    assert_eq!(checked(120, &[&least]), Err(Errno::TOO_MANY));
    assert_eq!(checked(110, &[FID, &least, &[0, 0]]), Err(Errno::TOO_MANY));
    assert!(checked(120, &[&(MOST_FIDS - 1).to_le_bytes()]).is_ok());
    // Authentication.
    assert_eq!(checked(104, &[FID, FID, &name, &name, WORD]), Err(Errno::UNSUPPORTED));
    let long = text(&[b'a'; 256]);
    assert_eq!(checked(76, &[FID, &long, WORD]), Err(Errno::NAME_TOO_LONG));
    assert!(checked(76, &[FID, &text(&[b'a'; 255]), WORD]).is_ok());
    assert_eq!(checked(76, &[FID, &text(b"a\0b"), WORD]), Err(Errno::INVALID));
    let target = text(&[b'a'; 4096]);
    assert_eq!(checked(16, &[FID, &name, &target, WORD]), Err(Errno::NAME_TOO_LONG));
    assert!(checked(16, &[FID, &name, &text(&[b'a'; 4095]), WORD]).is_ok());
    let names = |count: u16| [&count.to_le_bytes()[..], &name.repeat(count.into())].concat();
    assert!(checked(110, &[FID, FID, &names(16)]).is_ok());
    assert_eq!(checked(110, &[FID, FID, &names(17)]), Err(Errno::INVALID));
    // What the answer has no room for.
    assert_eq!(checked(116, &[FID, LONG, &(MESSAGE - 10).to_le_bytes()]), Err(Errno::INVALID));
    assert!(checked(116, &[FID, LONG, &(MESSAGE - 11).to_le_bytes()]).is_ok());
    assert_eq!(checked(32, &[FID, &text(b"security.x"), LONG, WORD]), Err(Errno::UNSUPPORTED));
}

#[test]
fn a_session_has_messages_of_the_size_of_a_slot() {
    let version = |most: u32, version: &[u8]| {
        let mut message = message(100, u16::MAX, &[&most.to_le_bytes(), &text(version)]);
        let bytes = message.len() as u32;
        check(&mut message, bytes).map(|_| message[7..11].to_vec())
    };
    assert_eq!(version(u32::MAX, b"9P2000.L"), Ok(MESSAGE.to_le_bytes().to_vec()));
    assert_eq!(version(5000, b"9P2000.L"), Ok(5000_u32.to_le_bytes().to_vec()));
    assert_eq!(version(4095, b"9P2000.L"), Err(Errno::INVALID));
    for other in [&b"9P2000.u"[..], b"9P2000", b"9P2000.L.x", b""] {
        assert_eq!(version(8192, other), Err(Errno::UNSUPPORTED));
    }
}

#[test]
fn nobody_gets_the_rights_of_a_files_owner() {
    let name = text(b"name");
    let mode = |mode: u32| mode.to_le_bytes();
    for (kind, before, after) in [
        (14, &[FID, &name, WORD][..], &[WORD][..]),
        (18, &[FID, &name][..], &[WORD, WORD, WORD][..]),
        (72, &[FID, &name][..], &[WORD][..]),
        (26, &[FID, WORD][..], &[WORD, WORD, LONG, LONG, LONG, LONG, LONG][..]),
    ] {
        let fields = |with: &[u8]| [&before.concat(), with, &after.concat()].concat();
        let mut set = message(kind, TAG, &[&fields(&mode(0o106_755))]);
        let bytes = set.len() as u32;
        assert!(check(&mut set, bytes).is_ok(), "{kind}");
        assert_eq!(set, message(kind, TAG, &[&fields(&mode(0o100_755))]), "{kind}");
    }
    for device in [0o020_644, 0o060_644, 0o064_644] {
        let fields: &[&[u8]] = &[FID, &name, &mode(device), WORD, WORD, WORD];
        assert_eq!(checked(18, fields), Err(Errno::PERM));
    }
}

proptest! {
    /// Anything is taken or refused, and what is taken is so again.
    #[test]
    fn anything_may_come(kind in any::<u8>(), rest in prop::collection::vec(any::<u8>(), 0..200), off in -2_i32..3) {
        let mut bytes = message(kind, TAG, &[&rest]);
        let size = (bytes.len() as i32 + off) as u32;
        bytes[..4].copy_from_slice(&size.to_le_bytes());
        if let Ok(first) = check(&mut bytes, size) {
            prop_assert_eq!(check(&mut bytes, size), Ok(first));
            prop_assert!(size - first.data <= HEAD);
        }
    }
}
