// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arguments of system calls, as structures and as words.

use abi::call::{self, BadgedRights, Counts, SizedRights, SystemCall, Time};
use abi::{Op, Rights, Selector, TABLE_SPAN, UserAddr};

/// Words that are all different.
const WORDS: [abi::Word; 4] = [1, 2, 3, 4];

#[test]
fn fields_are_in_the_order_of_the_words() {
    let made = call::CreateThread {
        quota: Selector(1),
        space: Selector(2),
        destination: Selector(3),
        home: Selector(4),
    };
    assert_eq!(call::CreateThread::of(WORDS), made);
    assert_eq!(made.words(), WORDS);
    let sent = call::Send { receiver: Selector(1), words: [2, 3, 4] };
    assert_eq!(call::Send::of(WORDS), sent);
    assert_eq!(sent.words(), WORDS);
    let state = call::SetState { thread: Selector(1), part: 2, values: [3, 4] };
    assert_eq!(call::SetState::of(WORDS), state);
    assert_eq!(state.words(), WORDS);
    let start =
        call::Start { thread: Selector(1), entry: UserAddr(2), stack: UserAddr(3), argument: 4 };
    assert_eq!(call::Start::of(WORDS), start);
    assert_eq!(start.words(), WORDS);
}

#[test]
fn words_without_a_field_are_zero() {
    assert_eq!(call::Yield::of(WORDS).words(), [0; 4]);
    assert_eq!(call::Stop::of(WORDS).words(), [1, 0, 0, 0]);
    assert_eq!(call::CreateSegment::of(WORDS).words(), [1, 2, 3, 0]);
}

#[test]
fn a_time_has_two_words_of_32_bits() {
    let alarm = call::Alarm { at: Time(0x1234_5678_9abc_def0), bits: 7 };
    assert_eq!(alarm.words(), [0x9abc_def0, 0x1234_5678, 7, 0]);
    assert_eq!(call::Alarm::of(alarm.words()), alarm);
}

#[test]
fn a_word_can_have_several_arguments() {
    let counts = Counts::new(0x1234, 0x56, 0x78);
    assert_eq!(counts, Counts(0x7856_1234));
    assert_eq!(
        (counts.threads(), counts.relocation_slots(), counts.locked_ranges()),
        (0x1234, 0x56, 0x78)
    );
    let rights = BadgedRights::new(Rights::CALL, 0xabcde);
    assert_eq!(rights, BadgedRights(0xabcd_e010));
    assert_eq!((rights.rights(), rights.badge()), (Rights::CALL, 0xabcde));
    let rights = SizedRights::sized(Rights::RWX, 4 * TABLE_SPAN);
    assert_eq!((rights.rights(), rights.size()), (7, 4 * TABLE_SPAN));
    assert_eq!(SizedRights::new(Rights::READ), SizedRights(1));
}

/// Each structure has an operation of its own, and no more arguments than there are words.
#[test]
fn structures_are_of_all_operations() {
    let pages: Vec<_> = abi::syscall::GROUPS.iter().flat_map(|group| group.pages).collect();
    assert_eq!(pages.iter().map(|page| page.op).collect::<Vec<_>>(), abi::syscall::ALL);
    for page in pages {
        assert!(
            page.fields.iter().map(|field| field.words).sum::<usize>() <= WORDS.len(),
            "{:?}",
            page.op
        );
        assert_eq!(Op::from_code(page.op as u32), Some(page.op));
    }
}

/// Where words have 64 bits, what has more bits than its field is refused, and not cut: a half of a
/// time, notification bits, the selectors of a record.
#[cfg(feature = "wide")]
#[test]
fn what_has_more_bits_than_its_field_is_refused() {
    use crate::common::{call, map, slot, succeeds};
    use abi::{Error, MapRecord, PAGE_SIZE};
    const MORE: abi::Word = 1 << 32;
    let mut kernel = arch_host::boot();
    for words in [[MORE, 0, 1, 0], [0, MORE, 1, 0], [0, 0, MORE, 0]] {
        let [status, ..] = call(&mut kernel, Op::Alarm, words);
        assert_eq!(status, Error::BadArgument as abi::Word, "{words:x?}");
    }
    succeeds(&mut kernel, Op::Alarm, [1, 0, 1, 0]);
    let (space, ram) = (slot::SPACE, slot::RAM);
    let page = MapRecord::new(MapRecord::MAP, space, 16 << 20, ram, 0, PAGE_SIZE, Rights::READ);
    let [selectors, address, offset, length] = page.0;
    // An operation that needs no Memory refuses it, too.
    for op in [MapRecord::MAP, MapRecord::UNMAP, MapRecord::PROTECT] {
        let address = address & !0xf00 | (op << 8) as abi::Word;
        let more = MapRecord([selectors | MORE, address, offset, length]);
        assert_eq!(map(&mut kernel, more), Error::NoCapability as abi::Word, "{op}");
    }
    assert_eq!(map(&mut kernel, page), 0);
}
