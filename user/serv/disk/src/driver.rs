// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface between the server and a driver of a disk.

use crate::line::Line;
use macadamia::Env;
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::disk::SECTOR;
use sectors::Job;

/// A sector's bytes.
pub type Sector = [u8; SECTOR as usize];

/// A disk; errors are those of `macadamia::disk`.
pub trait Disk {
    /// Its kind, for people.
    fn name(&self) -> &'static str;
    /// Its size.
    fn sectors(&self) -> u64;
    /// Most tasks that it has at once; tags are below that.
    fn most(&self) -> u32;
    /// Reads a sector while there are no tasks.
    fn read_sector(&mut self, sector: u64) -> Option<Sector>;
    /// Gives it a task.
    fn start(&mut self, job: Job);
    /// It was given tasks.
    fn kick(&mut self);
    /// A task that it is done with: its tag, and 0 or an error.
    fn finish(&mut self) -> Option<(u32, u32)>;
    /// Its interrupt has come.
    fn interrupt(&mut self);
    /// Its interrupt line, with the thread's alarm.
    fn line(&mut self) -> &mut Line;
    /// There is nothing to do until its interrupt comes, or the time that is returned.
    fn rest(&mut self, now: u64) -> Option<u64>;
}

/// The names of the clients' memory.
pub fn memories(env: &Env) -> impl Iterator<Item = String> {
    (1..).map(|client| format!("client-{client}")).take_while(|name| env.given(name).is_some())
}
