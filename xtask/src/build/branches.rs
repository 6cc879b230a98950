// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64's kernel as it is linked, where a user enters it (docs/entry-area.md, *Speculation*): where
//! an indirect branch goes to, a processor may predict as a user has trained it to, and a return
//! whose call it no longer remembers, too. So nothing that an entry reaches has an indirect branch,
//! and calls are nested no deeper than each processor remembers. Nor does the kernel use FS or GS,
//! whose bases are users'.

use anyhow::{Context, Result, bail, ensure};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic, Register};
use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::BTreeMap;
use std::path::Path;

/// The section with what users enter. What boot executes before has one of its own.
const SECTION: &str = ".text";
/// Calls whose returns each processor remembers (Intel, *Retpoline: A Branch Target Injection
/// Mitigation*: 16; AMD's remember more).
const REMEMBERED: usize = 16;
/// Parts of names of functions that do not return: they end the machine.
const ENDS: [&str; 6] = [
    "core::panicking::",
    "core::option::",
    "core::result::",
    "core::slice::index::",
    "::trap::kernel_exception",
    "::trap::end_by_area",
];
/// Boot, too, may have them, because no user has run then.
const BOOT: &str = "::start::begin";
/// The debugger prints, and is not in a kernel that is for others.
const DEBUGGER: &str = "kdb::";

/// A function, or what a label of assembly begins.
#[derive(Debug, Default)]
struct Function {
    name: String,
    /// Users may enter it: it is a label of assembly.
    is_entry: bool,
    /// Where it goes on: and whether that is a call.
    to: Vec<(u64, bool)>,
    /// Where its first indirect branch is.
    indirect: Option<u64>,
    /// Where it first uses the base of FS or GS.
    based: Option<u64>,
}

/// All of them by their addresses.
type Functions = BTreeMap<u64, Function>;

/// Looks at a kernel that has been linked.
///
/// # Errors
/// If an entry reaches an indirect branch, or nests calls too deeply.
pub fn check(kernel: &Path) -> Result<()> {
    let data = std::fs::read(kernel)?;
    let file = object::File::parse(&*data)?;
    let section = file.section_by_name(SECTION).context("it has no code")?;
    let name = |symbol: &object::Symbol<'_, '_>| {
        Some(format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?)))
    };
    if file.symbols().any(|symbol| name(&symbol).is_some_and(|name| name.contains(DEBUGGER))) {
        return Ok(());
    }
    let places = file
        .symbols()
        .filter(|symbol| symbol.section_index() == Some(section.index()))
        .filter_map(|symbol| Some((symbol.address(), (name(&symbol)?, symbol.size() == 0))))
        .collect();
    check_functions(&functions(section.address(), section.data()?, &places))
}

/// What the code has: its address, its bytes, and its symbols with their names and whether they have
/// no size.
fn functions(at: u64, code: &[u8], places: &BTreeMap<u64, (String, bool)>) -> Functions {
    let end = at + code.len() as u64;
    let starts: Vec<u64> = places.range(at..end).map(|(start, _)| *start).collect();
    let ends = starts.iter().skip(1).copied().chain([end]);
    let function = |(start, end): (u64, u64)| {
        let (name, is_entry) = places[&start].clone();
        let code = &code[(start - at) as usize..(end - at) as usize];
        let mut found = Function { name, is_entry, ..Function::default() };
        let mut goes_on = true;
        for instruction in Decoder::with_ip(64, code, start, DecoderOptions::NONE) {
            let segment = instruction.segment_prefix();
            if matches!(segment, Register::FS | Register::GS)
                || instruction.mnemonic() == Mnemonic::Swapgs
            {
                found.based = found.based.or(Some(instruction.ip()));
            }
            let target = instruction.near_branch_target();
            match instruction.flow_control() {
                FlowControl::IndirectBranch | FlowControl::IndirectCall => {
                    found.indirect = found.indirect.or(Some(instruction.ip()));
                }
                FlowControl::Call => found.to.push((target, true)),
                FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                    found.to.push((target, false));
                }
                _ => {}
            }
            if instruction.mnemonic() != Mnemonic::Nop {
                goes_on = !matches!(
                    instruction.flow_control(),
                    FlowControl::UnconditionalBranch
                        | FlowControl::IndirectBranch
                        | FlowControl::Return
                        | FlowControl::Exception
                        | FlowControl::Interrupt
                );
            }
        }
        // A function of the compiler's ends with a call that does not return, or does not go on either.
        if goes_on && found.is_entry {
            found.to.push((end, false));
        }
        (start, found)
    };
    starts.iter().copied().zip(ends).map(function).collect()
}

/// Nothing that an entry reaches has an indirect branch, and calls are not nested too deeply.
fn check_functions(all: &Functions) -> Result<()> {
    let mut depths = BTreeMap::new();
    ensure!(all.values().any(|function| function.is_entry), "nobody enters it");
    for function in all.values() {
        if let Some(at) = function.based {
            bail!("`{}` uses a base of FS or GS, at {at:#x}", function.name);
        }
    }
    for (start, function) in all.iter().filter(|(_, function)| function.is_entry) {
        let depth = depth(all, *start, &mut Vec::new(), &mut depths)?;
        ensure!(
            depth <= REMEMBERED,
            "`{}` nests {depth} calls, of which processors remember {REMEMBERED}",
            function.name
        );
    }
    Ok(())
}

/// How many calls are nested in the function that begins there or has that place; `above` are those
/// that are being looked at.
fn depth(
    all: &Functions,
    place: u64,
    above: &mut Vec<u64>,
    depths: &mut BTreeMap<u64, usize>,
) -> Result<usize> {
    // The entry area's code jumps from where it is executed, to a label that is looked at anyway.
    let Some((start, function)) = all.range(..=place).next_back() else { return Ok(0) };
    if ENDS.iter().chain([&BOOT]).any(|part| function.name.contains(part)) {
        return Ok(0);
    }
    if let Some(depth) = depths.get(start) {
        return Ok(*depth);
    }
    if let Some(at) = function.indirect {
        bail!("`{}` has an indirect branch, at {at:#x}", function.name);
    }
    above.push(*start);
    let mut most = 0;
    for (target, is_call) in &function.to {
        let callee = all.range(..=*target).next_back().map(|(start, _)| *start);
        if let Some(callee) = callee.filter(|callee| above.contains(callee)) {
            // A loop; but a call would be nested in itself.
            ensure!(!is_call, "`{}` calls itself, by `{}`", all[&callee].name, function.name);
            continue;
        }
        let nested = depth(all, *target, above, depths);
        let nested = nested.with_context(|| format!("by `{}`", function.name))?;
        most = most.max(nested + usize::from(*is_call));
    }
    above.pop();
    depths.insert(*start, most);
    Ok(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel of these functions in a row, each with its code; the first is an entry.
    fn said(code: &[(&str, &[u8])]) -> String {
        const AT: u64 = 0xffff_ffff_e010_1000;
        let mut all = Vec::new();
        let mut places = BTreeMap::new();
        for (number, (name, code)) in code.iter().enumerate() {
            places.insert(AT + all.len() as u64, ((*name).to_owned(), number == 0));
            all.extend(*code);
        }
        let checked = check_functions(&functions(AT, &all, &places));
        checked.map_or_else(|error| format!("{error:#}"), |()| String::new())
    }

    const RET: u8 = 0xc3;

    /// `call` of what follows at once, `ret`.
    const CALLS_NEXT: &[u8] = &[0xe8, 1, 0, 0, 0, RET];

    #[test]
    fn direct_branches_and_what_no_entry_reaches_may_be_there() {
        // A loop; then `jmp rax`, which nothing reaches.
        assert_eq!(said(&[("entry", &[0x90, 0xeb, 0xfd]), ("boot", &[0xff, 0xe0])]), "");
        // What ends the machine.
        assert_eq!(said(&[("entry", CALLS_NEXT), ("core::panicking::it", &[0xff, 0xd0])]), "");
    }

    #[test]
    fn an_indirect_branch_is_refused() {
        for code in [
            // jmp rax; call rax; jmp [rax]; call [rax + 8]
            &[0xff, 0xe0][..],
            &[0xff, 0xd0],
            &[0xff, 0x20],
            &[0xff, 0x50, 8],
        ] {
            let called = said(&[("entry", CALLS_NEXT), ("called", code)]);
            assert!(called.contains("`called` has an indirect branch"), "{called}");
            // What comes next is reached without a branch, too.
            let next = said(&[("entry", &[0x90]), ("next", code)]);
            assert!(next.contains("`next` has an indirect branch"), "{next}");
        }
    }

    #[test]
    fn bases_are_not_used() {
        // mov rax, fs:[0x10]; mov eax, gs:[rbx]; swapgs
        for code in [
            &[0x64, 0x48, 0x8b, 0x04, 0x25, 0x10, 0, 0, 0][..],
            &[0x65, 0x8b, 0x03],
            &[0x0f, 0x01, 0xf8],
        ] {
            let said = said(&[("entry", &[RET]), ("other", code)]);
            assert!(said.contains("`other` uses a base"), "{said}");
        }
        // mov eax, fs: the selector.
        assert_eq!(said(&[("entry", &[0x8c, 0xe0, RET])]), "");
    }

    #[test]
    fn calls_are_not_nested_too_deeply() {
        let nested = |calls: usize| {
            let mut all = vec![("entry", CALLS_NEXT); calls];
            all.push(("last", &[RET]));
            said(&all)
        };
        assert_eq!(nested(REMEMBERED), "");
        assert!(nested(REMEMBERED + 1).contains("`entry` nests 17 calls"));
        // `call` of itself.
        let itself = said(&[("entry", CALLS_NEXT), ("called", &[0xe8, 0xfb, 0xff, 0xff, 0xff])]);
        assert!(itself.contains("`called` calls itself"), "{itself}");
    }
}
