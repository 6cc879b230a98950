// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hostile handler: its alien executes random bytes with random registers, flags, and other state
//! of a thread. Whatever happens must come back to the handler as an event, with flags that give no
//! privilege. Where there are small spaces, the alien's space becomes small and large meanwhile; a
//! neighbour's memory stays as it is.

use crate::processor::{
    code, exception, frame, has_small_spaces, is_privileged, is_system_call, prepare,
};
use crate::{QUOTA, Random};
use abi::frame::vector;
use abi::{CacheOp, Rights};
use macadamia::alien::Alien;
use macadamia::alloc::vec::Vec;
use macadamia::cap::delete;
use macadamia::ipc::run;
use macadamia::map::{Window, map};
use macadamia::{
    Env, Frame, Memory, MessageKind, Result, Space, Thread, Word, println, result, time, utcb,
};

/// Replies with hostile registers.
const ROUNDS: Word = 30_000;
/// Where the random bytes are, in the handler and in the alien's space.
const HERE: Word = image::layout::GRANTS_END as Word;
pub const THERE: Word = 0x0804_8000;
pub const BYTES: Word = 64 << 10;
const PAGE: Word = abi::PAGE_SIZE;
/// The alien's size while it is small, and where it may be in its home, between two neighbours.
pub const SIZE: Word = 256 << 20;
const PLACES: [Word; 2] = [SIZE, 3 * SIZE];
const NEIGHBOURS: [Word; 3] = [0, 2 * SIZE, 4 * SIZE];
/// The neighbours' memory: after the random bytes in the handler's space, at the same addresses in
/// theirs.
const WITNESS: Word = HERE + BYTES;
const PATTERN: u32 = 0x5a5a_5a5a;
/// The longest time that an alien may run, in nanoseconds, and the notification bit for its end.
const TURN: u64 = 100_000;
const TIME_IS_UP: Word = 1;

/// A home in which the alien's space is small at times.
struct Home {
    home: Space,
    alien: Space,
    place: Option<Word>,
    neighbours: Vec<Space>,
    memory: Window,
    /// How often the alien's space has moved.
    moves: Word,
    /// Its faults, while it was small, at addresses that a small space does not have.
    strange: Word,
}

impl Home {
    /// Makes it with neighbours whose pages are all the same one.
    fn new(env: &mut Env, alien: Space, ram: Memory) -> Result<Self> {
        let home = QUOTA.create_home(env.free_slot())?;
        let neighbours: Vec<Space> = NEIGHBOURS
            .iter()
            .map(|_| QUOTA.create_space(0, env.free_slot()))
            .collect::<Result<_>>()?;
        for (address, space) in NEIGHBOURS.into_iter().zip(&neighbours) {
            (0..BYTES / PAGE).try_for_each(|page| {
                map(*space, THERE + page * PAGE, ram, BYTES, PAGE, Rights(3))
            })?;
            home.take_in(address, *space, SIZE)?;
        }
        let memory = Window::open(WITNESS, ram, BYTES, PAGE, Rights(3))?;
        (0..PAGE / 4).for_each(|word| memory.write(word * 4, PATTERN));
        Ok(Self { home, alien, place: None, neighbours, memory, moves: 0, strange: 0 })
    }

    fn shift(&mut self, random: &mut Random) -> Result<()> {
        if let Some(place) = self.place.take() {
            self.home.detach(place)?;
        } else {
            let place = PLACES[random.below(2) as usize];
            self.home.take_in(place, self.alien, SIZE)?;
            self.place = Some(place);
        }
        self.moves += 1;
        Ok(())
    }

    fn look_at(&mut self, after: &Frame) {
        self.strange += Word::from(
            self.place.is_some() && after.vector == vector::PAGE_FAULT && after.address >= SIZE,
        );
    }

    /// Reports the result, and deletes it.
    fn end(self) -> Result<()> {
        let changed = (0..PAGE / 4).filter(|word| self.memory.read(word * 4) != PATTERN).count();
        let good = changed == 0 && self.strange == 0 && self.moves > 0;
        let (moves, strange) = (self.moves, self.strange);
        let verdict = if good { "ok" } else { "not ok" };
        result!(
            "{verdict} hostile.neighbours: {moves} moves, {changed} words changed, {strange} faults at strange addresses"
        );
        self.neighbours.iter().chain([&self.home]).try_for_each(|space| delete(space.0))
    }
}

/// Counts of events by vector; 0x20 counts system calls, 0x21 all others.
type Seen = [Word; 0x22];

/// Makes the written bytes visible to the alien, on every kind of cache.
fn sync() -> Result<()> {
    Space(image::slot::SPACE as Word).cache(HERE, BYTES, CacheOp::SyncCode)
}

fn fuzz(env: &mut Env, random: &mut Random, seen: &mut Seen, mild: bool) -> Result<(Word, Word)> {
    let ram = env.memory("ram");
    let (space, slot) = (env.free_slot(), env.free_slot());
    let window = Window::open(HERE, ram, 0, BYTES, Rights(3))?;
    let (before, _) = QUOTA.info()?;
    (0..BYTES / 4).for_each(|word| window.write(word * 4, code(random, mild)));
    sync()?;
    let alien_space = QUOTA.create_space(0, space)?;
    // Mild code must not write the excluded bytes itself.
    map(
        alien_space,
        THERE,
        ram,
        0,
        BYTES,
        if mild { Rights::READ.union(Rights::EXECUTE) } else { Rights::RWX },
    )?;
    let (alien, mut handle) =
        Alien::create(QUOTA, alien_space, slot, Thread(image::slot::THREAD as Word))?;
    alien.thread.set_priority(90, 90)?;
    utcb::accept(TIME_IS_UP as u32);
    // QEMU checks no limits, and crashes at some breakpoints in segments that have a base.
    let has_small = !mild && has_small_spaces();
    let mut home = if has_small { Some(Home::new(env, alien_space, ram)?) } else { None };
    let mut privileged = 0;
    for round in 0..ROUNDS {
        if let Some(home) = home.as_mut().filter(|_| random.below(16) == 0) {
            home.shift(random)?;
        }
        if round % 64 == 0 {
            (0..64).for_each(|_| window.write(random.below(BYTES / 4) * 4, code(random, mild)));
            sync()?;
        }
        prepare(&alien, random);
        let given = frame(random, mild);
        alien.set_frame(&given);
        time::alarm(time::now() + TURN, TIME_IS_UP)?;
        let event = run(handle)?;
        handle = event.handle;
        let after = alien.frame();
        if let Some(home) = &mut home {
            home.look_at(&after);
        }
        // Time may be up before it has run: then the frame is still the given one.
        if after == given {
            continue;
        }
        privileged += Word::from(is_privileged(&after));
        let kind = match (event.kind, exception(&after)) {
            (MessageKind::Alien, Some(exception)) => exception,
            (MessageKind::Alien, None) if is_system_call(&after) => 0x20,
            _ => 0x21,
        };
        seen[kind as usize] += 1;
    }
    time::alarm(0, 0)?;
    delete(alien.thread.0)?;
    delete(space)?;
    if let Some(home) = home {
        home.end()?;
    }
    let (after, _) = QUOTA.info()?;
    result!(
        "{} hostile.aliens: {privileged} of {ROUNDS} returned with privileged flags",
        if privileged == 0 { "ok" } else { "not ok" }
    );
    Ok((before, after))
}

/// Replies to an alien with hostile registers.
pub fn handle(mut env: Env) {
    let mut seen: Seen = [0; 0x22];
    let start = time::now();
    let mild = env.start.arguments.iter().any(|a| a == "mild");
    let (before, after) = match fuzz(&mut env, &mut Random(0x1234_5677), &mut seen, mild) {
        Ok(figures) => figures,
        Err(error) => panic!("the handler cannot go on: {}", error.text()),
    };
    let kinds = seen.iter().filter(|count| **count > 0).count();
    println!(
        "{ROUNDS} hostile replies in {} ms, {kinds} kinds of events",
        (time::now() - start) / 1_000_000
    );
    for (number, count) in seen.iter().enumerate().filter(|(_, count)| **count > 0) {
        println!("  event {number:#x}: {count}");
    }
    result!("# {ROUNDS} hostile replies, {kinds} kinds of events");
    result!(
        "{} hostile.handler.quota: {before} bytes before, {after} after",
        if after == before { "ok" } else { "not ok" }
    );
    result!("{} hostile.events: {kinds} kinds", if kinds >= 6 { "ok" } else { "not ok" });
    result!("done");
}
