// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which values the kernel accepts in a frame that a hostile handler wrote.
#![cfg(feature = "wide")]

use abi::frame::{CHANGED_STATE, GENERAL, USER_FLAGS};
use abi::state::{DEBUG, GS_BASE};
use abi::{Error, Frame, USER_END, UserAddr};
use bytemuck::Zeroable;
use kcore::Thread;
use kcore::port::Registers;
use proptest::prelude::*;
use x86_64_context::{FIXED_FLAGS, X86_64, goes_nowhere, lazy, selector, state, state_mut, word};

fn thread() -> Box<Thread> {
    let mut thread = Box::new(Thread::zeroed());
    X86_64::start(&mut thread.context, UserAddr(1), UserAddr(2), UserAddr(3), 4);
    thread
}

proptest! {
    #[test]
    fn a_frame_says_what_was_put_into_it_and_gives_no_right(words in prop::array::uniform23(any::<u64>())) {
        let frame: Frame = bytemuck::cast(words);
        let mut thread = thread();
        X86_64::load_frame(&mut thread, &frame);
        let c = &thread.context;
        prop_assert_eq!(&c[word::GENERAL..word::GENERAL + GENERAL], &frame.r);
        prop_assert_eq!(c[word::RFLAGS] & !USER_FLAGS, FIXED_FLAGS);
        prop_assert_eq!(c[word::CS], u64::from(selector::USER_CODE));
        prop_assert_eq!(c[word::SS], u64::from(selector::USER_DATA));
        prop_assert_eq!(goes_nowhere(c), frame.rip >= USER_END);
        let took = frame.changed & CHANGED_STATE != 0 && frame.fs_base < USER_END;
        prop_assert_eq!(state(&thread).fs_base, if took { frame.fs_base } else { 0 });
        prop_assert_eq!(thread.lazy & lazy::FS != 0, state(&thread).fs_base != 0);
        let seen = X86_64::frame(&thread);
        prop_assert_eq!((seen.r, seen.rsp, seen.rip), (frame.r, frame.rsp, frame.rip));
        prop_assert_eq!((seen.vector, seen.error), (frame.vector, frame.error));
    }

    #[test]
    fn a_base_that_is_no_users_is_refused(base in any::<u64>(), shift in 0..64u32) {
        let (base, mut thread) = (base >> shift, thread());
        let answer = X86_64::set_state(&mut thread, 0, [base, 0]);
        prop_assert_eq!(answer, if base < USER_END { Ok(0) } else { Err(Error::BadArgument) });
        prop_assert_eq!(state(&thread).fs_base, if base < USER_END { base } else { 0 });
        let answer = X86_64::set_state(&mut thread, GS_BASE.into(), [base, 0]);
        prop_assert_eq!(answer, if base < USER_END { Ok(0) } else { Err(Error::BadArgument) });
        prop_assert_eq!(state(&thread).gs_base, if base < USER_END { base } else { 0 });
        prop_assert_eq!(thread.lazy & lazy::GS != 0, state(&thread).gs_base != 0);
    }

    #[test]
    fn a_breakpoint_is_at_an_address_of_users(index in 0..9u64, value in any::<u64>(), shift in 0..64u32) {
        let (value, mut thread) = (value >> shift, thread());
        let answer = X86_64::set_state(&mut thread, u64::from(DEBUG) + index, [value, 0]);
        let is_address = index < 4 && value < USER_END;
        let ports = (0..4).any(|i| value >> (16 + 4 * i) & 3 == 2);
        let is_control = index == 7 && value >> 32 == 0 && value & 0xfc00 == 0 && !ports;
        prop_assert_eq!(answer, if is_address || is_control { Ok(0) } else { Err(Error::BadArgument) });
        let debug = state(&thread).debug;
        prop_assert!(debug[..4].iter().all(|address| *address < USER_END) && debug[4] == 0);
        // No more than local enables, conditions and lengths.
        prop_assert_eq!(debug[5], if is_control { value & 0xffff_0055 } else { 0 });
        prop_assert_eq!(thread.lazy & lazy::DEBUG != 0, debug[5] != 0);
    }
}

#[test]
fn the_status_of_breakpoints_is_taken_once() {
    let mut thread = thread();
    state_mut(&mut thread).debug[4] = 5;
    let mut take = || X86_64::set_state(&mut thread, u64::from(DEBUG), [0, 0]);
    assert_eq!((take(), take()), (Ok(5), Ok(0)));
}

#[test]
fn the_words_of_a_call_are_ten_registers() {
    let mut thread = thread();
    for index in 0..2 + abi::tag::REGISTER_WORDS as usize {
        X86_64::set_result(&mut thread.context, index, 100 + index as u64);
        assert_eq!(X86_64::argument(&thread.context, index), 100 + index as u64);
    }
    // rax rbx rcx rdx rsi rdi rbp, r8 to r15.
    let expected = [100, 0, 0, 103, 102, 101, 0, 104, 105, 106, 0, 107, 108, 109, 0];
    assert_eq!(thread.context[word::GENERAL..word::VECTOR], expected);
}
