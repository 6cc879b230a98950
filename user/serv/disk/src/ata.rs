// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first disk of an ATA channel, by programmed transfers (ATA-2: X3.279, clauses 7 and 8).

use crate::line::{ALARM, Line, accept_all};
use crate::{Disk, Sector, memories};
use frames::Shared;
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::disk::{BAD_REQUEST, DISK_FAILED, SECTOR, TIMED_OUT};
use macadamia::port::{read8, read32, write8, write32};
use macadamia::region::Region;
use macadamia::{Env, ipc, time};
use sectors::{Job, Task, Transfer};

/// Registers of a channel, from its first port on.
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
const PATIENCE: u64 = 30_000_000_000;
/// How long it is left alone after a reset.
const AFTER_RESET: u64 = 2_000_000;
/// How long it is left alone while it is waited for.
const PAUSE: u64 = 100_000;
/// Sectors that 28 bits number.
const MOST_SECTORS: u64 = 1 << 28;

/// The disk.
pub struct Ata {
    /// The channel's first port.
    base: u16,
    /// The port of the control register; read, it is the status without what reading that does.
    control: u16,
    line: Line,
    /// Those of the clients.
    memories: Vec<Region>,
    sectors: u32,
    /// What came of the last task: its tag, and 0 or an error.
    done: Option<(u32, u32)>,
}

impl Ata {
    /// Finds the disk; a sentence if there is none that can be used.
    pub fn find(env: &Env) -> Result<Self, String> {
        if ["ata", "ata-control"].iter().any(|ports| env.given(ports).is_none()) {
            return Err("it was given no channel".into());
        }
        let line = Line::open(env, "ata-irq")?;
        let mut disk = Self {
            base: env.ports("ata"),
            control: env.ports("ata-control"),
            line,
            memories: memories(env).filter_map(|name| Region::find(env, &name)).collect(),
            sectors: 0,
            done: None,
        };
        disk.sectors = disk.identify().map_err(|why| format!("{why} (port {:#x})", disk.base))?;
        Ok(disk)
    }

    /// The number of sectors, or why there is none.
    fn identify(&self) -> Result<u32, &'static str> {
        // Before the reset: until that is over, a disk that is not selected looks like none.
        self.put(register::DEVICE, LBA);
        // A channel without a disk floats, or is silent.
        if matches!(read8(self.control), 0 | 0xff) {
            return Err("nothing is there");
        }
        // It may be in the middle of what a server before this one wanted.
        write8(self.control, RESET);
        pause(PAUSE)
            .and_then(|()| {
                write8(self.control, 0);
                pause(AFTER_RESET).and_then(|()| self.until_idle())
            })
            .map_err(|_| "it stays busy after a reset")?;
        self.start(command::IDENTIFY, 0, 0);
        self.finish().map_err(|_| "it does not say what it is")?;
        let mut identity = [0; SECTOR as usize / 4];
        identity.iter_mut().for_each(|word| *word = read32(self.base + register::DATA));
        Ok(identity[SECTORS_WORD])
    }

    fn get(&self, register: u16) -> u8 {
        read8(self.base + register)
    }

    fn put(&self, register: u16, value: u8) {
        write8(self.base + register, value);
    }

    /// Reads sectors, a word at a time.
    fn read(&self, first: u32, count: u32, mut put: impl FnMut(u32, u32)) -> Result<(), u32> {
        self.start(command::READ, first, count);
        for sector in 0..count {
            self.finish()?;
            self.expect_data()?;
            for word in (0..SECTOR).step_by(4) {
                put(sector * SECTOR + word, read32(self.base + register::DATA));
            }
        }
        Ok(())
    }

    fn write(&self, first: u32, count: u32, get: impl Fn(u32) -> u32) -> Result<(), u32> {
        self.start(command::WRITE, first, count);
        // The first sector is asked for without an interrupt.
        self.until_idle()?;
        for sector in 0..count {
            self.expect_data()?;
            for word in (0..SECTOR).step_by(4) {
                write32(self.base + register::DATA, get(sector * SECTOR + word));
            }
            self.finish()?;
        }
        Ok(())
    }

    /// What a transfer is to the disk.
    fn place(&self, at: Transfer) -> Result<(u32, &Region), u32> {
        // A command has up to 256 sectors, and a slot has fewer.
        let end = at.first.checked_add(at.count.into()).filter(|end| *end <= self.sectors.into()).ok_or(BAD_REQUEST)?;
        let memory = self.memories.get(at.client).filter(|_| end <= MOST_SECTORS).ok_or(BAD_REQUEST)?;
        Ok((at.first as u32, memory))
    }

    fn carry_out(&self, task: Task) -> Result<(), u32> {
        match task {
            Task::Read(at) => {
                let (first, memory) = self.place(at)?;
                self.read(first, at.count, |word, value| memory.write(at.offset + word, value))
            }
            Task::Write(at) => {
                let (first, memory) = self.place(at)?;
                self.write(first, at.count, |word| memory.read(at.offset + word))
            }
            Task::Flush => {
                self.start(command::FLUSH, 0, 0);
                self.finish()
            }
        }
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
        while read8(self.control) & status::BUSY != 0 {
            if time::now() > deadline {
                return Err(TIMED_OUT);
            }
            pause(PAUSE)?;
        }
        Ok(())
    }

    fn expect_data(&self) -> Result<(), u32> {
        if read8(self.control) & status::DATA_REQUEST == 0 { Err(DISK_FAILED) } else { Ok(()) }
    }
}

impl Disk for Ata {
    fn name(&self) -> &'static str {
        "ATA"
    }

    fn sectors(&self) -> u64 {
        self.sectors.into()
    }

    fn most(&self) -> u32 {
        1
    }

    fn read_sector(&mut self, sector: u64) -> Option<Sector> {
        let mut bytes = [0; SECTOR as usize];
        let first = u32::try_from(sector).ok().filter(|first| *first < self.sectors)?;
        let put = |at: u32, word: u32| bytes[at as usize..][..4].copy_from_slice(&word.to_le_bytes());
        self.read(first, 1, put).ok().map(|()| bytes)
    }

    /// Programmed transfers are done when this returns.
    fn start(&mut self, job: Job) {
        self.done = Some((job.tag, self.carry_out(job.task).err().unwrap_or(0)));
    }

    fn kick(&mut self) {}

    fn finish(&mut self) -> Option<(u32, u32)> {
        self.done.take()
    }

    fn interrupt(&mut self) {
        // One that nobody waits for.
        self.get(register::STATUS);
        self.line.acknowledge();
    }

    fn takes_alarm(&self) -> bool {
        true
    }

    fn rest(&mut self, _: u64) -> Option<u64> {
        None
    }
}

/// Lets others run for so many nanoseconds.
fn pause(nanoseconds: u64) -> Result<(), u32> {
    let paused = time::alarm(time::now() + nanoseconds, ALARM).and_then(|()| ipc::wait(ALARM));
    accept_all();
    paused.map(|_| ()).map_err(|_| TIMED_OUT)
}
