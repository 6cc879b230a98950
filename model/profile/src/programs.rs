// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the call path of a sample.

use crate::profile::Frame;
use crate::program::{Call, Program};
use crate::sample::{Sample, Space};
use std::collections::HashMap;

/// Where programs run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The microkernel, in ring 0.
    Kernel,
    /// The component that has the program's name.
    Component,
    /// A process of Linux; which program it executes its code tells.
    Process,
}

/// Return addresses of a stack that are considered.
const DEEPEST: usize = 128;

/// What code without a symbol is called.
const UNKNOWN: &str = "[unknown]";

/// All programs that a system may execute.
#[derive(Default)]
pub struct Programs(Vec<(Part, Program)>);

impl Programs {
    /// One more.
    pub fn add(&mut self, part: Part, program: Program) {
        self.0.push((part, program));
    }

    /// Where code is, for the plugin.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<u32>> {
        self.0.iter().flat_map(|(_, program)| program.ranges())
    }

    /// The call path of a sample, the outermost first: the component or the process's program, then
    /// functions.
    pub fn path(&mut self, sample: &Sample) -> Vec<Frame> {
        let (part, name) = match (&sample.space, sample.kernel) {
            (_, true) => (Part::Kernel, None),
            (Space::Component(name), false) => (Part::Component, Some(name)),
            (_, false) => (Part::Process, None),
        };
        let program = self.0.iter_mut().filter(|(of, _)| *of == part).map(|(_, program)| program);
        let program = program
            .filter(|program| name.is_none_or(|name| *name == program.name))
            .find(|program| program.has(sample.eip, &sample.code));
        let space = match (&sample.space, &program) {
            (Space::Component(name), _) => name.clone(),
            (Space::Process, Some(program)) if part == Part::Process => program.name.clone(),
            (Space::Process, _) => "process".into(),
            (Space::First, _) => "kernel".into(),
        };
        let owner = if sample.kernel { "kernel".into() } else { space.clone() };
        let functions = program.map_or_else(
            || vec![UNKNOWN.into()],
            |program| calls(program, sample.eip, &sample.stack),
        );
        let functions =
            functions.into_iter().rev().map(|name| Frame { owner: owner.clone(), name });
        std::iter::once(Frame { owner: space.clone(), name: space.clone() })
            .chain(functions)
            .collect()
    }
}

/// The functions that are active, the innermost first.
///
/// Without frame pointers a stack is words of which some are return addresses, and some were. A
/// word is taken as the caller of a function only if the call before it reaches that function; of
/// such sequences the longest is it. A call through a pointer reaches anything, and counts only
/// where no other fits.
fn calls(program: &mut Program, eip: u32, stack: &[u32]) -> Vec<String> {
    let Some(innermost) = program.function(eip) else { return vec![UNKNOWN.into()] };
    let returns: Vec<(u32, u32, Call)> = stack
        .iter()
        .filter_map(|&word| {
            Some((word, program.function(word.wrapping_sub(1))?, program.call_before(word)?))
        })
        .take(DEEPEST)
        .collect();
    // For each, from the outermost on: how many direct calls and calls in all follow it, and which
    // is next.
    let mut best: Vec<((u32, u32), Option<usize>)> = vec![((0, 0), None); returns.len()];
    let mut known = HashMap::new();
    let mut callers = |program: &mut Program,
                       function: u32,
                       from: usize,
                       best: &[((u32, u32), Option<usize>)]| {
        let mut found: ((u32, u32), Option<usize>) = ((0, 0), None);
        for direct in [true, false] {
            for (index, (_, _, call)) in returns.iter().enumerate().skip(from) {
                let fits = match *call {
                    Call::Direct(target) => {
                        direct
                            && *known
                                .entry((target, function))
                                .or_insert_with(|| program.reaches(target, function))
                    }
                    Call::Indirect => !direct,
                };
                let (directs, all) = best[index].0;
                let score = (directs + u32::from(direct), all + 1);
                if fits && score > found.0 {
                    found = (score, Some(index));
                }
            }
            if found.1.is_some() {
                break;
            }
        }
        found
    };
    for index in (0..returns.len()).rev() {
        best[index] = callers(program, returns[index].1, index + 1, &best);
    }
    let mut next = callers(program, innermost, 0, &best).1;
    let mut path = vec![innermost];
    while let Some(index) = next {
        path.push(returns[index].1);
        next = best[index].1;
    }
    path.into_iter().map(|function| program.symbol(function).unwrap_or(UNKNOWN).into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions of 16 bytes each from 0x1000 on. Each may call two others, and return after the
    /// call.
    fn program(name: &str, functions: &[(&str, &[usize])]) -> Program {
        let mut code = vec![0x90; functions.len() * 16];
        for (index, (_, callees)) in functions.iter().enumerate() {
            for (slot, callee) in callees.iter().enumerate() {
                let at = index * 16 + slot * 5;
                code[at] = 0xe8;
                let distance = (*callee as u32 * 16).wrapping_sub(at as u32 + 5);
                code[at + 1..at + 5].copy_from_slice(&distance.to_le_bytes());
            }
        }
        let symbols = functions
            .iter()
            .enumerate()
            .map(|(index, (name, _))| (0x1000 + index as u32 * 16, (*name).to_string()));
        Program::new(name, vec![(0x1000, code)], symbols.collect())
    }

    fn names(path: &[Frame]) -> Vec<&str> {
        path.iter().map(|frame| frame.name.as_str()).collect()
    }

    #[test]
    fn what_was_left_on_the_stack_is_no_caller() {
        let mut program =
            program("p", &[("main", &[1, 2]), ("middle", &[3]), ("other", &[3]), ("leaf", &[])]);
        // `other` called `leaf` before, and left its return address in what is now the frame of
        // `middle`'s callee.
        let calls = calls(&mut program, 0x1030, &[0x1025, 0x1015, 0x1005]);
        assert!(calls == ["leaf", "middle", "main"], "{calls:?}");
        assert_eq!(
            super::calls(&mut program, 0x1030, &[0x1015, 0x1030, 0x1234]),
            ["leaf", "middle"]
        );
    }

    #[test]
    fn programs_are_told_apart_by_their_code() {
        let mut programs = Programs::default();
        programs.add(Part::Kernel, program("kernel", &[("kernel_entry", &[])]));
        programs.add(Part::Process, program("first", &[("a", &[1]), ("b", &[])]));
        programs.add(Part::Process, program("second", &[("c", &[2]), ("d", &[]), ("e", &[])]));
        let code = |distance| vec![0xe8, distance, 0, 0, 0];
        let mut path = |code: Vec<u8>, kernel| {
            names(&programs.path(&Sample {
                space: Space::Process,
                kernel,
                eip: 0x1000,
                code,
                stack: vec![],
            }))
            .join(";")
        };
        assert_eq!(path(code(0x0b), false), "first;a");
        assert_eq!(path(code(0x1b), false), "second;c");
        assert_eq!(path(code(0x33), false), "process;[unknown]");
        assert_eq!(path(vec![], false), "first;a", "code that cannot be read");
        assert_eq!(path(vec![], true), "process;kernel_entry");
    }
}
