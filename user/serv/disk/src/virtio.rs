// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtio block device that transfers to and from the buffer itself.

use crate::line::Line;
use crate::{Disk, Task};
use macadamia::alloc::string::String;
use macadamia::disk::{DISK_FAILED, SECTOR, TIMED_OUT};
use macadamia::virtio::{Block, Request};
use macadamia::{Env, println};

/// The disk.
pub struct Virtio {
    /// Nothing once it did not answer in time.
    device: Option<Block>,
    line: Line,
    /// Its sectors.
    sectors: u32,
    /// Most sectors of a transfer.
    most: u32,
}

impl Virtio {
    /// Starts the device; nothing if there is none, a sentence if it is of no use.
    pub fn find(env: &Env) -> Result<Option<Self>, String> {
        let Some(device) = Block::open(env, "virtio", "queue", "buffer")? else { return Ok(None) };
        let most = env.given("buffer").map_or(0, |given| given.bytes / SECTOR);
        // The protocol numbers sectors with 32 bits: 2 TiB.
        let sectors = u32::try_from(device.sectors()).unwrap_or(u32::MAX);
        Ok(Some(Self { device: Some(device), line: Line::open(env, "virtio")?, sectors, most }))
    }
}

impl Disk for Virtio {
    fn name(&self) -> &'static str {
        "virtio"
    }

    fn sectors(&self) -> u32 {
        self.sectors
    }

    fn most(&self) -> u32 {
        self.most
    }

    fn carry_out(&mut self, task: Task) -> Result<(), u32> {
        let Some(device) = &mut self.device else { return Err(TIMED_OUT) };
        let request = match task {
            Task::Read { first, count } => Request::Read { first: first.into(), count },
            Task::Write { first, count } => Request::Write { first: first.into(), count },
            Task::Flush if !device.has_cache() => return Ok(()),
            Task::Flush => Request::Flush,
        };
        device.start(request).map_err(|_| DISK_FAILED)?;
        let result = self.line.wait(|| device.finish());
        if result == Err(TIMED_OUT) {
            println!("the device does not answer; it is reset and not used any more");
            // The reset is what keeps it away from the buffer, whose next contents are not for it.
            self.device = None;
        }
        result?.map_err(|_| DISK_FAILED)
    }
}
