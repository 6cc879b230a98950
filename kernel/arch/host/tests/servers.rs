// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers, and the spaces that show them: what their tables have.

mod errors;
mod steps;

use crate::common::servers::{ALL_WINDOWS, AREA, READ_WRITE, RWX, check_space, create, space_of};
use crate::common::{aside, begin, derive, leaves_of, low, map, record, seen, slot, succeeds};
use abi::{Op, PAGE_SIZE, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, HostFormat, WINDOWS, boot};
use kcore::{Kernel, Owner};
use mmu::Format;

/// Slots of what has a name in most tests.
const SERVER: Word = slot::FREE;
const PROCESS: Word = slot::FREE + 1;
const SEGMENT: Word = slot::FREE + 2;
const MEMORY: Word = slot::FREE + 3;
const OTHER: Word = slot::FREE + 4;
const COPY: Word = slot::FREE + 5;
const THREAD: Word = slot::FREE + 6;
const PART: Word = slot::FREE + 7;
/// The first of many spaces.
const FIRST: Word = slot::FREE + 8;

/// Makes a server with all of the window.
fn serve(kernel: &mut Kernel<Host>, space: Word) {
    create(kernel, space, Some(WINDOWS));
    succeeds(kernel, Op::Serve, [space, ALL_WINDOWS, 0, 0]);
}

fn show(kernel: &mut Kernel<Host>, space: Word, server: Word) {
    succeeds(kernel, Op::Attach, [space, WINDOWS, server, RWX]);
}

/// A machine with a server, a space of aliens, a segment and 16 pages of RAM.
fn machine() -> Kernel<Host> {
    let mut kernel = boot();
    serve(&mut kernel, SERVER);
    create(&mut kernel, PROCESS, None);
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, 3 * TABLE_SPAN, SEGMENT, 0]);
    assert_eq!(derive(&mut kernel, slot::RAM, 0, 16 * PAGE_SIZE, MEMORY), 0);
    kernel
}

#[test]
fn threads_of_a_server_have_their_utcbs_where_it_is_shown() {
    let mut kernel = machine();
    show(&mut kernel, PROCESS, SERVER);
    let (server, process) = (space_of(&kernel, SERVER), space_of(&kernel, PROCESS));
    let both = |kernel: &Kernel<Host>| {
        [server, process].map(|space| seen(&leaves_of(kernel, Owner::Space(space))))
    };
    let [before, shown] = both(&kernel);
    assert_eq!((&before, before.len()), (&shown, 1), "the information page");
    for home in [0, SERVER] {
        let runs_in = if home == 0 { SERVER } else { PROCESS };
        let [_, utcb, ..] =
            succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, runs_in, THREAD, home]);
        let [made, shown] = both(&kernel);
        assert_eq!(made, shown);
        assert_eq!(made[&UserAddr(utcb).align_down(PAGE_SIZE)].1, READ_WRITE);
        check_space(&kernel, process);
        kernel.port.invalidated.clear();
        succeeds(&mut kernel, Op::Delete, [THREAD, 0, 0, 0]);
        let [left, shown] = both(&kernel);
        assert_eq!((&left, &shown), (&before, &before));
        assert!(
            kernel
                .port
                .invalidated
                .iter()
                .any(|(of, range)| *of == server.address() && range.contains(&UserAddr(utcb)))
        );
    }
}

/// Tables that another thread has emptied before are the supervisor's, too.
#[test]
fn a_server_has_no_table_that_users_reach() {
    let mut kernel = machine();
    create(&mut kernel, OTHER, Some(WINDOWS));
    let address = USER_END - PAGE_SIZE;
    for address in [0x1000_0000, WINDOWS - PAGE_SIZE, WINDOWS + AREA, address] {
        assert_eq!(map(&mut kernel, record(OTHER, address, MEMORY, 1)), 0);
    }
    succeeds(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]);
    succeeds(&mut kernel, Op::Serve, [OTHER, ALL_WINDOWS, 0, 0]);
    let server = space_of(&kernel, OTHER);
    check_space(&kernel, server);
    show(&mut kernel, PROCESS, OTHER);
    assert_eq!(map(&mut kernel, record(OTHER, address, MEMORY, 1)), 0);
    check_space(&kernel, server);
    check_space(&kernel, space_of(&kernel, PROCESS));
}

/// A revoke that has looked at the window's addresses ends, though they are not the space's any
/// more.
#[test]
fn a_revoke_ends_in_a_space_that_shows_a_server_meanwhile() {
    let mut kernel = machine();
    assert_eq!(map(&mut kernel, record(PROCESS, 0, MEMORY, 1)), 0);
    assert!(begin(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]), "it checks for interrupts");
    let process = space_of(&kernel, PROCESS);
    for _ in 0..10_000 {
        let at =
            kernel.pool[process].region.attached.get().expect("not before it has looked at all");
        if kernel.pool[at].cursor >= attach_cursor(USER_END) {
            break;
        }
        kernel.carry_on();
    }
    aside(&mut kernel, |kernel| show(kernel, PROCESS, SERVER));
    for _ in 0..10_000 {
        kernel.carry_on();
    }
    assert!(kernel.pool[process].region.attached.is_null(), "it has found all");
    assert!(!kernel.carry_on(), "it has ended");
}

/// What a revoke notes when it goes on at an address: it looks at a table in parts of 128 entries.
fn attach_cursor(address: Word) -> u32 {
    low(address / TABLE_SPAN) * (HostFormat::ENTRIES as u32 / 128)
}
