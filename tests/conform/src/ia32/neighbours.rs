// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small spaces of one home, of which one changes another's mappings: there is no write of CR3
//! between them, so a missing flush shows. Also the code of these cases.

use super::homes::{
    CODE, DATA, FIRST, SECOND, SIZE, call, launch, native, seen, with_home, word, write,
};
use super::state::{has_sysenter, system_call};
use crate::exception::{create, next};
use crate::{Bed, Case, PAGE, QUOTA, Why, check, good};
use abi::frame::vector;
use abi::{MapRecord, Op, Rights, TABLE_SPAN};
use macadamia::alloc::vec::Vec;
use macadamia::cap::{copy, delete};
use macadamia::map::map;
use macadamia::{Space, Thread};

pub const CASES: &[Case] = &[
    ("what_a_neighbour_changes_counts_at_once", |bed| with_home(bed, changed_by_a_neighbour)),
    ("a_place_is_the_next_ones_at_once", |bed| with_home(bed, next_one)),
];

/// The server's slot in the client's table.
pub const SERVER: u32 = 1;
/// A page that threads of one home read.
const READ: u32 = 3 * TABLE_SPAN;
/// The slots of a neighbour that changes the page.
pub mod its {
    pub const SPACE: u32 = 1;
    pub const MEMORY: u32 = 2;
    pub const SEGMENT: u32 = 3;
    pub const HOME: u32 = 4;
    pub const NEXT: u32 = 5;
    pub const THREAD: u32 = 6;
    pub const QUOTA: u32 = 7;
    pub const PART: u32 = 8;
}

/// Code at `at`: calls the thread that changes the page, by this selector, if that has to prepare
/// something; reads the page, calls, and reads again.
pub fn reader(at: u32, page: u32, changer: u32, prepares: bool) -> Vec<u8> {
    let mut code = Vec::new();
    for calls in [prepares, true] {
        if calls {
            code.extend([0xbb, changer as u8, 0, 0, 0]);
            code.extend(system_call(Op::Call, at + code.len() as u32));
        }
        code.push(0xa1);
        code.extend(page.to_le_bytes());
    }
    code.extend([0x0f, 0x0b]);
    code
}

/// What the neighbour does when it is called.
#[derive(Clone, Copy)]
pub enum Step {
    Map(MapRecord),
    Call(Op, [u32; 4]),
    /// Makes a part of the memory, whose original is its own.
    Derive,
    /// Replies, and is called again.
    Answer,
}

/// The neighbour's code at `at`, which ends with a reply, or with a call of another thread.
pub fn changer(at: u32, steps: &[Step], replies: bool) -> Vec<u8> {
    let data = at + PAGE;
    // EBX is the UTCB: mov [data + 4], ebx; xor ebx, ebx; receive; mov [data + 8], ebx
    let mut code = [0x89, 0x1d].to_vec();
    code.extend((data + 4).to_le_bytes());
    code.extend([0x31, 0xdb]);
    code.extend(system_call(Op::Receive, at + code.len() as u32));
    let keep = [&[0x89, 0x1d], &(data + 8).to_le_bytes()[..]].concat();
    code.extend(&keep);
    let words = |code: &mut Vec<u8>, first: usize, words: &[u32]| {
        // mov ecx, [data + 4]; mov dword [ecx + offset], word
        code.extend([0x8b, 0x0d]);
        code.extend((data + 4).to_le_bytes());
        for (index, word) in words.iter().enumerate() {
            code.extend([
                0xc7,
                0x41,
                (core::mem::offset_of!(abi::utcb::Utcb, words) + 4 * (first + index)) as u8,
            ]);
            code.extend(word.to_le_bytes());
        }
    };
    // mov ebx, [data + 8]
    let answer = [&[0x8b, 0x1d], &(data + 8).to_le_bytes()[..]].concat();
    for step in steps {
        match *step {
            Step::Map(record) => {
                words(&mut code, 0, &record.0);
                call(&mut code, data, Op::Map, [1, 0, 0, 0]);
            }
            Step::Call(op, args) => call(&mut code, data, op, args),
            Step::Derive => {
                words(&mut code, 3, &[its::QUOTA]);
                call(&mut code, data, Op::DeriveMemory, [its::MEMORY, 0, PAGE, its::PART]);
            }
            Step::Answer => {
                code.extend(&answer);
                code.extend(system_call(Op::ReplyWait, at + code.len() as u32));
                code.extend(&keep);
            }
        }
    }
    // Or mov ebx, THREAD; call
    code.extend(if replies { answer } else { [0xbb, its::THREAD as u8, 0, 0, 0].into() });
    code.extend(system_call(
        if replies { Op::ReplyWait } else { Op::Call },
        at + code.len() as u32,
    ));
    code
}

/// A reader in the first region of a home, and its neighbour in the second, which can call it; the
/// reader's space and thread, and the neighbour's.
fn neighbours(bed: &mut Bed, home: Space, steps: &[Step], replies: bool) -> Result<[u32; 4], Why> {
    write(bed, 3, &[])?;
    let prepares = steps.iter().any(|step| matches!(step, Step::Answer));
    let (space, other) = (
        native(bed, 0, &reader(CODE, READ, SERVER, prepares))?,
        native(bed, 2, &changer(CODE, steps, replies))?,
    );
    good(home.take_in(FIRST, space, SIZE))?;
    good(home.take_in(SECOND, other, SIZE))?;
    let changes = launch(bed, other)?;
    good(copy(changes.0, Some(space), SERVER, Rights::ALL, 0))?;
    for (from, to) in [(space.0, its::SPACE), (home.0, its::HOME), (QUOTA.0, its::QUOTA)] {
        good(copy(from, Some(other), to, Rights::ALL, 0))?;
    }
    let thread = create(bed, space)?;
    Ok([space.0, thread.0, other.0, changes.0])
}

fn changed_by_a_neighbour(bed: &mut Bed, home: Space) -> Result<(), Why> {
    if !has_sysenter() {
        return Ok(());
    }
    write(bed, 6, &[6])?;
    write(bed, 7, &[7])?;
    let record =
        |op, owner, rights| MapRecord::new(op, owner, READ, its::MEMORY, PAGE, PAGE, rights);
    let in_segment = |op| MapRecord::new(op, its::SEGMENT, 0, its::MEMORY, PAGE, PAGE, Rights(1));
    let part = |owner, address| {
        let maps = Step::Map(MapRecord::new(
            MapRecord::MAP,
            owner,
            address,
            its::PART,
            0,
            PAGE,
            Rights(1),
        ));
        [Step::Derive, maps, Step::Answer, Step::Call(Op::Revoke, [its::MEMORY, 0, 0, 0])]
    };
    let (none, maps) = (Rights::NONE, Step::Map);
    let detach = |space, address| Step::Call(Op::Detach, [space, address, 0, 0]);
    // What the neighbour does, whether the page is in a Segment, and the word that is read
    // afterwards.
    let changes: [(&str, &[Step], bool, Option<u32>); 9] = [
        ("unmapped", &[maps(record(MapRecord::UNMAP, its::SPACE, none))], false, None),
        ("without rights", &[maps(record(MapRecord::PROTECT, its::SPACE, none))], false, None),
        ("replaced", &[maps(record(MapRecord::MAP, its::SPACE, Rights(1)))], false, Some(7)),
        ("revoked", &part(its::SPACE, READ), false, None),
        ("unmapped in its Segment", &[maps(in_segment(MapRecord::UNMAP))], true, None),
        ("replaced in its Segment", &[maps(in_segment(MapRecord::MAP))], true, Some(7)),
        ("revoked from its Segment", &part(its::SEGMENT, 0), true, None),
        ("detached", &[detach(its::SPACE, READ)], true, None),
        (
            "large, and unmapped then",
            &[detach(its::HOME, FIRST), maps(record(MapRecord::UNMAP, its::SPACE, none))],
            false,
            None,
        ),
    ];
    for (what, steps, is_segment, expected) in changes {
        let [space, thread, other, changes] = neighbours(bed, home, steps, true)?;
        let (memory, slot) = (bed.slot(), bed.slot());
        let memory = good(bed.ram.derive(6 * PAGE, 2 * PAGE, memory, QUOTA))?;
        good(copy(memory.0, Some(Space(other)), its::MEMORY, Rights::ALL, 0))?;
        let segment = good(QUOTA.create_segment(TABLE_SPAN, slot))?;
        good(copy(segment.0, Some(Space(other)), its::SEGMENT, Rights::ALL, 0))?;
        if is_segment {
            good(Space(space).attach(READ, segment, Rights(3)))?;
            good(map(Space(segment.0), 0, memory, 0, PAGE, Rights(3)))?;
        } else {
            good(map(Space(space), READ, memory, 0, PAGE, Rights(3)))?;
        }
        good(Thread(thread).start(CODE, DATA + PAGE, 0))?;
        let (_, f) = next()?;
        let holds = match expected {
            None => f.vector == vector::PAGE_FAULT && f.address == READ && f.eip != CODE,
            Some(word) => f.vector == vector::INVALID_OPCODE && f.eax == word,
        };
        seen(what, &f, holds)?;
        check(what, word(bed, 3)? == 0)?;
        for slot in [thread, changes, space, other, segment.0, memory.0] {
            good(delete(slot))?;
        }
    }
    Ok(())
}

/// A space leaves its region, and another one gets it. The new one's thread must find nothing that
/// the TLB has of the first one.
fn next_one(bed: &mut Bed, home: Space) -> Result<(), Why> {
    if !has_sysenter() {
        return Ok(());
    }
    write(bed, 6, &[6])?;
    write(bed, 7, &[7])?;
    for maps in [true, false] {
        let leaves = Step::Call(Op::Detach, [its::HOME, FIRST, 0, 0]);
        let moves = Step::Call(Op::Attach, [its::HOME, FIRST, its::NEXT, SIZE | Rights::RWX.0]);
        let [space, thread, other, changes] = neighbours(bed, home, &[leaves, moves], false)?;
        good(map(Space(space), READ, bed.ram, 6 * PAGE, PAGE, Rights(3)))?;
        // receive; mov eax, [READ]; ud2
        let mut code = [0x31, 0xdb].to_vec();
        code.extend(system_call(Op::Receive, CODE + 2));
        code.push(0xa1);
        code.extend(READ.to_le_bytes());
        code.extend([0x0f, 0x0b]);
        let third = native(bed, 4, &code)?;
        if maps {
            good(map(third, READ, bed.ram, 7 * PAGE, PAGE, Rights(3)))?;
        }
        let reads = launch(bed, third)?;
        good(copy(reads.0, Some(Space(other)), its::THREAD, Rights::ALL, 0))?;
        good(copy(third.0, Some(Space(other)), its::NEXT, Rights::ALL, 0))?;
        good(Thread(thread).start(CODE, DATA + PAGE, 0))?;
        let (_, f) = next()?;
        let own = if maps {
            f.vector == vector::INVALID_OPCODE && f.eax == 7
        } else {
            f.vector == vector::PAGE_FAULT && f.address == READ
        };
        seen("its own page, or none", &f, own)?;
        check("all succeeded", word(bed, 3)? == 0)?;
        for slot in [thread, changes, reads.0, space, other, third.0] {
            let _ = delete(slot);
        }
    }
    Ok(())
}
