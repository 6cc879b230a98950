// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's part of a native space at the place that a port chooses, and UTCBs that the kernel
//! does not access in the pool.

use crate::common;

use abi::utcb::{SLOT_USED, SLOTS, SLOTS_A_PAGE, slot_offset};
use abi::{Error, MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, Word};
use arch_host::{ELSEWHERE, Host, boot_elsewhere};
use common::{call, low, named, slot, succeeds};
use kcore::{Kernel, Space, Thread};
use pool::Ref;

const SPACE: Word = slot::FREE;
const SEGMENT: Word = slot::FREE + 1;
const FIRST: Word = slot::FREE + 2;

fn map(kernel: &mut Kernel<Host>, address: Word, bytes: Word) -> Word {
    common::map(
        kernel,
        MapRecord::new(MapRecord::MAP, SPACE, address, slot::RAM, 0, bytes, Rights::READ),
    )
}

fn create_thread(kernel: &mut Kernel<Host>, to: Word) -> [Word; 5] {
    call(kernel, Op::CreateThread, [slot::QUOTA, SPACE, to, 0])
}

#[test]
fn users_map_below_and_above_it_but_not_in_it() {
    let mut kernel = boot_elsewhere();
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 4, SPACE, 0]);
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, TABLE_SPAN, SEGMENT, 0]);
    let (start, end, refused) = (ELSEWHERE.start.0, ELSEWHERE.end.0, Error::BadAddress as Word);
    let pages =
        [(0, 0), (start - PAGE_SIZE, 0), (start, refused), (end - PAGE_SIZE, refused), (end, 0)];
    for (address, status) in pages {
        assert_eq!(map(&mut kernel, address, PAGE_SIZE), status, "{address:#x}");
    }
    assert_eq!(map(&mut kernel, start - PAGE_SIZE, 2 * PAGE_SIZE), refused, "into it");
    assert_eq!(
        map(&mut kernel, start - PAGE_SIZE, TABLE_SPAN + 2 * PAGE_SIZE),
        refused,
        "across it"
    );
    for (address, status) in [(start - 2 * TABLE_SPAN, 0), (start, refused), (end + TABLE_SPAN, 0)]
    {
        assert_eq!(
            call(&mut kernel, Op::Attach, [SPACE, address, SEGMENT, Rights::READ.0 as Word])[0],
            status,
            "{address:#x}"
        );
    }
    let readable = |kernel: &mut Kernel<Host>, address| {
        succeeds(kernel, Op::Lookup, [SPACE, address, 0, 0])[1] != 0
    };
    assert!(
        readable(&mut kernel, ELSEWHERE.kip.expect("it has one").0)
            && !readable(&mut kernel, ELSEWHERE.first_slot.0)
    );
}

#[test]
fn every_slot_is_a_place_of_its_own_and_can_be_had_again() {
    let mut kernel = boot_elsewhere();
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 4, SPACE, 0]);
    // The leaf table of the first slots stays, if it is not that of the information page.
    assert_eq!(create_thread(&mut kernel, FIRST)[0], 0);
    succeeds(&mut kernel, Op::Delete, [FIRST, 0, 0, 0]);
    let before = succeeds(&mut kernel, Op::QuotaInfo, [slot::QUOTA, 0, 0, 0]);
    let pages = 3;
    let count = pages * SLOTS_A_PAGE as Word;
    let root =
        kernel.current().and_then(|me| kernel.pool[me].space.get()).expect("the root server runs");
    for turn in 0..2 {
        for i in 0..count {
            let [status, address, ..] = create_thread(&mut kernel, FIRST + i);
            assert_eq!((status, address), (0, ELSEWHERE.first_slot.0 + slot_offset(i as u32)));
            let utcb = kernel.pool[named::<Thread>(&kernel, root, FIRST + i)].utcb;
            assert!(utcb < pool::BASE, "not in the pool");
            assert!(
                kernel.pool.bytes_at(utcb, 64).iter().all(|byte| *byte == 0),
                "not clear in turn {turn}"
            );
            kernel.pool.bytes_mut(utcb, SLOT_USED).fill(0xa5);
        }
        let there = succeeds(
            &mut kernel,
            Op::Lookup,
            [SPACE, ELSEWHERE.first_slot.0 + (pages - 1) * PAGE_SIZE, 0, 0],
        );
        assert_eq!(Rights(low(there[1])).intersection(Rights::WRITE), Rights::WRITE);
        (0..count).for_each(|i| _ = succeeds(&mut kernel, Op::Delete, [FIRST + i, 0, 0, 0]));
        assert_eq!(
            succeeds(&mut kernel, Op::QuotaInfo, [slot::QUOTA, 0, 0, 0])[1],
            before[1],
            "a page stays"
        );
    }
}

#[test]
fn a_space_has_as_many_slots_as_the_contract_says() {
    let mut kernel = boot_elsewhere();
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 4, SPACE, 0]);
    let root =
        kernel.current().and_then(|me| kernel.pool[me].space.get()).expect("the root server runs");
    let space: Ref<Space> = named(&kernel, root, SPACE);
    // All except one are marked, because more threads do not fit.
    let map = kernel.pool[space].utcb_map.get().expect("it is native");
    for index in 0..SLOTS as usize - 1 {
        kernel.pool[map].0[index / 32] |= 1 << (index % 32);
    }
    assert_eq!(
        create_thread(&mut kernel, FIRST)[..2],
        [0, ELSEWHERE.first_slot.0 + slot_offset(SLOTS - 1)]
    );
    assert_eq!(create_thread(&mut kernel, FIRST + 1)[0], Error::PoolExhausted as Word);
}
