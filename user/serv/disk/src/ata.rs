// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first disk of an ATA channel, by programmed transfers (ATA-2: X3.279, clauses 7 and 8;
//! sector numbers of 48 bits: ATA/ATAPI-6, 6.2.1).

use crate::driver::{Disk, Sector, memories};
use crate::line::{ALARM, GIVEN_UP, Line, PATIENCE, accept_all};
use core::ops::Range;
use frames::Shared;
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::disk::{BAD_REQUEST, DISK_FAILED, SECTOR, TIMED_OUT};
use macadamia::port::{read8, read32, write8, write32};
use macadamia::region::Region;
use macadamia::{Env, ipc, println, time};
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
    /// The same with several sectors to an interrupt, as many as the mode says.
    pub const READ_MULTIPLE: u8 = 0xc4;
    pub const WRITE_MULTIPLE: u8 = 0xc5;
    pub const SET_MULTIPLE_MODE: u8 = 0xc6;
    /// The four for sector numbers of 48 bits.
    pub const READ_EXT: u8 = 0x24;
    pub const WRITE_EXT: u8 = 0x34;
    pub const READ_MULTIPLE_EXT: u8 = 0x29;
    pub const WRITE_MULTIPLE_EXT: u8 = 0x39;
    pub const FLUSH: u8 = 0xe7;
    pub const FLUSH_EXT: u8 = 0xea;
    pub const IDENTIFY: u8 = 0xec;
}

/// In the device register: addresses are sector numbers, the first disk.
const LBA: u8 = 0xe0;
/// In the answer to `IDENTIFY`, in words of 32 bits: the most sectors to an interrupt (bits 16 to
/// 23); the number of sectors that 28 bits number; what the disk can; the number of all sectors,
/// low word first.
const MULTIPLE_WORD: usize = 23;
const SECTORS_WORD: usize = 30;
const FEATURES_WORD: usize = 41;
const ALL_SECTORS_WORD: usize = 50;
/// Among what it can: sector numbers of 48 bits. The two highest bits say that the word means
/// something.
const HAS_48_BITS: u32 = 1 << 30 | 1 << 26;
const HAS_48_BITS_MASK: u32 = 3 << 30 | 1 << 26;
/// In the control register: reset of the channel.
const RESET: u8 = 4;
/// How long it is left alone after a reset.
const AFTER_RESET: u64 = 2_000_000;
/// How long it is left alone while it is waited for.
const PAUSE: u64 = 100_000;
/// Sectors that the commands with 28 bits reach: what `IDENTIFY` can say of them ends one before
/// the last number.
const MOST_BY_28_BITS: u64 = (1 << 28) - 1;

/// The disk.
pub struct Ata {
    channel: Channel,
    /// Those of the clients.
    memories: Vec<Region>,
    /// What came of the last task: its tag, and 0 or an error.
    done: Option<(u32, u32)>,
}

/// What its channel is reached by.
struct Channel {
    /// The channel's first port.
    base: u16,
    /// The port of the control register; read, it is the status without what reading that does.
    control: u16,
    line: Line,
    sectors: u64,
    /// How many sectors have one interrupt, which the disk takes or gives in one piece. 1 is a disk
    /// that has no such mode.
    piece: u32,
    /// When the command under way is to be done.
    deadline: u64,
    /// One was not in time.
    is_given_up: bool,
}

impl Ata {
    /// Finds the disk; a sentence if there is none that can be used.
    pub fn find(env: &Env) -> Result<Self, String> {
        if ["ata", "ata-control"].iter().any(|ports| env.given(ports).is_none()) {
            return Err("it was given no channel".into());
        }
        let line = Line::open(env, "ata-irq")?;
        let (base, control) = (env.ports("ata"), env.ports("ata-control"));
        let mut channel =
            Channel { base, control, line, sectors: 0, piece: 1, deadline: 0, is_given_up: false };
        channel.identify().map_err(|why| format!("{why} (port {base:#x})"))?;
        let memories = memories(env).filter_map(|name| Region::find(env, &name)).collect();
        Ok(Self { channel, memories, done: None })
    }

    fn carry_out(&mut self, task: Task) -> Result<(), u32> {
        let Self { channel, memories, .. } = self;
        // A command has up to 256 sectors, and a slot has fewer.
        let memory = |at: Transfer| {
            let end = at.first.checked_add(at.count.into());
            let is_there = end.is_some_and(|end| end <= channel.sectors);
            memories.get(at.client).filter(|_| is_there).ok_or(BAD_REQUEST)
        };
        match task {
            Task::Read(at) => {
                let memory = memory(at)?;
                channel.read(at.first, at.count, |word, value| {
                    memory.write(at.offset + word, Region::little(value))
                })
            }
            Task::Write(at) => {
                let memory = memory(at)?;
                channel
                    .write(at.first, at.count, |word| Region::little(memory.read(at.offset + word)))
            }
            Task::Flush => channel.flush(),
        }
    }
}

impl Channel {
    /// Finds out the number of sectors, and sets how many have one interrupt; or why there is no
    /// disk.
    fn identify(&mut self) -> Result<(), &'static str> {
        // Before the reset: until that is over, a disk that is not selected looks like none.
        self.put(register::DEVICE, LBA);
        // A channel without a disk floats, or is silent.
        if matches!(read8(self.control), 0 | 0xff) {
            return Err("nothing is there");
        }
        // It may be in the middle of what a server before this one wanted.
        write8(self.control, RESET);
        self.deadline = time::now() + PATIENCE;
        pause(&mut self.line, PAUSE)
            .and_then(|()| {
                write8(self.control, 0);
                pause(&mut self.line, AFTER_RESET).and_then(|()| self.while_any(status::BUSY))
            })
            .map_err(|_| "it stays busy after a reset")?;
        self.start(command::IDENTIFY, 0, 0)
            .and_then(|()| self.finish())
            .map_err(|_| "it does not say what it is")?;
        let mut identity = [0; SECTOR as usize / 4];
        identity.iter_mut().for_each(|word| *word = read32(self.base + register::DATA));
        let [low, high] =
            [identity[ALL_SECTORS_WORD], identity[ALL_SECTORS_WORD + 1]].map(u64::from);
        let few = u64::from(identity[SECTORS_WORD]).min(MOST_BY_28_BITS);
        let has_48_bits = identity[FEATURES_WORD] & HAS_48_BITS_MASK == HAS_48_BITS;
        self.sectors = if has_48_bits { few.max(high << 32 | low) } else { few };
        // A file system's block is written in one piece: a machine that stops in the middle of a
        // write leaves it old or new, where the disk does so (an emulator that is killed does).
        let most = identity[MULTIPLE_WORD] >> 16 & 0xff;
        let piece = most.checked_ilog2().map_or(1, |log| 1 << log);
        if piece > 1 {
            // A disk that refuses does without.
            let accepted =
                self.start(command::SET_MULTIPLE_MODE, 0, piece).and_then(|()| self.finish());
            match accepted {
                Ok(()) => self.piece = piece,
                Err(DISK_FAILED) => {}
                Err(_) => return Err("it does not say how many sectors have one interrupt"),
            }
        }
        Ok(())
    }

    fn put(&self, register: u16, value: u8) {
        write8(self.base + register, value);
    }

    /// Does what is one command's, in time. Of a command that takes longer the sectors may come at
    /// any moment, and be taken for those of the next: the channel is reset, and has no next one.
    fn in_time(&mut self, command: impl FnOnce(&mut Self) -> Result<(), u32>) -> Result<(), u32> {
        if self.is_given_up {
            return Err(TIMED_OUT);
        }
        let result = command(self);
        if result == Err(TIMED_OUT) {
            println!("{GIVEN_UP}");
            // The server's next life ends the reset.
            write8(self.control, RESET);
            self.is_given_up = true;
        }
        result
    }

    /// Reads sectors, four bytes at a time, the first of them the lowest.
    fn read(&mut self, first: u64, count: u32, mut put: impl FnMut(u32, u32)) -> Result<(), u32> {
        self.in_time(|channel| {
            let commands = if channel.piece > 1 {
                [command::READ_MULTIPLE, command::READ_MULTIPLE_EXT]
            } else {
                [command::READ, command::READ_EXT]
            };
            channel.start_at(commands, first, count)?;
            for piece in channel.pieces(count) {
                channel.finish()?;
                channel.expect_data()?;
                for byte in piece.step_by(4) {
                    put(byte, read32(channel.base + register::DATA));
                }
            }
            Ok(())
        })
    }

    fn write(&mut self, first: u64, count: u32, get: impl Fn(u32) -> u32) -> Result<(), u32> {
        self.in_time(|channel| {
            let commands = if channel.piece > 1 {
                [command::WRITE_MULTIPLE, command::WRITE_MULTIPLE_EXT]
            } else {
                [command::WRITE, command::WRITE_EXT]
            };
            channel.start_at(commands, first, count)?;
            // The first piece is asked for without an interrupt.
            channel.while_any(status::BUSY)?;
            for piece in channel.pieces(count) {
                channel.expect_data()?;
                for byte in piece.step_by(4) {
                    write32(channel.base + register::DATA, get(byte));
                }
                channel.finish()?;
            }
            Ok(())
        })
    }

    /// The bytes of a transfer of this many sectors, in the pieces that have one interrupt each; the
    /// last may be shorter.
    fn pieces(&self, count: u32) -> impl Iterator<Item = Range<u32>> + use<> {
        let (end, piece) = (count * SECTOR, self.piece * SECTOR);
        (0..end).step_by(piece as usize).map(move |start| start..end.min(start + piece))
    }

    fn flush(&mut self) -> Result<(), u32> {
        let is_large = self.sectors > MOST_BY_28_BITS;
        let command = if is_large { command::FLUSH_EXT } else { command::FLUSH };
        self.in_time(|channel| {
            channel.start(command, 0, 0)?;
            channel.finish()
        })
    }

    /// Starts a transfer: by the first command, with 28 bits of sector number, or, where they do not
    /// do, by the second, with 48.
    fn start_at(
        &mut self,
        [command, extended]: [u8; 2],
        first: u64,
        count: u32,
    ) -> Result<(), u32> {
        if first + u64::from(count) <= MOST_BY_28_BITS {
            return self.start(command, first as u32, count);
        }
        self.begin()?;
        self.put(register::DEVICE, LBA);
        // Each register takes two bytes, the upper one first.
        self.put(register::COUNT, (count >> 8) as u8);
        self.put(register::LBA_LOW, (first >> 24) as u8);
        self.put(register::LBA_MIDDLE, (first >> 32) as u8);
        self.put(register::LBA_HIGH, (first >> 40) as u8);
        self.put(register::COUNT, count as u8);
        self.put(register::LBA_LOW, first as u8);
        self.put(register::LBA_MIDDLE, (first >> 8) as u8);
        self.put(register::LBA_HIGH, (first >> 16) as u8);
        self.put(register::COMMAND, extended);
        Ok(())
    }

    fn start(&mut self, command: u8, first: u32, count: u32) -> Result<(), u32> {
        self.begin()?;
        self.put(register::DEVICE, LBA | (first >> 24) as u8 & 0xf);
        // 0 means 256.
        self.put(register::COUNT, count as u8);
        self.put(register::LBA_LOW, first as u8);
        self.put(register::LBA_MIDDLE, (first >> 8) as u8);
        self.put(register::LBA_HIGH, (first >> 16) as u8);
        self.put(register::COMMAND, command);
        Ok(())
    }

    /// A command is next: the disk has done the one before, and wants or has no data of it. While
    /// it does not, it would not hear the next one.
    fn begin(&mut self) -> Result<(), u32> {
        self.deadline = time::now() + PATIENCE;
        self.while_any(status::BUSY | status::DATA_REQUEST)
    }

    /// Waits for the interrupt that ends a command, or a piece of it.
    fn finish(&mut self) -> Result<(), u32> {
        let port = self.base + register::STATUS;
        let status = self.line.wait(self.deadline, || {
            Some(read8(port)).filter(|status| status & status::BUSY == 0)
        })?;
        if status & (status::ERROR | status::FAULT) == 0 { Ok(()) } else { Err(DISK_FAILED) }
    }

    /// Waits, where there is no interrupt to wait for, while the status has one of these bits.
    fn while_any(&mut self, bits: u8) -> Result<(), u32> {
        while read8(self.control) & bits != 0 {
            if time::now() > self.deadline {
                return Err(TIMED_OUT);
            }
            pause(&mut self.line, PAUSE)?;
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
        self.channel.sectors
    }

    fn most(&self) -> u32 {
        1
    }

    fn read_sector(&mut self, sector: u64) -> Option<Sector> {
        let mut bytes = [0; SECTOR as usize];
        if sector >= self.channel.sectors {
            return None;
        }
        let put =
            |at: u32, word: u32| bytes[at as usize..][..4].copy_from_slice(&word.to_le_bytes());
        self.channel.read(sector, 1, put).ok().map(|()| bytes)
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
        let _ = read8(self.channel.base + register::STATUS);
        self.channel.line.acknowledge();
    }

    fn line(&mut self) -> &mut Line {
        &mut self.channel.line
    }

    fn rest(&mut self, _: u64) -> Option<u64> {
        None
    }
}

/// Lets others run for this many nanoseconds.
fn pause(line: &mut Line, nanoseconds: u64) -> Result<(), u32> {
    let (end, mut paused) = (time::now() + nanoseconds, Ok(0));
    while paused.is_ok() && time::now() < end {
        paused = line.alarm(Some(end)).and_then(|()| ipc::wait(ALARM));
    }
    accept_all();
    paused.map(|_| ()).map_err(|_| TIMED_OUT)
}
