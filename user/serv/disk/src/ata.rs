// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first disk of an ATA channel, by programmed transfers (ATA-2: X3.279, clauses 7 and 8).

use crate::line::Line;
use crate::{Disk, Task};
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::disk::{DISK_FAILED, SECTOR, TIMED_OUT};
use macadamia::map::Window;
use macadamia::port::{read8, read32, write8, write32};
use macadamia::{Env, Memory, Rights, time};

/// A channel of a PC: where its registers are, and its interrupt.
struct Channel {
    /// The grant of the first port.
    ports: &'static str,
    base: u16,
    irq: &'static str,
}

const CHANNELS: [Channel; 2] =
    [Channel { ports: "ports1f0", base: 0x1f0, irq: "irq14" }, Channel { ports: "ports170", base: 0x170, irq: "irq15" }];

/// Registers of a channel, from its base on.
mod register {
    /// Two words of 16 bits at a time.
    pub const DATA: u16 = 0;
    pub const COUNT: u16 = 2;
    pub const LBA_LOW: u16 = 3;
    pub const LBA_MIDDLE: u16 = 4;
    pub const LBA_HIGH: u16 = 5;
    pub const DEVICE: u16 = 6;
    /// Reading it takes the interrupt back.
    pub const STATUS: u16 = 7;
    pub const COMMAND: u16 = 7;
    /// The status again, without that.
    pub const CONTROL: u16 = 0x206;
}

/// Bits of the status.
mod status {
    pub const ERROR: u8 = 1;
    pub const DATA_REQUEST: u8 = 8;
    pub const FAULT: u8 = 0x20;
    pub const BUSY: u8 = 0x80;
}

/// Commands.
mod command {
    pub const READ: u8 = 0x20;
    pub const WRITE: u8 = 0x30;
    pub const FLUSH: u8 = 0xe7;
    pub const IDENTIFY: u8 = 0xec;
}

/// In the device register: addresses are sector numbers, the first disk.
const LBA: u8 = 0xe0;
/// In the answer to `IDENTIFY`, in words of 32 bits: the number of sectors.
const SECTORS_WORD: usize = 30;
/// In the control register: reset of the channel.
const RESET: u8 = 4;
/// The longest that a disk may take to be ready after a reset, or for the first sector of a write.
const PATIENCE: u64 = 5_000_000_000;
/// Most sectors of a command.
const MOST: u32 = 256;
/// Where the shared memory is seen here.
const BUFFER: u32 = image::layout::GRANTS_END;

/// The disk.
pub struct Ata {
    base: u16,
    line: Line,
    buffer: Window,
    sectors: u32,
    most: u32,
}

impl Ata {
    /// Finds the disk; a sentence if there is none that can be used.
    pub fn find(env: &Env) -> Result<Self, String> {
        let Some(channel) = CHANNELS.iter().find(|channel| env.given(channel.ports).is_some()) else {
            return Err("it was given no channel".into());
        };
        let Some(given) = env.given("buffer") else { return Err("it was given no memory `buffer`".into()) };
        let buffer = Window::open(BUFFER, Memory(given.slot), 0, given.bytes, Rights::READ.union(Rights::WRITE));
        let buffer = buffer.map_err(|error| format!("no shared memory: {}", error.text()))?;
        let line = Line::open(env, channel.irq)?;
        let mut disk = Self { base: channel.base, line, buffer, sectors: 0, most: MOST.min(given.bytes / SECTOR) };
        disk.sectors = disk.identify().ok_or_else(|| format!("nothing answers at port {:#x}", channel.base))?;
        Ok(disk)
    }

    /// The number of sectors, if there is a disk.
    fn identify(&self) -> Option<u32> {
        // A bus without a disk floats.
        if self.get(register::CONTROL) == 0xff {
            return None;
        }
        // It may be in the middle of what a server before this one wanted.
        self.put(register::CONTROL, RESET);
        self.put(register::CONTROL, 0);
        self.put(register::DEVICE, LBA);
        self.until_idle().ok()?;
        // A channel without a disk is silent.
        if self.get(register::STATUS) == 0 {
            return None;
        }
        self.start(command::IDENTIFY, 0, 0);
        self.finish().ok()?;
        let mut identity = [0; SECTOR as usize / 4];
        identity.iter_mut().for_each(|word| *word = read32(self.base + register::DATA));
        Some(identity[SECTORS_WORD])
    }

    fn get(&self, register: u16) -> u8 {
        read8(self.base + register)
    }

    fn put(&self, register: u16, value: u8) {
        write8(self.base + register, value);
    }

    fn read(&self, first: u32, count: u32) -> Result<(), u32> {
        self.start(command::READ, first, count);
        for sector in 0..count {
            self.finish()?;
            self.expect_data()?;
            for word in (0..SECTOR).step_by(4) {
                self.buffer.write(sector * SECTOR + word, read32(self.base + register::DATA));
            }
        }
        Ok(())
    }

    fn write(&self, first: u32, count: u32) -> Result<(), u32> {
        self.start(command::WRITE, first, count);
        // The first sector is asked for without an interrupt.
        self.until_idle()?;
        for sector in 0..count {
            self.expect_data()?;
            for word in (0..SECTOR).step_by(4) {
                write32(self.base + register::DATA, self.buffer.read(sector * SECTOR + word));
            }
            self.finish()?;
        }
        Ok(())
    }

    fn start(&self, command: u8, first: u32, count: u32) {
        self.put(register::DEVICE, LBA | (first >> 24) as u8 & 0xf);
        // 0 means 256.
        self.put(register::COUNT, count as u8);
        self.put(register::LBA_LOW, first as u8);
        self.put(register::LBA_MIDDLE, (first >> 8) as u8);
        self.put(register::LBA_HIGH, (first >> 16) as u8);
        self.put(register::COMMAND, command);
    }

    /// Waits for the interrupt that ends a command, or a sector of it.
    fn finish(&self) -> Result<(), u32> {
        let status = self.line.wait(|| Some(self.get(register::STATUS)).filter(|status| status & status::BUSY == 0))?;
        if status & (status::ERROR | status::FAULT) == 0 { Ok(()) } else { Err(DISK_FAILED) }
    }

    /// Waits where there is no interrupt to wait for.
    fn until_idle(&self) -> Result<(), u32> {
        let deadline = time::now() + PATIENCE;
        while self.get(register::CONTROL) & status::BUSY != 0 {
            if time::now() > deadline {
                return Err(TIMED_OUT);
            }
        }
        Ok(())
    }

    fn expect_data(&self) -> Result<(), u32> {
        if self.get(register::CONTROL) & status::DATA_REQUEST == 0 { Err(DISK_FAILED) } else { Ok(()) }
    }
}

impl Disk for Ata {
    fn name(&self) -> &'static str {
        "ATA"
    }

    fn sectors(&self) -> u32 {
        self.sectors
    }

    fn most(&self) -> u32 {
        self.most
    }

    fn carry_out(&mut self, task: Task) -> Result<(), u32> {
        match task {
            Task::Read { first, count } => self.read(first, count),
            Task::Write { first, count } => self.write(first, count),
            Task::Flush => {
                self.start(command::FLUSH, 0, 0);
                self.finish()
            }
        }
    }
}
