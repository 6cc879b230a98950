// SPDX-License-Identifier: MIT OR Apache-2.0
//! An entry into the kernel: how, with which registers, and with which state of the processor.

use super::Kernel;
use super::machine::{CPSR, REGISTERS};
use crate::processor::{Event, Found, Processor};
use abi::arch::armv5::layout::SLOT_BYTES;
use abi::frame::{USER_FLAGS, fault as named_fault, vector as named};
use abi::{PAGE_SIZE, Rights, USER_END, UserAddr};
use armv5_context::{THUMB, USER_MODE, abort, hw, vector, word};
use fastrand::Rng;
use kcore::port::Translation;
use kcore::{Space, Table, Thread};
use mmu::Format;
use mmu::armv5::Armv5;
use mmu::fass::client;
use pool::{Link, Ref};

/// ARM's `swi`, and its number.
const SWI: u32 = 0xef00_0000;
/// See [`SWI`].
pub const NUMBER: u32 = 0xff_ffff;
/// The addresses of the programs' helpers that are restarted, of 16 bytes at most.
const HELPERS: [u32; 2] = [0xffff_0f6c, 0xffff_0fc0];
/// Status of a fault: the entry of a coarse table is empty.
const MISSING: u32 = 7;

/// An access that fails.
pub struct Fault {
    /// The fault status register.
    pub status: u32,
    /// See `status`.
    pub address: u32,
    /// See [`Access`].
    pub access: Access,
}

/// The kind of the access.
#[derive(Clone, Copy)]
pub enum Access {
    /// This instruction.
    Data(u32),
    /// The fetch of an instruction.
    Fetch,
}

impl Access {
    /// The entry code's number.
    pub const fn number(self) -> u32 {
        match self {
            Self::Data(_) => named::PAGE_FAULT,
            Self::Fetch => named::BREAKPOINT,
        }
    }
}

/// The state of the processor and the kernel when the code begins, besides the user's registers and
/// the pool.
#[derive(Clone, Copy)]
pub struct Noted {
    /// The thread that entered, with its domains; none on the way out of the portable kernel.
    pub entered: Link<Thread>,
    /// The process identifier.
    pub pid: u32,
    /// The domains that were open since the cache was last cleaned.
    pub dirty: u32,
    /// How many coarse tables have copies.
    pub copies: u32,
}

/// How a thread entered.
pub struct Entered {
    /// Its registers.
    pub user: [u32; REGISTERS],
    /// The processor's registers: at a fault some have other values, because all are saved already.
    pub registers: [u32; REGISTERS],
    /// What failed; nothing if it is a `swi`.
    pub fault: Option<Fault>,
    /// The address of the instruction that entered, and its word.
    pub instruction: (u32, u32),
    /// See [`Noted`].
    pub noted: Noted,
}

impl Entered {
    /// An entry by this event, with random registers.
    pub fn random(
        kernel: &mut Kernel,
        found: &Found,
        me: Ref<Thread>,
        event: &Event,
        rng: &mut Rng,
    ) -> Self {
        kernel.port.now += rng.u64(..20_000);
        match event {
            Event::Call(arguments) => {
                let user = random_user(arguments, rng);
                let swi = SWI | if rng.bool() { 0 } else { rng.u32(..) & NUMBER };
                let instruction = (user[15].wrapping_sub(4), swi);
                Self {
                    user,
                    registers: user,
                    fault: None,
                    instruction,
                    noted: Noted::random(kernel, rng),
                }
            }
            Event::Fault => Self::by_fault(kernel, Fault::random(kernel, found, me, rng), me, rng),
            Event::Tick => {
                let user = random_user(&[], rng);
                Self {
                    user,
                    registers: user,
                    fault: None,
                    instruction: (0, 0),
                    noted: Noted::random(kernel, rng),
                }
            }
        }
    }

    fn by_fault(kernel: &mut Kernel, fault: Fault, me: Ref<Thread>, rng: &mut Rng) -> Self {
        let mut user = random_user(&[], rng);
        if matches!(fault.access, Access::Fetch) {
            user[15] = fault.address & if user[CPSR] & THUMB != 0 { !1 } else { !3 };
        } else if rng.u32(..12) == 0 {
            // In one of the helpers, or close to one.
            user[15] = HELPERS[rng.usize(..2)] + rng.u32(..5) * 4;
        }
        save(&mut kernel.pool[me], &user, vector::SWI);
        let mut registers = user;
        registers[..5].copy_from_slice(&[
            fault.access.number(),
            rng.u32(..),
            rng.u32(..),
            rng.u32(..),
            rng.u32(..),
        ]);
        let word = if let Access::Data(instruction) = fault.access { instruction } else { 0 };
        Self {
            user,
            registers,
            instruction: (user[15] & !3, word),
            fault: Some(fault),
            noted: Noted::random(kernel, rng),
        }
    }
}

impl Fault {
    /// A fault of this thread, mostly for a missing page.
    fn random(kernel: &Kernel, found: &Found, me: Ref<Thread>, rng: &mut Rng) -> Self {
        let pool = &kernel.pool;
        let Some(words) = pool[me].space.get().map(|space| pool[space].hw) else {
            return Self { status: 0, address: 0, access: Access::Fetch };
        };
        let open: Vec<u32> =
            (0..16).filter(|domain| words[hw::DACR] & client(*domain) != 0).collect();
        let domain = match rng.u32(..8) {
            0 => rng.u32(..16),
            1 => words[hw::DOMAIN],
            _ => open[rng.usize(..open.len())],
        };
        let kind =
            if rng.u32(..8) == 0 { [1, 5, 8, 9, 0xb, 0xd, 0xf][rng.usize(..7)] } else { MISSING };
        let address = if rng.bool() {
            found.range + rng.u32(..super::Armv5::PAGES * PAGE_SIZE)
        } else {
            rng.u32(..)
        };
        // Loads and stores of words, bytes and several words, and others.
        let class = if rng.u32(..8) == 0 { rng.u32(..8) } else { rng.u32(2..5) };
        let instruction = rng.u32(..) & !(7 << 25) | class << 25;
        // Bits of an extra load or store.
        let instruction = if class == 0 { instruction | 0x90 } else { instruction };
        Self {
            status: domain << 4 | kind,
            address,
            access: if rng.u32(..5) == 0 { Access::Fetch } else { Access::Data(instruction) },
        }
    }

    /// What the port makes of it (`trap.rs` of the port): the thread's address, the rights that it
    /// needed, and the error; nothing if the page is present, or its table is put into the
    /// directory.
    pub fn portable(
        &self,
        kernel: &Kernel,
        me: Ref<Thread>,
        user: &[u32; REGISTERS],
    ) -> Option<(u32, Rights, u32)> {
        match self.access {
            Access::Data(instruction) => accessed(kernel, me, user, (self, instruction)),
            Access::Fetch => fetched(kernel, me, user[15]),
        }
    }
}

impl Noted {
    /// Random state of the processor: the process identifier, and the domains that were open.
    pub fn random(kernel: &mut Kernel, rng: &mut Rng) -> Self {
        let space = kernel.current().and_then(|me| kernel.pool[me].space.get());
        let own = space.map_or(hw::INDIFFERENT, |space| kernel.pool[space].hw[hw::PID]);
        let pid = if own & hw::INDIFFERENT != 0 { rng.u32(..4) << 25 } else { own };
        Self {
            entered: kernel.current().map_or(Link::NULL, Ref::link),
            pid,
            dirty: rng.u32(..) & rng.u32(..),
            copies: u32::from(rng.u32(..16) == 0),
        }
    }
}

/// The registers of a user: random ones with these in r0 and so on.
pub fn random_user(first: &[u32], rng: &mut Rng) -> [u32; REGISTERS] {
    let mut user = std::array::from_fn(|_| rng.u32(..));
    user[..first.len()].copy_from_slice(first);
    user[CPSR] = user[CPSR] & USER_FLAGS | USER_MODE;
    let aligned = if user[CPSR] & THUMB != 0 { !1 } else { !3 };
    user[15] = (user[15] % USER_END) & aligned;
    user
}

/// As the entry code saves them for the portable kernel.
pub fn save(thread: &mut Thread, user: &[u32; REGISTERS], vector: u32) {
    let context = &mut thread.context;
    context[word::R0..word::R0 + 15].copy_from_slice(&user[..15]);
    (context[word::PC], context[word::CPSR]) = (user[15], user[CPSR]);
    (context[word::VECTOR], context[word::ERROR]) = (vector, 0);
}

/// A fault of an access.
fn accessed(
    kernel: &Kernel,
    me: Ref<Thread>,
    user: &[u32; REGISTERS],
    (fault, instruction): (&Fault, u32),
) -> Option<(u32, Rights, u32)> {
    let space = kernel.pool[me].space.get()?;
    let domain = fault.status >> 4 & 0xf;
    let Space { hw, segments, .. } = kernel.pool[space];
    let is_open = hw[hw::DACR] & client(domain) != 0;
    let is_copy = domain == hw[hw::DOMAIN] && !segments.is_null();
    let protection = match fault.status & 0xf {
        MISSING if is_open && !is_copy => 0,
        0xd | 0xf => named_fault::PROTECTION,
        _ => return None,
    };
    let writes = match user[CPSR] & THUMB {
        0 => abort::writes(instruction),
        _ => abort::writes_thumb((instruction >> (8 * (user[15] & 2))) as u16),
    };
    let (access, error) =
        if writes { (Rights::WRITE, named_fault::WRITE) } else { (Rights::READ, 0) };
    let is_relocated = fault.address & !(SLOT_BYTES - 1) == hw[hw::PID];
    Some((
        if is_relocated { fault.address & (SLOT_BYTES - 1) } else { fault.address },
        access,
        error | protection,
    ))
}

/// What the port makes of a fetch that failed; nothing if the page is present: then its table is
/// put into the directory, or it is a breakpoint.
fn fetched(kernel: &Kernel, me: Ref<Thread>, pc: u32) -> Option<(u32, Rights, u32)> {
    let space = kernel.pool[me].space.get()?;
    let top = kernel.pool[space].region.top.get()?;
    let entry = kernel.pool[top].entries::<Armv5>()[Armv5::table_index(UserAddr(pc))];
    let rights = match Armv5::decode_table(entry) {
        Some((table, _)) => {
            let table: Ref<Table> = Ref::new(kernel.port.pool_address(table));
            Armv5::decode(kernel.pool[table].entries::<Armv5>()[Armv5::leaf_index(UserAddr(pc))])
                .map(|leaf| leaf.rights)
        }
        None => Armv5::decode_large(entry).map(|(leaf, _)| leaf.rights),
    };
    rights.is_none_or(|rights| rights == Rights::NONE).then_some((
        pc,
        Rights::EXECUTE,
        named_fault::FETCH,
    ))
}
