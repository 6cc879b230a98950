// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hostile component: a million system calls with random and nearly valid arguments, by a fixed
//! seed. It must harm no other component (a ping-pong of two others continues meanwhile), and must
//! keep no memory: at the end its Quota is as it was.
//!
//! It gives up the capabilities by which it could only end itself: to its Thread and its Space. It
//! polls where it could wait for ever. Where there are small spaces, its spaces become small and
//! large again.
//!
//! It knows only the contract: what the kernel does inside is for other tests.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use abi::utcb::CapItem;
use abi::{Delivery, HOME, Op, Rights, TABLE_SPAN, Tag, Word};
use macadamia::cap::delete;
use macadamia::{Env, Quota, println, result, sys, time, utcb};

#[cfg(target_arch = "wasm32")]
mod alpha;
#[cfg(target_arch = "arm")]
mod armv5;
mod handler;
#[cfg(target_arch = "x86")]
mod ia32;
#[cfg(target_arch = "mips64")]
mod mips;
#[cfg(target_arch = "powerpc")]
mod powerpc;
#[cfg(target_arch = "powerpc")]
mod servers;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "wasm32")]
use alpha as processor;
#[cfg(target_arch = "arm")]
use armv5 as processor;
#[cfg(target_arch = "x86")]
use ia32 as processor;
#[cfg(target_arch = "mips64")]
use mips as processor;
#[cfg(target_arch = "powerpc")]
use powerpc as processor;
#[cfg(target_arch = "x86_64")]
use x86_64 as processor;

macadamia::main!(start);

const CALLS: Word = 1_000_000;
const QUOTA: Quota = Quota(image::slot::QUOTA as Word);
/// Whether words have 64 bits.
const IS_WIDE: bool = Word::BITS == 64;
/// The end of users' addresses on one of the processors.
const EDGE: Word = if IS_WIDE { abi::USER_END } else { 0xc000_0000 };
/// The addresses of kernels' objects: the upper bits are ones, on every processor.
const POOL: Word = !0x1f7f_ffff;
/// The random calls use slots from here on; the component needs those below itself.
const FIRST: Word = 16;
const LAST: Word = 120;
/// A piece of RAM: the first grant.
const RAM: Word = image::slot::GRANTS as Word;
/// More slots than it has.
const SLOTS: Word = 512;
/// Half of the attachments are to spaces in this many slots from [`FIRST`] on: some of these are
/// homes.
const HOMES: Word = 4;
/// Spaces that must have become small, and large again, at least.
const MOVES: Word = 100;

/// xorshift32 (Marsaglia 2003).
struct Random(u32);

impl Random {
    fn bits(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
    /// A word. If words have 64 bits, half of them have an upper half of 0.
    fn next(&mut self) -> Word {
        let low = self.bits() as Word;
        if IS_WIDE && low & 1 != 0 { (self.bits() as Word).rotate_right(32) | low } else { low }
    }
    fn below(&mut self, end: Word) -> Word {
        self.bits() as Word % end
    }
    /// A selector that often names something.
    fn slot(&mut self) -> Word {
        match self.below(16) {
            0 => self.next(),
            1 => QUOTA.0,
            2 => RAM,
            _ => FIRST + self.below(LAST - FIRST),
        }
    }
    /// A number of the kind that finds bugs.
    fn value(&mut self) -> Word {
        match self.below(12) {
            0 => self.next(),
            1 => 0,
            2 => Word::MAX - self.below(3),
            3 => 1 << self.below(Word::BITS as Word),
            4 => self.below(4096),
            5 => self.next() & !0xfff,
            6 => EDGE - 4096 * self.below(3),
            7 => POOL + self.below(1 << 20),
            8 => 4 << 20,
            _ => self.slot(),
        }
    }
}

/// Arguments of calls that create homes, and make spaces small and large.
fn moves(op: Option<Op>, random: &mut Random) -> Option<[Word; 4]> {
    if random.below(2) == 0 {
        return None;
    }
    let home = FIRST + random.below(HOMES);
    let address = random.below(4) << (22 + random.below(5));
    match op? {
        Op::CreateSpace => {
            let (to, place) = if random.below(2) == 0 { (home, HOME) } else { (random.slot(), 0) };
            Some([QUOTA.0, 0, to, place])
        }
        Op::Attach => Some([
            home,
            address,
            random.slot(),
            TABLE_SPAN << random.below(9) | Rights::RWX.0 as Word,
        ]),
        Op::Detach => Some([home, address, 0, 0]),
        _ => None,
    }
}

/// Replaces calls that would end or stop the attacker.
fn guard(op: Option<Op>, slot: Word) -> Word {
    let needed = slot < FIRST && slot != RAM;
    match op {
        Some(Op::Delete | Op::Revoke) if needed || slot == RAM => FIRST,
        Some(Op::Call | Op::Send | Op::Receive | Op::Notify)
            if slot == image::slot::CONSOLE as Word =>
        {
            FIRST
        }
        _ => slot,
    }
}

/// The result of a call: an error, or that a space was made small or something was detached.
enum Outcome {
    Failed(Word),
    Small,
    Detached,
    Other,
}

fn one(random: &mut Random) -> Outcome {
    let number = match random.below(abi::syscall::ALL.len() as Word + 2) {
        n if (n as usize) < abi::syscall::ALL.len() => abi::syscall::ALL[n as usize] as u32,
        _ => random.below(70) as u32,
    };
    let op = Op::from_code(number);
    // Random words, but it always polls: there would be no answer.
    let flags = Tag::POLL
        | random.bits() & (Tag::RESERVED | Tag::NOTIFICATIONS_ONLY) & random.bits() & random.bits();
    let shape = match random.below(4) {
        0 => random.bits() & 0x1ff,
        _ if op == Some(Op::MapReplyWait) => 0,
        _ => 3,
    };
    let first = match op {
        Some(Op::Map) => random.below(18),
        Some(Op::MapReplyWait) if random.below(2) == 0 => 0,
        Some(Op::Reply | Op::ReplyWait | Op::MapReplyWait | Op::Run | Op::MapRun) => {
            random.below(0x2_0000)
        }
        _ => random.slot(),
    };
    let a = guard(op, first);
    let mut args = [random.value(), random.value(), random.value()];
    for i in 3..64 {
        if random.below(8) == 0 {
            utcb::set_word(i, random.value());
        }
    }
    if op == Some(Op::Map) {
        for record in 0..4 {
            utcb::set_word(record * 4 + 4, RAM << 16 | random.slot() & 0xffff);
        }
    }
    if op == Some(Op::MapReplyWait) {
        args[0] = RAM << 16 | random.slot() & 0xffff;
    }
    utcb::set_receive_slot(random.slot() as u32);
    utcb::set_send_cap(0, CapItem::new(random.slot() & 0xffff, Rights(random.below(64) as u32)));
    let [a, b, c, d] = moves(op, random).unwrap_or([a, args[0], args[1], args[2]]);
    let mut registers =
        sys::registers([(number << Tag::OP_SHIFT | flags | shape) as Word, a, b, c, d]);
    // The other words of a message that are in registers.
    registers.iter_mut().skip(5).for_each(|word| *word = random.value());
    sys::raw(&mut registers);
    let status = if op.is_some_and(Op::returns_delivery) {
        Delivery(registers[0] as u32).error().map_or(0, |error| error as Word)
    } else {
        registers[0]
    };
    match op {
        _ if status != 0 => Outcome::Failed(status),
        Some(Op::Attach) if d >= TABLE_SPAN => Outcome::Small,
        Some(Op::Detach) => Outcome::Detached,
        _ => Outcome::Other,
    }
}

fn empty() {
    let keep = [QUOTA.0, image::slot::CONSOLE as Word, RAM];
    (1..SLOTS).filter(|slot| !keep.contains(slot)).for_each(|slot| {
        let _ = delete(slot);
    });
}

fn start(env: Env) {
    let has = |name| env.start.arguments.iter().any(|argument| argument == name);
    if has("handler") {
        return handler::handle(env);
    }
    #[cfg(target_arch = "powerpc")]
    if has("servers") {
        return servers::go(env);
    }
    attack();
}

fn attack() {
    for slot in [image::slot::SPACE, image::slot::THREAD, image::slot::ROOT] {
        let _ = delete(slot as Word);
    }
    let Ok((before, _)) = QUOTA.info() else { panic!("no quota") };
    let mut random = Random(0x2545_f491);
    let mut seen = [0u32; 64];
    let (mut small, mut detached) = (0, 0);
    let start = time::now();
    for _ in 0..CALLS {
        match one(&mut random) {
            Outcome::Failed(code) => seen[code as usize % 64] += 1,
            Outcome::Small => small += 1,
            Outcome::Detached => detached += 1,
            Outcome::Other => {}
        }
    }
    let milliseconds = (time::now() - start) / 1_000_000;
    // Objects may be in spaces that the component has made: they are deleted with these.
    empty();
    let Ok((after, _)) = QUOTA.info() else { panic!("no quota") };
    let kinds = seen.iter().filter(|n| **n > 0).count();
    println!(
        "{CALLS} random system calls in {milliseconds} ms, {kinds} distinct errors, quota {before} before, {after} after"
    );
    result!(
        "# {} system calls a second, {kinds} distinct errors",
        u64::from(CALLS) * 1000 / milliseconds.max(1)
    );
    result!(
        "{} hostile.quota: {before} bytes before, {after} after",
        if after == before { "ok" } else { "not ok" }
    );
    result!(
        "{} hostile.errors: {kinds} distinct errors were reached",
        if kinds >= 10 { "ok" } else { "not ok" }
    );
    let has_moved = !processor::has_small_spaces() || small.min(detached) >= MOVES;
    result!(
        "{} hostile.small: {small} spaces became small, {detached} were detached",
        if has_moved { "ok" } else { "not ok" }
    );
    macadamia::start::exit(0);
}
