// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program's code and symbols: where each function is, and which function calls which.

use std::collections::{BTreeSet, HashMap};

/// The call instruction before a return address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Of this address.
    Direct(u32),
    /// Through a register or memory.
    Indirect,
}

/// Jumps from function to function that are followed from a call's target.
const JUMPS: usize = 3;

/// A program.
#[derive(Default)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// Addresses and contents of its code.
    code: Vec<(u32, Vec<u8>)>,
    /// Sorted by address.
    symbols: Vec<(u32, String)>,
    /// Functions that each function jumps to, as far as they were looked for.
    jumps: HashMap<u32, BTreeSet<u32>>,
}

impl Program {
    /// A program of the code at these addresses and the functions that begin at these.
    #[must_use]
    pub fn new(name: &str, code: Vec<(u32, Vec<u8>)>, mut symbols: Vec<(u32, String)>) -> Self {
        symbols.retain(|(address, _)| {
            code.iter().any(|(base, bytes)| offset(*base, bytes, *address).is_some())
        });
        // Of names for the same address the first in the alphabet.
        symbols.sort();
        symbols.dedup_by_key(|(address, _)| *address);
        Self { name: name.into(), code, symbols, jumps: HashMap::new() }
    }

    /// Where its code is.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<u32>> {
        self.code.iter().map(|(base, bytes)| *base..base.saturating_add(bytes.len() as u32))
    }

    /// Up to `count` bytes of code at an address; nothing where there is none.
    fn bytes(&self, address: u32, count: usize) -> &[u8] {
        let found =
            self.code.iter().find_map(|(base, bytes)| bytes.get(offset(*base, bytes, address)?..));
        found.map_or(&[], |bytes| &bytes[..count.min(bytes.len())])
    }

    /// Whether it has this code at that address; without any, whether it has some there.
    #[must_use]
    pub fn has(&self, address: u32, code: &[u8]) -> bool {
        // Code at the end of a section is followed by what is in memory after it.
        let here = self.bytes(address, code.len().max(1));
        !here.is_empty() && here.iter().zip(code).all(|(here, code)| here == code)
    }

    /// The address of the function that an address is in.
    #[must_use]
    pub fn function(&self, address: u32) -> Option<u32> {
        let (base, _) =
            self.code.iter().find(|(base, bytes)| offset(*base, bytes, address).is_some())?;
        let after = self.symbols.partition_point(|(start, _)| *start <= address);
        self.symbols
            .get(after.checked_sub(1)?)
            .map(|(start, _)| *start)
            .filter(|start| start >= base)
    }

    /// The name of the function that an address is in.
    #[must_use]
    pub fn symbol(&self, address: u32) -> Option<&str> {
        let function = self.function(address)?;
        let index = self.symbols.binary_search_by_key(&function, |(start, _)| *start).ok()?;
        Some(&self.symbols[index].1)
    }

    /// The address of the function that has this name.
    #[must_use]
    pub fn address(&self, name: &str) -> Option<u32> {
        self.symbols.iter().find(|(_, symbol)| symbol == name).map(|(address, _)| *address)
    }

    /// The call that returns to an address.
    #[must_use]
    pub fn call_before(&self, address: u32) -> Option<Call> {
        const CALL: u8 = 0xe8;
        let before = |bytes: u32| self.bytes(address.wrapping_sub(bytes), bytes as usize);
        if let &[CALL, a, b, c, d] = before(5) {
            let target = address.wrapping_add(u32::from_le_bytes([a, b, c, d]));
            if self.function(target) == Some(target) {
                return Some(Call::Direct(target));
            }
        }
        (2..=7)
            .any(|length| indirect_call(before(length)) == Some(length))
            .then_some(Call::Indirect)
    }

    /// Whether code of `function` can be executed by a call of `target`: because it is that
    /// function, or because that jumps to it (a call at its end, a part that the compiler moved
    /// away).
    pub fn reaches(&mut self, target: u32, function: u32) -> bool {
        let mut reached = BTreeSet::from([target]);
        for _ in 0..JUMPS {
            if reached.contains(&function) {
                return true;
            }
            let next: Vec<u32> =
                reached.iter().flat_map(|&from| self.jumps(from).clone()).collect();
            reached.extend(next);
        }
        reached.contains(&function)
    }

    /// Functions that the one at `start` jumps to. Bytes are looked at without being decoded from
    /// the beginning: what looks like a jump into another function by chance adds one that is not
    /// there.
    fn jumps(&mut self, start: u32) -> &BTreeSet<u32> {
        if !self.jumps.contains_key(&start) {
            let found = self.find_jumps(start);
            self.jumps.insert(start, found);
        }
        &self.jumps[&start]
    }

    fn find_jumps(&self, start: u32) -> BTreeSet<u32> {
        let after = self.symbols.partition_point(|(symbol, _)| *symbol <= start);
        let end = self.symbols.get(after).map_or(u32::MAX, |(symbol, _)| *symbol);
        let body = self.bytes(start, (end - start) as usize);
        let jump = |at: usize| {
            let operand = match body[at..] {
                [0xe9, ..] => at + 1,
                [0x0f, 0x80..=0x8f, ..] => at + 2,
                _ => return None,
            };
            let distance = u32::from_le_bytes(body.get(operand..operand + 4)?.try_into().ok()?);
            let target = start.wrapping_add(operand as u32 + 4).wrapping_add(distance);
            self.function(target).filter(|&function| function != start)
        };
        (0..body.len()).filter_map(jump).collect()
    }
}

fn offset(base: u32, bytes: &[u8], address: u32) -> Option<usize> {
    address.checked_sub(base).map(|offset| offset as usize).filter(|offset| *offset < bytes.len())
}

/// The length of the `call r/m32` that the bytes begin with.
fn indirect_call(bytes: &[u8]) -> Option<u32> {
    let &[0xff, modrm, ref rest @ ..] = bytes else { return None };
    if modrm & 0o070 != 0o020 {
        return None;
    }
    let (mode, rm) = (modrm >> 6, modrm & 7);
    let sib = u32::from(mode != 3 && rm == 4);
    let no_base = rm == 5 || (rm == 4 && rest.first().is_some_and(|sib| sib & 7 == 5));
    let displacement = match mode {
        0 if no_base => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(2 + sib + displacement)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `outer` at 0x1000 calls `inner` at 0x1010, which jumps to `last` at 0x1020.
    fn program() -> Program {
        let mut code = vec![0x90; 0x30];
        code[..5].copy_from_slice(&[0xe8, 0x0b, 0, 0, 0]);
        code[5..8].copy_from_slice(&[0xff, 0x50, 0x08]);
        code[0x10..0x15].copy_from_slice(&[0xe9, 0x0b, 0, 0, 0]);
        let symbols =
            [(0x1020, "last"), (0x1000, "outer"), (0x1010, "inner"), (0x5000, "elsewhere")];
        Program::new(
            "test",
            vec![(0x1000, code)],
            symbols.map(|(address, name)| (address, name.into())).into(),
        )
    }

    #[test]
    fn functions_are_found() {
        let program = program();
        assert_eq!(program.symbol(0x100f), Some("outer"));
        assert_eq!(program.symbol(0x1010), Some("inner"));
        assert_eq!(
            (program.symbol(0xfff), program.symbol(0x1030), program.symbol(0x5000)),
            (None, None, None)
        );
        assert_eq!(program.address("last"), Some(0x1020));
        assert!(
            program.has(0x1005, &[0xff, 0x50, 0x08])
                && !program.has(0x1005, &[0xff, 0x51])
                && !program.has(0x2000, &[0x90])
        );
        assert!(program.has(0x102f, &[0x90, 0x12]), "what follows a section is not known");
    }

    #[test]
    fn calls_are_recognised() {
        let program = program();
        assert_eq!(program.call_before(0x1005), Some(Call::Direct(0x1010)));
        assert_eq!(program.call_before(0x1008), Some(Call::Indirect));
        assert_eq!(program.call_before(0x1010), None);
        let lengths = [
            &[0xff, 0xd0][..],
            &[0xff, 0x14, 0x85, 0, 0, 0, 0],
            &[0xff, 0x15, 0, 0, 0, 0],
            &[0xff, 0x54, 0x24, 0],
        ];
        lengths.into_iter().for_each(|bytes| {
            assert_eq!(indirect_call(bytes), Some(bytes.len() as u32), "{bytes:x?}")
        });
        assert_eq!(indirect_call(&[0xff, 0xe0]), None, "a jump");
    }

    #[test]
    fn jumps_are_followed() {
        let mut program = program();
        assert!(program.reaches(0x1010, 0x1010) && program.reaches(0x1010, 0x1020));
        assert!(!program.reaches(0x1020, 0x1010) && !program.reaches(0x1000, 0x1020));
    }
}
