// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the kernel keeps interrupts waiting.
//!
//! A *stretch* is what the kernel executes between two points at which an interrupt would be taken
//! or noticed. Such points are user mode; on IA-32 and x86-64 `sti` (the kernel has an instruction
//! after each) and `hlt`; on ARM a read of the interrupt controller's status; on PowerPC one of the
//! decrementer; on MIPS one of Cause. A stretch begins with an entry from user mode or after such a
//! point. The longest stretch of each kind of entry is kept, with the functions in it; if a program
//! names its cases, this is done for each case. What comes before the first return to user mode is
//! boot, and no stretch; a panic, which never ends, is none either.

use crate::report::{LatencyReport, StretchReport};
use crate::symbols::Symbols;
use abi::{Op, Tag};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A kind of stretch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Cause {
    /// Where the kernel was entered, and the tag of a system call then.
    Entry(u32, u32),
    /// The kernel waited for an interrupt.
    Idle,
}

/// What is executed.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Nothing counts before the first return to user mode.
    Boot,
    /// User mode is executed, or due.
    User,
    /// A stretch began after this many instructions.
    Kernel(Cause, u64),
}

/// Instructions of a stretch, and the addresses of the blocks that they are in.
type Found = (u64, Vec<(u32, u64)>);

/// The instrument. Only kernel code is reported to it.
#[derive(Debug)]
pub struct Latency {
    state: State,
    /// Entries of system calls, at which a register has the tag.
    calls: Vec<u32>,
    /// Number of the case, in `names`.
    case: usize,
    names: Vec<String>,
    /// Instructions of this stretch by block; blocks begin at these addresses.
    blocks: Vec<(u32, u64)>,
    index: FxHashMap<u32, usize>,
    /// Blocks that are not at 0.
    touched: Vec<usize>,
    /// The block in execution, and when it began.
    block: Option<(usize, u64)>,
    longest: BTreeMap<(usize, Cause), Found>,
}

/// How many stretches are reported, besides the longest of each case.
const REPORTED: usize = 100;
/// How many functions of a stretch are reported.
const FUNCTIONS: usize = 4;

impl Latency {
    /// With the entries of system calls.
    pub(crate) fn of(calls: Vec<u32>) -> Self {
        Self {
            state: State::Boot,
            calls,
            case: 0,
            names: vec![String::new()],
            blocks: Vec::new(),
            index: FxHashMap::default(),
            touched: Vec::new(),
            block: None,
            longest: BTreeMap::new(),
        }
    }

    /// A number for the block of kernel code at a linear address.
    pub fn intern(&mut self, address: u32) -> usize {
        let blocks = &mut self.blocks;
        *self.index.entry(address).or_insert_with(|| {
            blocks.push((address, 0));
            blocks.len() - 1
        })
    }

    /// Whether a block that begins now is the first one of an entry.
    #[must_use]
    pub fn is_entry(&self) -> bool {
        matches!(self.state, State::User)
    }

    /// A block begins that is the first one of an entry, after `executed` instructions; `tag` is
    /// that of a system call, if it is one.
    pub fn enter(&mut self, block: usize, tag: u32, executed: u64) {
        let at = self.blocks[block].0;
        let call = self.calls.contains(&at).then_some(Tag(tag).op() << Tag::OP_SHIFT);
        self.state = State::Kernel(Cause::Entry(at, call.unwrap_or(0)), executed);
    }

    /// The entry was a system call with this tag: for a processor on which the first block does not
    /// tell.
    pub fn asked(&mut self, tag: u32) {
        if let State::Kernel(Cause::Entry(_, call), _) = &mut self.state {
            *call = Tag(tag).op() << Tag::OP_SHIFT;
        }
    }

    /// A block of kernel code begins.
    pub fn block(&mut self, block: usize, executed: u64) {
        self.settle(executed);
        self.block = Some((block, executed));
    }

    /// An interrupt would be taken now, or the kernel checks for one; with `waits` the kernel waits
    /// for one.
    pub fn look(&mut self, waits: bool, executed: u64) {
        if let State::Kernel(cause, _) = self.state {
            self.end(executed);
            self.state = State::Kernel(if waits { Cause::Idle } else { cause }, executed);
        }
    }

    /// The kernel has returned to user mode.
    pub fn leave(&mut self, executed: u64) {
        self.end(executed);
        self.state = State::User;
        self.block = None;
    }

    /// From here on a program is in the case with this name.
    pub fn name(&mut self, name: String) {
        self.case = self.names.iter().position(|known| *known == name).unwrap_or(self.names.len());
        if self.case == self.names.len() {
            self.names.push(name);
        }
    }

    /// What was found.
    #[must_use]
    pub fn report(&self, symbols: &Symbols) -> LatencyReport {
        let mut all: Vec<_> = self.longest.iter().collect();
        all.sort_by_key(|(_, found)| std::cmp::Reverse(found.0));
        let mut seen = vec![false; self.names.len()];
        let mut stretches = Vec::new();
        for (rank, (&(case, cause), (instructions, blocks))) in all.into_iter().enumerate() {
            if !std::mem::replace(&mut seen[case], true) || rank < REPORTED {
                stretches.push(StretchReport {
                    instructions: *instructions,
                    case: self.names[case].clone(),
                    cause: cause.text(symbols),
                    functions: functions(blocks, symbols),
                });
            }
        }
        LatencyReport {
            longest: stretches.first().map_or(0, |stretch| stretch.instructions),
            stretches,
        }
    }

    /// Attributes instructions to the block in execution.
    fn settle(&mut self, executed: u64) {
        let Some((block, since)) = self.block.as_mut() else { return };
        let (count, block) = (executed - *since, *block);
        *since = executed;
        if !matches!(self.state, State::Kernel(..)) || count == 0 {
            return;
        }
        let sum = &mut self.blocks[block].1;
        if *sum == 0 {
            self.touched.push(block);
        }
        *sum += count;
    }

    /// A stretch ends.
    fn end(&mut self, executed: u64) {
        self.settle(executed);
        if let State::Kernel(cause, since) = self.state {
            let length = executed - since;
            let longest = self.longest.entry((self.case, cause)).or_default();
            if length > longest.0 {
                *longest = (length, self.touched.iter().map(|block| self.blocks[*block]).collect());
            }
        }
        for block in self.touched.drain(..) {
            self.blocks[block].1 = 0;
        }
    }
}

/// The functions in which most instructions were executed.
fn functions(blocks: &[(u32, u64)], symbols: &Symbols) -> Vec<(String, u64)> {
    let mut sums = BTreeMap::new();
    for (address, count) in blocks {
        *sums.entry(symbols.function(*address).unwrap_or("?")).or_insert(0) += count;
    }
    let mut sums: Vec<(String, u64)> =
        sums.into_iter().map(|(name, count)| (name.into(), count)).collect();
    sums.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sums.truncate(FUNCTIONS);
    sums
}

impl Cause {
    /// The system call's name, or that of the entry.
    fn text(self, symbols: &Symbols) -> String {
        match self {
            Self::Idle => "idle".into(),
            Self::Entry(address, tag) => match Op::from_code(Tag(tag).op()) {
                Some(op) => snake(&format!("{op:?}")),
                None => {
                    symbols.function(address).map_or_else(|| format!("{address:#010x}"), Into::into)
                }
            },
        }
    }
}

/// `CreateSpace` as `create_space`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}
