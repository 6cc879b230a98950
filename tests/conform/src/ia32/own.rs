// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that a thread sets for itself by a system call is loaded when the call returns, even if no
//! other thread ran in between. The threads execute machine code, and had no such state before.

use crate::exception::{DATA, create, next};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SPACE, Why, check, good};
use abi::arch::ia32::kip::INT_VECTOR;
use abi::frame::vector;
use abi::state::tls::{PAGES, PRESENT};
use abi::{MapRecord, Op, Rights, Tag};
use macadamia::Space;
use macadamia::alloc::vec::Vec;
use macadamia::cap::copy;
use macadamia::map::map;
use macadamia::start::fill;

pub const CASES: &[Case] = &[
    ("ports_are_open_when_map_returns", ports),
    ("a_thread_pointer_works_when_set_state_returns", thread_pointer),
];

/// Code that loads `eax ebx esi edi ebp` and makes a system call.
fn system_call(op: Op, args: [u32; 4]) -> Vec<u8> {
    let [a, b, c, d] = args;
    let moves = [(0xb8, Tag::new(op, 0, 0).0), (0xbb, a), (0xbe, b), (0xbf, c), (0xbd, d)];
    let mut code: Vec<u8> = moves
        .into_iter()
        .flat_map(|(mov, value): (u8, u32)| [mov].into_iter().chain(value.to_le_bytes()))
        .collect();
    code.extend([0xcd, INT_VECTOR as u8]);
    code
}

/// In the table of the thread's space: the object whose state it sets.
const OWN: u32 = 1;
/// And the capability that it gives to it.
const PORTS: u32 = 2;

/// A space that has no ports, with `code` and memory for data.
pub fn bare(bed: &mut Bed, code: &[u8]) -> Result<Space, Why> {
    let slot = bed.slot();
    let space = good(QUOTA.create_space(4, slot))?;
    good(map(SPACE, ADDRESS, bed.ram, 0, 2 * PAGE, Rights(3)))?;
    fill(ADDRESS, 2 * PAGE, code);
    good(map(space, ADDRESS, bed.ram, 0, 2 * PAGE, Rights(3)))?;
    Ok(space)
}

fn ports(bed: &mut Bed) -> Result<(), Why> {
    let Some(given) = bed.ports else { return Ok(()) };
    let record = MapRecord::new(MapRecord::MAP, OWN, 0, PORTS, 0, 1, Rights(3));
    let mut code = Vec::new();
    for (offset, word) in (0u8..).step_by(4).zip(record.0) {
        // mov dword [ebx + offset], word: EBX is the UTCB at the start
        code.extend([0xc7, 0x43, offset]);
        code.extend(word.to_le_bytes());
    }
    code.extend(system_call(Op::Map, [1, 0, 0, 0]));
    // mov ecx, eax; in al, 0x80; ud2
    code.extend([0x89, 0xc1, 0xe4, 0x80, 0x0f, 0x0b]);
    let space = bare(bed, &code)?;
    let thread = create(bed, space)?;
    good(copy(space.0, Some(space), OWN, Rights::CONTROL, 0))?;
    good(copy(given.0, Some(space), PORTS, Rights::RWX, 0))?;
    good(thread.start(ADDRESS, DATA + PAGE, 0))?;
    let (r, f) = next()?;
    check("the port is open", r.words[0] == vector::INVALID_OPCODE)?;
    check("map succeeded", f.ecx == 0)
}

fn thread_pointer(bed: &mut Bed) -> Result<(), Why> {
    let mut code = system_call(Op::SetState, [OWN, 0, DATA, PRESENT | PAGES]);
    // mov ecx, eax; mov eax, 0x33; mov fs, ax; mov eax, fs:[4]; ud2
    code.extend([0x89, 0xc1, 0xb8, 0x33, 0, 0, 0, 0x8e, 0xe0, 0x64, 0xa1, 4, 0, 0, 0, 0x0f, 0x0b]);
    let space = bare(bed, &code)?;
    fill(DATA + 4, 4, &0x5eed_u32.to_le_bytes());
    let thread = create(bed, space)?;
    good(copy(thread.0, Some(space), OWN, Rights::CONTROL, 0))?;
    good(thread.start(ADDRESS, DATA + PAGE, 0))?;
    let (r, f) = next()?;
    check("the selector can be loaded", r.words[0] == vector::INVALID_OPCODE)?;
    check("set_tls succeeded", f.ecx == 0)?;
    check("it reads through its descriptor", f.eax == 0x5eed)
}
