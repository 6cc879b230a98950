// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of the client's slots. It is in memory that outlives the server.

use crate::layout::Own;
use crate::message::Checked;
use frames::Shared;

/// Offsets in what is known of a slot: the request's number; its folder; its stage in bits 0 to 7,
/// the message's type in 8 to 15, its tag above; the answer's bytes.
const SERIAL: u32 = 0;
const FOLDER: u32 = 4;
const STAGE: u32 = 8;
const BYTES: u32 = 12;

/// How far a slot's request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// There is none.
    Free,
    /// The device has it.
    Given,
    /// The device is done with it, and has written so many bytes.
    Done(u32),
}

/// A slot.
#[derive(Clone, Copy)]
pub struct Slot {
    pub stage: Stage,
    pub serial: u32,
    pub folder: u32,
    pub kind: u8,
    pub tag: u16,
    /// The client waits for the answer. It repeats what it has no answer of after the server died.
    pub is_awaited: bool,
}

impl Slot {
    pub const FREE: Self =
        Self { stage: Stage::Free, serial: 0, folder: 0, kind: 0, tag: 0, is_awaited: false };

    /// One whose request is about to be given to the device.
    pub const fn given(folder: u32, serial: u32, checked: Checked) -> Self {
        let Checked { kind, tag, .. } = checked;
        Self { stage: Stage::Given, serial, folder, kind, tag, is_awaited: true }
    }

    /// Reads it; nothing if it cannot be.
    pub fn read(own: &impl Shared, number: u32) -> Option<Self> {
        let word = |what| own.read(Own::of_slot(number) + what);
        let stage = word(STAGE);
        Some(Self {
            stage: match stage & 0xff {
                0 => Stage::Free,
                1 => Stage::Given,
                2 => Stage::Done(word(BYTES)),
                _ => return None,
            },
            serial: word(SERIAL),
            folder: word(FOLDER),
            kind: (stage >> 8) as u8,
            tag: (stage >> 16) as u16,
            is_awaited: false,
        })
    }

    /// Writes it down.
    pub fn write(&self, own: &impl Shared, number: u32) {
        let (stage, bytes) = match self.stage {
            Stage::Free => (0, 0),
            Stage::Given => (1, 0),
            Stage::Done(bytes) => (2, bytes),
        };
        let put = |what, value| own.write(Own::of_slot(number) + what, value);
        put(SERIAL, self.serial);
        put(FOLDER, self.folder);
        put(BYTES, bytes);
        own.fence();
        // This comes last: a server may die between any two of them.
        put(STAGE, stage | u32::from(self.kind) << 8 | u32::from(self.tag) << 16);
    }
}
