// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attaching a space to a home takes steps: what happens between them, and what ends meanwhile.

use super::{
    AT, MEMORY, NATIVE, OTHER, PLACE, SEGMENT, SERVER, SIZE, SMALL, THREAD, attach, check_all,
    check_home, found, machine, move_in, part, refused, there,
};
use crate::common::servers::{
    AREA, RWX, check_space, create, create_home, flush_homes, root, space_of,
};
use crate::common::{
    Found, aside, begin, begin_map, check_flushes, finish, low, map, protect, record, results,
    seen, slot, slot_of, stop, succeeds, unmap, used,
};
use abi::{Error, Op, PAGE_SIZE, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, HostFormat, WINDOWS, boot};
use kcore::Kernel;
use mmu::Format;
use std::collections::{BTreeMap, BTreeSet};

/// A machine in which the small space has a page in its first table and its last one, a large page,
/// and a segment, and is in its home up to some entry.
fn in_part(steps: usize) -> Kernel<Host> {
    let mut kernel = machine();
    assert_eq!(map(&mut kernel, record(SMALL, 0, MEMORY, 4)), 0);
    assert_eq!(map(&mut kernel, record(SMALL, TABLE_SPAN, MEMORY, TABLE_SPAN / PAGE_SIZE)), 0);
    assert_eq!(map(&mut kernel, record(SMALL, SIZE - TABLE_SPAN, MEMORY, 4)), 0);
    assert_eq!(map(&mut kernel, record(SEGMENT, 0, MEMORY, 4)), 0);
    succeeds(&mut kernel, Op::Attach, [SMALL, 4 * TABLE_SPAN, SEGMENT, RWX]);
    assert!(
        begin(&mut kernel, Op::Attach, attach(PLACE, AT, SMALL, SIZE)),
        "it checks for interrupts"
    );
    for _ in 0..steps {
        assert!(kernel.carry_on(), "it has not ended");
    }
    kernel
}

/// Steps after which the first half of the small space is in its home.
const HALF: usize = 1;

/// What becomes of an attach that is carried on.
fn outcome(kernel: &mut Kernel<Host>) -> Word {
    while kernel.carry_on() {
        check_all(kernel);
    }
    kernel.port.pending = false;
    let me = kernel.current().expect("the root server runs");
    results(&kernel.pool[me])[0]
}

#[test]
fn a_space_moves_in_in_steps() {
    for steps in 0..=HALF {
        let mut kernel = in_part(steps);
        let small = space_of(&kernel, SMALL);
        assert!(kernel.port.moved.is_empty(), "not yet");
        assert_eq!(kernel.pool[small].region.end.0, SIZE);
        assert_eq!(found(&kernel, PLACE).is_empty(), steps == 0);
        check_all(&kernel);
        // Nobody attaches it once more, nor anything there.
        let refused_aside = |kernel: &mut Kernel<Host>, args| {
            aside(kernel, |kernel| refused(kernel, Op::Attach, args, Error::Occupied))
        };
        refused_aside(&mut kernel, attach(PLACE, AT, SMALL, SIZE));
        refused_aside(&mut kernel, attach(PLACE, AT, NATIVE, SIZE));
        // What changes meanwhile is there, too.
        aside(&mut kernel, |kernel| {
            assert_eq!(map(kernel, record(SMALL, 3 * TABLE_SPAN, MEMORY, 2)), 0);
            assert_eq!(map(kernel, record(SMALL, SIZE - 2 * TABLE_SPAN, MEMORY, 2)), 0);
            assert_eq!(map(kernel, unmap(SMALL, 0, TABLE_SPAN)), 0);
            assert_eq!(map(kernel, unmap(SEGMENT, 0, TABLE_SPAN)), 0);
            assert_eq!(map(kernel, record(SEGMENT, TABLE_SPAN, MEMORY, 1)), 0);
            assert_eq!(map(kernel, record(SMALL, SIZE, MEMORY, 1)), Error::BadAddress as Word);
        });
        check_all(&kernel);
        assert_eq!(outcome(&mut kernel), 0);
        assert_eq!(check_home(&kernel, SMALL), 9 + (TABLE_SPAN / PAGE_SIZE) as usize);
        assert_eq!(kernel.port.moved.len(), 1);
    }
}

/// While the port does not know that a space is in a home, a processor may still find its pages
/// there.
#[test]
fn what_changes_while_a_space_moves_in_is_flushed_in_its_home() {
    let changes: [fn(&mut Kernel<Host>); 9] = [
        |kernel| assert_eq!(map(kernel, unmap(SMALL, 0, PAGE_SIZE)), 0),
        |kernel| assert_eq!(map(kernel, unmap(SMALL, 0, TABLE_SPAN)), 0),
        |kernel| assert_eq!(map(kernel, protect(SMALL, 0, 2 * PAGE_SIZE, Rights::READ)), 0),
        |kernel| assert_eq!(map(kernel, record(SMALL, PAGE_SIZE, MEMORY, 2)), 0),
        |kernel| assert_eq!(map(kernel, unmap(SMALL, TABLE_SPAN, PAGE_SIZE)), 0),
        |kernel| assert_eq!(map(kernel, unmap(SMALL, TABLE_SPAN, TABLE_SPAN)), 0),
        |kernel| assert_eq!(map(kernel, unmap(SEGMENT, 0, PAGE_SIZE)), 0),
        |kernel| {
            succeeds(kernel, Op::Detach, [SMALL, 4 * TABLE_SPAN, 0, 0]);
        },
        |kernel| {
            succeeds(kernel, Op::Revoke, [MEMORY, 0, 0, 0]);
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut kernel = in_part(HALF);
        let home = space_of(&kernel, PLACE);
        let before = found(&kernel, PLACE);
        stop(&mut kernel);
        kernel.port.invalidated.clear();
        kernel.port.announced.clear();
        change(&mut kernel);
        let after = found(&kernel, PLACE);
        assert_ne!(seen(&before), seen(&after), "{number}");
        check_flushes(&kernel, home, &before, &after);
        check_all(&kernel);
    }
    // A window is nowhere in the home, and no range of it is flushed there.
    let mut kernel = machine();
    succeeds(&mut kernel, Op::Attach, [SMALL, WINDOWS, SERVER, RWX]);
    assert!(
        begin(&mut kernel, Op::Attach, attach(PLACE, AT, SMALL, SIZE)),
        "it checks for interrupts"
    );
    stop(&mut kernel);
    kernel.port.invalidated.clear();
    succeeds(&mut kernel, Op::Detach, [SMALL, WINDOWS, 0, 0]);
    let home = space_of(&kernel, PLACE).address();
    assert!(kernel.port.invalidated.iter().all(|(of, _)| *of != home));
}

/// An attach whose caller is stopped leaves a part; a detach removes it.
#[test]
fn what_is_there_in_part_is_taken_away() {
    for steps in 0..=HALF {
        for detach in [false, true] {
            let mut kernel = in_part(steps);
            let (small, home) = (space_of(&kernel, SMALL), space_of(&kernel, PLACE));
            let own = seen(&found(&kernel, SMALL));
            stop(&mut kernel);
            refused(&mut kernel, Op::Attach, attach(PLACE, AT, SMALL, SIZE), Error::Occupied);
            kernel.port.invalidated.clear();
            if detach {
                succeeds(&mut kernel, Op::Detach, [PLACE, AT, 0, 0]);
            } else {
                succeeds(&mut kernel, Op::Delete, [PLACE, 0, 0, 0]);
                create_home(&mut kernel, PLACE);
            }
            assert!(
                kernel
                    .port
                    .invalidated
                    .contains(&(home.address(), UserAddr(AT)..UserAddr(AT + SIZE)))
            );
            assert!(found(&kernel, PLACE).is_empty() && kernel.port.moved.is_empty());
            assert_eq!(
                (kernel.pool[small].region.end.0, seen(&found(&kernel, SMALL))),
                (USER_END, own)
            );
            check_all(&kernel);
            move_in(&mut kernel, SMALL);
            check_home(&kernel, SMALL);
        }
    }
}

/// What another thread does while a space moves in decides where the space ends up.
#[test]
fn an_attach_goes_on_with_what_it_finds() {
    let detach = |kernel: &mut Kernel<Host>| {
        succeeds(kernel, Op::Detach, [PLACE, AT, 0, 0]);
    };
    let again = |kernel: &mut Kernel<Host>, home, at| {
        succeeds(kernel, Op::Attach, attach(home, at, SMALL, SIZE));
    };
    for steps in 0..=HALF {
        for number in 0..9 {
            let mut kernel = in_part(steps);
            aside(&mut kernel, |kernel| {
                if (1..7).contains(&number) {
                    detach(kernel);
                }
                match number {
                    2 => again(kernel, PLACE, AT),
                    3 => again(kernel, PLACE, AT + SIZE),
                    4 => {
                        create_home(kernel, OTHER);
                        again(kernel, OTHER, AT);
                    }
                    5 => assert_eq!(map(kernel, record(SMALL, SIZE, MEMORY, 1)), 0),
                    6 => move_in(kernel, NATIVE),
                    7 => {
                        succeeds(kernel, Op::Delete, [SMALL, 0, 0, 0]);
                    }
                    8 => {
                        succeeds(kernel, Op::Delete, [PLACE, 0, 0, 0]);
                    }
                    _ => {}
                }
            });
            let expected = match number {
                0..=2 => 0,
                7 | 8 => Error::NoCapability as Word,
                _ => Error::Occupied as Word,
            };
            assert_eq!(outcome(&mut kernel), expected, "{number}");
            check_all(&kernel);
            assert_eq!(
                kernel.port.moved.len(),
                usize::from(![5, 7, 8].contains(&number)),
                "{number}"
            );
            if expected == 0 {
                check_home(&kernel, SMALL);
            }
        }
    }
}

/// A server may be shown in part before the space is small, and in whole afterwards.
#[test]
fn a_server_is_shown_to_the_end_in_a_space_that_is_small_by_then() {
    let mut kernel = machine();
    for address in [WINDOWS + AREA, USER_END - PAGE_SIZE] {
        assert_eq!(map(&mut kernel, record(SERVER, address, MEMORY, 1)), 0);
    }
    assert!(
        begin(&mut kernel, Op::Attach, [SMALL, WINDOWS, SERVER, RWX]),
        "it checks for interrupts"
    );
    aside(&mut kernel, |kernel| move_in(kernel, SMALL));
    check_all(&kernel);
    finish(&mut kernel, check_all);
    assert_eq!(part(&kernel, SMALL, WINDOWS, USER_END), part(&kernel, SERVER, WINDOWS, USER_END));
    assert_eq!(kernel.port.shown.len(), 1);
    assert_eq!(check_home(&kernel, SMALL), 0);
    assert!(found(&kernel, PLACE).is_empty());
}

/// A revoke that has looked at addresses beyond the size ends, though they are not the space's any
/// more; and one that began while they were not finds what is mapped there.
#[test]
fn a_revoke_ends_in_a_space_that_moves_meanwhile() {
    for early in [false, true] {
        let mut kernel = machine();
        let small = space_of(&kernel, SMALL);
        assert_eq!(map(&mut kernel, record(SMALL, 0, MEMORY, 1)), 0);
        if !early {
            move_in(&mut kernel, SMALL);
        }
        assert!(begin(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]), "it checks for interrupts");
        let parts = HostFormat::ENTRIES as u32 / 128;
        let until = low(if early { WINDOWS } else { SIZE } / TABLE_SPAN) * parts;
        for _ in 0..10_000 {
            let at =
                kernel.pool[small].region.attached.get().expect("not before it has looked at all");
            if kernel.pool[at].cursor >= until {
                break;
            }
            kernel.carry_on();
        }
        aside(&mut kernel, |kernel| {
            if early {
                move_in(kernel, SMALL);
            } else {
                succeeds(kernel, Op::Detach, [PLACE, AT, 0, 0]);
                assert_eq!(map(kernel, record(SMALL, SIZE, MEMORY, 1)), 0);
            }
        });
        let mut steps = 0;
        while kernel.carry_on() {
            check_all(&kernel);
            steps += 1;
            assert!(steps < 10_000, "it does not end");
        }
        assert!(kernel.pool[small].region.attached.is_null() && found(&kernel, SMALL).is_empty());
    }
}

/// A space that ends takes away what is its own, in steps, and nothing else.
#[test]
fn what_ends_leaves_no_trace() {
    for ends in [SMALL, PLACE, SEGMENT, SERVER, NATIVE] {
        let mut kernel = machine();
        let start = used(&mut kernel);
        for space in [SMALL, PLACE] {
            succeeds(&mut kernel, Op::Attach, [space, WINDOWS, SERVER, RWX]);
        }
        assert_eq!(map(&mut kernel, record(SEGMENT, 0, MEMORY, 4)), 0);
        succeeds(&mut kernel, Op::Attach, [SMALL, 4 * TABLE_SPAN, SEGMENT, RWX]);
        assert_eq!(map(&mut kernel, record(SMALL, 0, MEMORY, 4)), 0);
        assert_eq!(map(&mut kernel, record(NATIVE, AREA, MEMORY, TABLE_SPAN / PAGE_SIZE)), 0);
        assert_eq!(map(&mut kernel, record(SERVER, WINDOWS + AREA, MEMORY, 4)), 0);
        move_in(&mut kernel, SMALL);
        succeeds(&mut kernel, Op::Attach, attach(PLACE, AT + SIZE, NATIVE, SIZE));
        succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, SMALL, THREAD, NATIVE]);
        check_all(&kernel);
        let before: BTreeMap<Word, Vec<Found>> =
            there(&kernel).into_iter().map(|space| (space, found(&kernel, space))).collect();
        kernel.port.invalidated.clear();
        kernel.port.announced.clear();
        let moved = kernel.port.moved.clone();
        assert!(begin(&mut kernel, Op::Delete, [ends, 0, 0, 0]), "it checks for interrupts");
        finish(&mut kernel, |kernel| {
            there(kernel).into_iter().for_each(|slot| check_space(kernel, space_of(kernel, slot)))
        });
        check_all(&kernel);
        if ends != PLACE {
            flush_homes(&mut kernel, &moved);
            check_flushes(
                &kernel,
                space_of(&kernel, PLACE),
                &before[&PLACE],
                &found(&kernel, PLACE),
            );
            assert_eq!(part(&kernel, PLACE, AT, AT + SIZE).is_empty(), ends == SMALL);
            assert_eq!(part(&kernel, PLACE, AT + SIZE, AT + 2 * SIZE).is_empty(), ends == NATIVE);
            assert_eq!(part(&kernel, PLACE, WINDOWS, USER_END).is_empty(), ends == SERVER);
        }
        let moved =
            if ends == PLACE { 0 } else { 2 - usize::from(ends == SMALL || ends == NATIVE) };
        assert_eq!(kernel.port.moved.len(), moved);
        for slot in [THREAD, SMALL, PLACE, SEGMENT, SERVER, NATIVE, MEMORY] {
            if !slot_of(&kernel, root(&kernel), slot).is_empty() {
                succeeds(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
            }
        }
        assert!(kernel.port.moved.is_empty() && kernel.port.shown.is_empty());
        assert_eq!(used(&mut kernel), used(&mut boot()), "all comes back");
        assert!(used(&mut kernel) < start);
    }
}

/// What is about to end is attached nowhere any more.
#[test]
fn a_segment_that_ends_is_not_attached() {
    let mut kernel = machine();
    move_in(&mut kernel, SMALL);
    for place in [0, 4 * TABLE_SPAN, 8 * TABLE_SPAN] {
        succeeds(&mut kernel, Op::Attach, [SMALL, place, SEGMENT, RWX]);
    }
    assert!(begin(&mut kernel, Op::Delete, [SEGMENT, 0, 0, 0]), "it checks for interrupts");
    aside(&mut kernel, |kernel| {
        refused(kernel, Op::Attach, [SMALL, 16 * TABLE_SPAN, SEGMENT, RWX], Error::BadState)
    });
    finish(&mut kernel, check_all);
    assert_eq!(check_home(&kernel, SMALL), 0);
}

/// A segment that many small spaces of one home have: a change reaches the home at each place.
#[test]
fn a_segment_changes_in_many_small_spaces_in_steps() {
    let mut kernel = machine();
    let first = slot::FREE + 16;
    let (size, count) = (4 * TABLE_SPAN, 80);
    for number in 0..count {
        create(&mut kernel, first + number, None);
        succeeds(&mut kernel, Op::Attach, [first + number, 0, SEGMENT, RWX]);
        succeeds(&mut kernel, Op::Attach, attach(PLACE, number * size, first + number, size));
    }
    let counts = |kernel: &Kernel<Host>| {
        let all = seen(&found(kernel, PLACE));
        let of = |number: Word| {
            all.range(UserAddr(number * size)..UserAddr((number + 1) * size)).count()
        };
        (0..count).map(of).collect::<BTreeSet<_>>()
    };
    assert!(
        begin_map(&mut kernel, record(SEGMENT, TABLE_SPAN, MEMORY, 3)),
        "it checks for interrupts"
    );
    assert_eq!(counts(&kernel), BTreeSet::from([0, 3]));
    finish(&mut kernel, check_all);
    assert_eq!(counts(&kernel), BTreeSet::from([3]));
    let (walker, all) = (kernel.port.walker.len(), kernel.port.all_invalidated);
    assert!(
        begin_map(&mut kernel, unmap(SEGMENT, TABLE_SPAN, TABLE_SPAN)),
        "it checks for interrupts"
    );
    assert_eq!(counts(&kernel), BTreeSet::from([0, 3]));
    finish(&mut kernel, check_all);
    assert_eq!((counts(&kernel), kernel.port.walker.len()), (BTreeSet::from([0]), walker));
    assert!(kernel.port.all_invalidated > all, "no translation is left");
}
