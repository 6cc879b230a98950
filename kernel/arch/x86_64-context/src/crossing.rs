// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an alien to its server and back without the kernel.
//!
//! An alien's system call and the `run` that answers it change few words of the kernel, and always
//! the same: which of the two runs, and the handle under which the alien waits. So the code of the
//! entry area goes from one to the other and back without the kernel's data, as often as they like,
//! as long as [`may_cross`] holds. [`may_cross`] depends only on words of the kernel, so it cannot
//! change meanwhile. When the kernel is entered next, [`commit`] does at once what the portable
//! kernel would have done at each crossing (`raise` and `run` of `fault.rs`).

use crate::registers::state;
use crate::saved::{FIXED_FLAGS, SAVED, lazy, selector, word};
use abi::frame::vector;
use abi::{Frame, MessageKind};
use kcore::Thread;
use kcore::thread::{SEQUENCE, flag, gate};
use pool::{Link, Pool, Ref};

/// Bytes of `syscall`.
const SYSCALL_BYTES: u64 = 2;

/// A server's thread, and the alien that it resumed last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The server's thread.
    pub server: Ref<Thread>,
    /// The alien.
    pub alien: Ref<Thread>,
}

/// Which of a pair runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// The alien, and the server's thread waits in `run` for it.
    Alien,
    /// The server's thread, and the alien waits for `run`.
    Server,
}

impl Pair {
    /// Its thread that runs.
    #[must_use]
    pub const fn of(&self, who: Who) -> Ref<Thread> {
        match who {
            Who::Alien => self.alien,
            Who::Server => self.server,
        }
    }
}

/// The area's words of a pair. The server can write them: if it forges them, it misleads only
/// itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Words {
    /// The alien's handle.
    pub handle: u32,
    /// Where the server's thread goes on after its `run`.
    pub rip: u64,
    /// Its stack pointer then.
    pub rsp: u64,
    /// The stack pointer of the last system call of the alien.
    pub scratch: u64,
}

/// Whether a pair may cross both ways without the kernel, as often as it likes: each test of the
/// fast paths that depends on the kernel's words (`fast/alien.S`: A1 to A3, R3 to R5), and the test
/// that the alien finds no registers in the FPU but its own. `top` is the priority of the most
/// urgent ready thread (`Cpu::top`); `fpu_owner` is the thread whose registers the FPU has. The FPU
/// is enabled for its owner, and for the server of a pair whose alien is the owner; a crossing does
/// not change that.
#[must_use]
pub fn may_cross(pool: &Pool, pair: Pair, who: Who, top: u32, fpu_owner: Link<Thread>) -> bool {
    let (server, alien) = (&pool[pair.server], &pool[pair.alien]);
    let is_pair = alien.is_alien()
        && !server.is_alien()
        && alien.lazy & !(lazy::FS | lazy::FPU) == 0
        && server.lazy & !lazy::RING1 == 0
        && alien.handler.object::<Thread>() == pair.server
        && alien.partner.is(pair.server);
    let is_simple = server.signals == 0
        && server.flags & flag::EXPIRED == 0
        && alien.flags & flag::EXPIRED == 0
        && server.priority >= top
        && alien.priority >= top;
    let waits = match who {
        Who::Alien => {
            alien.gate == gate::READY
                && server.state() == gate::RUN
                && server.partner.is(pair.alien)
        }
        Who::Server => {
            server.gate == gate::READY
                && alien.gate == gate::REPLY | gate::ALIEN
                && !fpu_owner.is(pair.server)
        }
    };
    is_pair && is_simple && waits
}

/// Writes those words of a frame that the area's code does not write at a system call, because it
/// writes only the registers. The frame has to have them when the alien continues, and the pair may
/// cross only then.
pub fn prepare(frame: &mut Frame, alien: &Thread) {
    frame.fs_base = state(alien).fs_base;
    frame.vector = vector::SYSTEM_CALL;
    (frame.error, frame.address, frame.changed) = (0, 0, 0);
}

/// Whether the frame has these words.
#[must_use]
pub fn is_prepared(frame: &Frame, alien: &Thread) -> bool {
    frame.fs_base == state(alien).fs_base
        && frame.vector == vector::SYSTEM_CALL
        && frame.error | frame.address | frame.changed == 0
}

/// Where the area's code is in which an exception may occur.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// An alien's system call.
    pub call: u64,
    /// Its server's system call: the code of the alien's ends there.
    pub server_call: u64,
    /// The end of the code of the server's.
    pub end: u64,
}

/// If an exception occurred in the area's own code, changes its registers (`saved`, from the first
/// general one to SS) to those of the thread for which that code worked, because no thread can
/// continue there. Either the code could not access the alien's frame: then the system call is made
/// again. Or it could not continue where the server says. Returns whether it was such an exception.
pub fn mend(saved: &mut [u64; SAVED], code: Code, found: Who, words: &Words) -> bool {
    let at = |word: usize| word - word::GENERAL;
    let rip = saved[at(word::RIP)];
    if saved[at(word::CS)] != selector::KERNEL_CODE.into() || !(code.call..code.end).contains(&rip)
    {
        return false;
    }
    let again = saved[at(word::RCX)].wrapping_sub(SYSCALL_BYTES);
    let flags = saved[at(word::R11)];
    let values = match found {
        Who::Alien => [again, words.scratch, flags],
        Who::Server if rip >= code.server_call => [again, words.rsp, flags],
        Who::Server => [words.rip, words.rsp, FIXED_FLAGS],
    };
    for (word, value) in [word::RIP, word::RSP, word::RFLAGS].into_iter().zip(values) {
        saved[at(word)] = value;
    }
    true
}

/// Updates a pair that may have crossed since `believed` ran: `found` runs now. The caller saves
/// the registers in the context of the thread that runs; those of the other thread are as its last
/// crossing left them.
pub fn commit(pool: &mut Pool, pair: Pair, believed: Who, found: Who, words: &Words) {
    let sequence = !(SEQUENCE - 1);
    let alien = &mut pool[pair.alien];
    alien.handle = alien.handle & !sequence | words.handle & sequence;
    if found != believed {
        let badge = alien.handler.badge();
        alien.partner = pair.server.link();
        match found {
            Who::Server => {
                (alien.sending, alien.badge) = (MessageKind::Alien as u32, badge);
                alien.gate = gate::REPLY | gate::ALIEN;
            }
            Who::Alien => alien.gate = gate::READY,
        }
    }
    let server = &mut pool[pair.server];
    match found {
        Who::Server if believed == Who::Alien => {
            server.gate = gate::READY;
            server.sending = MessageKind::Call as u32;
        }
        Who::Server => {}
        Who::Alien => {
            server.partner = pair.alien.link();
            // The portable code resumes it: it is the one that knows of the area.
            server.gate = gate::RUN | gate::SLOW;
            for (register, value) in [
                (word::RIP, words.rip),
                (word::RSP, words.rsp),
                (word::RFLAGS, FIXED_FLAGS),
                (word::VECTOR, vector::SYSTEM_CALL),
            ] {
                server.context[register] = value;
            }
        }
    }
}
