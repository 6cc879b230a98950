// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system description as the build tool leaves it in a boot image
//! ([`System`]), and the start block in which the root server tells a component
//! what it was given ([`Start`]). Both are encoded with `postcard`.
//!
//! The tool has checked what can be checked on the host; the root server checks it again, so it
//! need not trust the tool.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
pub use colours::Colours;
pub use places::{Places, Small, Window};
use serde::{Deserialize, Serialize};

mod check;
mod colours;
pub mod layout;
pub mod pci;
mod places;
pub mod protocol;

/// A whole system.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// Its name: the file name of the description without `.toml`.
    pub name: String,
    /// Chance from the machine that it was built on, if it is for one run; nobody else knows it.
    pub seed: Option<[u8; 32]>,
    /// Its components, in the order in which they are started.
    pub components: Vec<Component>,
    /// Memory shared by components, named in their grants by index.
    pub shared: Vec<Shared>,
    /// Groups of components that are small in one home, by name.
    pub homes: Vec<String>,
}

impl System {
    /// Whether exactly one component can be a server, and none makes any itself.
    #[must_use]
    pub fn has_one_server(&self) -> bool {
        let servers = self
            .components
            .iter()
            .filter(|component| component.window.is_some_and(|window| window.serve))
            .count();
        let makes = |grant: &Grant| matches!(grant.what, Resource::Addresses { .. });
        servers == 1 && !self.components.iter().flat_map(|component| &component.grants).any(makes)
    }
}

/// A piece of RAM that several components see.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// For messages.
    pub name: String,
    /// Bytes, a multiple of a page.
    pub bytes: u32,
}

/// One protection domain with one initial thread.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name, unique in the system.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Entry point. With a window this and all other addresses are counted from
    /// [`base`](Component::base) on.
    pub entry: u32,
    /// What to load.
    pub loads: Vec<Load>,
    /// Bytes of heap, a multiple of a page.
    pub heap: u32,
    /// Bytes of stack, a multiple of a page.
    pub stack: u32,
    /// Priority of its first thread.
    pub priority: u8,
    /// Highest priority it may give to its threads.
    pub max_priority: u8,
    /// Bytes of kernel memory it may use.
    pub quota: u32,
    /// Threads it may make, beside its first.
    pub threads: u32,
    /// Slots of relocation that its spaces may have, with its own.
    pub relocation_slots: u32,
    /// Ranges of lines of a cache that it may lock.
    pub locked_ranges: u32,
    /// Slots of its capability table.
    pub slots: u32,
    /// The addresses of all that it maps, if it can be a server.
    pub window: Option<Window>,
    /// Where it lies in its home, if its space is to be small.
    pub small: Option<Small>,
    /// The colours of the frames that its image, heap, stack and start block are in, if not any.
    pub colours: Option<Colours>,
    /// What to do when it dies.
    pub on_death: OnDeath,
    /// Whether it serves others for as long as they live: the system ends when all
    /// components that are not services have ended.
    pub service: bool,
    /// Whether it may write the machine-readable line ([`protocol::console::RESULT`]).
    pub results: bool,
    /// Whether it may ask the root server how components are ([`protocol::root::STATUS`]).
    pub watches: bool,
    /// What it is given beyond the standard slots.
    pub grants: Vec<Grant>,
}

impl Component {
    /// Where its image ends, a multiple of a page. The loads are sorted by address (`check`).
    #[must_use]
    pub fn image_end(&self) -> u32 {
        self.loads
            .last()
            .map_or(0, |load| (load.address + load.memory_bytes).next_multiple_of(check::PAGE))
    }

    /// What is added to its addresses.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.window.map_or(0, |_| layout::Layout::CURRENT.windows.base)
    }

    /// Where it finds what.
    #[must_use]
    pub fn places(&self) -> Places {
        layout::Layout::CURRENT.of(self.window, self.small)
    }

    /// How long the watch-dog waits for a heartbeat, in milliseconds, if it does.
    #[must_use]
    pub fn heartbeat_ms(&self) -> Option<u32> {
        self.grants.iter().find_map(|grant| {
            if let Resource::Heartbeat { ms } = grant.what { Some(ms) } else { None }
        })
    }

    /// Whether a part of its image is in memory of its own: else it is in memory once for all
    /// components that have this image.
    #[must_use]
    pub fn owns(&self, load: &Load) -> bool {
        load.writable || self.colours.is_some()
    }

    /// Bytes of memory that is mapped after its image.
    #[must_use]
    pub fn behind_image(&self) -> u32 {
        let bytes = |grant: &Grant| {
            if let Resource::Memory { bytes, behind_image: true } = grant.what { bytes } else { 0 }
        };
        self.grants.iter().map(bytes).max().unwrap_or(0)
    }
}

/// A part of an ELF image, page aligned in the boot image.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Where it goes, a multiple of a page.
    pub address: u32,
    /// Where it is in the boot image, a multiple of a page.
    pub offset: u32,
    /// Bytes to copy.
    pub file_bytes: u32,
    /// Bytes to map; what is beyond `file_bytes` is zero.
    pub memory_bytes: u32,
    /// Whether the component may write it; a part that it may not write is in
    /// memory once for all components that have it.
    pub writable: bool,
}

/// What the root server does when a component dies.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDeath {
    /// Say so, and leave it dead.
    Report,
    /// Say so, and start it again: after `first_ms`, doubled after each death
    /// within ten times that, up to `most_ms`.
    Restart {
        /// First delay in milliseconds.
        first_ms: u32,
        /// Longest delay in milliseconds.
        most_ms: u32,
    },
    /// Say so, and stop the system.
    Stop,
}

/// A resource under the name by which the component finds it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Name, unique in the component.
    pub name: String,
    /// What it is.
    pub what: Resource,
}

/// What a component can be given.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// May call the first thread of a component, which sees the badge.
    Call {
        /// Index of the component.
        component: u16,
        /// Badge.
        badge: u32,
    },
    /// May set these notification bits of the first thread of a component.
    Notify {
        /// Index of the component.
        component: u16,
        /// Bits.
        bits: u32,
    },
    /// May stop the first thread of a component, read and write its registers, and let it run: as a
    /// debugger does, or a test of what others make of its death.
    Control {
        /// Index of the component.
        component: u16,
    },
    /// May tell the root server's watch-dog that it goes on; it is taken for hung, and taken down,
    /// if it did not for so long.
    Heartbeat {
        /// Milliseconds, from [`Resource::LEAST_HEARTBEAT_MS`] on.
        ms: u32,
    },
    /// An interrupt line.
    Irq {
        /// Its number.
        line: u32,
    },
    /// A range of I/O ports, open from the start.
    Ports {
        /// First port.
        base: u32,
        /// How many.
        count: u32,
    },
    /// Addresses for the windows of servers that it makes itself: up to the end of all windows.
    Addresses {
        /// Bytes, a multiple of 4 MiB.
        bytes: u32,
    },
    /// Device registers, mapped from the start.
    Device {
        /// Physical address, a multiple of a page.
        base: u32,
        /// Bytes, a multiple of a page.
        bytes: u32,
        /// Where they are mapped.
        address: u32,
    },
    /// A piece of shared memory, mapped from the start.
    Shared {
        /// Index in [`System::shared`].
        region: u16,
        /// Where it is mapped.
        address: u32,
        /// Whether the component may write it.
        writable: bool,
        /// Whether it is told the physical address, for a device that reaches memory.
        dma: bool,
    },
    /// A device of PCI bus 0: the ranges of memory that its registers are in, mapped one after
    /// the other from the start, and its interrupt line. Nothing, if the machine has no such
    /// device.
    Pci {
        /// Its number on the bus.
        device: u8,
        /// Where the first range is mapped.
        address: u32,
    },
    /// A piece of RAM of its own as a capability.
    Memory {
        /// Bytes, a multiple of a page.
        bytes: u32,
        /// Whether it is mapped after the image from the start, every right; else it is not
        /// mapped.
        behind_image: bool,
    },
    /// A file of the boot image, mapped read-only from the start.
    File {
        /// Where it is in the boot image, a multiple of a page.
        offset: u32,
        /// Its bytes; the rest of the last page is zero.
        bytes: u32,
        /// Where it is mapped.
        address: u32,
    },
}

/// Room for a component's start block.
pub const BLOCK_BYTES: u32 = 4 * check::PAGE;

/// The name under which a component finds [`Resource::Heartbeat`].
pub const HEARTBEAT: &str = "heartbeat";

impl Resource {
    /// The shortest time that a component can be given to show that it goes on, in milliseconds.
    pub const LEAST_HEARTBEAT_MS: u32 = 20;
    /// The longest.
    pub const MOST_HEARTBEAT_MS: u32 = 60_000;
    /// As many components of a system may have a heartbeat as a badge has bits.
    pub const MOST_HEARTBEATS: usize = 20;
}

/// Slots that every component starts with.
pub mod slot {
    /// Its Quota.
    pub const QUOTA: u32 = 1;
    /// Its Space.
    pub const SPACE: u32 = 2;
    /// Its first Thread.
    pub const THREAD: u32 = 3;
    /// Calls the console as this component (empty when the system has no console).
    pub const CONSOLE: u32 = 4;
    /// Calls the root server as this component.
    pub const ROOT: u32 = 5;
    /// First slot for grants, in their order.
    pub const GRANTS: u32 = 8;
}

/// What a component finds at start: a read-only block of four words (address and bytes of the heap,
/// bytes of each of the two that follow), this, encoded, and this as text ([`Start::text`]).
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The component's name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Chance for this life of it, if there is some.
    pub seed: Option<[u8; 32]>,
    /// How often it was started before.
    pub restarts: u32,
    /// First slot that is free.
    pub free_slot: u32,
    /// Slots of its table.
    pub slots: u32,
    /// What it was granted: name, slot (0 where there is none), address and bytes (0 where not
    /// mapped).
    pub grants: Vec<Given>,
    /// What is to be known of each PCI device that was granted and is there.
    pub pci: Vec<pci::Device>,
    /// Whether its space is a server: it is to be shown in the spaces that the component makes.
    pub server: bool,
    /// Where it finds what.
    pub places: Places,
}

impl Start {
    /// For components without `postcard`: a line each for `name NAME`, `argument WORD`,
    /// `slots FIRST_FREE END`, `grant NAME SLOT ADDRESS BYTES`, `seed HEXADECIMAL`, `server` if it
    /// is one, and a zero byte.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("name {}\nslots {} {}\n", self.name, self.free_slot, self.slots);
        self.arguments.iter().for_each(|argument| text += &format!("argument {argument}\n"));
        self.grants.iter().for_each(|g| {
            text += &format!("grant {} {} {} {}\n", g.name, g.slot, g.address, g.bytes)
        });
        if let Some(seed) = &self.seed {
            text += "seed ";
            seed.iter().for_each(|byte| text += &format!("{byte:02x}"));
            text.push('\n');
        }
        if self.server {
            text += "server\n";
        }
        text.push('\0');
        text
    }
}

/// One granted resource.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Its name.
    pub name: String,
    /// Its slot.
    pub slot: u32,
    /// Where it is mapped, or its first port, or 0 for memory that is not mapped. An address as it
    /// is, with a window, too.
    pub address: u64,
    /// Bytes of memory or of addresses, or ports, or 0.
    pub bytes: u32,
    /// Physical address of memory that was granted for a device to reach, else 0.
    pub physical: u64,
}
