// SPDX-License-Identifier: MIT OR Apache-2.0
//! A client of the folder server that wants more than its folders have. Folder 0 may be written,
//! folder 1 may not. In both there are the file `inside`, the folder `below` with the file `inside`,
//! and links that lead to a folder with the file `inside` beside them: what is in that one must not
//! be seen, and nothing may be changed there.
//!
//! With the argument `read-only` it tries to change folder 1, with `hostile` all else.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod session;

use frames::Shared;
use macadamia::alloc::vec::Vec;
use macadamia::folder::MESSAGE;
use macadamia::folder::field::{message, text};
use macadamia::{Env, println};
use session::{BOTH, READ_ONLY, ROOT, Session, TAG, WRITE_ONLY, errno, kind, part, word};

macadamia::main!(run);

/// What is in the files of the folders, and in the one outside.
const INSIDE: &[u8] = b"inside\n";
const OUTSIDE: &[u8] = b"outside\n";
/// Some numbers of files.
const FILE: u32 = 1;
const OTHER: u32 = 2;
/// Types and rights.
const ANY_MODE: u32 = 0o777;
const SET_IDS: u32 = 0o6000;

fn run(env: Env) {
    let is = |what: &str| env.start.arguments.iter().any(|argument| argument == what);
    let mut session = Session::begin(&env);
    if is("read-only") {
        let refused = changes(&mut session);
        println!("{refused} changes of what is read-only were refused");
    }
    if is("hostile") {
        let refused = malformed(&mut session);
        println!("{refused} messages that are none were refused");
        println!("{} ways out were closed", ways_out(&mut session));
        println!("{} races were lost", races(&mut session));
        rights(&mut session);
        println!("{} requests were answered at once", flood(&mut session));
        println!("{} rings were broken", by_any_means(&mut session));
    }
    println!("all was refused");
}

/// Where the files are that may be read.
const USUAL: [&[&[u8]]; 3] = [&[b"inside"], &[b"below", b"inside"], &[b"..", b"..", b"inside"]];

/// That the folders still do what they are for.
fn works(session: &mut Session) {
    for folder in [0, 1] {
        session.folder = folder;
        for names in USUAL {
            assert_eq!(session.open(FILE, names, READ_ONLY), Ok(()), "{names:?}");
            assert_eq!(session.contents(FILE).as_deref(), Ok(INSIDE), "{names:?}");
        }
    }
    session.folder = 0;
}

/// Every way to change something, in the folder that is read-only. How many are refused.
fn changes(session: &mut Session) -> u32 {
    works(session);
    session.folder = 1;
    let mut refused = 0;
    let mut denied = |answer: Result<(), u32>, what: &str| {
        assert_eq!(answer, Err(errno::READ_ONLY), "{what}");
        refused += 1;
    };
    for how in [WRITE_ONLY, BOTH, READ_ONLY | 0o1000] {
        denied(session.open(FILE, &[b"inside"], how), "open");
    }
    let (root, file, other) = (word(ROOT), word(FILE), word(OTHER));
    let (name, inside, mode, zero) = (text(b"new"), text(b"inside"), word(ANY_MODE), word(0));
    let attribute = text(b"user.new");
    session.clunk(FILE);
    assert_eq!(session.walk(ROOT, FILE, &[b"inside"]), Ok(1));
    assert_eq!(session.walk(ROOT, OTHER, &[]), Ok(0));
    // Which: mode, size, two times.
    let set = [&word(0x1 | 0x8 | 0x10 | 0x20)[..], &mode, &[0; 48]].concat();
    for (kind, fields) in [
        (kind::CREATE, &[&other[..], &name, &word(BOTH), &mode, &zero][..]),
        (kind::MAKE_FOLDER, &[&root[..], &name, &mode, &zero][..]),
        (kind::SYMLINK, &[&root[..], &name, &inside, &zero][..]),
        (kind::LINK, &[&root[..], &file, &name][..]),
        (kind::MAKE_NODE, &[&root[..], &name, &word(0o010_777), &zero, &zero, &zero][..]),
        (kind::RENAME, &[&file[..], &root, &name][..]),
        (kind::RENAME_AT, &[&root[..], &inside, &root, &name][..]),
        (kind::UNLINK_AT, &[&root[..], &inside, &zero][..]),
        (kind::SET_ATTRIBUTES, &[&file[..], &set][..]),
        (kind::CREATE_ATTRIBUTE, &[&other[..], &attribute, &[0; 8], &zero][..]),
    ] {
        denied(session.ask(kind, fields).map(drop), "a change");
    }
    // What is open to be read is not open to be written, in no other way either.
    assert_eq!(session.open(FILE, &[b"inside"], READ_ONLY), Ok(()));
    denied(session.write(FILE, b"new").map(drop), "write");
    works(session);
    refused
}

/// Messages that are none, and those that are more than the folders take. How many are refused.
fn malformed(session: &mut Session) -> u32 {
    works(session);
    let mut refused = 0;
    let whole = message(kind::WALK, TAG, &[&word(ROOT), &word(FILE), &[1, 0], &text(b"inside")]);
    // Sizes: of the request, and in the message.
    for bytes in (0..whole.len() as u32).chain([whole.len() as u32 + 1, MESSAGE, u32::MAX]) {
        let mut message = whole.clone();
        assert!(session.send(&message, bytes).is_err(), "{bytes} bytes");
        message[..4].copy_from_slice(&word(bytes));
        assert!(session.send(&message, bytes).is_err(), "{bytes} bytes that it has");
        assert!(session.send(&message, whole.len() as u32).is_err(), "{bytes} bytes in it");
        refused += 3;
    }
    let fields: Vec<u8> = (0..60).collect();
    for kind in 0..=u8::MAX {
        for bytes in [0, 1, 4, 13, 60] {
            let message = message(kind, TAG, &[&fields[..bytes]]);
            assert!(session.send(&message, message.len() as u32).is_err(), "{kind}: {bytes}");
            refused += 1;
        }
    }
    let mut is = |session: &mut Session, error, kind, fields: &[&[u8]]| {
        assert_eq!(session.ask(kind, fields), Err(error), "{kind}");
        refused += 1;
    };
    let many = word(65_536);
    is(session, errno::TOO_MANY, kind::WALK, &[&word(ROOT), &many, &[0, 0]]);
    let long = text(&[b'a'; 256]);
    is(session, errno::NAME_TOO_LONG, kind::WALK, &[&word(ROOT), &word(FILE), &[1, 0], &long]);
    is(session, errno::INVALID, kind::READ, &[&word(FILE), &[0; 8], &word(MESSAGE)]);
    is(session, errno::INVALID, kind::READ, &[&word(FILE), &[0; 8], &word(u32::MAX)]);
    let attribute = text(b"security.capability");
    let fields: &[&[u8]] = &[&word(FILE), &attribute, &[0; 8], &word(0)];
    is(session, errno::UNSUPPORTED, kind::CREATE_ATTRIBUTE, fields);
    for folder in [2, 3, 4, u32::MAX] {
        session.folder = folder;
        is(session, errno::NODEV, kind::CLUNK, &[&word(FILE)]);
    }
    session.folder = 0;
    works(session);
    // Of a client before this one nothing is left.
    session.attach(false);
    is(session, errno::STALE, kind::CLUNK, &[&word(FILE)]);
    for folder in [0, 1] {
        session.folder = folder;
        session.greet();
    }
    works(session);
    refused
}

/// What is read by these names must not be what is outside.
fn is_closed(session: &mut Session, names: &[&[u8]], how: u32) {
    let opened = session.open(FILE, names, how);
    let read = opened.and_then(|()| session.contents(FILE));
    assert_ne!(read.as_deref(), Ok(OUTSIDE), "{names:?}");
    // Nor is anything written there.
    if opened.is_ok() && how != READ_ONLY {
        let _ = session.write(FILE, b"written\n");
    }
}

/// Names and links that lead out of the folders. How many are tried.
fn ways_out(session: &mut Session) -> u32 {
    let mut tried = 0;
    let ways: &[&[&[u8]]] = &[
        &[b"..", b"outside", b"inside"],
        &[b"../outside/inside"],
        &[b"..", b"..", b"..", b"outside", b"inside"],
        &[b"below", b"..", b"..", b"outside", b"inside"],
        &[b"below/../../outside/inside"],
        &[b"./../outside/inside"],
        &[b"link"],
        &[b"absolute-link"],
        &[b"folder-link", b"inside"],
        &[b"folder-link/inside"],
        &[b"absolute-folder-link", b"inside"],
        &[b"folder-link", b"..", b"outside", b"inside"],
        &[b"/", b"outside", b"inside"],
        &[b"", b"outside"],
        &[b"chain", b"inside"],
    ];
    for folder in [1, 0] {
        session.folder = folder;
        for names in ways {
            for how in [READ_ONLY, BOTH, WRITE_ONLY | 0o1000] {
                is_closed(session, names, how);
                tried += 1;
            }
        }
    }
    // Names with which something is made, moved or taken away.
    let root = word(ROOT);
    let (mode, zero, inside) = (word(ANY_MODE), word(0), text(b"inside"));
    for name in [
        &b"../made"[..],
        b"../outside/made",
        b"folder-link/made",
        b"..",
        b".",
        b"",
        b"/made",
        b"below/../../made",
    ] {
        let name = &text(name);
        for (kind, fields) in [
            (kind::MAKE_FOLDER, &[&root[..], name, &mode, &zero][..]),
            (kind::SYMLINK, &[&root[..], name, &inside, &zero][..]),
            (kind::MAKE_NODE, &[&root[..], name, &word(0o100_777), &zero, &zero, &zero][..]),
            (kind::RENAME_AT, &[&root[..], &inside, &root, name][..]),
            (kind::RENAME_AT, &[&root[..], name, &root, &text(b"stolen")][..]),
            (kind::UNLINK_AT, &[&root[..], name, &zero][..]),
            (kind::UNLINK_AT, &[&root[..], name, &word(0x200)][..]),
        ] {
            assert!(session.ask(kind, fields).is_err(), "{kind} {name:?}");
            tried += 1;
        }
        session.clunk(OTHER);
        assert_eq!(session.walk(ROOT, OTHER, &[]), Ok(0));
        let fields: &[&[u8]] = &[&word(OTHER), name, &word(BOTH), &mode, &zero];
        assert!(session.ask(kind::CREATE, fields).is_err(), "{name:?}");
        tried += 1;
    }
    // In a link to a folder, in place of that.
    session.clunk(OTHER);
    assert_eq!(session.walk(ROOT, OTHER, &[b"folder-link"]), Ok(1));
    let (link, made) = (word(OTHER), text(b"made"));
    for (kind, fields) in [
        (kind::MAKE_FOLDER, &[&link[..], &made, &mode, &zero][..]),
        (kind::SYMLINK, &[&link[..], &made, &inside, &zero][..]),
        (kind::RENAME_AT, &[&link[..], &inside, &root, &made][..]),
        (kind::RENAME_AT, &[&root[..], &inside, &link, &made][..]),
        (kind::UNLINK_AT, &[&link[..], &inside, &zero][..]),
        (kind::CREATE, &[&link[..], &made, &word(BOTH), &mode, &zero][..]),
    ] {
        assert!(session.ask(kind, fields).is_err(), "{kind} in a link");
        tried += 1;
    }
    // The link itself may be read, and one may be made: who follows it is the client.
    session.clunk(OTHER);
    assert_eq!(session.walk(ROOT, OTHER, &[b"link"]), Ok(1));
    assert_eq!(session.ask(kind::READ_LINK, &[&link]), Ok(text(b"../outside/inside")));
    let target = text(b"../outside");
    session.ask(kind::SYMLINK, &[&root, &text(b"own-link"), &target, &zero]).expect("a link");
    is_closed(session, &[b"own-link", b"inside"], READ_ONLY);
    works(session);
    tried
}

/// A folder that becomes a link while it is walked through. How often.
fn races(session: &mut Session) -> u32 {
    const ROUNDS: u32 = 300;
    // The slot of the message that puts the link in place of the folder.
    const LINKED: u32 = 3;
    let root = word(ROOT);
    let mut linked = 0;
    let moved = |from: &[u8], to: &[u8], tag| {
        message(kind::RENAME_AT, tag, &[&root, &text(from), &root, &text(to)])
    };
    for _ in 0..ROUNDS {
        session.clunk(FILE);
        session.clunk(OTHER);
        let walk = |file, tag| {
            let names = [text(b"below"), text(b"inside")].concat();
            message(kind::WALK, tag, &[&root, &word(file), &[2, 0], &names])
        };
        let open = |tag| message(kind::OPEN, tag, &[&word(FILE), &word(READ_ONLY)]);
        let batch = [
            walk(FILE, 1),
            moved(b"below", b"real", 2),
            open(3),
            moved(b"folder-link", b"below", 4),
            walk(OTHER, 5),
        ];
        for (message, slot) in batch.iter().zip(0..) {
            session.submit(slot, message, message.len() as u32);
        }
        for _ in &batch {
            let (slot, reply) = session.wait();
            linked += u32::from(slot == LINKED && part(&reply).is_ok());
        }
        for file in [FILE, OTHER] {
            let _ = session.ask(kind::OPEN, &[&word(file), &word(READ_ONLY)]);
            assert_ne!(session.contents(file).as_deref(), Ok(OUTSIDE));
        }
        // As it was, however far that went.
        session.clunk(FILE);
        if session.walk(ROOT, FILE, &[b"real"]) == Ok(1) {
            for message in [moved(b"below", b"folder-link", TAG), moved(b"real", b"below", TAG)] {
                let _ = session.send(&message, message.len() as u32);
            }
        }
    }
    works(session);
    assert!(linked > ROUNDS / 2, "the link was there in {linked} rounds only");
    linked
}

/// New files have no rights of their owner to give away, and are no devices.
fn rights(session: &mut Session) {
    let (root, name, zero) = (word(ROOT), text(b"program"), word(0));
    session.clunk(FILE);
    assert_eq!(session.walk(ROOT, FILE, &[]), Ok(0));
    let mode = word(SET_IDS | 0o755);
    let created = session.ask(kind::CREATE, &[&word(FILE), &name, &word(BOTH), &mode, &zero]);
    assert!(created.is_ok(), "{created:?}");
    assert_eq!(session.mode(FILE).map(|mode| mode & SET_IDS), Ok(0));
    let set = [&word(1)[..], &word(SET_IDS | 0o755), &[0; 48]].concat();
    session.ask(kind::SET_ATTRIBUTES, &[&word(FILE), &set]).expect("rights");
    assert_eq!(session.mode(FILE).map(|mode| mode & 0o7777), Ok(0o755));
    for device in [0o020_666, 0o060_666] {
        let fields: &[&[u8]] = &[&root, &text(b"device"), &word(device), &word(1), &word(3), &zero];
        assert_eq!(session.ask(kind::MAKE_NODE, fields), Err(errno::PERM));
    }
    works(session);
}

/// All slots at once, for as long as the server could be busy with them. How many requests.
fn flood(session: &mut Session) -> u32 {
    const ROUNDS: u32 = 400;
    let slots = session.shared().layout().slots();
    for round in 0..ROUNDS {
        for slot in 0..slots {
            // Every other one has the tag of the one before it, which is under way.
            let tag = if round % 2 == 0 { slot } else { slot / 2 * 2 } as u16;
            let file = 100 + round * slots + slot;
            let message = message(kind::WALK, tag, &[&word(ROOT), &word(file), &[0, 0]]);
            session.submit(slot, &message, message.len() as u32);
        }
        let mut refused = 0;
        for _ in 0..slots {
            let (_, reply) = session.wait();
            match part(&reply) {
                Ok(_) => {}
                Err(errno::INVALID) if round % 2 == 1 => refused += 1,
                Err(error) => panic!("error {error}"),
            }
        }
        assert!(refused <= slots / 2);
    }
    // A new session has none of the files.
    session.greet();
    works(session);
    ROUNDS * slots
}

/// Writes words that make no sense, and some that nearly do, into what it shares with the server.
/// How often that breaks the rings.
fn by_any_means(session: &mut Session) -> u32 {
    let mut state = 1_u64;
    let mut next = move |below: u32| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % below
    };
    let slots = session.shared().layout().slots();
    let mut broken = 0;
    for _ in 0..1_000 {
        let folders = session.shared();
        for _ in 0..next(16) {
            let places = [next(1536 / 4) * 4, folders.layout().message(next(slots)) + next(8) * 4];
            let at = places[next(2) as usize];
            let value = if next(3) == 0 { next(u32::MAX) } else { next(17) };
            folders.memory().write(at, value);
        }
        folders.notify(true).expect("a server");
        if next(4) == 0 {
            session.attach(next(2) == 0);
            broken += 1;
        }
    }
    // What it was told meanwhile it finds now.
    session.is_told = true;
    session.attach(false);
    for folder in [0, 1] {
        session.folder = folder;
        session.greet();
    }
    works(session);
    broken
}
