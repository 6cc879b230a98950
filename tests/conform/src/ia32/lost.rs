// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server loses something while the processor uses the tables of a process, or of a home. If
//! memory of its own is revoked, it has a fault at its next access. If these tables go, or no
//! longer show it, it continues with its own tables. No other thread is affected. Where the machine
//! has no servers, `server` checks that it says so.

use super::homes::{CODE, FIRST, SECOND, SIZE, alien, native, new_home, seen, word, write};
use super::lives::{SERVER_CODE, SERVER_DATA, begin_process, process_code, run_process};
use super::neighbours::{Step, changer, its, reader};
use super::state::has_sysenter;
use crate::exception::{create, next};
use crate::{Bed, Case, PAGE, QUOTA, Why, check, good, server};
use abi::frame::{Frame, WORDS, vector};
use abi::{MapRecord, MessageKind, Op, Rights, TABLE_SPAN};
use macadamia::alien::Alien;
use macadamia::alloc::format;
use macadamia::alloc::vec::Vec;
use macadamia::cap::{copy, delete, set_frame};
use macadamia::ipc::{Message, reply, run};
use macadamia::map::map;
use macadamia::time::has_servers;
use macadamia::{Memory, Space, Thread};

pub const CASES: &[Case] = &[
    ("a_server_without_its_page_has_a_fault", |bed| each(bed, Lost::Page)),
    ("a_server_without_its_code_has_a_fault", |bed| each(bed, Lost::Code)),
    ("a_server_goes_on_without_the_tables_it_ran_by", |bed| each(bed, Lost::Tables)),
    ("a_server_goes_on_where_it_is_shown_no_longer", |bed| each(bed, Lost::Place)),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    Page,
    Code,
    /// The process or the home: it is deleted, and its memory used again.
    Tables,
    /// The attachment of the server in those tables.
    Place,
}

/// Whose tables are used, and by which thread something is revoked or deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    /// A thread of the server, by the tables of a process.
    Process,
    /// The same, by those of a process's home.
    Home,
    /// A small space of that home.
    Neighbour,
}

/// In the window, after the server's code and data: those of a thread that revokes.
const REVOKES: u32 = SERVER_CODE + 2 * PAGE;
/// And a page far from them. Bochs's TLB has one place for all pages whose numbers end in the same
/// bits: no other page here uses this page's.
const READ: u32 = SERVER_CODE + 8 * TABLE_SPAN + 0x123 * PAGE;
/// In the RAM: code and data each of the server, of who revokes, of the process and of another one;
/// what the server reads, and what then.
const SERVER_PAGE: u32 = 0;
const REVOKES_PAGE: u32 = 2;
const PROCESS_PAGE: u32 = 4;
const OTHER_PAGE: u32 = 6;
const FIRST_READ: u32 = 8;
const THEN_READ: u32 = 9;
/// The slot in the server's capability table of the thread that revokes, if that is another one's.
const REVOKER: u32 = 9;

fn each(bed: &mut Bed, lost: Lost) -> Result<(), Why> {
    if !has_servers() || !has_sysenter() {
        return Ok(());
    }
    for by in [By::Process, By::Home, By::Neighbour] {
        go(bed, lost, by).map_err(|why| format!("{by:?}: {why}"))?;
        bed.clean();
    }
    Ok(())
}

/// The server's code: runs its process, reads the page before and after it is revoked, `ud2`, and
/// runs its process again. And where it reads for the second time.
fn server_code() -> (Vec<u8>, u32) {
    let mut code = Vec::new();
    begin_process(&mut code);
    run_process(&mut code);
    code.extend(reader(SERVER_CODE + code.len() as u32, READ, REVOKER, true));
    // The read has 5 bytes, `ud2` has 2.
    let second = SERVER_CODE + code.len() as u32 - 7;
    run_process(&mut code);
    code.extend([0x0f, 0x0b]);
    (code, second)
}

/// What a thread does that makes a part of the server's memory, maps it for the server, and revokes
/// it when it is called again; or that deletes whose tables it runs by, and makes other spaces of
/// what they were; or takes the server out of them.
fn steps(lost: Lost) -> (u32, Vec<Step>) {
    let (address, page) = match lost {
        Lost::Page => (READ, FIRST_READ),
        Lost::Code => (SERVER_CODE, SERVER_PAGE),
        Lost::Tables => {
            let new = [its::NEXT, its::PART];
            let creates = new.map(|slot| Step::Call(Op::CreateSpace, [its::QUOTA, 0, slot, 0]));
            let deletes = [its::HOME, its::NEXT, its::PART]
                .map(|slot| Step::Call(Op::Delete, [slot, 0, 0, 0]));
            return (
                FIRST_READ,
                [&[Step::Answer, deletes[0]], &creates[..], &deletes[1..]].concat(),
            );
        }
        Lost::Place => {
            return (
                FIRST_READ,
                [Step::Answer, Step::Call(Op::Detach, [its::HOME, server::START, 0, 0])].into(),
            );
        }
    };
    let maps = MapRecord::new(MapRecord::MAP, its::SPACE, address, its::PART, 0, PAGE, Rights::RWX);
    (
        page,
        [
            Step::Derive,
            Step::Map(maps),
            Step::Answer,
            Step::Call(Op::Revoke, [its::MEMORY, 0, 0, 0]),
        ]
        .into(),
    )
}

/// Makes the thread that revokes or deletes.
fn revoker(
    bed: &mut Bed,
    (serves, process, home): (Space, Space, Space),
    lost: Lost,
    by: By,
) -> Result<(), Why> {
    let (page, steps) = steps(lost);
    let memory = Memory(bed.slot());
    good(bed.ram.derive(page * PAGE, PAGE, memory.0, QUOTA))?;
    write(bed, REVOKES_PAGE + 1, &[])?;
    let (space, code) = if by == By::Neighbour {
        let space = native(bed, REVOKES_PAGE, &changer(CODE, &steps, true))?;
        good(home.take_in(SECOND, space, SIZE))?;
        (space, CODE)
    } else {
        write(bed, REVOKES_PAGE, &changer(REVOKES, &steps, true))?;
        good(map(serves, REVOKES, bed.ram, REVOKES_PAGE * PAGE, 2 * PAGE, Rights::RWX))?;
        (serves, REVOKES)
    };
    let tables = if by == By::Process { process } else { home };
    for (from, to) in [
        (serves.0, its::SPACE),
        (memory.0, its::MEMORY),
        (QUOTA.0, its::QUOTA),
        (tables.0, its::HOME),
    ] {
        good(copy(from, Some(space), to, Rights::ALL, 0))?;
    }
    let thread: Thread = create(bed, space)?;
    good(thread.start(code, code + 2 * PAGE, 0))?;
    good(copy(thread.0, Some(serves), REVOKER, Rights::ALL, 0))
}

fn go(bed: &mut Bed, lost: Lost, by: By) -> Result<(), Why> {
    let serves = server::placed(bed)?;
    good(serves.serve(bed.window, false))?;
    let home = new_home(bed)?;
    good(home.show(server::START, serves))?;
    write(bed, FIRST_READ, &FIRST_READ.to_le_bytes())?;
    write(bed, THEN_READ, &THEN_READ.to_le_bytes())?;
    let (code, second) = server_code();
    write(bed, SERVER_PAGE, &code)?;
    good(map(serves, SERVER_CODE, bed.ram, SERVER_PAGE * PAGE, 2 * PAGE, Rights::RWX))?;
    // Its table stays when the page is revoked.
    good(map(serves, READ + PAGE, bed.ram, THEN_READ * PAGE, PAGE, Rights(1)))?;
    if lost != Lost::Page {
        good(map(serves, READ, bed.ram, FIRST_READ * PAGE, PAGE, Rights(1)))?;
    }
    // The process; and one of another handler, in the same home, or beside it, that shows the
    // server as well.
    write(bed, PROCESS_PAGE, &process_code())?;
    write(bed, PROCESS_PAGE + 1, &[])?;
    write(bed, OTHER_PAGE + 1, &[])?;
    let (space, slot) = (bed.slot(), bed.slot());
    let process = good(QUOTA.create_space(0, space))?;
    good(map(process, CODE, bed.ram, PROCESS_PAGE * PAGE, 2 * PAGE, Rights::RWX))?;
    let (other, other_alien, handle) = alien(bed, OTHER_PAGE, &process_code())?;
    revoker(bed, (serves, process, home), lost, by)?;
    for space in [process, other] {
        good(space.show(server::START, serves))?;
    }
    if by != By::Process {
        good(home.take_in(FIRST, process, SIZE))?;
        good(home.take_in(SECOND + SIZE, other, SIZE))?;
    }
    let handle = good(run(handle))?.handle;
    let runner = create(bed, serves)?;
    let (thread, bound) = good(QUOTA.create_thread(process, slot, Some(serves)))?;
    good(thread.set_handler(Some(runner)))?;
    write(bed, SERVER_PAGE + 1, [bound.handle, bound.utcb].map(u32::to_le_bytes).as_flattened())?;
    good(runner.start(SERVER_CODE, SERVER_DATA + PAGE, 0))?;

    let (r, f) = next()?;
    if matches!(lost, Lost::Tables | Lost::Place) {
        seen(
            "it goes on",
            &f,
            f.vector == vector::INVALID_OPCODE && f.eip == second + 5 && f.eax == FIRST_READ,
        )?;
        check("all succeeded", word(bed, REVOKES_PAGE + 1)? == 0)?;
        return unharmed(bed, &other_alien, handle);
    }
    let address = if lost == Lost::Page { READ } else { second };
    seen(
        "a fault of its own",
        &f,
        f.vector == vector::PAGE_FAULT && f.address == address && f.eip == second,
    )?;
    check(
        "it had run its process, and all succeeded",
        word(bed, PROCESS_PAGE + 1)? == 1 && word(bed, REVOKES_PAGE + 1)? == 0,
    )?;
    if lost == Lost::Page {
        good(map(serves, READ, bed.ram, THEN_READ * PAGE, PAGE, Rights(1)))?;
        good(reply(r.handle, Message::default()))?;
        let (r, f) = next()?;
        seen(
            "it goes on with another",
            &f,
            f.vector == vector::INVALID_OPCODE && f.eax == THEN_READ,
        )?;
        set_frame(&Frame { eip: f.eip + 2, ..f });
        good(reply(
            r.handle,
            Message { count: abi::tag::REGISTER_WORDS + WORDS, ..Message::default() },
        ))?;
        let (_, f) = next()?;
        seen(
            "and so does its process",
            &f,
            f.vector == vector::INVALID_OPCODE && f.esi == vector::SYSTEM_CALL,
        )?;
        check("which has counted", word(bed, PROCESS_PAGE + 1)? == 2)?;
    } else {
        good(delete(serves.0))?;
    }
    unharmed(bed, &other_alien, handle)
}

/// Checks that the other process continues.
fn unharmed(bed: &Bed, other_alien: &Alien, handle: u32) -> Result<(), Why> {
    let r = good(run(handle))?;
    check(
        "the other one has an event",
        r.kind == MessageKind::Alien && other_alien.frame().vector == vector::SYSTEM_CALL,
    )?;
    check("and has counted", other_alien.frame().eax == 2 && word(bed, OTHER_PAGE + 1)? == 2)
}
