// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtio block device. It transfers directly to and from the clients' memory.

use crate::driver::{Disk, Sector, memories};
use crate::line::{GIVEN_UP, Line, PATIENCE};
use macadamia::alloc::collections::VecDeque;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::disk::{DISK_FAILED, TIMED_OUT};
use macadamia::virtio::{Block, Place, Request};
use macadamia::{Env, println, time};
use sectors::{Job, Task, Transfer};

/// The disk.
pub struct Virtio {
    /// Nothing once it did not answer in time.
    device: Option<Block>,
    line: Line,
    sectors: u64,
    /// Tags of what the device has, a bit each.
    under_way: u64,
    /// When it was last done with something, or began after it had nothing.
    active: u64,
    /// What is done without the device: tags, and 0 or an error.
    done: VecDeque<(u32, u32)>,
}

impl Virtio {
    /// Starts the device; nothing if there is none, a sentence if it cannot be used.
    pub fn find(env: &Env) -> Result<Option<Self>, String> {
        let memories: Vec<String> = memories(env).collect();
        let Some(device) = Block::open(env, "virtio", "queue", &memories)? else { return Ok(None) };
        let (sectors, line) = (device.sectors(), Line::open(env, "virtio")?);
        Ok(Some(Self {
            device: Some(device),
            line,
            sectors,
            under_way: 0,
            active: 0,
            done: VecDeque::new(),
        }))
    }

    /// The device is not used any more: the reset keeps it away from memory whose next contents are
    /// not for it.
    fn give_up(&mut self) {
        println!("{GIVEN_UP}");
        self.device = None;
        self.done.extend(
            (0..Block::MOST)
                .filter(|tag| self.under_way >> tag & 1 != 0)
                .map(|tag| (tag, TIMED_OUT)),
        );
        self.under_way = 0;
    }
}

impl Disk for Virtio {
    fn name(&self) -> &'static str {
        "virtio"
    }

    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn most(&self) -> u32 {
        Block::MOST
    }

    fn read_sector(&mut self, sector: u64) -> Option<Sector> {
        let device = self.device.as_mut()?;
        device.start(0, Request::Read { first: sector, count: 1, to: Place::Own }).ok()?;
        device.kick();
        let result = self.line.wait(time::now() + PATIENCE, || {
            device.acknowledge();
            device.finish().transpose()
        });
        match result {
            Ok(Ok((_, true))) => Some(device.own_sector()),
            Ok(Ok(_)) => None,
            _ => {
                self.give_up();
                None
            }
        }
    }

    fn start(&mut self, job: Job) {
        let Some(device) = &mut self.device else {
            return self.done.push_back((job.tag, TIMED_OUT));
        };
        let place = |at: Transfer| Place::Buffer(at.client, at.offset);
        let request = match job.task {
            Task::Read(at) => Request::Read { first: at.first, count: at.count, to: place(at) },
            Task::Write(at) => Request::Write { first: at.first, count: at.count, from: place(at) },
            Task::Flush if !device.has_cache() => return self.done.push_back((job.tag, 0)),
            Task::Flush => Request::Flush,
        };
        if device.start(job.tag, request).is_err() {
            return self.done.push_back((job.tag, DISK_FAILED));
        }
        if self.under_way == 0 {
            self.active = time::now();
        }
        self.under_way |= 1 << job.tag;
    }

    fn kick(&mut self) {
        if let Some(device) = &mut self.device {
            device.kick();
        }
    }

    fn finish(&mut self) -> Option<(u32, u32)> {
        if let Some(done) = self.done.pop_front() {
            return Some(done);
        }
        match self.device.as_mut()?.finish() {
            Ok(Some((tag, is_done))) => {
                self.under_way &= !(1 << tag);
                self.active = time::now();
                Some((tag, if is_done { 0 } else { DISK_FAILED }))
            }
            Ok(None) => None,
            Err(_) => {
                // The next life resets the device, and clients repeat what it had.
                println!("the device answers a request that was not made, or needs a reset");
                macadamia::start::exit(1)
            }
        }
    }

    fn interrupt(&mut self) {
        if let Some(device) = &mut self.device {
            device.acknowledge();
        }
        self.line.acknowledge();
    }

    fn line(&mut self) -> &mut Line {
        &mut self.line
    }

    fn rest(&mut self, now: u64) -> Option<u64> {
        if self.under_way != 0 && now.saturating_sub(self.active) >= PATIENCE {
            self.give_up();
        }
        if !self.done.is_empty() {
            return Some(now);
        }
        (self.under_way != 0).then_some(self.active + PATIENCE)
    }
}
