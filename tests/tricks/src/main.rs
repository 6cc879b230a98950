// SPDX-License-Identifier: MIT OR Apache-2.0
//! The costs of PowerPC's memory management, by the machine model: each case in an interval
//! (numbers below).
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use abi::arch::powerpc::marker::{BEGIN, END, instruction};
use abi::frame::{INSTRUCTION, vector};
use abi::{CacheOp, MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, Tag, USER_END};
use macadamia::alloc::vec::Vec;
use macadamia::cap::{Bound, copy};
use macadamia::interval::{begin, end};
use macadamia::ipc::{map_reply_wait, receive};
use macadamia::map::{map, unmap};
use macadamia::{Env, Quota, Result, Space, Thread, result, start, time};
use processor::code;

macadamia::main!(run);

/// A round of calls to 99 servers in their own spaces.
const RING: u32 = 100;
/// An unmap of [`PAGES`] pages of a space that has touched them, and one of as many in a space in
/// which no thread runs.
const UNMAP: u32 = 110;
const UNMAP_ALONE: u32 = 111;
/// A page fault and its answer: visit 0 is the answer, visit 1 the next fault.
const FAULT: u32 = 120;
/// An alien that has used its FPU, and a server that its space shows: visit 0 is `run`, visit 1 the
/// alien's system call.
const ALIEN: u32 = 130;
/// The same in turn with another alien, whose space shows the server, too.
const OTHER_ALIEN: u32 = 131;

/// A thread reads [`PAGES`] pages, each for the first time.
const RELOAD: u32 = 140;
/// Memory that was read before is read again, after pages should have been cleared in the idle
/// loop; such pages are written to, and cleared here unless they already are.
const WORK: u32 = 150;
const USE: u32 = 151;

const OWN: Space = Space(image::slot::SPACE);
const QUOTA: Quota = Quota(image::slot::QUOTA);
const SERVERS: u32 = 99;
const PAGES: u32 = 1000;
/// How often each is done.
const REPETITIONS: u32 = 50;
/// And how often long cases are done.
const FEW: u32 = 10;
/// The address of spaces' code: in the lowest segment.
const CODE: u32 = 0x0800_0000;
/// The address of their pages.
const FIRST: u32 = CODE + TABLE_SPAN;
/// The address at which this component maps: fast paths switch only between spaces that use only
/// the two lowest segments.
const PLACE: u32 = 0x1200_0000;
/// Other memory that is read in between: twice a cache's size; lines have this many bytes.
const OTHER: u32 = PLACE + TABLE_SPAN;
const OTHER_BYTES: u32 = 64 << 10;
const LINE: usize = 32;
/// Pages to be cleared, how much of each is written, and how much is read before: half of a cache.
const CLEARED: u32 = 16;
const USED: u32 = 256;
const WORK_BYTES: u32 = 8 << 10;
/// Nanoseconds in which no thread runs.
const IDLE: u64 = 4_000_000;
/// The window of the server, its code and its stack.
const WINDOW: u32 = USER_END - (512 << 20);
const HANDLER: u32 = WINDOW + TABLE_SPAN;

/// Writes code into a page of the RAM.
fn put(env: &Env, page: u32, code: &[u8]) -> Result<()> {
    map(OWN, PLACE, env.memory("ram"), page * PAGE_SIZE, PAGE_SIZE, Rights(3))?;
    start::fill(PLACE, PAGE_SIZE, code);
    OWN.cache(PLACE, PAGE_SIZE, CacheOp::SyncCode)
}

/// A server in its own space, which answers with the words that it gets, and a capability to call
/// it.
fn server(env: &mut Env) -> Result<Thread> {
    let space = QUOTA.create_space(1, env.free_slot())?;
    map(space, CODE, env.memory("ram"), 0, PAGE_SIZE, Rights(5))?;
    let (thread, _) = QUOTA.create_thread(space, env.free_slot(), None)?;
    thread.set_priority(101, 101)?;
    let to = Thread(env.free_slot());
    copy(thread.0, None, to.0, Rights::CALL, 1)?;
    thread.start(CODE, 0, 0)?;
    Ok(to)
}

fn ring(env: &mut Env) -> Result<()> {
    // The handle stays in r4, where it comes.
    let answers =
        [code::load(3, Tag::new(Op::ReplyWait, 3, 0).0), code::system_call().into()].concat();
    put(env, 0, &[&answers[..], &code::jump((answers.len() as u32).wrapping_neg())].concat())?;
    let servers: Vec<Thread> = (0..SERVERS).map(|_| server(env)).collect::<Result<_>>()?;
    for turn in 0..REPETITIONS {
        begin::<RING>();
        for server in &servers {
            assert!(server.ask([turn, 2, 3]) == Ok([turn, 2, 3]), "wrong answer");
        }
        end::<RING>();
    }
    Ok(())
}

/// A thread in its own space that reads one page after the other, from its argument on, until there
/// is none.
fn reader(env: &mut Env) -> Result<(Space, Thread)> {
    put(env, 1, code::reads_pages())?;
    let space = QUOTA.create_space(1, env.free_slot())?;
    map(space, CODE, env.memory("ram"), PAGE_SIZE, PAGE_SIZE, Rights(5))?;
    let (thread, _) = QUOTA.create_thread(space, env.free_slot(), None)?;
    let handler = Thread(env.free_slot());
    copy(image::slot::THREAD, None, handler.0, Rights::CALL, 1)?;
    thread.set_handler(Some(handler))?;
    thread.set_priority(90, 90)?;
    Ok((space, thread))
}

/// It reads [`PAGES`] pages. Then this component reads memory until the data cache has nothing
/// else.
fn touch(thread: Thread) -> Result<()> {
    thread.start(CODE, 0, FIRST)?;
    let received = receive(None)?;
    assert!(
        received.words[..2] == [vector::PAGE_FAULT, FIRST + PAGES * PAGE_SIZE],
        "it read less: {:x?}",
        received.words
    );
    thread.stop()?;
    assert!(
        start::bytes(OTHER, OTHER_BYTES).iter().step_by(LINE).all(|byte| *byte == 0),
        "memory has what nobody wrote"
    );
    Ok(())
}

fn unmaps(env: &mut Env) -> Result<()> {
    let ((space, thread), pages) = (reader(env)?, env.memory("pages"));
    let alone = QUOTA.create_space(0, env.free_slot())?;
    map(OWN, OTHER, pages, 0, OTHER_BYTES, Rights::READ)?;
    for _ in 0..REPETITIONS {
        for space in [space, alone] {
            map(space, FIRST, pages, 0, PAGES * PAGE_SIZE, Rights::READ)?;
        }
        touch(thread)?;
        begin::<UNMAP_ALONE>();
        let result = unmap(alone, FIRST, PAGES * PAGE_SIZE);
        end::<UNMAP_ALONE>();
        result?;
        touch(thread)?;
        begin::<UNMAP>();
        let result = unmap(space, FIRST, PAGES * PAGE_SIZE);
        end::<UNMAP>();
        result?;
    }
    Ok(())
}

/// No thread runs for a while.
fn idle() -> Result<()> {
    time::alarm(time::now() + IDLE, 1)?;
    macadamia::ipc::wait(1).map(drop)
}

fn reloads(env: &mut Env) -> Result<()> {
    let ((space, thread), pages) = (reader(env)?, env.memory("pages"));
    for _ in 0..FEW {
        map(space, FIRST, pages, 0, PAGES * PAGE_SIZE, Rights::READ)?;
        idle()?;
        begin::<RELOAD>();
        let started = thread.start(CODE, 0, FIRST);
        let received = receive(None);
        end::<RELOAD>();
        started?;
        assert!(
            received?.words[..2] == [vector::PAGE_FAULT, FIRST + PAGES * PAGE_SIZE],
            "it read less"
        );
        thread.stop()?;
        unmap(space, FIRST, PAGES * PAGE_SIZE)?;
    }
    Ok(())
}

fn clears(env: &mut Env) -> Result<()> {
    let pages = env.memory("pages");
    map(OWN, PLACE, pages, 0, CLEARED * PAGE_SIZE, Rights(3))?;
    map(OWN, OTHER, pages, CLEARED * PAGE_SIZE, WORK_BYTES, Rights::READ)?;
    let read = || {
        assert!(
            start::bytes(OTHER, WORK_BYTES).iter().step_by(LINE).all(|byte| *byte == 0),
            "memory has what nobody wrote"
        )
    };
    for _ in 0..REPETITIONS {
        // If the kernel clears no pages, all are cleared here.
        let is_wanted = OWN.clear_later(PLACE, CLEARED * PAGE_SIZE).is_ok();
        read();
        read();
        idle()?;
        begin::<WORK>();
        read();
        end::<WORK>();
        let cleared = if is_wanted { OWN.clear_later(0, 0)? } else { 0 };
        begin::<USE>();
        for page in 0..CLEARED {
            let at = PLACE + page * PAGE_SIZE;
            if page >= cleared {
                start::fill(at, PAGE_SIZE, &[]);
            }
            start::fill(at, USED, &[1; USED as usize]);
        }
        end::<USE>();
        let is_clear = |page| {
            start::bytes(PLACE + page * PAGE_SIZE + USED, PAGE_SIZE - USED)
                .iter()
                .all(|byte| *byte == 0)
        };
        assert!((0..CLEARED).all(is_clear), "a page is not clear");
        (0..CLEARED).for_each(|page| {
            start::fill(PLACE + page * PAGE_SIZE, PAGE_SIZE, &[1; PAGE_SIZE as usize])
        });
    }
    unmap(OWN, PLACE, CLEARED * PAGE_SIZE)?;
    unmap(OWN, OTHER, WORK_BYTES)
}

fn faults(env: &mut Env) -> Result<()> {
    let ((space, thread), ram) = (reader(env)?, env.memory("ram"));
    thread.start(CODE, 0, FIRST)?;
    let mut received = receive(None)?;
    for address in (FIRST..).step_by(PAGE_SIZE as usize).take(REPETITIONS as usize) {
        assert!(
            received.words[..2] == [vector::PAGE_FAULT, address],
            "no fault at {address:#x}: {:?}",
            received.words
        );
        let page =
            MapRecord::new(MapRecord::MAP, space.0, address, ram.0, 0, PAGE_SIZE, Rights::READ);
        begin::<FAULT>();
        received = map_reply_wait(received.handle, &page)?;
        end::<FAULT>();
    }
    thread.stop()
}

/// A word that the server's thread writes.
fn write(at: u32, value: u32) -> Vec<u8> {
    [code::load(12, at), code::load(6, value), code::stores_far().into()].concat()
}

/// An alien in its own space that shows the server, whose thread handles it. It has used its FPU,
/// and makes system calls.
fn process(env: &mut Env, server: Space, handler: Thread) -> Result<Bound> {
    let space = QUOTA.create_space(0, env.free_slot())?;
    space.show(WINDOW, server)?;
    map(space, CODE, env.memory("ram"), 4 * PAGE_SIZE, PAGE_SIZE, Rights(5))?;
    let (process, bound) = QUOTA.create_thread(space, env.free_slot(), Some(server))?;
    process.set_handler(Some(handler))?;
    Ok(bound)
}

fn alien(env: &mut Env) -> Result<()> {
    let (ram, window) = (env.memory("ram"), env.memory("window"));
    let server = QUOTA.create_space_at(16, env.free_slot(), WINDOW)?;
    server.serve(window, false)?;
    map(server, HANDLER, ram, 2 * PAGE_SIZE, PAGE_SIZE, Rights(5))?;
    map(server, HANDLER + PAGE_SIZE, ram, 3 * PAGE_SIZE, PAGE_SIZE, Rights(3))?;
    put(env, 4, &[code::uses_fpu(), code::system_calls()].concat())?;
    let (thread, _) = QUOTA.create_thread(server, env.free_slot(), None)?;
    let [one, other] = [process(env, server, thread)?, process(env, server, thread)?];
    let own = Thread(env.free_slot());
    copy(image::slot::THREAD, None, own.0, Rights::CALL, 1)?;
    thread.set_handler(Some(own))?;
    let runs = [code::load(3, Tag::new(Op::Run, 0, 0).0), code::system_call().into()].concat();
    let once = |number| {
        [
            &instruction(BEGIN, number).to_be_bytes()[..],
            &runs,
            &instruction(END, number).to_be_bytes(),
        ]
        .concat()
    };
    let begins =
        [one.utcb, other.utcb].map(|utcb| write(utcb + 4 * INSTRUCTION as u32, CODE)).concat();
    let swaps = code::swaps_handles();
    let both = [swaps, &runs, swaps, &runs].concat();
    let in_turn = [swaps, &once(OTHER_ALIEN)].concat();
    let repeated =
        [once(ALIEN).repeat(REPETITIONS as usize), both, in_turn.repeat(REPETITIONS as usize)]
            .concat();
    put(env, 2, &[&begins, &runs, &repeated, code::invalid()].concat())?;
    // The other handle is in the register of the stack, which it does not need.
    thread.start(HANDLER, other.handle, one.handle)?;
    let received = receive(None)?;
    assert!(received.words[0] == vector::PROGRAM, "it did not go through: {:x?}", received.words);
    Ok(())
}

fn run(mut env: Env) {
    let all = [
        ("ring", ring as fn(&mut Env) -> Result<()>),
        ("unmap", unmaps),
        ("faults", faults),
        ("reload", reloads),
        ("clear", clears),
    ];
    for (name, measure) in all.into_iter().chain([("alien", alien as fn(&mut Env) -> Result<()>)]) {
        if let Err(error) = measure(&mut env) {
            panic!("{name}: {}", error.text());
        }
    }
    result!("done");
}
