// SPDX-License-Identifier: MIT OR Apache-2.0
//! A client of a disk that is slow, or does not answer. It repeatedly writes a block of its range
//! that no other client writes, and reads it again; it reports answers that take long, and wrong
//! blocks. The argument `mark=N` distinguishes its blocks from those of others. With the capability
//! `control` it ends a disk server that refuses everything, as a person would do.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use frames::{Broken, Shared};
use macadamia::disk::{AGAIN, ANSWERS, Client, Disk, Request, SECTOR, TIMED_OUT};
use macadamia::{Env, Error, Thread, Word, ipc, println, time};

macadamia::main!(run);

/// Sectors of a block.
const SECTORS: u32 = 8;
/// The only slot that it uses.
const SLOT: u32 = 0;
/// Notification bit of the alarm.
const ALARM: u32 = 1;
/// The longest pause between two checks for an answer, in nanoseconds. It also bounds how fast the
/// machine's own time runs while all wait for the disk.
const LOOK: u64 = 1_000_000;
/// An answer that takes longer is reported.
const LONG: u64 = 1_000_000_000;
/// How long a server refuses everything before it is ended.
const REFUSES: u64 = 5_000_000_000;

struct Late {
    disk: Disk,
    client: Client,
    mark: u32,
}

fn run(env: Env) {
    let Some(disk) = Disk::find(&env) else { panic!("it needs `disk` in the system description") };
    let control = env.given("control").map(|given| Thread(given.slot as Word));
    let client = attach(&disk);
    let mut late = Late { disk, client, mark: env.number("mark") };
    // The time since which the server refuses everything.
    let mut refused = None;
    for version in 0_u32.. {
        late.fill(version);
        while let Err(status) = late.ask(Request::Write { first: 0, count: SECTORS }) {
            late.is_refused(&mut refused, status, control);
        }
        // Data that a read leaves unchanged must not look right.
        late.fill(!version);
        while let Err(status) = late.ask(Request::Read { first: 0, count: SECTORS }) {
            late.is_refused(&mut refused, status, control);
        }
        if let Some(word) = late.wrong(version) {
            panic!("{word:#x} is wrong in version {version}");
        }
        if version == 0 || refused.take().is_some() {
            println!("the disk works");
        }
    }
}

/// Attaches as soon as there is a disk.
fn attach(disk: &Disk) -> Client {
    loop {
        match disk.attach() {
            Ok((client, _)) => return client,
            Err(error) => println!("no disk: {}", error.text()),
        }
        rest(LONG);
    }
}

/// Lets others run for this many nanoseconds.
fn rest(nanoseconds: u64) {
    let end = time::now() + nanoseconds;
    while time::now() < end {
        time::alarm(end, ALARM as Word)
            .and_then(|()| ipc::wait(ALARM))
            .unwrap_or_else(|error| panic!("{}", error.text()));
    }
}

impl Late {
    const fn word(&self, version: u32, index: u32) -> u32 {
        (self.mark << 24 ^ version).wrapping_add(index).wrapping_mul(0x9e37_79b9)
    }

    fn words() -> impl Iterator<Item = u32> {
        0..SECTORS * SECTOR / 4
    }

    fn fill(&self, version: u32) {
        let (memory, data) = (self.disk.memory(), self.disk.layout().data(SLOT));
        Self::words().for_each(|index| memory.write(data + index * 4, self.word(version, index)));
    }

    /// A word of the block that is not the version's.
    fn wrong(&self, version: u32) -> Option<u32> {
        let (memory, data) = (self.disk.memory(), self.disk.layout().data(SLOT));
        Self::words()
            .map(|index| (memory.read(data + index * 4), self.word(version, index)))
            .find_map(|(found, right)| (found != right).then_some(found))
    }

    /// A request was refused: it is made again after a while, and, if the server has refused for
    /// long, to the server's next life.
    fn is_refused(&self, since: &mut Option<u64>, status: u32, control: Option<Thread>) {
        let now = time::now();
        if since.is_none() {
            let what = if status == TIMED_OUT { "TIMED_OUT" } else { "another error" };
            println!("refused: {what}");
        }
        let began = *since.get_or_insert(now);
        if now - began > REFUSES
            && let Some(server) = control
        {
            println!("the server is ended");
            // A stopped server sends no heartbeat.
            let _ = server.stop();
            *since = Some(now);
        }
        rest(LOOK);
    }

    /// Asks until there is an answer; if the server dies before, it asks the next life.
    fn ask(&mut self, request: Request) -> Result<(), u32> {
        let (began, mut is_long) = (time::now(), false);
        loop {
            match self.exchange(request, began, &mut is_long) {
                Ok(status) => {
                    if is_long && status == 0 {
                        println!("a late answer");
                    }
                    return if status == 0 { Ok(()) } else { Err(status) };
                }
                Err(Broken) => self.client = attach(&self.disk),
            }
        }
    }

    fn exchange(
        &mut self,
        request: Request,
        began: u64,
        is_long: &mut bool,
    ) -> Result<u32, Broken> {
        let memory = self.disk.memory();
        let due = self.client.submit(memory, SLOT, request)?;
        let gone = |_: Error| Broken;
        self.disk.notify(due).map_err(gone)?;
        loop {
            if let Some((_, status)) = self.client.answer(memory)? {
                return Ok(status);
            }
            if !*is_long && time::now() - began > LONG {
                println!("no answer for long");
                *is_long = true;
            }
            if self.client.wait(memory)? {
                continue;
            }
            let bits = time::alarm(time::now() + LOOK, ALARM as Word)
                .and_then(|()| ipc::wait(ANSWERS | AGAIN | ALARM))
                .map_err(gone)?;
            if bits & AGAIN != 0 {
                return Err(Broken);
            }
        }
    }
}
