// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work for the machine model to count: the fast paths of IPC, aliens, notifications and page
//! faults, each in an interval (numbers below; limits in `tests/systems/fast-paths.toml`).
//!
//! Interval 1 is different: the program counts it, too, by the time-stamp counter, which counts
//! instructions under QEMU's `-icount shift=0`, or by a slower counter. The line `ticks 1 N R`
//! gives the test the number of ticks, and the instructions in a tick; the test compares them with
//! what the model counted.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use abi::frame::vector;
use abi::tag::REGISTER_WORDS;
use abi::{CacheOp, MapRecord, Word};
use core::hint::black_box;
use core::sync::atomic::{AtomicU32, Ordering};
use macadamia::alien::Alien;
use macadamia::alloc::format;
use macadamia::alloc::vec::Vec;
use macadamia::cap::copy;
use macadamia::interval::{begin, end};
use macadamia::ipc::{Message, call, map_reply_wait, receive, reply_wait, run, wait};
use macadamia::map::{Window, map};
use macadamia::region::{Region, Shared};
use macadamia::{Env, Error, Quota, Result, Rights, Space, Thread, result, thread, time, utcb};
use processor::{ANSWERS, INSTRUCTIONS, PC, Words, code, set_thread_pointer};

macadamia::main!(start);

/// Repetitions of each interval: the first ones are slower, and medians are tested.
const REPETITIONS: u32 = 50;

/// Capabilities that every component has.
const QUOTA: Quota = Quota(image::slot::QUOTA as Word);
const SPACE: Space = Space(image::slot::SPACE as Word);
const SELF: Thread = Thread(image::slot::THREAD as Word);

const WORD: usize = size_of::<AtomicU32>();
const PAGE: usize = abi::PAGE_SIZE as usize;
/// Bytes of the smallest line of a cache of data.
const LINE: usize = 32;

/// This component's priority.
const PRIORITY: Word = 100;

/// Answers every message with its words.
extern "C" fn serve(_: Word) -> ! {
    let (mut handle, mut answer) = (0, Message::default());
    loop {
        match reply_wait(handle, answer) {
            Ok(received) => {
                (handle, answer) = (
                    received.handle,
                    Message { words: received.words, count: received.count, caps: 0 },
                )
            }
            Err(_) => handle = 0,
        }
    }
}

/// Adds one to the first word of memory that it shares with its callers, for each message.
fn share(words: &Region) -> ! {
    let mut handle = 0;
    loop {
        let received = reply_wait(handle, Message::default());
        handle = received.map_or(0, |received| received.handle);
        words.write(0, words.read(0).wrapping_add(1));
    }
}

/// Calls to the thread that shares memory with this component; both access the memory.
fn shared<const ID: u32>(to: Thread, words: &Region) {
    for _ in 0..REPETITIONS {
        let before = words.read(0);
        begin::<ID>();
        let reply = call(to, Message::default());
        let after = words.read(0);
        end::<ID>();
        assert!(reply.is_ok() && after == before.wrapping_add(1), "wrong answer");
    }
}

/// Calls with `count` words and the reply to each: visit 0 is the call, visit 1 reply-and-wait.
fn calls<const ID: u32>(to: Thread, count: u32) {
    let words = [0x1111, 0x2222, 0x3333].map(|word| word + count as Word);
    for _ in 0..REPETITIONS {
        begin::<ID>();
        let reply = call(to, Message { words, count, caps: 0 });
        end::<ID>();
        assert!(
            reply.is_ok_and(
                |r| r.count == count && r.words[..count as usize] == words[..count as usize]
            ),
            "wrong answer"
        );
    }
}

/// The same with as many words as registers carry.
fn full_calls<const ID: u32>(to: Thread) {
    let rest = 3..REGISTER_WORDS as usize;
    for _ in 0..REPETITIONS {
        rest.clone().for_each(|word| utcb::set_word(word, 0x4444 + word as Word));
        begin::<ID>();
        let reply = call(to, Message { words: [1, 2, 3], count: REGISTER_WORDS, caps: 0 });
        end::<ID>();
        assert!(
            reply.is_ok_and(|r| r.count == REGISTER_WORDS && r.words == [1, 2, 3])
                && rest.clone().all(|word| utcb::word(word) == 0x4444 + word as Word),
            "wrong answer"
        );
    }
}

/// A space with this many slots, and this code at the returned address.
fn space_with(env: &mut Env, slots: Word, code: &[u8]) -> Result<(Space, Word)> {
    let (place, ram) = (processor::measured(), env.memory("ram"));
    let window = Window::open(place, ram, 0, abi::PAGE_SIZE, Rights(3))?;
    (0..).step_by(4).zip(processor::words(code)).for_each(|(at, word)| window.write(at, word));
    SPACE.cache(place, abi::PAGE_SIZE, CacheOp::SyncCode)?;
    let space = QUOTA.create_space(slots, env.free_slot())?;
    map(space, place, ram, 0, abi::PAGE_SIZE, Rights(5))?;
    Ok((space, place))
}

/// An alien that runs this code, with its first reply handle.
fn alien_with(env: &mut Env, code: &[u8]) -> Result<(Alien, Word)> {
    let (space, place) = space_with(env, 0, code)?;
    let (alien, handle) = Alien::create(QUOTA, space, env.free_slot(), SELF)?;
    alien.thread.set_priority(90, 90)?;
    let mut frame = alien.frame();
    frame.set(PC, place);
    alien.set_frame(&frame);
    Ok((alien, handle))
}

/// An alien's system calls, with a thread pointer or without one: visit 0 is `run`, which resumes
/// it, visit 1 the system call.
fn alien<const ID: u32>(env: &mut Env, has_pointer: bool) -> Result<()> {
    let code = if has_pointer { code::system_calls_with_pointer() } else { code::system_calls() };
    let (alien, handle) = alien_with(env, code)?;
    if has_pointer {
        set_thread_pointer(alien.thread, macadamia::map::own().start)?;
    }
    let mut event = run(handle)?;
    let behind = alien.frame().word(PC);
    for _ in 0..REPETITIONS {
        begin::<ID>();
        event = run(event.handle)?;
        end::<ID>();
        assert!(alien.frame().word(PC) == behind, "stopped at {:#x}", alien.frame().word(PC));
    }
    Ok(())
}

/// Two aliens with their own thread pointers in turn: visit 0 is `run` of the one that did not run
/// last, visit 1 its system call.
fn aliens_in_turn<const ID: u32>(env: &mut Env) -> Result<()> {
    let mut handles = Vec::new();
    let start = macadamia::map::own().start;
    for base in [start + 16, start] {
        let (alien, handle) = alien_with(env, code::system_calls_with_pointer())?;
        set_thread_pointer(alien.thread, base)?;
        handles.push(run(handle)?.handle);
    }
    for turn in 0..2 * REPETITIONS {
        let handle = &mut handles[turn as usize % 2];
        begin::<ID>();
        let event = run(*handle)?;
        end::<ID>();
        assert!(event.words[0] == vector::SYSTEM_CALL, "event {}", event.words[0]);
        *handle = event.handle;
    }
    Ok(())
}

/// Page faults of a thread in its own space, each answered by a page: visit 0 is the answer, which
/// resumes it, visit 1 its next fault.
fn pager<const ID: u32>(env: &mut Env) -> Result<()> {
    let ((space, code), ram) = (space_with(env, 1, code::reads_pages())?, env.memory("ram"));
    let (thread, _) = QUOTA.create_thread(space, env.free_slot(), None)?;
    let handler = Thread(env.free_slot());
    copy(SELF.0, None, handler.0, Rights::CALL, 1)?;
    thread.set_handler(Some(handler))?;
    thread.set_priority(90, 90)?;
    let first = code + abi::TABLE_SPAN;
    thread.start(code, 0, first)?;
    let mut received = receive(None)?;
    for address in (first..).step_by(abi::PAGE_SIZE as usize).take(REPETITIONS as usize) {
        assert!(
            received.words[..2] == [vector::PAGE_FAULT, address],
            "no fault at {address:#x}: {:?}",
            received.words
        );
        let page = MapRecord::new(
            MapRecord::MAP,
            space.0,
            address,
            ram.0,
            0,
            abi::PAGE_SIZE,
            Rights::READ,
        );
        begin::<ID>();
        received = map_reply_wait(received.handle, &page)?;
        end::<ID>();
    }
    thread.stop()
}

/// Answers every notification with one.
extern "C" fn echo(to: Word) -> ! {
    loop {
        assert!(wait(BIT) == Ok(BIT) && Thread(to).notify().is_ok(), "no notification");
    }
}

/// Takes every notification.
extern "C" fn listen(_: Word) -> ! {
    loop {
        assert!(wait(BIT) == Ok(BIT), "no notification");
    }
}

/// The bit of all notifications.
const BIT: u32 = 1;

/// A thread of this priority, and a capability to notify it.
fn notified(
    env: &mut Env,
    function: extern "C" fn(Word) -> !,
    argument: Word,
    priority: Word,
) -> Result<Thread> {
    let thread = thread::spawn(function, argument, env.free_slot())?;
    thread.set_priority(priority, priority)?;
    let to = Thread(env.free_slot());
    copy(thread.0, None, to.0, Rights::NOTIFY, BIT as Word)?;
    Ok(to)
}

/// Notifications within this space. `NOTED`: visit 0 notifies this thread itself, visit 1 takes the
/// notification. `PEERS`: visit 0 notifies a waiting thread of the same priority, visit 1 waits,
/// and lets that thread run. `URGENT`: visit 0 notifies a more urgent thread, which runs at once,
/// visit 1 is its next receive.
fn notifications<const NOTED: u32, const PEERS: u32, const URGENT: u32>(
    env: &mut Env,
) -> Result<()> {
    let own = Thread(env.free_slot());
    copy(SELF.0, None, own.0, Rights::NOTIFY, BIT as Word)?;
    let peer = notified(env, echo, own.0, PRIORITY)?;
    let urgent = notified(env, listen, 0, PRIORITY + 1)?;
    for _ in 0..REPETITIONS {
        begin::<NOTED>();
        own.notify()?;
        let bits = wait(BIT);
        end::<NOTED>();
        assert!(bits == Ok(BIT), "no notification");
        begin::<PEERS>();
        peer.notify()?;
        let bits = wait(BIT);
        end::<PEERS>();
        assert!(bits == Ok(BIT), "no notification");
        begin::<URGENT>();
        urgent.notify()?;
        end::<URGENT>();
    }
    Ok(())
}

/// Bytes of a table that is read repeatedly.
const TABLE: usize = 2048;
/// Bytes of other memory that is read in between: more than a cache has.
const OTHER: usize = 64 << 10;

/// A table is read after much other memory. Its lines are locked, if the processor can do that.
fn table<const ID: u32>() -> Result<()> {
    let memory: Vec<AtomicU32> =
        (0..(OTHER + 2 * PAGE) / WORD).map(|_| AtomicU32::new(1)).collect();
    let first = (memory.as_ptr() as usize).wrapping_neg() % PAGE / WORD;
    let (table, other) = memory[first..].split_at(TABLE / WORD);
    let read = |words: &[AtomicU32]| {
        words.iter().step_by(LINE / WORD).map(|word| word.load(Ordering::Relaxed)).sum::<u32>()
    };
    let start = table.as_ptr() as Word;
    let lock = |operation| match SPACE.cache(start, TABLE as Word, operation) {
        Err(Error::Unsupported) => Ok(()),
        result => result,
    };
    lock(CacheOp::Lock)?;
    for _ in 0..REPETITIONS {
        let mut sum = black_box(read(black_box(other)));
        begin::<ID>();
        sum += read(black_box(table));
        end::<ID>();
        assert!(
            sum as usize == (other.len() + table.len()) / (LINE / WORD),
            "memory is not what it was"
        );
    }
    lock(CacheOp::Unlock)
}

/// One long interval with kernel and user code of all kinds, counted twice.
fn ticks<const ID: u32>(to: Thread) {
    let start = time::counter();
    begin::<ID>();
    for i in 0..1000 {
        let answer = to.ask([i, 2, 3]);
        assert!(answer == Ok([i, 2, 3]), "wrong answer");
    }
    for _ in 0..10 {
        assert!(QUOTA.info().is_ok(), "no figures of the quota");
    }
    end::<ID>();
    let ticks = time::counter() - start;
    // Under QEMU's `-icount shift=0` an instruction is a nanosecond.
    let (instructions, of_ticks) = INSTRUCTIONS;
    result!("ticks {ID} {} {}", ticks * instructions / of_ticks, instructions.div_ceil(of_ticks));
}

/// A call to each of these, in turn.
fn round<const ID: u32>(to: &[Thread]) {
    for i in 0..REPETITIONS {
        begin::<ID>();
        for thread in to {
            let words = [i as Word, 2, 3];
            assert!(thread.ask(words) == Ok(words), "wrong answer");
        }
        end::<ID>();
    }
}

/// A ring of this space and 99 others, in each of which a thread answers with the words that it
/// gets.
fn hundred<const ID: u32>(env: &mut Env, answers: &[u8]) -> Result<()> {
    let mut servers = Vec::new();
    for _ in 0..99 {
        let (space, place) = space_with(env, 1, answers)?;
        let (thread, _) = QUOTA.create_thread(space, env.free_slot(), None)?;
        thread.set_priority(PRIORITY + 1, PRIORITY + 1)?;
        let to = Thread(env.free_slot());
        copy(thread.0, None, to.0, Rights::CALL, 1)?;
        thread.start(place, 0, 0)?;
        servers.push(to);
    }
    round::<ID>(&servers);
    result!("done");
    Ok(())
}

/// Rings of 13 and of 20 spaces, this one among them.
fn rings(env: &Env) {
    let servers: Vec<Thread> =
        (1..20).map(|number| env.thread(&format!("server-{number}"))).collect();
    round::<50>(&servers[..12]);
    round::<51>(&servers);
    result!("done");
}

fn start(mut env: Env) {
    let is = |word: &str| env.start.arguments.iter().any(|argument| argument == word);
    if is("server") {
        serve(0);
    }
    let words = Region::find(&env, "words");
    if let Some(words) = words.as_ref().filter(|_| is("sharer")) {
        share(words);
    }
    if is("rings") {
        return rings(&env);
    }
    if is("ring") {
        let answers = ANSWERS.unwrap_or_else(|| panic!("no code that answers"));
        return hundred::<100>(&mut env, &answers())
            .unwrap_or_else(|error| panic!("no ring: {}", error.text()));
    }
    let (slot, near) = (env.free_slot(), Thread(env.free_slot()));
    let thread = match thread::spawn(serve, 0, slot) {
        Ok(thread) => thread,
        Err(error) => panic!("no second thread: {}", error.text()),
    };
    if let Err(error) = copy(thread.0, None, near.0, Rights::CALL, 9) {
        panic!("no capability to it: {}", error.text());
    }
    let far = env.thread("server");
    ticks::<1>(far);
    calls::<10>(far, 0);
    calls::<11>(far, 1);
    calls::<12>(far, 2);
    calls::<13>(far, 3);
    if REGISTER_WORDS > 3 {
        full_calls::<14>(far);
    }
    calls::<20>(near, 0);
    calls::<23>(near, 3);
    if let Some(words) = &words {
        shared::<70>(env.thread("sharer"), words);
    }
    if let Err(error) = notifications::<40, 41, 42>(&mut env) {
        panic!("no notifications: {}", error.text());
    }
    if let Err(error) = alien::<30>(&mut env, false).and_then(|()| alien::<32>(&mut env, true)) {
        panic!("no alien: {}", error.text());
    }
    if let Err(error) = aliens_in_turn::<31>(&mut env) {
        panic!("no two aliens: {}", error.text());
    }
    if let Err(error) = table::<80>() {
        panic!("no table: {}", error.text());
    }
    if let Err(error) = pager::<60>(&mut env) {
        panic!("no page fault: {}", error.text());
    }
    result!("done");
}
