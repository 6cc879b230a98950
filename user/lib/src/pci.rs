// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices of PCI bus 0: a component sees those that it was given as
//! [`Device`](image::pci::Device)s. The root server finds them by the crate `pci-bus`.

use crate::region::Region;
use crate::{Env, Word};
use frames::Little;

/// A device says that it could not carry out a request, or answers something that it was not asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed;

/// A granted device's registers of base address register `bar`: reads and writes reach the
/// device, in the order of the program. `None` if the machine has no such device, or it has none
/// there.
#[must_use]
pub fn registers(env: &Env, device: &str, bar: usize) -> Option<Little<Region>> {
    memory(env, device, bar).map(Little::new)
}

/// The same for memory that the device has there, whose words are in the processor's own order.
#[must_use]
pub fn memory(env: &Env, device: &str, bar: usize) -> Option<Region> {
    let range = env.start.pci.iter().find(|found| found.name == device)?.range(bar)?;
    Some(Region::of_place(range.address as Word, range.bytes))
}

/// What a granted device is: its maker (lower half) and the maker's number for it. `None` if the
/// machine has no such device.
#[must_use]
pub fn identity(env: &Env, device: &str) -> Option<u32> {
    env.start.pci.iter().find(|found| found.name == device).map(|found| found.read(0))
}
