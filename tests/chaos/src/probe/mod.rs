// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the component asks of the servers that fail.

mod disk;
mod gateway;
mod picture;
mod progress;
mod sockets;

use disk::Range;
use gateway::Gateway;
use macadamia::alloc::boxed::Box;
use macadamia::alloc::vec::Vec;
use macadamia::{Env, Result, Word, ipc, time};
use picture::Picture;
use progress::Progress;
use sockets::Connection;

/// Notification bit of the alarm.
const ALARM: u32 = 1;
/// How long an answer is waited for, in nanoseconds.
const PATIENCE: u64 = 20_000_000;

/// A probe: something that answers as long as everything works.
pub trait Probe {
    /// Asks, and waits for the answer for a while; `number` distinguishes it from earlier ones.
    /// Returns whether it has come.
    ///
    /// # Errors
    /// What the kernel says.
    fn ask(&mut self, number: u32) -> Result<bool>;
    /// Asks without waiting for the answer, which the next [`Probe::ask`] takes, if it can.
    fn begin(&mut self, _number: u32) {}
    /// How much was wrong in what it got: bytes that differ from those that it gave, and impossible
    /// answers.
    fn wrong(&self) -> u32;
    /// What it did, as text.
    fn report(&self);
}

/// The probes for which the description gives the component something: a port of the switch,
/// sockets, a range of a disk, a part of the screen, the memory of another client of a disk.
pub fn all(env: &Env) -> Vec<Box<dyn Probe>> {
    let mut all: Vec<Box<dyn Probe>> = Vec::new();
    if let Some(gateway) = Gateway::find(env) {
        all.push(Box::new(gateway));
    }
    if let Some(connection) = Connection::find(env) {
        all.push(Box::new(connection));
    }
    if let Some(range) = Range::find(env) {
        all.push(Box::new(range));
    }
    if let Some(picture) = Picture::find(env) {
        all.push(Box::new(picture));
    }
    all.extend(Progress::of_clients(env).map(|progress| Box::new(progress) as _));
    all
}

/// Lets others run for a while.
pub fn rest() -> Result<()> {
    let end = time::now() + PATIENCE;
    while time::now() < end {
        time::alarm(end, ALARM as Word)?;
        ipc::wait(ALARM)?;
    }
    Ok(())
}
