// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's saved registers on IA-32: where each is in [`Context`], what a handler sees of them,
//! and which values the kernel accepts from a handler.
//!
//! It owns the layout of a context. It executes nothing of the processor, so the host can test it,
//! and it does not know how a register is saved: the port's assembly does that.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use abi::frame::{BY_SYSEXIT, CHANGED_SEGMENTS, Frame, USER_FLAGS, vector};
use abi::state::{DEBUG, TLS, TLS_COUNT};
use abi::{Error, UserAddr};
use bytemuck::{Pod, Zeroable};
use kcore::Thread;
use kcore::port::{CONTEXT_WORDS, Context, Registers, STATE_WORDS};
use kcore::space::HW_WORDS;
use mmu::debug;

/// EFLAGS while a thread runs, in addition to its own flags: bit 1 is always set, and interrupts
/// are enabled.
pub const FIXED_FLAGS: u32 = 1 << 9 | 2;

/// The port's words of a space, `Space::hw`, by their indices.
pub mod hw {
    /// The physical address of the space's page directory.
    pub const DIRECTORY: usize = 0;
    /// The address of the code that enters the space (`switch.S`).
    pub const ENTER: usize = 1;
    /// The server that the space shows; for a server, itself; or null. For a small space, which
    /// shows what its home shows, this is [`REGION_HIGH`].
    pub const SERVER: usize = 2;
    /// For a small space, the upper word of its threads' data segment descriptor
    /// (`mmu::descriptor::region`). It is never a server's address, because that is higher than all
    /// bases.
    pub const REGION_HIGH: usize = SERVER;
    /// The code segment of its threads, and in the upper half their stack segment.
    pub const SEGMENTS: usize = 3;
    /// For a small space, the lower word of its threads' segment descriptors; otherwise 0.
    pub const REGION_LOW: usize = 4;
    /// The address of the code that delivers an alien's event to the space (`alien.S`).
    pub const EVENT: usize = 5;
    /// The space with whose page directory it runs: for a small space its home, otherwise itself.
    pub const HOME: usize = 6;
    /// The index of the directory's entry for the kernel's part of a native space.
    pub const AREA: usize = 7;
    /// For a small space, what [`SERVER`] is when the space is large again.
    pub const LARGE_SERVER: usize = 8;
}

/// Flags next to the thread in `Cpu::loaded`.
pub mod loaded {
    /// The FPU is enabled for the loaded thread.
    pub const FPU_OPEN: u32 = 1;
    /// The current thread entered with a single step pending.
    pub const STEP_PENDING: u32 = 2;
    /// The loaded alien's handler must not run with what is loaded, so no fast path leads
    /// to it. Breakpoints would be hit at the handler's addresses; ports are not the handler's own;
    /// and fast paths know only the first TLS segment descriptor.
    pub const PRIVATE: u32 = 4;
    /// The loaded alien's FS and GS are saved in the thread, and null in the processor; its TLS
    /// segment descriptor cannot be loaded. A server runs, which could access the kernel by them.
    pub const AWAY: u32 = 8;
    /// All of them.
    pub const FLAGS: u32 = FPU_OPEN | STEP_PENDING | PRIVATE | AWAY;
}

/// Selectors of user mode.
pub mod selector {
    /// Ring-3 code.
    pub const USER_CODE: u16 = 0x1b;
    /// Ring-3 data.
    pub const USER_DATA: u16 = 0x23;
    /// DS (low half) and ES with ring-3 data in both, as a frame has them.
    pub const FLAT: u32 = USER_DATA as u32 | (USER_DATA as u32) << 16;
    /// Ring-1 code, of servers.
    pub const SERVER_CODE: u16 = 0x51;
    /// Ring-1 data, of servers.
    pub const SERVER_DATA: u16 = 0x59;
    /// Ring-3 code of the small space that runs.
    pub const SMALL_CODE: u16 = 0x63;
    /// Ring-3 data of the small space that runs.
    pub const SMALL_DATA: u16 = 0x6b;
    /// First of three TLS segment descriptors, where Linux has them on i386.
    pub const TLS: u16 = 0x33;
}

/// Words of the saved frame: index into `Context`, in the order of pushing from the end.
pub mod word {
    /// Data segments.
    pub const GS: usize = 13;
    /// See `GS`.
    pub const FS: usize = 14;
    /// See `GS`.
    pub const ES: usize = 15;
    /// See `GS`.
    pub const DS: usize = 16;
    /// General registers in the order of `pushad`.
    pub const EDI: usize = 17;
    /// See `EDI`.
    pub const ESI: usize = 18;
    /// See `EDI`.
    pub const EBP: usize = 19;
    /// See `EDI`.
    pub const EBX: usize = 21;
    /// See `EDI`.
    pub const EDX: usize = 22;
    /// See `EDI`.
    pub const ECX: usize = 23;
    /// See `EDI`.
    pub const EAX: usize = 24;
    /// Vector, as the stub pushed it.
    pub const VECTOR: usize = 25;
    /// Error code or 0.
    pub const ERROR: usize = 26;
    /// What the processor pushes.
    pub const EIP: usize = 27;
    /// See `EIP`.
    pub const CS: usize = 28;
    /// See `EIP`.
    pub const EFLAGS: usize = 29;
    /// See `EIP`.
    pub const ESP: usize = 30;
    /// See `EIP`.
    pub const SS: usize = 31;
}

/// Where a system call's arguments and results are.
pub const ARGUMENTS: [usize; 5] = [word::EAX, word::EBX, word::ESI, word::EDI, word::EBP];

/// The layout of a thread's registers.
pub struct Ia32;

impl Registers for Ia32 {
    fn argument(context: &Context, index: usize) -> u32 {
        context[ARGUMENTS[index]]
    }

    fn set_result(context: &mut Context, index: usize, value: u32) {
        // The fast path does not save DS and ES. After a system call they are flat.
        context[word::DS] = u32::from(selector::USER_DATA);
        context[word::ES] = u32::from(selector::USER_DATA);
        context[ARGUMENTS[index]] = value;
    }

    fn frame(thread: &Thread) -> Frame {
        let c = &thread.context;
        let is_fault = c[word::VECTOR] == vector::PAGE_FAULT;
        Frame {
            eax: c[word::EAX],
            ebx: c[word::EBX],
            ecx: c[word::ECX],
            edx: c[word::EDX],
            esi: c[word::ESI],
            edi: c[word::EDI],
            ebp: c[word::EBP],
            esp: c[word::ESP],
            eip: c[word::EIP],
            eflags: c[word::EFLAGS],
            // Whether its space is small is not for its handler to know.
            ds_es: flat_selectors(c[word::DS] & 0xffff | c[word::ES] << 16),
            fs_gs: state(thread).fs_gs,
            vector: c[word::VECTOR],
            error: c[word::ERROR],
            address: if is_fault { thread.fault_address.0 } else { 0 },
            changed: 0,
        }
    }

    fn load_frame(thread: &mut Thread, frame: &Frame) {
        let tls = state(thread).tls;
        let c = &mut thread.context;
        // `sysexit` takes EIP from EDX and ESP from ECX. Who goes on by `iret` sees the same.
        let by_sysexit = frame.changed & BY_SYSEXIT != 0;
        for (index, value) in [
            (word::EAX, frame.eax),
            (word::EBX, frame.ebx),
            (word::ECX, if by_sysexit { frame.esp } else { frame.ecx }),
            (word::EDX, if by_sysexit { frame.eip } else { frame.edx }),
            (word::ESI, frame.esi),
            (word::EDI, frame.edi),
            (word::EBP, frame.ebp),
            (word::ESP, frame.esp),
            (word::EIP, frame.eip),
            (word::EFLAGS, frame.eflags & USER_FLAGS | FIXED_FLAGS),
            (word::VECTOR, frame.vector),
            (word::ERROR, frame.error),
            (word::DS, u32::from(checked_selector(frame.ds_es as u16, &tls))),
            (word::ES, u32::from(checked_selector((frame.ds_es >> 16) as u16, &tls))),
        ] {
            c[index] = value;
        }
        if frame.changed & CHANGED_SEGMENTS != 0 {
            set_fs_gs(thread, frame.fs_gs);
        }
    }

    fn start(
        context: &mut Context,
        entry: UserAddr,
        stack: UserAddr,
        utcb: UserAddr,
        argument: u32,
    ) {
        let data = u32::from(selector::USER_DATA);
        *context = [0; CONTEXT_WORDS];
        for (index, value) in [
            (word::EIP, entry.0),
            (word::ESP, stack.0),
            (word::EBX, utcb.0),
            (word::ESI, argument),
            (word::EFLAGS, FIXED_FLAGS),
            (word::DS, data),
            (word::ES, data),
            (word::VECTOR, vector::CREATED),
        ] {
            context[index] = value;
        }
    }

    // It does so by `sysexit`, which destroys ECX and EDX: only a thread that entered by `sysenter`
    // expects that. And it loads nothing lazily.
    fn resumes_fast(thread: &Thread) -> bool {
        thread.context[word::VECTOR] == vector::SYSENTER && thread.lazy == 0 && !thread.is_alien()
    }

    fn set_state(thread: &mut Thread, item: u32, values: [u32; 2]) -> Result<u32, Error> {
        match item {
            DEBUG.. => set_debug(thread, item - DEBUG, values[0]),
            _ => set_tls(thread, item - TLS, values).map(|()| 0),
        }
    }
}

/// The rarely loaded state of a thread, while it is not in the processor.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct State {
    /// Selectors of FS (low half) and GS.
    pub fs_gs: u32,
    /// TLS descriptors.
    pub tls: [[u32; 2]; TLS_COUNT as usize],
    /// Debug registers 0 to 3, 6 and 7.
    pub debug: debug::Registers,
    /// Of an alien in a small space: the first TLS descriptor as it was last in the processor.
    pub shown: [u32; 2],
    /// The space's segment descriptor at that time. If the space still has it, that TLS descriptor
    /// may be loaded again. 0: no space has it.
    pub shown_in: [u32; 2],
}
const _: () = assert!(
    size_of::<State>() == STATE_WORDS * 4
        && word::SS + 1 == CONTEXT_WORDS
        && hw::LARGE_SERVER + 1 == HW_WORDS
);

/// The parts of [`State`] that a thread has: bits of `Thread::lazy`.
pub mod lazy {
    /// FS or GS is not null.
    pub const SEGMENTS: u32 = 1;
    /// A TLS descriptor is present.
    pub const TLS: u32 = 2;
    /// A debug register is set.
    pub const DEBUG: u32 = 4;
    /// It used an I/O port, and its space has some.
    pub const PORTS: u32 = 8;
    /// Another TLS descriptor than the first is present.
    pub const MORE_TLS: u32 = 16;
}

/// A thread's rarely loaded state.
pub fn state(thread: &Thread) -> &State {
    bytemuck::cast_ref(&thread.lazy_state)
}

/// A thread's rarely loaded state, for writing. The code that changes it also has to set
/// `Thread::lazy`.
pub fn state_mut(thread: &mut Thread) -> &mut State {
    bytemuck::cast_mut(&mut thread.lazy_state)
}

/// Whether FS and GS name something.
pub const fn names_any(fs_gs: u32) -> bool {
    fs_gs & 0xfffc_fffc != 0
}

fn set_part(thread: &mut Thread, part: u32, present: bool) {
    thread.lazy = thread.lazy & !part | if present { part } else { 0 };
}

/// Sets the selectors of FS and GS.
pub fn set_fs_gs(thread: &mut Thread, fs_gs: u32) {
    state_mut(thread).fs_gs = fs_gs;
    set_part(thread, lazy::SEGMENTS, names_any(fs_gs));
}

/// Sets TLS segment descriptor `index`.
fn set_tls(thread: &mut Thread, index: u32, [base, limit]: [u32; 2]) -> Result<(), Error> {
    let tls = &mut state_mut(thread).tls;
    let slot = tls.get_mut(index as usize).filter(|_| limit < 1 << 24).ok_or(Error::BadArgument)?;
    *slot = mmu::descriptor::tls(base, limit);
    let (present, more) =
        (tls.iter().any(|d| *d != [0, 0]), tls.iter().skip(1).any(|d| *d != [0, 0]));
    state_mut(thread).shown_in = [0; 2];
    set_part(thread, lazy::TLS, present);
    set_part(thread, lazy::MORE_TLS, more);
    Ok(())
}

/// Sets a debug register, and returns and clears the status register.
fn set_debug(thread: &mut Thread, index: u32, value: u32) -> Result<u32, Error> {
    let registers = &mut state_mut(thread).debug;
    let status = debug::set(registers, index, value)?;
    let used = debug::are_used(registers);
    set_part(thread, lazy::DEBUG, used);
    Ok(status)
}

/// Switches off those breakpoints of a set of debug registers that lie at `end` or above.
pub fn limit_debug(debug: &mut debug::Registers, end: UserAddr) {
    for index in 0..4 {
        if debug[index] >= end.0 {
            debug[5] &= !(3 << (2 * index));
        }
    }
}

/// A data selector as a thread has it in a small space, or in a large one: both name flat data of
/// the space.
#[must_use]
pub const fn translated(selector: u16, is_small: bool) -> u16 {
    match (selector | 3, is_small) {
        (selector::USER_CODE, true) => selector::SMALL_CODE,
        (selector::USER_DATA, true) => selector::SMALL_DATA,
        (selector::SMALL_CODE, false) => selector::USER_CODE,
        (selector::SMALL_DATA, false) => selector::USER_DATA,
        _ => selector,
    }
}

/// Two data selectors (one in each half) as a thread has them in a space that is not small.
const fn flat_selectors(both: u32) -> u32 {
    translated(both as u16, false) as u32 | (translated((both >> 16) as u16, false) as u32) << 16
}

/// Selectors that can be loaded without a fault: null, flat data, and TLS slots that are present.
pub fn checked_selectors(fs_gs: u32, tls: &[[u32; 2]; 3]) -> u32 {
    u32::from(checked_selector(fs_gs as u16, tls))
        | u32::from(checked_selector((fs_gs >> 16) as u16, tls)) << 16
}

/// `selector` if a ring-3 thread with these TLS segment descriptors could load it as data, else
/// null.
pub fn checked_selector(selector: u16, tls: &[[u32; 2]; 3]) -> u16 {
    let slot = usize::from(selector >> 3);
    let first = usize::from(selector::TLS >> 3);
    let present = tls.get(slot.wrapping_sub(first)).is_some_and(|d| *d != [0, 0]);
    let flat =
        [selector::USER_DATA, selector::USER_CODE, selector::SMALL_DATA, selector::SMALL_CODE];
    let known = flat.iter().any(|flat| slot == usize::from(flat >> 3)) || present;
    // Bit 2 would name a descriptor of an LDT, which nobody has.
    if selector & 4 == 0 && known { selector | 3 } else { 0 }
}
