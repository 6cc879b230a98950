// SPDX-License-Identifier: MIT OR Apache-2.0
//! A domain that is given ranges.

use crate::{ask, walk};
use abi::PAGE_SIZE;
use macadamia::cap::{copy, delete};
use macadamia::map::Window;
use macadamia::ranges::{Range, Ranges};
use macadamia::{
    Env, Error, MessageKind, Received, Result, Rights, Segment, Thread, Word, ipc, slot, thread,
    utcb,
};

/// The badge of what a thread of the own space did.
const TOUCHED: u32 = 1;

/// Slots that are used again and again.
struct Slots {
    segment: Word,
    thread: Word,
    handler: Word,
}

/// Does what it is asked to, for ever.
pub fn run(mut env: Env) {
    let slots =
        Slots { segment: env.free_slot(), thread: env.free_slot(), handler: env.free_slot() };
    if let Err(error) =
        copy(slot::THREAD as Word, None, slots.handler, Rights::CALL, TOUCHED as Word)
    {
        panic!("no capability to itself: {}", error.text());
    }
    let mut range = None;
    let ranges = env.given("ranges").and_then(|_| Ranges::new(env.thread("ranges")).ok());
    utcb::set_receive_slot(slots.segment as u32);
    ipc::serve(|received| {
        let answer = match received.words[0] {
            ask::JOIN => join(&mut range, &slots, received).map(|()| [0; 3]),
            ask::WALK => match &range {
                Some(range) => walk(range, received.words[1], received.words[2] as u32)
                    .map(|sum| [0, sum as Word, 0]),
                None => Err(Error::BadState),
            },
            ask::TOUCH => touch(&slots, received.words[1]),
            ask::MAKE => make(ranges, &slots).map(|()| [0; 3]),
            _ => Err(Error::BadOperation),
        };
        Some(answer.unwrap_or_else(|error| [error as Word, 0, 0]))
    });
}

/// Makes a range, and ends it.
fn make(ranges: Option<Ranges>, slots: &Slots) -> Result<()> {
    let ranges = ranges.ok_or(Error::NoCapability)?;
    // What comes with a message goes to that slot, too.
    let made = ranges.create(PAGE_SIZE, slots.segment)?;
    ranges.free(made)
}

/// Takes the range that came, in place of the last one.
fn join(range: &mut Option<Range>, slots: &Slots, received: &Received) -> Result<()> {
    *range = None;
    let [_, start, end] = received.words;
    // All that may be done with it: it is the maker's business to give less.
    let segment = Segment(slots.segment);
    let joined = Range::join(segment, start..end, Rights::READ.union(Rights::WRITE))
        .or_else(|_| Range::join(segment, start..end, Rights::READ));
    // What is attached stays without the capability.
    delete(slots.segment)?;
    *range = Some(joined?);
    Ok(())
}

/// Has another thread access a word. The answer says the address of its page fault, or 0 if it had
/// none, and the error.
fn touch(slots: &Slots, what: Word) -> Result<[Word; 3]> {
    let thread = thread::spawn_handled(access, what, slots.thread, Some(Thread(slots.handler)))?;
    let event = ipc::receive(None)?;
    let answer = if event.kind == MessageKind::Exception && event.badge == TOUCHED {
        [0, event.words[1], event.words[2]]
    } else {
        [0; 3]
    };
    thread.stop()?;
    delete(slots.thread)?;
    Ok(answer)
}

/// Accesses a word, and says so.
extern "C" fn access(what: Word) -> ! {
    let address = what & !3;
    if let Ok(window) = Window::over(address & !(PAGE_SIZE - 1), PAGE_SIZE) {
        let offset = address % PAGE_SIZE;
        if what & 1 == 0 {
            let _ = window.read(offset);
        } else {
            window.write(offset, 0);
        }
    }
    // There was no exception.
    let _ = ipc::send(Thread(slot::THREAD as Word), ipc::Message::default());
    loop {
        let _ = ipc::wait(0);
    }
}
