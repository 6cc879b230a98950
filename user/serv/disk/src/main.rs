// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disk server: an ATA disk for one client, through memory that both see (`buffer`).
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod ata;

use ata::{Ata, INTERRUPT, MOST};
use macadamia::disk::{BAD_REQUEST, FLUSH, READ, SECTOR, SIZE, WRITE};
use macadamia::map::Window;
use macadamia::{Env, Rights, ipc, println, utcb};

macadamia::main!(run);

/// Where the shared memory is seen here.
const BUFFER: u32 = image::layout::GRANTS_END;

fn run(env: Env) {
    let irq = env.irq("irq14");
    utcb::accept(INTERRUPT);
    if let Err(error) = irq.bind(Some(env.thread("interrupt"))).and_then(|()| irq.acknowledge()) {
        panic!("no interrupt for the disk: {}", error.text());
    }
    let bytes = env.given("buffer").map_or(0, |given| given.bytes);
    let buffer = match Window::open(BUFFER, env.memory("buffer"), 0, bytes, Rights::READ.union(Rights::WRITE)) {
        Ok(buffer) => buffer,
        Err(error) => panic!("no shared memory: {}", error.text()),
    };
    let most = MOST.min(bytes / SECTOR);
    let disk = Ata::find(irq);
    match &disk {
        Ok(disk) => println!("{} sectors", disk.sectors),
        Err(error) => println!("no disk: error {error}"),
    }
    utcb::accept(0);
    ipc::serve(|received| {
        let [request, first, count] = received.words;
        let result = match &disk {
            Err(error) => Err(*error),
            Ok(disk) => {
                let fits = (1..=most).contains(&count) && first.checked_add(count).is_some_and(|end| end <= disk.sectors);
                match request {
                    SIZE => return Some([0, disk.sectors, most]),
                    FLUSH => disk.flush(),
                    READ if fits => disk.read(first, count, &buffer),
                    WRITE if fits => disk.write(first, count, &buffer),
                    _ => Err(BAD_REQUEST),
                }
            }
        };
        utcb::accept(0);
        Some([result.err().unwrap_or(0), 0, 0])
    });
}
