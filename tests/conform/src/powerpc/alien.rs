// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of PowerPC's registers an alien's system call and the next `run` keep: all except r11, r12
//! and CR0. The alien and this component have everything in the two lowest segments, so fast paths
//! do this.

use crate::alien::CODE;
use crate::exception::{DATA, create, next};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, check, fill, good};
use abi::frame::{CHANGED_STATE, program, vector};
use abi::{Frame, MessageKind, Rights, Word};
use macadamia::alien::Alien;
use macadamia::cap::{copy, delete};
use macadamia::ipc::{Received, run};
use macadamia::map::map;
use macadamia::{Thread, start as memory};
use processor::code;

pub const CASES: &[Case] = &[
    ("sc_and_run_keep_all_registers", kept),
    ("of_the_machine_state_a_handler_sets_flags_only", state),
    ("the_fpu_is_the_aliens_still", |bed| floats(bed, false)),
    ("the_fpu_is_the_aliens_again", |bed| floats(bed, true)),
    ("a_handler_sets_the_fpu", sets_fpu),
];

/// Its badge, and the address of its data, which this component has at [`DATA`].
const BADGE: Word = 6;
const THERE: u32 = CODE + PAGE;
/// In the machine state: an exception after each instruction.
const STEP: u32 = 0x400;
/// Its lower half in user mode, without a thread's own flags.
const RUNNING: u32 = 0xd030;

/// An alien that is about to run `code`, with its reply handle.
fn launch(bed: &mut Bed, code: &[u8]) -> Result<(Alien, u32), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code);
    let (slot, thread, handler) = (bed.slot(), bed.slot(), bed.slot());
    let space = good(QUOTA.create_space(0, slot))?;
    good(map(space, CODE, bed.ram, 0, PAGE, Rights(5)))?;
    good(map(space, THERE, bed.ram, PAGE, PAGE, Rights(3)))?;
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    good(copy(SELF.0, None, handler, Rights::CALL, BADGE))?;
    good(Alien::create(QUOTA, space, thread, Thread(handler)))
}

/// Lets it run to its next event, which must be of this kind.
fn goes_on(handle: u32, event: u32) -> Result<Received, Why> {
    let r = good(run(handle))?;
    check("an alien's event with its badge", r.kind == MessageKind::Alien && r.badge == BADGE)?;
    if r.words[0] == event {
        Ok(r)
    } else {
        Err(macadamia::alloc::format!("event {:#x} at {:#x} came", r.words[0], r.words[1]))
    }
}

/// Different registers in each turn.
fn registers(turn: u32) -> Frame {
    let gpr = core::array::from_fn(|i| turn << 24 | 0x1000 | i as u32);
    Frame {
        gpr,
        lr: turn << 24 | 4,
        ctr: turn << 24 | 5,
        xer: 0xa000_0000 | turn,
        cr: 0x0765_4321 ^ turn,
        pc: CODE,
        ..Frame::default()
    }
}

fn kept(bed: &mut Bed) -> Result<(), Why> {
    let (alien, mut handle) = launch(bed, code::system_call())?;
    for turn in 1..=5 {
        let before = registers(turn);
        alien.set_frame(&before);
        let r = goes_on(handle, vector::SYSTEM_CALL)?;
        handle = r.handle;
        check("no address, no error", r.words[1..] == [0, 0])?;
        let after = alien.frame();
        let mut gpr = before.gpr;
        // The kernel left none of its own values there.
        gpr[11..13].fill(0);
        check("r0 to r31", after.gpr == gpr)?;
        check(
            "LR, CTR and XER",
            (after.lr, after.ctr, after.xer) == (before.lr, before.ctr, before.xer),
        )?;
        check("CR1 to CR7", after.cr & 0x0fff_ffff == before.cr & 0x0fff_ffff)?;
        check("after the instruction", after.pc == CODE + 4)?;
        check("the machine state", after.msr == RUNNING)?;
        check(
            "why",
            (after.vector, after.error, after.address, after.changed)
                == (vector::SYSTEM_CALL, 0, 0, 0),
        )?;
    }
    Ok(())
}

/// All bits that a handler sets besides flags are masked: the alien still runs in user mode, with
/// interrupts enabled and the FPU disabled.
fn state(bed: &mut Bed) -> Result<(), Why> {
    let (alien, handle) =
        launch(bed, &[code::system_call(), code::nop(), code::read_state()].concat())?;
    alien.set_frame(&registers(1));
    let mut handle = goes_on(handle, vector::SYSTEM_CALL)?.handle;
    alien.set_frame(&Frame { msr: STEP, ..alien.frame() });
    handle = goes_on(handle, vector::TRACE)?.handle;
    check("one step", alien.frame().pc == CODE + 8)?;
    alien.set_frame(&Frame { pc: CODE | 3, msr: 0, ..alien.frame() });
    handle = goes_on(handle, vector::SYSTEM_CALL)?.handle;
    check("at a multiple of 4", alien.frame().pc == CODE + 4)?;
    // Among them LE, which reverses the order of bytes.
    alien.set_frame(&Frame { msr: !STEP, ..alien.frame() });
    let r = goes_on(handle, vector::PROGRAM)?;
    check("it is a user", r.words[2] == program::PRIVILEGED)?;
    let f = alien.frame();
    check("its flags", f.msr == RUNNING | 0xb00 && f.pc == CODE + 8)
}

/// The alien's code: it loads f0 and f31, and stores both after each system call.
fn loads_and_stores() -> macadamia::alloc::vec::Vec<u8> {
    // lfd 0, 0(4); lfd 31, 8(4); then sc; stfd 0, 16(4); stfd 31, 24(4); again
    let floats = code::floats();
    let (loads, stores) = (&floats[..8], &floats[12..20]);
    let once = [code::system_call(), stores.into()].concat();
    [loads, &once, &once, &once].concat()
}

fn get(at: u32) -> [u8; 16] {
    let mut found = [0; 16];
    found.copy_from_slice(memory::bytes(at, 16));
    found
}

const VALUES: [u8; 16] = *b"\x3f\xf0\0\0\0\0\0\x01\x40\0\0\0\0\0\0\x02";

/// An alien's registers of the FPU survive its system calls; also if a thread of this component
/// uses the FPU (`meanwhile`).
fn floats(bed: &mut Bed, meanwhile: bool) -> Result<(), Why> {
    let (alien, handle) = launch(bed, &loads_and_stores())?;
    fill(DATA, 16, &VALUES);
    let mut f = registers(1);
    f.gpr[4] = THERE;
    alien.set_frame(&f);
    let mut handle = goes_on(handle, vector::SYSTEM_CALL)?.handle;
    for _ in 0..2 {
        check("its FPU is not this component's to see", alien.frame().msr == RUNNING)?;
        fill(DATA + 16, 16, &[0; 16]);
        if meanwhile {
            fill(ADDRESS + PAGE / 2, 64, code::floats());
            let other = create(bed, SPACE)?;
            good(other.start(ADDRESS + PAGE / 2, ADDRESS + PAGE, DATA + 64))?;
            let (stopped, _) = next()?;
            check("it used the FPU", stopped.words[0] == vector::PROGRAM)?;
            good(delete(other.0))?;
        }
        handle = goes_on(handle, vector::SYSTEM_CALL)?.handle;
        check("f0 and f31", get(DATA + 16) == VALUES)?;
    }
    Ok(())
}

/// The values that a handler writes to the FPU's registers are loaded if it says that it has
/// changed them.
fn sets_fpu(bed: &mut Bed) -> Result<(), Why> {
    let (alien, handle) = launch(bed, &loads_and_stores())?;
    fill(DATA, 16, &VALUES);
    let mut f = registers(1);
    f.gpr[4] = THERE;
    alien.set_frame(&f);
    let mut handle = goes_on(handle, vector::SYSTEM_CALL)?.handle;
    for turn in 1..=2 {
        good(alien.thread.fpu_sync())?;
        alien.set_fpu_word(1, turn);
        alien.set_frame(&Frame { changed: CHANGED_STATE, ..alien.frame() });
        handle = goes_on(handle, vector::SYSTEM_CALL)?.handle;
        let found = get(DATA + 16);
        check(
            "what the handler wrote",
            found[4..8] == turn.to_be_bytes() && found[8..] == VALUES[8..],
        )?;
    }
    Ok(())
}
