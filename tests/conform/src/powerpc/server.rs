// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers that spaces show: windows of whole segments, open while the server's threads run, and
//! closed while those of the space run. The server's thread here handles an alien of a space that
//! shows it, so fast paths open and close the window.

use crate::alien::CODE as THERE;
use crate::exception::{DATA as HERE, create, next};
use crate::{
    ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SHARED, SPACE, Why, bytes, check, fails, fill, good,
};
use abi::frame::{INSTRUCTION, fault, vector};
use abi::{Error, Frame, Op, Rights, TABLE_SPAN, Tag, USER_END, Word};
use core::sync::atomic::Ordering;
use macadamia::alien::Alien;
use macadamia::alloc::vec::Vec;
use macadamia::cap::{Bound, copy, delete};
use macadamia::ipc;
use macadamia::map::{map, unmap};
use macadamia::thread::spawn;
use macadamia::{Memory, Space, Thread, time};
use processor::code;

pub const CASES: &[Case] = &[
    ("a_window_is_whole_segments", whole_segments),
    ("who_shows_it_does_not_reach_it", not_reached),
    ("who_shows_a_part_of_it_does_not_reach_that", in_part),
    ("it_reaches_who_shows_it_at_its_addresses", reaches),
    ("it_has_no_other_rights_there", no_other_rights),
    ("it_reaches_nobody_by_its_own_tables", alone),
    ("its_threads_go_on_in_the_space_that_ran_last", ran_last),
    ("a_window_of_one_segment", one_segment),
    ("what_it_maps_is_there_at_once", there_at_once),
    ("a_large_page_of_it_changes_at_once", large_page),
    ("who_shows_it_goes_on_without_it", goes_on_without),
];

/// The start of the window, and the addresses of its code and its data, after the kernel's part.
const START: u32 = USER_END - (512 << 20);
const CODE: u32 = START + TABLE_SPAN;
const DATA: u32 = CODE + PAGE;
/// A page that the server can only read, and a large one.
const READABLE: u32 = CODE + 2 * PAGE;
const LARGE: u32 = CODE + TABLE_SPAN;
/// The space's pages after the alien's code: one to write and one to read; this component has the
/// first at [`HERE`].
const WRITABLE_THERE: u32 = THERE + PAGE;
const READABLE_THERE: u32 = THERE + 2 * PAGE;
const RW: Rights = Rights(3);

/// A server whose window begins at an address.
fn server_at(bed: &mut Bed, start: u32, window: Memory) -> Result<Space, Why> {
    let slot = bed.slot();
    let server = good(QUOTA.create_space_at(16, slot, start))?;
    good(server.serve(window, false))?;
    Ok(server)
}

/// A server with its pages, and a space of aliens that shows it, with its pages.
fn shown(bed: &mut Bed) -> Result<(Space, Space), Why> {
    let window = bed.window;
    let server = server_at(bed, START, window)?;
    good(map(server, CODE, bed.ram, 2 * PAGE, PAGE, Rights(5)))?;
    good(map(server, DATA, bed.ram, 3 * PAGE, PAGE, RW))?;
    good(map(server, READABLE, bed.ram, 3 * PAGE, PAGE, Rights::READ))?;
    good(map(server, LARGE, bed.large, 0, TABLE_SPAN, RW))?;
    let slot = bed.slot();
    let space = good(QUOTA.create_space(0, slot))?;
    good(space.show(START, server))?;
    good(map(space, THERE, bed.ram, 0, PAGE, Rights(5)))?;
    good(map(space, WRITABLE_THERE, bed.ram, PAGE, PAGE, RW))?;
    good(map(space, READABLE_THERE, bed.ram, PAGE, PAGE, Rights::READ))?;
    good(map(SPACE, HERE, bed.ram, PAGE, PAGE, RW))?;
    Ok((server, space))
}

/// Writes a page of RAM.
fn put(bed: &Bed, page: u32, code: &[u8]) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, page * PAGE, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code);
    Ok(())
}

/// A word that the server's thread writes.
fn write(at: u32, value: u32) -> Vec<u8> {
    [code::load(12, at), code::load(6, value), code::stores_far().into()].concat()
}

/// `run` by it. The handle is in r4 before and after.
fn run() -> Vec<u8> {
    [code::load(3, Tag::new(Op::Run, 0, 0).0), code::system_call().into()].concat()
}

/// A thread of the server handles an alien of the space, which executes this with this argument.
/// The thread executes this code; its exceptions come here, and the one that ends it shows its
/// registers.
fn crossing(
    bed: &mut Bed,
    (server, space): (Space, Space),
    alien: &[u8],
    argument: u32,
    thread: impl Fn() -> Vec<u8>,
) -> Result<Frame, Why> {
    let handler = create(bed, server)?;
    let slot = bed.slot();
    let (process, Bound { utcb, handle, .. }) =
        good(QUOTA.create_thread(space, slot, Some(server)))?;
    good(process.set_handler(Some(handler)))?;
    let begins =
        [write(utcb + 4 * INSTRUCTION as u32, THERE), write(utcb + 4 * 4, argument)].concat();
    put(bed, 2, &[begins, thread(), code::invalid().into()].concat())?;
    put(bed, 0, alien)?;
    good(handler.start(CODE, DATA + PAGE, handle))?;
    let (_, frame) = next()?;
    for thread in [process, handler] {
        good(delete(thread.0))?;
    }
    Ok(frame)
}

fn whole_segments(bed: &mut Bed) -> Result<(), Why> {
    let (part, slot) = (Memory(bed.slot()), bed.slot());
    good(bed.window.derive(TABLE_SPAN, (512 << 20) - TABLE_SPAN, part.0, QUOTA))?;
    let space = good(QUOTA.create_space_at(16, slot, START + TABLE_SPAN))?;
    fails(space.serve(part, false), Error::BadAddress)?;
    let window = bed.window;
    let server = server_at(bed, START, window)?;
    for at in [0, ADDRESS, START - PAGE] {
        fails(map(server, at, bed.ram, 0, PAGE, RW), Error::BadAddress)?;
    }
    good(map(server, USER_END - PAGE, bed.ram, 0, PAGE, RW))
}

/// Each kind of access to each kind of page of the server has the error of a missing page. The
/// server has just used all of them, so they are in TLB and hashed table.
fn not_reached(bed: &mut Bed) -> Result<(), Why> {
    let spaces = shown(bed)?;
    let accesses =
        [(code::read(), 0), (code::write(), fault::WRITE), (code::branch(), fault::FETCH)];
    let pages = [START + PAGE, CODE, DATA, READABLE, LARGE, LARGE + 5 * PAGE];
    let missing = [DATA + 5 * PAGE, LARGE + TABLE_SPAN, USER_END - PAGE];
    for (access, error) in accesses {
        for address in pages.into_iter().chain(missing) {
            let read = |at: u32| [code::load(12, at), code::loads_far().into()].concat();
            let all: Vec<u8> = pages.into_iter().flat_map(read).collect();
            let alien = [code::system_call(), access].concat();
            let f = crossing(bed, spaces, &alien, address, || {
                [&all[..], &run(), &all, &run()].concat()
            })?;
            check("the server went through", f.vector == vector::PROGRAM)?;
            if f.gpr[5..8] != [vector::PAGE_FAULT, address, error] {
                return Err(macadamia::alloc::format!(
                    "{address:#x}, {error}: {:x?}",
                    &f.gpr[5..8]
                ));
            }
        }
    }
    Ok(())
}

/// Shows a server in a space, and removes it, for ever: their selectors are halves of a word.
extern "C" fn shows(both: Word) -> ! {
    let (space, server) = (Space(both >> 16), Space(both & 0xffff));
    loop {
        SHARED.store(1, Ordering::Relaxed);
        let _ = space.show(START, server);
        SHARED.store(0, Ordering::Relaxed);
        let _ = space.detach(START);
    }
}

/// The thread that shows it is stopped at any point of the call: the space can access nothing of
/// the server.
fn in_part(bed: &mut Bed) -> Result<(), Why> {
    const TURNS: u64 = 400;
    let (server, space) = shown(bed)?;
    good(space.detach(START))?;
    put(bed, 0, code::reads_and_writes())?;
    let (slot, handler, other) = (bed.slot(), bed.slot(), bed.slot());
    good(copy(SELF.0, None, handler, Rights::CALL, 1))?;
    let (alien, mut handle) = good(Alien::create(QUOTA, space, slot, Thread(handler)))?;
    let shower = good(spawn(shows, space.0 << 16 | server.0, other))?;
    good(shower.set_priority(0, 0))?;
    let mut in_the_call = 0;
    for turn in 0..TURNS {
        good(time::alarm(time::now() + 30_000 + 1_000 * (turn % 97), 1))?;
        good(ipc::wait(1))?;
        good(shower.stop())?;
        in_the_call += SHARED.load(Ordering::Relaxed);
        let goes_on = good(shower.registers())?;
        for (instruction, error) in [(0, 0), (2, fault::WRITE)] {
            let mut frame = Frame { pc: THERE + 4 * instruction, ..Frame::default() };
            frame.gpr[4] = DATA;
            alien.set_frame(&frame);
            let r = good(ipc::run(handle))?;
            handle = r.handle;
            check("nothing is there", r.words == [vector::PAGE_FAULT, DATA, error])?;
        }
        good(shower.set_registers(&goes_on, true))?;
    }
    check("it was stopped in the call", in_the_call != 0)
}

/// At the space's own address it adds 1 after each of the alien's system calls; the alien adds 1
/// before each.
fn reaches(bed: &mut Bed) -> Result<(), Why> {
    let spaces = shown(bed)?;
    fill(HERE, 4, &100u32.to_be_bytes());
    let alien = [code::adds_word(), code::system_call()].concat().repeat(4);
    let adds = || [code::load(12, WRITABLE_THERE), code::adds_far().into()].concat();
    let f = crossing(bed, spaces, &alien, WRITABLE_THERE, || [run(), adds()].concat().repeat(4))?;
    check("the server went through", f.vector == vector::PROGRAM)?;
    check("all have added", bytes(HERE, 4) == 108u32.to_be_bytes())
}

/// The server, too, can only read what the space can only read, and misses what the space does not
/// have.
fn no_other_rights(bed: &mut Bed) -> Result<(), Why> {
    let spaces = shown(bed)?;
    let cases = [
        (READABLE_THERE, code::stores_far(), fault::WRITE | fault::PROTECTION),
        (READABLE_THERE + PAGE, code::stores_far(), fault::WRITE),
        (READABLE_THERE + PAGE, code::loads_far(), 0),
        (READABLE, code::stores_far(), fault::WRITE | fault::PROTECTION),
    ];
    for (address, access, error) in cases {
        let reads = [code::load(12, READABLE_THERE), code::loads_far().into()].concat();
        let f = crossing(bed, spaces, code::system_calls(), 0, || {
            [run(), reads.clone(), code::load(12, address), access.into()].concat()
        })?;
        if (f.vector, f.address, f.error) != (vector::PAGE_FAULT, address, error) {
            return Err(macadamia::alloc::format!(
                "{address:#x}: {:#x} at {:#x}, error {}",
                f.vector,
                f.address,
                f.error
            ));
        }
    }
    Ok(())
}

/// A thread of the server that does not come from the space has only its window.
fn alone(bed: &mut Bed) -> Result<(), Why> {
    let spaces = shown(bed)?;
    let read = || [code::load(12, WRITABLE_THERE), code::loads_far().into()].concat();
    let f = crossing(bed, spaces, code::system_calls(), 0, read)?;
    check(
        "nothing is there",
        (f.vector, f.address, f.error) == (vector::PAGE_FAULT, WRITABLE_THERE, 0),
    )
}

/// Two threads of the server each resume an alien of another space. The first one writes to its
/// alien's word, and once more after the second one's alien ran: that is the second one's word.
fn ran_last(bed: &mut Bed) -> Result<(), Why> {
    const SECOND: usize = 1024;
    let (server, first) = shown(bed)?;
    let slot = bed.slot();
    let second = good(QUOTA.create_space(0, slot))?;
    good(second.show(START, server))?;
    good(map(second, THERE, bed.ram, 0, PAGE, Rights(5)))?;
    good(map(second, WRITABLE_THERE, bed.ram, 4 * PAGE, PAGE, RW))?;
    good(map(SPACE, HERE + PAGE, bed.ram, 4 * PAGE, PAGE, RW))?;
    [HERE, HERE + PAGE].into_iter().for_each(|at| fill(at, 4, &[0; 4]));
    let gives_way = [code::load(3, Tag::new(Op::Yield, 0, 0).0), code::system_call().into()];
    let writes = |value| write(WRITABLE_THERE, value);
    let mut handlers = Vec::new();
    for space in [first, second] {
        let handler = create(bed, server)?;
        let slot = bed.slot();
        let (process, Bound { utcb, handle, .. }) =
            good(QUOTA.create_thread(space, slot, Some(server)))?;
        good(process.set_handler(Some(handler)))?;
        // No other thread runs before this thread waits.
        for thread in [handler, process] {
            good(thread.set_priority(0, 0))?;
        }
        handlers.push((handler, process, utcb, handle));
    }
    let resumes = |utcb: u32| [write(utcb + 4 * INSTRUCTION as u32, THERE), run()].concat();
    let [(one, _, its, handle), (other, _, others, others_handle)] = handlers[..] else {
        return Err("two threads".into());
    };
    let mut code = [&resumes(its)[..], &writes(1), &gives_way.concat(), &writes(2)].concat();
    code.extend(code::invalid());
    code.resize(SECOND, 0);
    code.extend([&resumes(others)[..], &gives_way.concat(), code::invalid()].concat());
    put(bed, 2, &code)?;
    put(bed, 0, code::system_calls())?;
    good(one.start(CODE, DATA + PAGE, handle))?;
    good(other.start(CODE + SECOND as u32, DATA + 2 * PAGE, others_handle))?;
    let (_, f) = next()?;
    check("the first thread went through", f.vector == vector::PROGRAM)?;
    for (handler, process, ..) in handlers {
        good(delete(process.0))?;
        good(delete(handler.0))?;
    }
    check("its alien's word", bytes(HERE, 4) == 1u32.to_be_bytes())?;
    check("the other one's", bytes(HERE + PAGE, 4) == 2u32.to_be_bytes())
}

/// All addresses below the window are the space's. The server's own tables have nothing there.
fn one_segment(bed: &mut Bed) -> Result<(), Why> {
    let slot = Memory(bed.slot());
    good(bed.window.derive(256 << 20, 256 << 20, slot.0, QUOTA))?;
    let start = USER_END - (256 << 20);
    let server = server_at(bed, start, slot)?;
    good(map(server, start + TABLE_SPAN, bed.ram, 3 * PAGE, PAGE, Rights(5)))?;
    let slot = bed.slot();
    let space = good(QUOTA.create_space(0, slot))?;
    good(space.show(start, server))?;
    good(map(space, CODE, bed.ram, PAGE, PAGE, RW))?;
    good(map(SPACE, HERE, bed.ram, PAGE, PAGE, RW))?;
    fill(HERE, 4, &7u32.to_be_bytes());
    put(
        bed,
        3,
        &[code::load(12, CODE), code::loads_far().into(), code::invalid().into()].concat(),
    )?;
    let handler: Thread = create(bed, server)?;
    good(handler.start(start + TABLE_SPAN, start + TABLE_SPAN, 0))?;
    let (_, f) = next()?;
    check("its own tables have nothing there", (f.vector, f.address) == (vector::PAGE_FAULT, CODE))
}

fn there_at_once(bed: &mut Bed) -> Result<(), Why> {
    let spaces = shown(bed)?;
    // A new table, while a space shows the server.
    let at = CODE + 8 * TABLE_SPAN;
    for turn in 0..3 {
        good(map(spaces.0, at, bed.large, TABLE_SPAN, PAGE, RW))?;
        let adds = || [run(), code::load(12, at), code::adds_far().into()].concat().repeat(2);
        check(
            "it is there",
            crossing(bed, spaces, code::system_calls(), 0, adds)?.vector == vector::PROGRAM,
        )?;
        good(unmap(spaces.0, at, if turn == 0 { PAGE } else { TABLE_SPAN }))?;
        let f = crossing(bed, spaces, code::system_calls(), 0, adds)?;
        check("it is gone", (f.vector, f.address) == (vector::PAGE_FAULT, at))?;
    }
    Ok(())
}

/// The page can be written, then only read, then it is missing, then it is other memory.
fn large_page(bed: &mut Bed) -> Result<(), Why> {
    let (spaces, at) = (shown(bed)?, LARGE + 5 * PAGE);
    let adds = || [run(), code::load(12, at), code::adds_far().into()].concat().repeat(2);
    let first = (vector::PAGE_FAULT, at, fault::WRITE | fault::PROTECTION);
    for (rights, half, came) in [
        (RW, Some(0), None),
        (Rights::READ, Some(0), Some(first)),
        (RW, Some(1), None),
        (RW, None, Some((vector::PAGE_FAULT, at, 0))),
        (RW, Some(1), None),
    ] {
        good(unmap(spaces.0, LARGE, TABLE_SPAN))?;
        if let Some(half) = half {
            good(map(spaces.0, LARGE, bed.large, half * TABLE_SPAN, TABLE_SPAN, rights))?;
        }
        let f = crossing(bed, spaces, code::system_calls(), 0, adds)?;
        let is =
            came.map_or(f.vector == vector::PROGRAM, |came| came == (f.vector, f.address, f.error));
        check("it is as it is mapped", is)?;
    }
    Ok(())
}

fn goes_on_without(bed: &mut Bed) -> Result<(), Why> {
    let spaces = shown(bed)?;
    for _ in 0..2 {
        let read = || [run(), code::load(12, WRITABLE_THERE), code::loads_far().into()].concat();
        check(
            "it is shown",
            crossing(bed, spaces, code::system_calls(), 0, read)?.vector == vector::PROGRAM,
        )?;
        good(spaces.1.detach(START))?;
        let f = crossing(bed, spaces, code::system_calls(), 0, read)?;
        check(
            "nothing is there",
            (f.vector, f.address, f.error) == (vector::PAGE_FAULT, WRITABLE_THERE, 0),
        )?;
        good(map(spaces.1, START, bed.ram, PAGE, PAGE, RW))?;
        fails(spaces.1.show(START, spaces.0), Error::Occupied)?;
        good(unmap(spaces.1, START, TABLE_SPAN))?;
        good(spaces.1.show(START, spaces.0))?;
    }
    good(delete(spaces.0.0))?;
    good(map(spaces.1, START, bed.ram, PAGE, PAGE, RW))
}
