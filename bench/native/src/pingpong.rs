// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ping-pong with a working set: the caller uses data or code that fills a TLB or the trace cache,
//! calls another space, and uses it again. An interval has the call and the second use.

use crate::code::Code;
use crate::data::Data;
use crate::oneway::ANSWER;
use macadamia::interval::{begin, end};
use macadamia::ipc::{Message, call};
use macadamia::{Env, Error, Result, Thread};

/// Repetitions of each interval.
const REPETITIONS: u32 = 20;
/// Bytes from one jump to the next, and from one read to the next: a page and some more, so that
/// they are not in the same sets of the caches.
const JUMP_STRIDE: u32 = 4155;
const READ_STRIDE: u32 = 4160;
/// The step from one interval to the next: in entries of a TLB, and in `nop`s.
const ITLB_STEP: u32 = 8;
const DTLB_STEP: u32 = 4;
const NOP_STEP: u32 = 1024;
/// Bytes of the Memories, for the largest working sets.
const CODE_BYTES: u32 = 660 << 10;
const DATA_BYTES: u32 = 400 << 10;

/// One interval.
fn ping<const ID: u32>(partner: Thread, work: &dyn Fn()) -> Result<()> {
    for _ in 0..REPETITIONS {
        work();
        begin::<ID>();
        let reply = call(partner, Message::new([ANSWER, 2, 3]));
        work();
        end::<ID>();
        if reply?.words != [ANSWER, 2, 3] {
            return Err(Error::BadArgument);
        }
    }
    Ok(())
}

/// An interval for each number: `$work(i)` prepares the one number `$base + i`.
macro_rules! sweep {
    ($partner:expr, $base:literal, $prepare:expr, $work:expr, $($i:literal)*) => {
        $(
            $prepare($i);
            ping::<{ $base + $i }>($partner, &|| $work($i))?;
        )*
    };
}

/// Everything that is measured here.
pub fn measure(env: &Env) -> Result<()> {
    let (partner, code, data) =
        (env.thread("partner"), Code::open(env, CODE_BYTES)?, Data::open(env, DATA_BYTES)?);
    sweep!(partner, 100, |i| code.nops(i * NOP_STEP), |_| code.run(), 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    sweep!(partner, 120, |i| code.jumps(i * ITLB_STEP, JUMP_STRIDE), |_| code.run(), 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20);
    sweep!(partner, 150, |_| {}, |i: u32| data.read(i * DTLB_STEP, READ_STRIDE), 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);
    Ok(())
}
