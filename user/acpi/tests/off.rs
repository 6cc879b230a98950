// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables in a memory that tests write.

use acpi::{Off, off};
use std::collections::BTreeMap;

/// Bytes of physical memory. There is nothing else.
#[derive(Clone, Default)]
struct Memory(BTreeMap<u64, u8>);

impl Memory {
    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.0.extend((at..).zip(bytes.iter().copied()));
    }

    fn off(&self) -> Option<Off> {
        self.off_by(None)
    }

    fn off_by(&self, list: Option<u64>) -> Option<Off> {
        off(&|at| self.0.get(&at).copied(), list)
    }
}

const POINTER: u64 = 0xf_5a20;
const LIST: u64 = 0x7fe_1000;
const TABLE: u64 = 0x7fe_2000;
const PROGRAM: u64 = 0x7fe_3003;

/// Where the parts of a table are that tests change.
const FLAGS: u64 = TABLE + 112;
const WIDE_PROGRAM: u64 = TABLE + 140;
const SLEEP_CONTROL: u64 = TABLE + 244;

fn header(name: &[u8; 4], bytes: u32) -> Vec<u8> {
    let mut header = name.to_vec();
    header.extend(bytes.to_le_bytes());
    header.resize(36, 0);
    header
}

/// A pointer of this revision to a list of two tables, the second of which has fixed registers, with
/// the control register at port 0x604; a program with this after the name of the state.
fn machine(revision: u8, after_name: &[u8]) -> Memory {
    let mut memory = Memory::default();
    let mut pointer = b"RSD PTR \0MAKER ".to_vec();
    pointer.push(revision);
    pointer.extend((LIST as u32).to_le_bytes());
    pointer.extend(36_u32.to_le_bytes());
    pointer.extend(LIST.to_le_bytes());
    // The first 20 bytes add up to zero.
    let sum: u8 = pointer[..20].iter().fold(0, |sum, byte| sum.wrapping_add(*byte));
    pointer[8] = sum.wrapping_neg();
    memory.put(POINTER, &pointer);
    let width = if revision < 2 { 4 } else { 8 };
    memory.put(LIST, &header(b"LIST", 36 + 2 * width));
    let places = [0x7fe_0000_u64, TABLE].map(u64::to_le_bytes);
    for (place, at) in places.iter().zip((LIST + 36..).step_by(width as usize)) {
        memory.put(at, &place[..width as usize]);
    }
    memory.put(0x7fe_0000, &header(b"APIC", 36));
    let mut table = header(b"FACP", 276);
    table.resize(276, 0);
    table[40..44].copy_from_slice(&(PROGRAM as u32).to_le_bytes());
    table[64..68].copy_from_slice(&0x604_u32.to_le_bytes());
    memory.put(TABLE, &table);
    let code = [b"\x08_S4_\x0a\x01\x08_S5_".as_slice(), after_name, b"\x10\x20"].concat();
    let mut program = header(b"DSDT", 36 + code.len() as u32);
    program.extend(code);
    memory.put(PROGRAM, &program);
    memory
}

/// A package of four: `kind`, and three that are ignored.
fn package(kind: &[u8]) -> Vec<u8> {
    [b"\x12\x06\x04".as_slice(), kind, b"\0\0\0"].concat()
}

#[test]
fn a_control_register_at_a_port_takes_the_type_of_off() {
    const CASES: [(&[u8], u16); 4] =
        [(b"\0", 0x2000), (b"\x01", 0x2400), (b"\x0a\x05", 0x3400), (b"\x0a\x07", 0x3c00)];
    for revision in [0, 2] {
        for (kind, expected) in CASES {
            let memory = machine(revision, &package(kind));
            assert_eq!(memory.off(), Some(Off::Port(0x604, expected)), "{revision}, {kind:x?}");
        }
    }
}

#[test]
fn a_machine_without_it_has_a_register_in_memory() {
    let mut memory = machine(2, &package(b"\x0a\x05"));
    memory.put(FLAGS, &(1_u32 << 20 | 1 << 10).to_le_bytes());
    memory.put(SLEEP_CONTROL + 4, &0xfea0_0200_u64.to_le_bytes());
    assert_eq!(memory.off(), Some(Off::Memory(0xfea0_0200, 0x34)));
    // In another space.
    memory.put(SLEEP_CONTROL, &[1]);
    assert_eq!(memory.off(), None);
}

#[test]
fn a_long_package_and_a_program_above_4_gib_are_read() {
    let long = [b"\x12\x47\x00\x04".as_slice(), b"\x0a\x03\0\0\0"].concat();
    let mut memory = machine(2, &long);
    assert_eq!(memory.off(), Some(Off::Port(0x604, 0x2c00)));
    let above = PROGRAM + (1 << 32);
    for (at, byte) in memory.0.clone().range(PROGRAM..) {
        memory.put(at - PROGRAM + above, &[*byte]);
    }
    memory.put(TABLE + 40, &[0; 4]);
    memory.put(WIDE_PROGRAM, &above.to_le_bytes());
    assert_eq!(memory.off(), Some(Off::Port(0x604, 0x2c00)));
}

#[test]
fn a_list_of_64_bits_may_be_absent() {
    let mut memory = machine(0, &package(b"\x0a\x05"));
    let sum = memory.0[&(POINTER + 8)];
    memory.put(POINTER + 8, &[sum.wrapping_sub(2)]);
    memory.put(POINTER + 15, &[2]);
    memory.put(POINTER + 24, &[0; 8]);
    assert_eq!(memory.off(), Some(Off::Port(0x604, 0x3400)));
}

#[test]
fn a_list_that_a_boot_loader_names_needs_no_bios() {
    for (revision, name) in [(0, b"RSDT"), (2, b"XSDT")] {
        let mut memory = machine(revision, &package(b"\x0a\x05"));
        memory.put(LIST, name);
        let mut without = memory.clone();
        without.0.retain(|at, _| *at >= LIST);
        assert_eq!(without.off(), None, "there is no BIOS");
        assert_eq!(without.off_by(Some(LIST)), Some(Off::Port(0x604, 0x3400)));
        assert_eq!(without.off_by(Some(TABLE)), None, "another table");
        // What is wrong does not hide what a BIOS has.
        assert_eq!(memory.off_by(Some(TABLE)), Some(Off::Port(0x604, 0x3400)));
        assert_eq!(memory.off_by(Some(u64::MAX)), Some(Off::Port(0x604, 0x3400)));
    }
}

#[test]
fn a_program_that_cannot_be_read_is_not_tried_byte_by_byte() {
    let mut memory = machine(2, b"");
    memory.put(PROGRAM + 4, &u32::MAX.to_le_bytes());
    let reads = std::cell::Cell::new(0);
    let read = |at| {
        reads.set(reads.get() + u32::from(at > PROGRAM));
        memory.0.get(&at).copied()
    };
    let found = off(&read, None);
    assert_eq!((found, reads.get() < 200), (None, true));
}

#[test]
fn what_is_not_there_turns_nothing_off() {
    assert_eq!(Memory::default().off(), None, "no pointer");
    assert_eq!(machine(2, b"").off(), None, "no package");
    assert_eq!(machine(2, &package(b"\x0a\x08")).off(), None, "no type of sleep");
    assert_eq!(machine(2, &package(b"\x0b\x05")).off(), None, "no constant of a byte");
    let mut memory = machine(2, &package(b"\0"));
    memory.put(TABLE + 64, &[0; 4]);
    assert_eq!(memory.off(), None, "no register");
    let mut memory = machine(2, &package(b"\0"));
    memory.put(POINTER + 8, &[0]);
    memory.put(POINTER + 9, b"m");
    assert_eq!(memory.off(), None, "a pointer with a wrong sum");
    let mut memory = machine(2, &package(b"\0"));
    memory.put(LIST + 36 + 8, &u64::MAX.to_le_bytes());
    assert_eq!(memory.off(), None, "a table beyond all addresses");
    // A byte that cannot be read ends the search, wherever it is.
    let whole = machine(2, &package(b"\x0a\x05"));
    assert!(whole.off().is_some());
    for at in
        [POINTER + 3, POINTER + 25, LIST + 5, LIST + 46, TABLE + 41, PROGRAM + 5, PROGRAM + 52]
    {
        let mut memory = whole.clone();
        memory.0.remove(&at);
        assert_eq!(memory.off(), None, "{at:#x}");
    }
}
