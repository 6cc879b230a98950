// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a thread's state that only IA-32 has: what is refused.

use crate::{Case, SELF, fails};
use abi::state::{DEBUG, TLS_COUNT};
use abi::{USER_END, call};
use macadamia::{Error, sys};

pub const CASES: &[Case] = &[
    ("tls_slots_are_three", |_| {
        fails(SELF.set_tls(DEBUG, 0, 0), Error::BadArgument)?;
        (TLS_COUNT..DEBUG).try_for_each(|item| {
            fails(
                sys::call(call::SetState { thread: SELF.into(), part: item, values: [0, 0] })
                    .map(|_| ()),
                Error::BadArgument,
            )
        })
    }),
    ("tls_limits_have_24_bits", |_| fails(SELF.set_tls(0, 0, 1 << 24), Error::BadArgument)),
    ("debug_registers_4_to_6_are_refused", |_| {
        (4..7).try_for_each(|index| fails(SELF.set_debug(index, 0).map(|_| ()), Error::BadArgument))
    }),
    ("breakpoints_in_the_kernel_are_refused", |_| {
        fails(SELF.set_debug(0, USER_END).map(|_| ()), Error::BadArgument)
    }),
    ("global_breakpoints_are_refused", |_| {
        fails(SELF.set_debug(7, 1 << 13).map(|_| ()), Error::BadArgument)
    }),
    ("port_breakpoints_are_refused", |_| {
        fails(SELF.set_debug(7, 2 << 16).map(|_| ()), Error::BadArgument)
    }),
];
