// SPDX-License-Identifier: MIT OR Apache-2.0
//! A range of a disk: what was written there is read again.

use super::{ALARM, PATIENCE, Probe, rest};
use frames::{Broken, Shared};
use macadamia::alloc::vec;
use macadamia::alloc::vec::Vec;
use macadamia::disk::{AGAIN, ANSWERS, Client, Disk, Request, SECTOR};
use macadamia::{Env, Result, Word, ipc, println, time};

/// Requests under way.
const SLOTS: u32 = 8;
/// Sectors of a block, and blocks.
const SECTORS: u32 = 8;
const BLOCKS: u32 = 256;
/// Words of a block.
const WORDS: u32 = SECTORS * SECTOR / 4;
/// The longest pause between two checks for answers, in nanoseconds. While all threads wait, the
/// machine's own time jumps to the next alarm: with an alarm this near, a slow disk of the host
/// takes little of that time.
const LOOK: u64 = 20_000;

/// A request.
#[derive(Clone, Copy)]
enum Task {
    Write { block: u32, version: u32 },
    Read { block: u32, version: u32 },
    Flush,
}

impl Task {
    /// As it is asked for.
    fn request(self) -> Request {
        let first = |block| u64::from(block * SECTORS);
        match self {
            Self::Write { block, .. } => Request::Write { first: first(block), count: SECTORS },
            Self::Read { block, .. } => Request::Read { first: first(block), count: SECTORS },
            Self::Flush => Request::Flush,
        }
    }

    const fn block(self) -> Option<u32> {
        match self {
            Self::Write { block, .. } | Self::Read { block, .. } => Some(block),
            Self::Flush => None,
        }
    }
}

/// The range.
pub struct Range {
    disk: Disk,
    /// Nothing until it is attached.
    client: Option<Client>,
    /// The requests by slot, and whether the server has each just now: a request that failed is
    /// made again the next time.
    under_way: Vec<Option<(Task, bool)>>,
    /// What was written to each block last, and answered.
    versions: Vec<Option<u32>>,
    written: u32,
    read: u32,
    /// Requests that failed, and were repeated.
    failed: u32,
    /// Requests that the server had when it ended, or when it was attached again.
    cut: u32,
    /// How often it was attached.
    attached: u32,
    wrong: u32,
}

/// A word of a block.
const fn word(block: u32, version: u32, index: u32) -> u32 {
    (block << 16 ^ version).wrapping_add(index).wrapping_mul(0x9e37_79b9)
}

impl Range {
    /// The component's range, if it has one.
    pub fn find(env: &Env) -> Option<Self> {
        let disk = Disk::find(env)?;
        let (under_way, versions) = (vec![None; SLOTS as usize], vec![None; BLOCKS as usize]);
        Some(Self {
            disk,
            client: None,
            under_way,
            versions,
            written: 0,
            read: 0,
            failed: 0,
            cut: 0,
            attached: 0,
            wrong: 0,
        })
    }

    /// Something to do through a slot.
    fn next(&self, slot: u32, number: u32) -> Task {
        let random = number.wrapping_mul(SLOTS).wrapping_add(slot).wrapping_mul(0x9e37_79b9) >> 8;
        if random.is_multiple_of(16) {
            return Task::Flush;
        }
        let is_free = |block: &u32| {
            !self.under_way.iter().flatten().any(|(task, _)| task.block() == Some(*block))
        };
        // There are more blocks than slots.
        let block = (random..).map(|block| block % BLOCKS).find(is_free).unwrap_or_default();
        match self.versions[block as usize] {
            Some(version) if random >> 8 & 1 == 0 => Task::Read { block, version },
            version => Task::Write {
                block,
                version: version.map_or(number, |version| version.wrapping_add(1)),
            },
        }
    }

    /// Puts data into a slot: the data to write, or for a read data that must be overwritten.
    fn fill(&self, slot: u32, task: Task) {
        let (memory, data) = (self.disk.memory(), self.disk.layout().data(slot));
        for index in 0..WORDS {
            let value = match task {
                Task::Write { block, version } => word(block, version, index),
                Task::Read { block, version } => !word(block, version, index),
                Task::Flush => return,
            };
            memory.write(data + index * 4, value);
        }
    }

    /// Attaches, and submits again whatever was not answered.
    fn attach(&mut self) -> Result<()> {
        let (mut client, sectors) = self.disk.attach()?;
        assert!(sectors >= u64::from(BLOCKS * SECTORS), "a range of {sectors} sectors");
        self.attached += 1;
        for (slot, entry) in (0..).zip(&mut self.under_way) {
            if let Some((task, is_submitted)) = entry {
                self.cut += u32::from(*is_submitted);
                let due = client.submit(self.disk.memory(), slot, task.request());
                self.disk.notify(due.unwrap_or(true))?;
                *is_submitted = true;
            }
        }
        self.client = Some(client);
        Ok(())
    }

    /// Takes an answer.
    fn take(&mut self, (slot, status): (u32, u32)) {
        let Some((task, is_submitted @ true)) =
            self.under_way.get_mut(slot as usize).and_then(Option::as_mut)
        else {
            println!("an answer for slot {slot}, which has no request");
            self.wrong += 1;
            return;
        };
        if status != 0 {
            self.failed += 1;
            *is_submitted = false;
            return;
        }
        let task = *task;
        self.under_way[slot as usize] = None;
        match task {
            Task::Write { block, version } => {
                self.written += 1;
                self.versions[block as usize] = Some(version);
            }
            Task::Read { block, version } => {
                self.read += 1;
                let data = self.disk.layout().data(slot);
                let found = (0..WORDS).find(|index| {
                    self.disk.memory().read(data + index * 4) != word(block, version, *index)
                });
                if let Some(index) = found {
                    println!(
                        "block {block} has {:#x} at word {index} instead of version {version}",
                        self.disk.memory().read(data + index * 4)
                    );
                    self.wrong += 1;
                }
            }
            Task::Flush => {}
        }
    }

    /// Once all requests are answered, submits one for each slot, and again those that failed;
    /// takes answers until all have come, or until this time. Returns whether all have come. The
    /// rest of a slow disk's answers is awaited the next time.
    fn exchange(
        &mut self,
        client: &mut Client,
        number: u32,
        end: u64,
    ) -> core::result::Result<Result<bool>, Broken> {
        let are_new = self.under_way.iter().all(Option::is_none);
        for slot in 0..SLOTS {
            let task = match self.under_way[slot as usize] {
                Some((_, true)) => continue,
                Some((task, false)) => task,
                None if !are_new => continue,
                None => {
                    let task = self.next(slot, number);
                    self.fill(slot, task);
                    task
                }
            };
            self.under_way[slot as usize] = Some((task, true));
            let due = client.submit(self.disk.memory(), slot, task.request())?;
            // One that is dead asks to attach again when it lives.
            let _ = self.disk.notify(due);
        }
        loop {
            while let Some(answer) = client.answer(self.disk.memory())? {
                self.take(answer);
            }
            if self.under_way.iter().all(Option::is_none) {
                return Ok(Ok(true));
            }
            if time::now() >= end {
                return Ok(Ok(false));
            }
            if client.wait(self.disk.memory())? {
                continue;
            }
            match time::alarm(time::now() + LOOK, ALARM as Word)
                .and_then(|()| ipc::wait(ANSWERS | AGAIN | ALARM))
            {
                Ok(bits) if bits & AGAIN != 0 => return Err(Broken),
                Ok(_) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
    }
}

impl Probe for Range {
    fn ask(&mut self, number: u32) -> Result<bool> {
        let Some(mut client) = self.client.take() else {
            if self.attach().is_err() {
                rest()?;
            }
            return Ok(false);
        };
        match self.exchange(&mut client, number, time::now() + PATIENCE) {
            Ok(result) => {
                self.client = Some(client);
                result
            }
            // It is attached the next time.
            Err(Broken) => Ok(false),
        }
    }

    fn begin(&mut self, number: u32) {
        if let Some(mut client) = self.client.take()
            && self.exchange(&mut client, number, 0).is_ok()
        {
            self.client = Some(client);
        }
    }

    fn wrong(&self) -> u32 {
        self.wrong
    }

    fn report(&self) {
        let Self { written, read, failed, cut, attached, wrong, .. } = self;
        println!(
            "{written} blocks written, {read} read again, {wrong} wrong; attached {attached} times, {failed} requests repeated that failed, {cut} that had no answer"
        );
    }
}
