// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules that are made here, translated, compiled by the host's C compiler and executed: each
//! instruction does what WebAssembly says. And modules that are refused.

use std::path::{Path, PathBuf};
use std::process::Command;
use translator::translate;

/// Where memory is on the host.
const BASE: u64 = 0x1000_0000;
/// Kinds of values.
const I32: u8 = 0x7f;
const I64: u8 = 0x7e;

/// A function: what it takes, what it returns, its variables, its code without the last `end`.
struct Function<'a> {
    name: &'a str,
    parameters: &'a [u8],
    result: u8,
    locals: &'a [u8],
    code: Vec<u8>,
}

fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = value as u8 & 0x7f;
        value >>= 7;
        bytes.push(byte | if value == 0 { 0 } else { 0x80 });
        if value == 0 {
            return bytes;
        }
    }
}

fn signed(mut value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = value as u8 & 0x7f;
        value >>= 7;
        let is_last = value == 0 && byte & 0x40 == 0 || value == -1 && byte & 0x40 != 0;
        bytes.push(byte | if is_last { 0 } else { 0x80 });
        if is_last {
            return bytes;
        }
    }
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    [number(bytes.len()), bytes.to_vec()].concat()
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    [number(items.len()), items.concat()].concat()
}

fn section(id: u8, items: &[Vec<u8>]) -> Vec<u8> {
    [vec![id], sized(&list(items))].concat()
}

/// A module of these functions, with a stack pointer, data at 1024, and all of them in its table from
/// 1 on.
fn module(functions: &[Function]) -> Vec<u8> {
    let each = |what: &dyn Fn(usize, &Function) -> Vec<u8>| -> Vec<Vec<u8>> {
        functions.iter().enumerate().map(|(index, function)| what(index, function)).collect()
    };
    let name = |name: &str| sized(name.as_bytes());
    let mut exports =
        each(&|index, function| [name(function.name), vec![0], number(index)].concat());
    exports.push([name("__heap_base"), vec![3, 1]].concat());
    [
        b"\0asm\x01\0\0\0".to_vec(),
        section(
            1,
            &each(&|_, function| {
                [vec![0x60], sized(function.parameters), vec![1, function.result]].concat()
            }),
        ),
        section(3, &each(&|index, _| number(index))),
        section(4, &[[vec![0x70, 0], number(functions.len() + 1)].concat()]),
        section(5, &[vec![0, 2]]),
        section(
            6,
            &[
                [vec![I32, 1, 0x41], signed(1024), vec![0x0b]].concat(),
                [vec![I32, 0, 0x41], signed(65536), vec![0x0b]].concat(),
            ],
        ),
        section(7, &exports),
        section(9, &[[vec![0, 0x41, 1, 0x0b], list(&each(&|index, _| number(index)))].concat()]),
        section(
            10,
            &each(&|_, function| {
                let locals: Vec<_> = function.locals.iter().map(|kind| vec![1, *kind]).collect();
                sized(&[list(&locals), function.code.clone(), vec![0x0b]].concat())
            }),
        ),
        section(
            11,
            &[[vec![0, 0x41], signed(1024), vec![0x0b], sized(&[1, 2, 3, 4, 5, 6, 7, 8])].concat()],
        ),
    ]
    .concat()
}

/// A folder of a test's own.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// What functions return: each call is C.
fn run(test: &str, functions: &[Function], calls: &[String]) -> Vec<u64> {
    let translated = translate(&module(functions), BASE).expect("it is translated");
    assert_eq!((translated.memory.start, translated.memory.end), (1024, 65536));
    let folder = folder(test);
    let (c, main, program) =
        (folder.join("functions.c"), folder.join("main.c"), folder.join("program"));
    std::fs::write(&c, translated.c).expect("a file");
    let kinds = |kind: &u8| if *kind == I32 { "uint32_t" } else { "uint64_t" };
    let mut text = String::from(
        "#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n#include <sys/mman.h>\n",
    );
    for function in functions {
        let parameters: Vec<_> = function.parameters.iter().map(kinds).collect();
        let (result, name) = (kinds(&function.result), function.name);
        text += &format!("{result} {name}({});\n", parameters.join(", "));
    }
    text += &format!(
        "int main(void) {{\n    char *memory = mmap((void *){BASE}, 65536, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);\n"
    );
    text += "    if (memory == MAP_FAILED) return 1;\n";
    for (index, byte) in translated.data.iter().enumerate() {
        text += &format!("    memory[{}] = {byte};\n", 1024 + index);
    }
    for call in calls {
        text += &format!("    printf(\"%llu\\n\", (unsigned long long){call});\n");
    }
    text += "    return 0;\n}\n";
    std::fs::write(&main, text).expect("a file");
    let compiled = Command::new("cc")
        .args(["-O2", "-w", "-fno-strict-aliasing", "-o"])
        .args([&program, &c, &main])
        .status()
        .expect("a C compiler");
    assert!(compiled.success());
    let output = Command::new(&program).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).expect("text");
    said.lines().map(|line| line.parse().expect("a number")).collect()
}

const GET_0: [u8; 2] = [0x20, 0];
const GET_1: [u8; 2] = [0x20, 1];

/// Values with all kinds of bits.
const VALUES: [u64; 12] = [
    0,
    1,
    2,
    31,
    0x7f,
    0x80,
    0xffff_8000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x9234_5678_9abc_def0,
];

type Two = (u8, fn(u64, u64) -> Option<u64>);

/// Instructions of two values of 32 bits, and what Rust says of them.
const NARROW: [Two; 25] = [
    (0x46, |a, b| Some((a as u32 == b as u32).into())),
    (0x47, |a, b| Some((a as u32 != b as u32).into())),
    (0x48, |a, b| Some(((a as i32) < b as i32).into())),
    (0x49, |a, b| Some(((a as u32) < b as u32).into())),
    (0x4a, |a, b| Some((a as i32 > b as i32).into())),
    (0x4b, |a, b| Some((a as u32 > b as u32).into())),
    (0x4c, |a, b| Some((a as i32 <= b as i32).into())),
    (0x4d, |a, b| Some((a as u32 <= b as u32).into())),
    (0x4e, |a, b| Some((a as i32 >= b as i32).into())),
    (0x4f, |a, b| Some((a as u32 >= b as u32).into())),
    (0x6a, |a, b| Some((a as u32).wrapping_add(b as u32).into())),
    (0x6b, |a, b| Some((a as u32).wrapping_sub(b as u32).into())),
    (0x6c, |a, b| Some((a as u32).wrapping_mul(b as u32).into())),
    (0x6d, |a, b| (a as i32).checked_div(b as i32).map(|q| u64::from(q as u32))),
    (0x6e, |a, b| (a as u32).checked_div(b as u32).map(u64::from)),
    (0x6f, |a, b| (b as u32 != 0).then(|| u64::from((a as i32).wrapping_rem(b as i32) as u32))),
    (0x70, |a, b| (a as u32).checked_rem(b as u32).map(u64::from)),
    (0x71, |a, b| Some((a as u32 & b as u32).into())),
    (0x72, |a, b| Some((a as u32 | b as u32).into())),
    (0x73, |a, b| Some((a as u32 ^ b as u32).into())),
    (0x74, |a, b| Some((a as u32).wrapping_shl(b as u32).into())),
    (0x75, |a, b| Some(((a as i32).wrapping_shr(b as u32) as u32).into())),
    (0x76, |a, b| Some((a as u32).wrapping_shr(b as u32).into())),
    (0x77, |a, b| Some((a as u32).rotate_left(b as u32 & 31).into())),
    (0x78, |a, b| Some((a as u32).rotate_right(b as u32 & 31).into())),
];

/// The same of 64 bits.
const WIDE: [Two; 25] = [
    (0x51, |a, b| Some((a == b).into())),
    (0x52, |a, b| Some((a != b).into())),
    (0x53, |a, b| Some(((a as i64) < b as i64).into())),
    (0x54, |a, b| Some((a < b).into())),
    (0x55, |a, b| Some((a as i64 > b as i64).into())),
    (0x56, |a, b| Some((a > b).into())),
    (0x57, |a, b| Some((a as i64 <= b as i64).into())),
    (0x58, |a, b| Some((a <= b).into())),
    (0x59, |a, b| Some((a as i64 >= b as i64).into())),
    (0x5a, |a, b| Some((a >= b).into())),
    (0x7c, |a, b| Some(a.wrapping_add(b))),
    (0x7d, |a, b| Some(a.wrapping_sub(b))),
    (0x7e, |a, b| Some(a.wrapping_mul(b))),
    (0x7f, |a, b| (a as i64).checked_div(b as i64).map(|q| q as u64)),
    (0x80, |a, b| a.checked_div(b)),
    (0x81, |a, b| (b != 0).then(|| (a as i64).wrapping_rem(b as i64) as u64)),
    (0x82, |a, b| a.checked_rem(b)),
    (0x83, |a, b| Some(a & b)),
    (0x84, |a, b| Some(a | b)),
    (0x85, |a, b| Some(a ^ b)),
    (0x86, |a, b| Some(a.wrapping_shl(b as u32))),
    (0x87, |a, b| Some((a as i64).wrapping_shr(b as u32) as u64)),
    (0x88, |a, b| Some(a.wrapping_shr(b as u32))),
    (0x89, |a, b| Some(a.rotate_left(b as u32 & 63))),
    (0x8a, |a, b| Some(a.rotate_right(b as u32 & 63))),
];

#[test]
fn instructions_of_two_values() {
    for (test, kind, table) in [("narrow", I32, NARROW), ("wide", I64, WIDE)] {
        let names: Vec<String> = table.iter().map(|(code, _)| format!("op_{code:x}")).collect();
        let functions: Vec<_> = table
            .iter()
            .zip(&names)
            .map(|((code, _), name)| {
                let is_comparison = *code < 0x5b;
                Function {
                    name,
                    parameters: if kind == I32 { &[I32, I32] } else { &[I64, I64] },
                    result: if is_comparison { I32 } else { kind },
                    locals: &[],
                    code: [&GET_0[..], &GET_1, &[*code]].concat(),
                }
            })
            .collect();
        let (mut calls, mut expected) = (Vec::new(), Vec::new());
        for ((_, rust), name) in table.iter().zip(&names) {
            for a in VALUES {
                for b in VALUES {
                    if let Some(result) = rust(a, b) {
                        calls.push(format!("{name}({a}ul, {b}ul)"));
                        expected.push(result);
                    }
                }
            }
        }
        assert_eq!(run(test, &functions, &calls), expected);
    }
}

type One = (&'static [u8], u8, u8, fn(u64) -> u64);

#[test]
fn instructions_of_one_value() {
    const TABLE: [One; 16] = [
        (&[0x45], I32, I32, |a| (a as u32 == 0).into()),
        (&[0x50], I64, I32, |a| (a == 0).into()),
        (&[0x67], I32, I32, |a| (a as u32).leading_zeros().into()),
        (&[0x68], I32, I32, |a| (a as u32).trailing_zeros().into()),
        (&[0x69], I32, I32, |a| (a as u32).count_ones().into()),
        (&[0x79], I64, I64, |a| a.leading_zeros().into()),
        (&[0x7a], I64, I64, |a| a.trailing_zeros().into()),
        (&[0x7b], I64, I64, |a| a.count_ones().into()),
        (&[0xa7], I64, I32, |a| (a as u32).into()),
        (&[0xac], I32, I64, |a| a as i32 as u64),
        (&[0xad], I32, I64, |a| a as u32 as u64),
        (&[0xc0], I32, I32, |a| (a as i8 as u32).into()),
        (&[0xc1], I32, I32, |a| (a as i16 as u32).into()),
        (&[0xc2], I64, I64, |a| a as i8 as u64),
        (&[0xc3], I64, I64, |a| a as i16 as u64),
        (&[0xc4], I64, I64, |a| a as i32 as u64),
    ];
    let names: Vec<String> = TABLE.iter().map(|(code, ..)| format!("op_{:x}", code[0])).collect();
    let functions: Vec<_> = TABLE
        .iter()
        .zip(&names)
        .map(|((code, from, to, _), name)| Function {
            name,
            parameters: if *from == I32 { &[I32] } else { &[I64] },
            result: *to,
            locals: &[],
            code: [&GET_0[..], code].concat(),
        })
        .collect();
    let (mut calls, mut expected) = (Vec::new(), Vec::new());
    for ((.., rust), name) in TABLE.iter().zip(&names) {
        for a in VALUES {
            calls.push(format!("{name}({a}ul)"));
            expected.push(rust(a));
        }
    }
    assert_eq!(run("one", &functions, &calls), expected);
}

/// A function of an address that returns 64 bits.
fn of_address<'a>(name: &'a str, code: &[u8]) -> Function<'a> {
    Function { name, parameters: &[I32], result: I64, locals: &[], code: code.to_vec() }
}

/// Data are 1 to 8 at 1024; the alignment that is said is kept whatever the address is.
#[test]
fn memory_is_read_and_written() {
    let functions = [
        of_address("whole", &[0x20, 0, 0x29, 3, 0]),
        of_address("halves", &[0x20, 0, 0x29, 2, 0]),
        of_address("bytes", &[0x20, 0, 0x29, 0, 1]),
        of_address("sign", &[0x20, 0, 0x30, 0, 0]),
        of_address("write", &[0x20, 0, 0x42, 0x7e, 0x37, 0, 0, 0x20, 0, 0x29, 0, 0]),
        of_address(
            "copied",
            &[0x41, 0x90, 0x08, 0x20, 0, 0x41, 8, 0xfc, 10, 0, 0, 0x41, 0x90, 0x08, 0x29, 3, 0],
        ),
        of_address("filled", &[0x20, 0, 0x41, 0x7f, 0x41, 3, 0xfc, 11, 0, 0x20, 0, 0x29, 0, 0]),
        // 300 bytes: the last four of them, and four after them.
        of_address(
            "filled_long",
            &[0x20, 0, 0x41, 0x7f, 0x41, 0xac, 2, 0xfc, 11, 0, 0x20, 0, 0x29, 0, 0xa8, 2],
        ),
        // 300 bytes, moved up and down by eight: a word that was there, plus one that was not.
        of_address(
            "moved_up",
            &[
                0x20, 0, 0x42, 7, 0x37, 3, 0, 0x20, 0, 0x41, 8, 0x6a, 0x20, 0, 0x41, 0xac, 2, 0xfc,
                10, 0, 0, 0x20, 0, 0x29, 3, 8, 0x20, 0, 0x29, 3, 16, 0x7c,
            ],
        ),
        of_address(
            "moved_down",
            &[
                0x20, 0, 0x42, 9, 0x37, 3, 0x80, 2, 0x20, 0, 0x41, 8, 0x6b, 0x20, 0, 0x41, 0xac, 2,
                0xfc, 10, 0, 0, 0x20, 0, 0x29, 3, 0xf8, 1, 0x20, 0, 0x29, 3, 0x80, 2, 0x7c,
            ],
        ),
        // What was there before, plus what is there then.
        of_address("added", &[0x20, 0, 0x42, 5, 0xfe, 0x1f, 3, 0, 0x20, 0, 0xfe, 0x11, 3, 0, 0x7c]),
        // 7 instead of 8, which it is, and 9 instead of 8, which it is not any more.
        of_address(
            "compared",
            &[
                0x20, 0, 0x42, 8, 0x37, 3, 0, 0x20, 0, 0x42, 8, 0x42, 7, 0xfe, 0x49, 3, 0, 0x20, 0,
                0x42, 8, 0x42, 9, 0xfe, 0x49, 3, 0, 0x42, 10, 0x7e, 0x7c,
            ],
        ),
    ];
    let calls = [
        "whole(1024)",
        "halves(1028)",
        "bytes(1024)",
        "sign(1024)",
        "copied(1024)",
        "filled(1025)",
        "write(1033)",
        "added(1048)",
        "added(1048)",
        "compared(1064)",
        "filled_long(4096)",
        "moved_up(8192)",
        "moved_down(16384)",
    ]
    .map(String::from);
    let results = run("memory", &functions, &calls);
    assert_eq!(results[..4], [0x0807_0605_0403_0201, 0x0807_0605, 0x0008_0706_0504_0302, 1]);
    assert_eq!(results[4], 0x0807_0605_0403_0201);
    assert_eq!(results[5] & 0xffff_ffff, 0x05ff_ffff);
    assert_eq!(results[6..], [-2i64 as u64, 5, 15, 78, 0xffff_ffff, 7, 9]);
}

/// Branches out of blocks, to the begin of a loop, by a table, out of a function; calls by a number.
#[test]
fn control_goes_where_it_should() {
    let sum = Function {
        name: "sum",
        parameters: &[I64],
        result: I64,
        locals: &[I64],
        // block loop: if !a break; sum += a; a -= 1; again
        code: vec![
            0x02, 0x40, 0x03, 0x40, 0x20, 0, 0x50, 0x0d, 1, 0x20, 1, 0x20, 0, 0x7c, 0x21, 1, 0x20,
            0, 0x42, 1, 0x7d, 0x21, 0, 0x0c, 0, 0x0b, 0x0b, 0x20, 1,
        ],
    };
    let chosen = Function {
        name: "chosen",
        parameters: &[I32],
        result: I64,
        locals: &[],
        // Three blocks, whose ends return 10, 20 and 30.
        code: vec![
            0x02, 0x40, 0x02, 0x40, 0x02, 0x40, 0x20, 0, 0x0e, 2, 0, 1, 2, 0x0b, 0x42, 10, 0x0f,
            0x0b, 0x42, 20, 0x0f, 0x0b, 0x42, 30,
        ],
    };
    let either = Function {
        name: "either",
        parameters: &[I32],
        result: I64,
        locals: &[],
        // An `if` with a value, of which one branch leaves a block with another.
        code: vec![
            0x02, 0x7e, 0x20, 0, 0x04, 0x7e, 0x42, 1, 0x0c, 1, 0x05, 0x42, 2, 0x0b, 0x42, 5, 0x7e,
            0x0b,
        ],
    };
    let called = Function {
        name: "called",
        parameters: &[I64, I32],
        result: I64,
        locals: &[],
        // By the type of `sum`, which is the first.
        code: vec![0x20, 0, 0x20, 1, 0x11, 0, 0],
    };
    let stack = Function {
        name: "stack",
        parameters: &[I64],
        result: I64,
        locals: &[I32],
        // 32 bytes of the stack, one of which is written; then it is given back.
        code: vec![
            0x23, 0, 0x41, 32, 0x6b, 0x22, 1, 0x24, 0, 0x20, 0, 0x42, 1, 0x7c, 0x1a, 0x20, 1, 0x41,
            32, 0x6a, 0x24, 0, 0x20, 0,
        ],
    };
    let functions = [sum, chosen, either, called, stack];
    let calls = [
        "sum(100)",
        "chosen(0)",
        "chosen(1)",
        "chosen(2)",
        "chosen(1000)",
        "either(0)",
        "either(7)",
        "called(4, 1)",
        "stack(9)",
    ]
    .map(String::from);
    assert_eq!(run("control", &functions, &calls), [5050, 10, 20, 30, 30, 10, 1, 10, 9]);
}

/// Functions may be called what the translator's own are.
#[test]
fn names_do_not_clash() {
    let named = ["copy", "fill", "table", "ones64", "zeros_before64"];
    // fill(a, a, a & 8); copy(a + 8, a, a & 8); bits of what was copied, and a number of each.
    let of = |name, number| {
        let code = [
            0x20, 0, 0x20, 0, 0x20, 0, 0x41, 8, 0x71, 0xfc, 11, 0, 0x20, 0, 0x41, 8, 0x6a, 0x20, 0,
            0x20, 0, 0x41, 8, 0x71, 0xfc, 10, 0, 0, 0x20, 0, 0x29, 3, 8, 0x7b, 0x20, 0, 0x29, 3, 0,
            0x79, 0x7c, 0x42, number, 0x7c,
        ];
        of_address(name, &code)
    };
    let functions = [
        of(named[0], 0),
        of(named[1], 1),
        of(named[2], 2),
        of(named[3], 3),
        of(named[4], 4),
        // By its number: a table is there.
        Function {
            name: "called",
            parameters: &[I32, I32],
            result: I64,
            locals: &[],
            code: vec![0x20, 0, 0x20, 1, 0x11, 0, 0],
        },
    ];
    let mut calls = named.map(|name| format!("{name}(4104)")).to_vec();
    calls.push("called(4104, 1)".into());
    assert_eq!(run("names", &functions, &calls), [12, 13, 14, 15, 16, 12]);
}

/// Atomic operations of 8 and 16 bits: they wrap, their neighbours stay, and no sign is extended.
#[test]
fn narrow_atomic_operations_touch_nothing_else() {
    let value = [&[0x20, 0, 0x42][..], &signed(0x1122_3344_5566_f788), &[0x37, 3, 0]].concat();
    // What the operation returns, times 3, plus what is there then.
    let with = |operation: &[u8]| {
        let code = [&value[..], operation, &[0x42, 3, 0x7e, 0x20, 0, 0x29, 3, 0, 0x7c]];
        code.concat()
    };
    let number = signed(0x1f0);
    let one = |is_wide: u8, code: u8, aligned: u8, offset: u8| {
        let extended: &[u8] = if is_wide == 0x42 { &[] } else { &[0xad] };
        let code =
            [&[0x20, 0, is_wide][..], &number, &[0xfe, code, aligned, offset], extended].concat();
        with(&code)
    };
    let functions = [
        of_address("add8", &one(0x41, 0x20, 0, 1)),
        of_address("sub16", &one(0x41, 0x28, 1, 2)),
        of_address("and8", &one(0x42, 0x30, 0, 1)),
        of_address("or16", &one(0x42, 0x38, 1, 0)),
        of_address("exchange32", &one(0x42, 0x47, 2, 4)),
    ];
    let calls = ["add8", "sub16", "and8", "or16", "exchange32"].map(|name| format!("{name}(4096)"));
    let there = |old: u64, new: u64| old * 3 + new;
    assert_eq!(
        run("narrow_atomic", &functions, &calls),
        [
            there(0xf7, 0x1122_3344_5566_e788),
            there(0x5566, 0x1122_3344_5376_f788),
            there(0xf7, 0x1122_3344_5566_f088),
            there(0xf788, 0x1122_3344_5566_f7f8),
            there(0x1122_3344, 0x0000_01f0_5566_f788),
        ]
    );
}

/// What is not translated is refused, by the name of its function.
#[test]
fn the_rest_is_refused() {
    for (code, why) in [
        (&[0x43, 0, 0, 0, 0, 0x1a, 0x42, 0][..], "floating point"),
        (&[0x23, 0, 0x1a, 0x42, 0], "its stack"),
        (&[0x23, 0, 0x41, 16, 0x6b, 0x1a, 0x23, 0, 0x41, 16, 0x6b, 0x1a, 0x42, 0], "its stack"),
        (&[0xfe, 0, 2, 0], "an atomic instruction"),
        (&[0x40, 0], "the instruction 0x40"),
        (&[0x1a, 0x42, 0], "a value is not on the stack"),
        (&[0x41, 0], "a block leaves other values"),
        (&[0x0c, 7], "a branch leaves the function"),
        // What is never executed, too: its length is not known. `memory.init`, `table.get`.
        (&[0x00, 0xfc, 8, 0, 0], "the instruction 8 of memory"),
        (&[0x00, 0x25, 0], "the instruction 0x25"),
        (&[0x00, 0x3f, 0], "the instruction 0x3f"),
    ] {
        let function = Function {
            name: "wrong",
            parameters: &[],
            result: I64,
            locals: &[],
            code: code.to_vec(),
        };
        let Err(error) = translate(&module(&[function]), BASE) else {
            panic!("{code:x?} is translated");
        };
        let said = format!("{error:#}");
        assert!(said.contains("`wrong`") && said.contains(why), "{code:x?}: {said}");
    }
    assert!(translate(b"\0asm\x02\0\0\0", BASE).is_err());
    assert!(translate(&module(&[])[..20], BASE).is_err());
}
