// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first disk of the first channel, by programmed transfers (ATA-2: X3.279, clauses 7 and 8).

use macadamia::disk::{DISK_FAILED, NO_DISK, SECTOR, TIMED_OUT};
use macadamia::map::Window;
use macadamia::port::{read8, read16, write8, write16};
use macadamia::{Irq, ipc, time};

/// Registers of the channel.
mod register {
    pub const DATA: u16 = 0x1f0;
    pub const COUNT: u16 = 0x1f2;
    pub const LBA_LOW: u16 = 0x1f3;
    pub const LBA_MIDDLE: u16 = 0x1f4;
    pub const LBA_HIGH: u16 = 0x1f5;
    pub const DEVICE: u16 = 0x1f6;
    /// Reading it takes the interrupt back.
    pub const STATUS: u16 = 0x1f7;
    pub const COMMAND: u16 = 0x1f7;
    /// The status again, without that.
    pub const CONTROL: u16 = 0x3f6;
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
/// Words of a sector.
const WORDS: u32 = SECTOR / 2;
/// In the answer to `IDENTIFY`: the number of sectors.
const SECTORS_WORD: usize = 60;
/// The longest that a disk may take.
const PATIENCE: u64 = 5_000_000_000;

/// Notification bits of the interrupt and of the alarm.
pub const INTERRUPT: u32 = 1;
const ALARM: u32 = 2;

/// Most sectors of a command.
pub const MOST: u32 = 256;

/// The disk; errors are those of `macadamia::disk`.
pub struct Ata {
    irq: Irq,
    /// Sectors of 512 bytes.
    pub sectors: u32,
}

impl Ata {
    /// Finds the disk. `irq` is bound to [`INTERRUPT`].
    pub fn find(irq: Irq) -> Result<Self, u32> {
        let mut disk = Self { irq, sectors: 0 };
        write8(register::DEVICE, LBA);
        // A bus without a disk floats.
        if read8(register::STATUS) == 0xff {
            return Err(NO_DISK);
        }
        write8(register::CONTROL, 0);
        disk.start(command::IDENTIFY, 0, 0);
        disk.finish().map_err(|_| NO_DISK)?;
        let mut identity = [0; WORDS as usize];
        identity.iter_mut().for_each(|word| *word = read16(register::DATA));
        disk.sectors = u32::from(identity[SECTORS_WORD]) | u32::from(identity[SECTORS_WORD + 1]) << 16;
        Ok(disk)
    }

    /// Reads `count` sectors, 1 to [`MOST`], to the start of `to`.
    pub fn read(&self, first: u32, count: u32, to: &Window) -> Result<(), u32> {
        self.start(command::READ, first, count);
        for sector in 0..count {
            self.finish()?;
            self.expect_data()?;
            for word in (0..SECTOR).step_by(4) {
                let low = u32::from(read16(register::DATA));
                to.write(sector * SECTOR + word, low | u32::from(read16(register::DATA)) << 16);
            }
        }
        Ok(())
    }

    /// Writes `count` sectors, 1 to [`MOST`], from the start of `from`.
    pub fn write(&self, first: u32, count: u32, from: &Window) -> Result<(), u32> {
        self.start(command::WRITE, first, count);
        // The first sector is asked for without an interrupt.
        let deadline = time::now() + PATIENCE;
        while read8(register::CONTROL) & status::BUSY != 0 {
            if time::now() > deadline {
                return Err(TIMED_OUT);
            }
        }
        for sector in 0..count {
            self.expect_data()?;
            for word in (0..SECTOR).step_by(4) {
                let value = from.read(sector * SECTOR + word);
                write16(register::DATA, value as u16);
                write16(register::DATA, (value >> 16) as u16);
            }
            self.finish()?;
        }
        Ok(())
    }

    /// Empties the disk's cache.
    pub fn flush(&self) -> Result<(), u32> {
        self.start(command::FLUSH, 0, 0);
        self.finish()
    }

    fn start(&self, command: u8, first: u32, count: u32) {
        write8(register::DEVICE, LBA | (first >> 24) as u8 & 0xf);
        // 0 means 256.
        write8(register::COUNT, count as u8);
        write8(register::LBA_LOW, first as u8);
        write8(register::LBA_MIDDLE, (first >> 8) as u8);
        write8(register::LBA_HIGH, (first >> 16) as u8);
        write8(register::COMMAND, command);
    }

    /// Waits for the interrupt that ends a command, or a sector of it.
    fn finish(&self) -> Result<(), u32> {
        let late = |_| TIMED_OUT;
        time::alarm(time::now() + PATIENCE, ALARM).map_err(late)?;
        loop {
            let bits = ipc::wait(INTERRUPT | ALARM).map_err(late)?;
            if bits & INTERRUPT == 0 {
                return Err(TIMED_OUT);
            }
            let status = read8(register::STATUS);
            self.irq.acknowledge().map_err(late)?;
            if status & status::BUSY == 0 {
                time::alarm(0, 0).map_err(late)?;
                return if status & (status::ERROR | status::FAULT) == 0 { Ok(()) } else { Err(DISK_FAILED) };
            }
        }
    }

    fn expect_data(&self) -> Result<(), u32> {
        if read8(register::CONTROL) & status::DATA_REQUEST == 0 { Err(DISK_FAILED) } else { Ok(()) }
    }
}
