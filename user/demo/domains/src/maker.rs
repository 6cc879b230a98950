// SPDX-License-Identifier: MIT OR Apache-2.0
//! The domain that makes ranges, and tells what comes of them.

use crate::{STRIDE, ask, walk};
use abi::frame::fault;
use macadamia::alloc::format;
use macadamia::alloc::vec::Vec;
use macadamia::ipc::{Message, call};
use macadamia::ranges::{Range, Ranges};
use macadamia::{Env, Error, Result, Rights, Thread, Word, println, result, utcb};

/// Nodes of a list.
const NODES: u32 = 64;
/// Bytes of a range that has one.
const BYTES: Word = NODES as Word * STRIDE;
/// The sum of its values as they are made: 1 to [`NODES`].
const SUM: u32 = NODES * (NODES + 1) / 2;
/// What is added to each.
const MORE: u32 = 1000;
const RW: Rights = Rights::READ.union(Rights::WRITE);

/// The components that this one knows.
struct Others {
    ranges: Ranges,
    readers: [Thread; 2],
    external: Thread,
}

/// A step of it: what should be, and whether it is.
type Step = (&'static str, bool);

/// Makes ranges, gives them away, and ends them.
pub fn run(mut env: Env) {
    let steps = steps(&mut env).unwrap_or_else(|error| panic!("{}", error.text()));
    for (name, holds) in &steps {
        println!("{}: {name}", if *holds { "yes" } else { "NO" });
        let line = if *holds {
            format!("ok sas.{}", name.replace(' ', "_"))
        } else {
            format!("not ok sas.{}", name.replace(' ', "_"))
        };
        result!("{line}");
    }
    result!("done");
}

fn steps(env: &mut Env) -> Result<Vec<Step>> {
    let others = Others {
        ranges: Ranges::new(env.thread("ranges"))?,
        readers: [env.thread("first"), env.thread("second")],
        external: env.thread("external"),
    };
    let mut steps = Vec::new();
    let (list, secret) = (others.list(env)?, others.list(env)?);
    let head = list.addresses().start;

    others.give(0, &list, Rights::READ)?;
    others.give(1, &list, RW)?;
    steps.push((
        "a pointer means the same to all",
        [0, 1].map(|reader| others.walk(reader, head, 0)) == [Ok(SUM); 2],
    ));
    let (at, error) = others.touch(0, head | 1)?;
    let forbidden = (fault::PROTECTION | fault::WRITE) as u32;
    steps.push(("who may only read has a fault", at == head && error & forbidden == forbidden));
    let written = others.walk(1, head, MORE)? == SUM && walk(&list, head, 0)? == SUM + NODES * MORE;
    steps.push((
        "what one writes all see",
        written && others.walk(0, head, 0)? == SUM + NODES * MORE,
    ));

    list.write(head, secret.addresses().start as u32)?;
    let hidden = list.read(head)? as Word;
    steps.push((
        "who has no capability has a fault",
        [0, 1].iter().all(|reader| others.touch(*reader, hidden).is_ok_and(|at| at.0 == hidden)),
    ));
    steps.push(("an external space has its own there", others.check()? == 0));

    let addresses = list.addresses();
    others.ranges.free(list)?;
    let gone = [0, 1].iter().all(|reader| others.touch(*reader, head).is_ok_and(|at| at.0 == head));
    steps.push(("an ended range is gone for all", gone));
    let again = others.ranges.create(BYTES, env.free_slot())?;
    let is_zero =
        (addresses.start..addresses.start + BYTES).step_by(4).all(|at| again.read(at) == Ok(0));
    steps.push(("the next one there is zero", again.addresses() == addresses && is_zero));

    let mut more = Vec::new();
    let refusal = loop {
        match others.ranges.create(BYTES, env.free_slot()) {
            Ok(range) => more.push(range),
            Err(error) => break error,
        }
    };
    println!("{} ranges more, then: {}", more.len(), refusal.text());
    steps.push(("used up is an error", refusal == Error::QuotaExceeded && !more.is_empty()));
    steps.push(("another has its part", answer(others.readers[1].ask([ask::MAKE, 0, 0])?).is_ok()));
    let count = more.len();
    for range in more {
        others.ranges.free(range)?;
    }
    let all: Result<Vec<Range>> =
        (0..count).map(|_| others.ranges.create(BYTES, env.free_slot())).collect();
    steps.push(("what ended can be had again", all.is_ok()));
    steps.push(("the external space is as before", others.check()? == 0));
    Ok(steps)
}

impl Others {
    /// A range with a list of 1 to [`NODES`], whose first node is at its start.
    fn list(&self, env: &mut Env) -> Result<Range> {
        let range = self.ranges.create(BYTES, env.free_slot())?;
        let start = range.addresses().start;
        for node in 0..NODES {
            let at = start + node as Word * STRIDE;
            range.write(at, node + 1)?;
            range.write(at + 4, if node + 1 < NODES { (at + STRIDE) as u32 } else { 0 })?;
        }
        Ok(range)
    }

    /// Gives a range to a reader.
    fn give(&self, reader: usize, range: &Range, rights: Rights) -> Result<()> {
        utcb::set_send_cap(0, range.share(rights));
        let addresses = range.addresses();
        let message =
            Message { caps: 1, ..Message::new([ask::JOIN, addresses.start, addresses.end]) };
        answer(call(self.readers[reader], message)?.words).map(|_| ())
    }

    fn walk(&self, reader: usize, head: Word, more: u32) -> Result<u32> {
        answer(self.readers[reader].ask([ask::WALK, head, more as Word])?)
            .map(|[sum, _]| sum as u32)
    }

    /// Where a reader's access has a page fault (0: it has none), and of what kind.
    fn touch(&self, reader: usize, what: Word) -> Result<(Word, u32)> {
        answer(self.readers[reader].ask([ask::TOUCH, what, 0])?)
            .map(|[address, error]| (address, error as u32))
    }

    /// How many words of the external space are not as it left them.
    fn check(&self) -> Result<Word> {
        self.external.ask([ask::CHECK, 0, 0]).map(|[wrong, ..]| wrong)
    }
}

fn answer([status, first, second]: [Word; 3]) -> Result<[Word; 2]> {
    match Error::from_code(status as u32) {
        Some(error) => Err(error),
        None => Ok([first, second]),
    }
}
