// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network cards that have a driver here.

use crate::e1000::{self, E1000};
#[cfg(target_endian = "little")]
use macadamia::alloc::boxed::Box;
use macadamia::alloc::string::String;
#[cfg(target_endian = "little")]
use macadamia::virtio::Net;
use macadamia::{Env, pci};

/// The grants: the device, memory for its descriptors, and the port's memory with the slots.
pub const GRANT: &str = "card";
const QUEUE: &str = "queue";
const SLOTS: &str = "network";

#[cfg(target_endian = "little")]
const _: () = assert!(e1000::MOST == Net::MOST);

/// What card the machine has, started, and without slots.
pub enum Found {
    /// A virtio network card, which is large.
    #[cfg(target_endian = "little")]
    Virtio(Box<Net>),
    /// An 82540EM.
    E1000(E1000),
}

/// Starts the card. `None` if the machine has none.
///
/// # Errors
/// A sentence that says what is wrong with it or with what was granted.
pub fn open(env: &Env) -> core::result::Result<Option<Found>, String> {
    match pci::identity(env, GRANT) {
        None => Ok(None),
        Some(e1000::IDENTITY) => {
            E1000::open(env, GRANT, QUEUE, SLOTS).map(|card| Some(Found::E1000(card)))
        }
        #[cfg(target_endian = "little")]
        Some(_) => {
            Ok(Net::open(env, GRANT, QUEUE, SLOTS)?.map(|card| Found::Virtio(Box::new(card))))
        }
        #[cfg(target_endian = "big")]
        Some(_) => Err("there is no driver of it for this processor".into()),
    }
}
