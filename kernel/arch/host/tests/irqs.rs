// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupt lines: as many as the board has.

use crate::common;

use abi::{Error, Op, Rights, Word};
use arch_host::{LINES, boot};
use common::{call, low, slot, succeeds};

#[test]
fn each_line_of_the_board_notifies_who_is_bound_to_it() {
    const BIT: u32 = 1 << 7;
    const ALL: Word = LINES as Word;
    let mut kernel = boot();
    let me = kernel.current().expect("the root server runs");
    succeeds(
        &mut kernel,
        Op::Copy,
        [slot::THREAD, 0, slot::FREE, (Rights::ALL.0 | BIT << abi::Delivery::BADGE_SHIFT) as Word],
    );
    // The first line is the kernel's; the last is after a word's bits.
    let last = ALL - 1;
    for (line, status) in
        [(0, Error::NoCapability as Word), (1, 0), (last, 0), (ALL, Error::WrongKind as Word)]
    {
        assert_eq!(
            call(&mut kernel, Op::BindIrq, [slot::IRQ + line, slot::FREE, 0, 0])[0],
            status,
            "line {line}"
        );
    }
    for line in [last, 1] {
        kernel.interrupt(low(line));
        assert_eq!(std::mem::take(&mut kernel.pool[me].signals), BIT, "line {line}");
        succeeds(&mut kernel, Op::AckIrq, [slot::IRQ + line, 0, 0, 0]);
    }
    succeeds(&mut kernel, Op::Delete, [slot::IRQ + last, 0, 0, 0]);
    for line in [low(last), 2, LINES as u32, u32::MAX] {
        kernel.interrupt(line);
        assert_eq!(kernel.pool[me].signals, 0, "line {line}");
    }
}
