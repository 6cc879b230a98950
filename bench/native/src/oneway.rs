// SPDX-License-Identifier: MIT OR Apache-2.0
//! IPC of three words with another space, each way an interval of its own: it begins on one side
//! and ends on the other. It is measured with hot caches, and with first-level caches that have
//! nothing of it.

use crate::code::Code;
use crate::data::Data;
use core::arch::global_asm;
use core::convert::Infallible;
use macadamia::interval::{begin, end};
use macadamia::ipc::{Message, Received, call, reply_wait};
use macadamia::{Env, Error, Result, Thread};

const CALL: u32 = 10;
const REPLY: u32 = 11;
const COLD_CALL: u32 = 12;
const COLD_REPLY: u32 = 13;
/// Intervals there and back: all hot; and with a cold call and a hot reply.
const ROUND_TRIP: u32 = 14;
const BAD_ROUND_TRIP: u32 = 15;

/// Repetitions of each interval.
const REPETITIONS: u32 = 100;
/// Word 0 of a message: what the partner does with the next [`REPETITIONS`] messages.
const HOT: u32 = 1;
const COLD: u32 = 2;
/// What it does with all other messages: it answers.
pub const ANSWER: u32 = 0;

/// Twice the bytes of each first-level cache of a Pentium: two lines for each line of a set.
const FLOOD: u32 = 16384;
/// Bytes of its lines.
const LINE: u32 = 32;

/// Displaces everything else from the first-level caches.
struct Flood {
    code: Code,
    data: Data,
}

impl Flood {
    fn open(env: &Env) -> Result<Self> {
        let code = Code::open(env, FLOOD + abi::PAGE_SIZE)?;
        code.jumps(FLOOD / LINE, LINE);
        Ok(Self { code, data: Data::open(env, FLOOD)? })
    }

    #[inline(always)]
    fn run(&self) {
        self.code.run();
        self.data.read(FLOOD / LINE, LINE);
    }
}

const fn message(what: u32) -> Message {
    Message::new([what, 2, 3])
}

// Both sides' code begins a quarter into a page, and ends in it, wherever the linker puts it. A
// cache that has two lines for each place in a page holds both, and what the kernel executes of a
// call, which lies in the first quarter: no misses, not by luck.
global_asm!(".section .text.oneway, \"ax\", @progbits", ".balign {page}", ".skip {quarter}", ".text", page = const abi::PAGE_SIZE, quarter = const abi::PAGE_SIZE / 4);

/// Answers every message; with what a message asks for, [`REPETITIONS`] of them within intervals.
// SAFETY: the section is one of code, and nothing else is in it.
#[unsafe(link_section = ".text.oneway")]
#[inline(never)]
pub fn serve(env: &Env) -> Result<Infallible> {
    let flood = Flood::open(env)?;
    let (mut handle, reply) = (0, message(ANSWER));
    loop {
        let received = reply_wait(handle, reply)?;
        handle = match received.words[0] {
            HOT => answer_within::<REPLY, CALL>(received.handle, || {})?,
            COLD => answer_within::<COLD_REPLY, COLD_CALL>(received.handle, || flood.run())?,
            _ => received.handle,
        };
    }
}

/// Answers [`REPETITIONS`] messages and returns the handle of the next one, which is not answered
/// yet.
#[inline(always)]
fn answer_within<const BEGUN: u32, const ENDED: u32>(
    first: u32,
    prepare: impl Fn(),
) -> Result<u32> {
    let mut handle = first;
    for _ in 0..REPETITIONS {
        prepare();
        begin::<BEGUN>();
        let received = reply_wait(handle, message(ANSWER));
        end::<ENDED>();
        handle = received?.handle;
    }
    Ok(handle)
}

/// Calls until the partner has answered [`REPETITIONS`] messages within intervals.
#[inline(always)]
fn call_within<const BEGUN: u32, const ENDED: u32>(
    partner: Thread,
    what: u32,
    prepare: impl Fn(),
) -> Result<()> {
    let mut reply = call(partner, message(what));
    end::<ENDED>();
    checked(reply)?;
    for i in 1..=REPETITIONS {
        prepare();
        begin::<BEGUN>();
        reply = call(partner, message(ANSWER));
        // The partner answers the last one outside of an interval.
        if i < REPETITIONS {
            end::<ENDED>();
        }
        checked(reply)?;
    }
    Ok(())
}

/// Calls, and gets the reply, within intervals.
#[inline(always)]
fn there_and_back<const ID: u32>(partner: Thread, prepare: impl Fn()) -> Result<()> {
    for _ in 0..REPETITIONS {
        prepare();
        begin::<ID>();
        let reply = call(partner, message(ANSWER));
        end::<ID>();
        checked(reply)?;
    }
    Ok(())
}

fn checked(reply: Result<Received>) -> Result<()> {
    if reply?.words == [ANSWER, 2, 3] { Ok(()) } else { Err(Error::BadArgument) }
}

/// Everything that is measured here.
// SAFETY: as above.
#[unsafe(link_section = ".text.oneway")]
#[inline(never)]
pub fn measure(env: &Env) -> Result<()> {
    let (flood, partner) = (Flood::open(env)?, env.thread("partner"));
    call_within::<CALL, REPLY>(partner, HOT, || {})?;
    call_within::<COLD_CALL, COLD_REPLY>(partner, COLD, || flood.run())?;
    round_trips(partner, &flood)
}

// SAFETY: as above.
#[unsafe(link_section = ".text.oneway")]
#[inline(never)]
fn round_trips(partner: Thread, flood: &Flood) -> Result<()> {
    there_and_back::<ROUND_TRIP>(partner, || {})?;
    there_and_back::<BAD_ROUND_TRIP>(partner, || flood.run())
}
