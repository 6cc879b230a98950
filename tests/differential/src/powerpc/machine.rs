// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executes the kernel's entry code on a copy of the memory that it accesses.

use super::code::{Code, TESTS};
use crate::memory::Words;
use anyhow::{Context, Result, bail};
use arch_host::{POOL_BASE, POOL_PHYSICAL};
use interpreter::{Machine as Processor, Memory, Next, has_condition, target};
pub use interpreter::{System, User};

/// More than this is a loop.
const MOST_STEPS: u32 = 1000;

/// The memory that the code accesses. It has the pool at the physical addresses in tables, too:
/// this processor's kernel uses the same address for both.
pub struct Reached<'a>(pub Words<'a>);

impl Memory for Reached<'_> {
    fn get(&self, address: u32) -> Option<u32> {
        self.0.get(named(address))
    }

    fn set(&mut self, address: u32, value: u32) -> bool {
        self.0.set(named(address), value)
    }
}

/// The address by which the rest of the kernel names a word.
pub const fn named(address: u32) -> u32 {
    let at = address.wrapping_sub(POOL_PHYSICAL.0);
    if at < arch_host::POOL_BYTES { at + POOL_BASE } else { address }
}

/// A processor in supervisor mode, and the memory it sees.
pub struct Machine<'a> {
    /// The processor.
    pub processor: Processor<Reached<'a>>,
    /// The tests that were made, by their number.
    pub tests: Vec<usize>,
    /// The instructions that were executed, and for conditional ones whether the condition was met.
    pub steps: Vec<(u32, bool)>,
}

impl<'a> Machine<'a> {
    /// One that has just entered, with these registers.
    pub fn new(before: &'a dyn Fn(u32) -> Option<u32>, user: User, system: System) -> Self {
        Self {
            processor: Processor { user, system, memory: Reached(Words::new(before)) },
            tests: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// The memory.
    pub const fn words(&self) -> &Words<'a> {
        &self.processor.memory.0
    }

    /// Executes from an address on, to an `rfi`. The test `turned`, by its number, counts as passed
    /// whatever it finds.
    ///
    /// # Errors
    /// An instruction that is not known, an access where nothing is, or no end.
    pub fn run(&mut self, code: &Code, from: u32, turned: Option<usize>) -> Result<()> {
        let mut at = from;
        for _ in 0..MOST_STEPS {
            let instruction =
                code.instruction(at).with_context(|| format!("no code at {at:#x}"))?;
            if has_condition(instruction) {
                let mut is_taken = self.processor.is_met(instruction)?;
                self.steps.push((at, is_taken));
                if let Some(number) = code.test(at).filter(|number| TESTS[*number].is_some()) {
                    self.tests.push(number);
                    is_taken &= turned != Some(number);
                }
                at = if is_taken { target(instruction, at) } else { at + 4 };
                continue;
            }
            self.steps.push((at, true));
            match self
                .processor
                .execute(instruction, at)
                .with_context(|| format!("by {instruction:#010x} at {at:#x}"))?
            {
                Next::At(next) => at = next,
                Next::Return => return Ok(()),
            }
        }
        bail!("no end after {MOST_STEPS} instructions from {from:#x}")
    }
}
