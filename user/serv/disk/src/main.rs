// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disk server: a disk for one client, through memory that both see (`buffer`). The disk is a
//! virtio block device (grants `virtio`, `queue`), or, if the machine has none, an ATA disk (ports
//! and interrupt line of a channel).
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod ata;
mod line;
mod virtio;

use ata::Ata;
use macadamia::alloc::boxed::Box;
use macadamia::disk::{BAD_REQUEST, FLUSH, NO_DISK, READ, SIZE, WRITE};
use macadamia::{Env, ipc, println};
use virtio::Virtio;

macadamia::main!(run);

/// What a disk is asked to do, between it and the start of the buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Read { first: u32, count: u32 },
    Write { first: u32, count: u32 },
    Flush,
}

/// A disk; errors are those of `macadamia::disk`.
trait Disk {
    /// Its kind, for people.
    fn name(&self) -> &'static str;
    /// Its size.
    fn sectors(&self) -> u32;
    /// Most sectors of a task.
    fn most(&self) -> u32;
    /// Carries out a task that lies within the disk and is no larger than [`Disk::most`].
    fn carry_out(&mut self, task: Task) -> Result<(), u32>;
}

/// The disk that there is.
fn find(env: &Env) -> Option<Box<dyn Disk>> {
    match Virtio::find(env) {
        Ok(Some(disk)) => return Some(Box::new(disk)),
        Ok(None) => {}
        Err(reason) => println!("no virtio disk: {reason}"),
    }
    match Ata::find(env) {
        Ok(disk) => return Some(Box::new(disk)),
        Err(reason) => println!("no ATA disk: {reason}"),
    }
    None
}

/// For a test, the argument `end-after=N`: in its first life the server ends when it was asked N times.
fn tasks_left(env: &Env) -> Option<u32> {
    let left = env.start.arguments.iter().find_map(|argument| argument.strip_prefix("end-after=")?.parse().ok());
    left.filter(|_| env.start.restarts == 0)
}

fn run(env: Env) {
    let mut disk = find(&env);
    if let Some(disk) = &disk {
        println!("{} sectors, {}", disk.sectors(), disk.name());
    }
    let mut left = tasks_left(&env);
    ipc::serve(|received| {
        if let Some(left) = &mut left {
            *left = left.checked_sub(1).unwrap_or_else(|| macadamia::start::exit(1));
        }
        let Some(disk) = &mut disk else { return Some([NO_DISK, 0, 0]) };
        let [request, first, count] = received.words;
        let fits = (1..=disk.most()).contains(&count) && first.checked_add(count).is_some_and(|end| end <= disk.sectors());
        let result = match request {
            SIZE => return Some([0, disk.sectors(), disk.most()]),
            FLUSH => disk.carry_out(Task::Flush),
            READ if fits => disk.carry_out(Task::Read { first, count }),
            WRITE if fits => disk.carry_out(Task::Write { first, count }),
            _ => Err(BAD_REQUEST),
        };
        Some([result.err().unwrap_or(0), 0, 0])
    });
}
