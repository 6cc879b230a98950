// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel reads of its command line.

use arch_common::options::{chosen, is_said, number};
use arch_common::platform::Platform;

/// A board that says nothing, and whose end is a test's.
struct Board;

impl Platform for Board {
    type Console = String;

    fn power_off() -> ! {
        panic!("the machine ends")
    }
}

fn bytes(line: &str) -> impl Iterator<Item = u8> {
    line.bytes()
}

/// What `size=` takes in these tests.
fn size(line: impl Iterator<Item = u8>) -> u32 {
    chosen::<Board, _>(line, "size", 7, "a number", |value| value.parse().ok())
}

#[test]
fn a_word_is_a_whole_word() {
    for (line, expected) in [
        ("", false),
        ("word", true),
        ("a word of it", true),
        ("the\tword\n", true),
        ("words", false),
        ("sword a wor", false),
        ("wor d word", true),
        ("swords word", true),
        ("a\0word", false),
    ] {
        assert_eq!(is_said(bytes(line), "word"), expected, "{line}");
    }
}

#[test]
fn a_value_is_what_is_after_the_name_and_the_first_counts() {
    for (line, expected) in [
        ("", 7),
        ("size=3", 3),
        ("a=1  size=3 size=4", 3),
        ("resize=3", 7),
        ("sizes=3 size", 7),
        ("\0size=3", 7),
    ] {
        assert_eq!(size(bytes(line)), expected, "{line}");
    }
    assert_eq!(number::<Board>(bytes("a b=x size=12"), "size"), 12);
}

#[test]
fn a_word_counts_wherever_it_is_in_a_long_line() {
    let line = format!("{} {} size=3 word", "x".repeat(4000), "y ".repeat(2000));
    assert_eq!(size(bytes(&line)), 3);
    assert!(is_said(bytes(&line), "word"));
}

#[test]
fn a_line_without_an_end_is_none() {
    assert_eq!(size(std::iter::repeat_n(b'x', 1 << 20).chain(bytes(" size=3"))), 7);
}

#[test]
#[should_panic(expected = "the machine ends")]
fn a_value_that_is_none_ends_the_machine() {
    size(bytes("size=big"));
}

#[test]
#[should_panic(expected = "the machine ends")]
fn a_value_that_is_no_text_ends_the_machine() {
    size(b"size=\xff".iter().copied());
}

#[test]
#[should_panic(expected = "the machine ends")]
fn no_value_is_cut() {
    size(bytes(&format!("size={}3", "0".repeat(80))));
}

#[test]
#[should_panic(expected = "the machine ends")]
fn a_number_has_to_be_there() {
    number::<Board>(bytes("size=big"), "size");
}
