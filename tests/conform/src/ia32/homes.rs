// SPDX-License-Identifier: MIT OR Apache-2.0
//! For cases: homes, small spaces with code in them, and code.

use crate::exception::{create, next};
use crate::{ADDRESS, Bed, PAGE, QUOTA, SELF, Why, fails, good};
use abi::arch::ia32::kip::INT_VECTOR;
use abi::frame::Frame;
use abi::{Error, Op, Rights, Tag};
use image::layout::GRANTS_END;
use macadamia::alien::Alien;
use macadamia::alloc::vec::Vec;
use macadamia::cap::{copy, delete};
use macadamia::map::{Window, map};
use macadamia::start::fill;
use macadamia::time::has_servers;
use macadamia::{Space, Thread, result};

/// Size of the small spaces, and where in them code and data are.
pub const SIZE: u32 = 16 << 20;
pub const CODE: u32 = 0x80_0000;
pub const DATA: u32 = CODE + PAGE;
/// Their addresses in a home.
pub const FIRST: u32 = 0x0200_0000;
pub const SECOND: u32 = FIRST + SIZE;

/// Carries out a case with a home; without small spaces, checks that there are none.
pub fn with_home(bed: &mut Bed, case: fn(&mut Bed, Space) -> Result<(), Why>) -> Result<(), Why> {
    let home = new_home(bed)?;
    if !has_servers() {
        result!("# no small spaces on this machine: the case only sees that there are none");
        let slot = bed.slot();
        let space = good(QUOTA.create_space(0, slot))?;
        return fails(home.take_in(FIRST, space, SIZE), Error::Unsupported);
    }
    case(bed, home)
}

/// A home.
pub fn new_home(bed: &mut Bed) -> Result<Space, Why> {
    let slot = bed.slot();
    good(QUOTA.create_home(slot))
}

/// A native space with this code; its data is the page `page` of the RAM after that of the code.
pub fn native(bed: &mut Bed, page: u32, code: &[u8]) -> Result<Space, Why> {
    let slot = bed.slot();
    let space = good(QUOTA.create_space(16, slot))?;
    write(bed, page, code)?;
    good(map(space, CODE, bed.ram, page * PAGE, 2 * PAGE, Rights::RWX))?;
    Ok(space)
}

/// Fills a page of the RAM.
pub fn write(bed: &Bed, page: u32, bytes: &[u8]) -> Result<(), Why> {
    good(map(crate::SPACE, ADDRESS, bed.ram, page * PAGE, PAGE, Rights(3)))?;
    fill(ADDRESS, PAGE, bytes);
    Ok(())
}

/// The first word of a page of the RAM.
pub fn word(bed: &Bed, page: u32) -> Result<u32, Why> {
    Ok(good(Window::open(GRANTS_END, bed.ram, page * PAGE, PAGE, Rights(1)))?.read(0))
}

/// Like [`check`] for an event; the reason names the event.
pub fn seen(what: &str, f: &Frame, holds: bool) -> Result<(), Why> {
    let Frame { vector, error, address, eip, eax, .. } = f;
    if holds {
        Ok(())
    } else {
        Err(macadamia::alloc::format!(
            "{what}: vector {vector}, error {error:#x}, address {address:#x}, eip {eip:#x}, eax {eax:#x}"
        ))
    }
}

/// The exception with which this code ends in a small space at `FIRST`.
pub fn outcome(bed: &mut Bed, home: Space, code: &[u8]) -> Result<Frame, Why> {
    let space = native(bed, 0, code)?;
    good(home.take_in(FIRST, space, SIZE))?;
    let thread = launch(bed, space)?;
    let (_, frame) = next()?;
    for slot in [thread.0, space.0] {
        good(delete(slot))?;
    }
    Ok(frame)
}

/// A thread of a space, which begins at [`CODE`].
pub fn launch(bed: &mut Bed, space: Space) -> Result<Thread, Why> {
    let thread = create(bed, space)?;
    good(thread.start(CODE, DATA + PAGE, 0))?;
    Ok(thread)
}

/// Appends a short jump with this opcode to an offset in the code.
pub fn jump(code: &mut Vec<u8>, opcode: u8, to: usize) {
    let distance = to as i32 - (code.len() as i32 + 2);
    code.extend([opcode, distance as u8]);
}

/// An alien, with its reply handle. It begins at [`CODE`].
pub fn alien(bed: &mut Bed, page: u32, code: &[u8]) -> Result<(Space, Alien, u32), Why> {
    let slot = bed.slot();
    let space = good(QUOTA.create_space(0, slot))?;
    write(bed, page, code)?;
    good(map(space, CODE, bed.ram, page * PAGE, 2 * PAGE, Rights::RWX))?;
    let (slot, handler) = (bed.slot(), bed.slot());
    good(copy(SELF.0, None, handler, Rights::CALL, 0))?;
    let (alien, handle) = good(Alien::create(QUOTA, space, slot, Thread(handler)))?;
    alien.set_frame(&Frame { eip: CODE, esp: DATA + PAGE, ..alien.frame() });
    Ok((space, alien, handle))
}

/// Appends a system call by `int`, whose status is added to the first word of `data`: 0 is success.
pub fn call(code: &mut Vec<u8>, data: u32, op: Op, args: [u32; 4]) {
    let moves = [
        (0xb8, Tag::new(op, 0, 0).0),
        (0xbb, args[0]),
        (0xbe, args[1]),
        (0xbf, args[2]),
        (0xbd, args[3]),
    ];
    for (mov, value) in moves {
        code.push(mov);
        code.extend(u32::to_le_bytes(value));
    }
    // add [DATA], eax
    code.extend([0xcd, INT_VECTOR as u8, 0x01, 0x05]);
    code.extend(data.to_le_bytes());
}
