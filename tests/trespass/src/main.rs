// SPDX-License-Identifier: MIT OR Apache-2.0
//! A client of the disk server that wants more than its range. First it makes requests that follow
//! the protocol, all of which must be refused. Then it writes random words into the memory that it
//! shares with the server, for as long as the system runs; with the argument `paced`, only for a
//! moment each time that it is notified.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use frames::Shared;
use macadamia::disk::{AGAIN, ANSWERS, BAD_REQUEST, Client, Disk, Layout, Request, SLOT};
use macadamia::{Env, Error, ipc, println};

macadamia::main!(run);

/// The data that it would leave there.
const MARK: u32 = 0x0bad_0bad;
/// Notification bit by which it is told to continue.
const GO: u32 = 1;

fn run(env: Env) {
    let Some(disk) = Disk::find(&env) else { panic!("it needs `disk` in the system description") };
    let (client, sectors) =
        disk.attach().unwrap_or_else(|error| panic!("no disk: {}", error.text()));
    (0..SLOT)
        .step_by(4)
        .for_each(|offset| disk.memory().write(disk.layout().data(0) + offset, MARK));
    match by_the_rules(&disk, client, sectors) {
        Ok(refused) => println!("{refused} requests beyond the range were refused"),
        Err(error) => panic!("{}", error.text()),
    }
    if let Err(error) =
        by_any_means(&disk, env.start.arguments.iter().any(|argument| argument == "paced"))
    {
        panic!("{}", error.text());
    }
}

/// Asks for sectors beyond the range. Returns how often.
fn by_the_rules(disk: &Disk, mut client: Client, sectors: u64) -> Result<u32, Error> {
    let mut refused = 0;
    let firsts =
        [sectors, sectors + 1, sectors * 2, 1 << 32, 1 << 55, 1 << 63, u64::MAX - 7, u64::MAX];
    let beyond =
        firsts.into_iter().flat_map(|first| [1, 8, Layout::MOST].map(|count| (first, count)));
    // Some begin inside of it, and some are larger than a slot.
    let across = [(sectors - 1, 2), (0, Layout::MOST + 1), (0, u32::MAX), (0, 0), (sectors - 7, 8)];
    for (first, count) in beyond.chain(across) {
        for request in [Request::Write { first, count }, Request::Read { first, count }] {
            assert_eq!(answer(disk, &mut client, request)?, BAD_REQUEST, "{request:?}");
            refused += 1;
        }
    }
    // The last sector is its own.
    assert_eq!(answer(disk, &mut client, Request::Write { first: sectors - 1, count: 1 })?, 0);
    Ok(refused)
}

/// The server's answer to a request through slot 0. A life of the server that ends before is
/// followed by another.
fn answer(disk: &Disk, client: &mut Client, request: Request) -> Result<u32, Error> {
    let submit = |client: &mut Client| {
        disk.notify(client.submit(disk.memory(), 0, request).map_err(|_| Error::BadState)?)
    };
    submit(client)?;
    loop {
        if let Some((_, status)) = client.answer(disk.memory()).map_err(|_| Error::BadState)? {
            return Ok(status);
        }
        if !client.wait(disk.memory()).map_err(|_| Error::BadState)?
            && ipc::wait(ANSWERS | AGAIN)? & AGAIN != 0
        {
            *client = disk.attach()?.0;
            submit(client)?;
        }
    }
}

/// Writes words that make no sense, and some that nearly do, into all shared memory except the
/// slots' data.
fn by_any_means(disk: &Disk, paced: bool) -> Result<(), Error> {
    let mut state = 1_u64;
    let mut next = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let words = disk.layout().data(0) / 4;
    loop {
        if paced {
            ipc::wait(GO)?;
        }
        disk.attach()?;
        for _ in 0..64 {
            for _ in 0..next() % 16 {
                let (word, value) = (next() % words, next());
                // Small numbers are slots, operations and counts.
                disk.memory().write(word * 4, if value % 3 == 0 { value } else { value % 17 });
            }
            disk.notify(true)?;
        }
    }
}
