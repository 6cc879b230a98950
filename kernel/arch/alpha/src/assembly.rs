// SPDX-License-Identifier: MIT OR Apache-2.0
//! What PALcode knows of Rust. The files are one unit for the assembler, which the build tool calls:
//! WebAssembly has no assembly.
//!
//! | file | room for |
//! |---|---|
//! | `start.S` | reset |
//! | `fast/ipc.S` | the fast path of `call` and `reply_wait` |
//! | `entry.S` | entries, saving all registers, exit, what PALcode does for Rust |
//! | `divide.S` | division, as GCC calls it |
//!
//! A name in braces in these files is a constant of the list below, which is a section of the
//! WebAssembly. The tool refuses a name that is not in the list, and one in the list that no file
//! uses.

use abi::arch::alpha::call_pal;
use abi::arch::alpha::constant::Constant;
use abi::frame::vector;
use abi::tag::REGISTER_WORDS;
use abi::{Delivery, MessageKind, Op, Rights, Tag};
use alpha_context::{hw, word};
use arch_common::field;
use arch_common::stack::{PANIC_BYTES, STACK_BYTES};
use core::mem::offset_of;
use kcore::port::CONTEXT_WORDS;
use kcore::space::HEADER_BYTES;
use kcore::thread::{BYTES, SEQUENCE, gate};
use kcore::{Slot, Space};

/// Where a saved register is, a word of the context, from a reference to its Thread: below it.
const fn saved(word: usize) -> i32 {
    (word as i32 - CONTEXT_WORDS as i32) * 8
}

/// Where words of a Space's that a port keeps are.
const fn of_space(word: usize) -> i32 {
    (offset_of!(Space, hw) + 4 * word) as i32
}

/// The list.
macro_rules! constants {
    ($($name:ident = $value:expr,)*) => {
        [$(Constant::new(stringify!($name), $value as u32),)*]
    };
}

/// How many there are.
const COUNT: usize = 54;

#[used]
#[unsafe(link_section = "constants")]
static CONSTANTS: [Constant; COUNT] = constants![
    call_pal_counter = call_pal::COUNTER,
    call_pal_port_read = call_pal::PORT_READ,
    call_right = Rights::CALL.0,
    cap_limit = field!(cap_limit),
    delivery_reply = Delivery::new(MessageKind::Reply, 0, 0, 0).0,
    gate = field!(gate),
    gate_open = gate::OPEN,
    gate_ready = gate::READY,
    gate_reply = gate::REPLY,
    gpr = saved(0),
    handle = field!(handle),
    op_call = Tag::new(Op::Call, 0, 0).0,
    op_reply_wait = Tag::new(Op::ReplyWait, 0, 0).0,
    panic_bytes = PANIC_BYTES,
    partner = field!(partner),
    pc = saved(word::PC),
    rights = Rights::ALL.0,
    sequence_high = SEQUENCE >> 16,
    signals = field!(signals),
    slot_shift = size_of::<Slot>().trailing_zeros(),
    slots = HEADER_BYTES,
    sp = saved(word::SP),
    space = field!(space),
    stack_bytes = STACK_BYTES,
    table = of_space(hw::TABLE),
    tag = of_space(hw::TAG),
    thread_shift = BYTES.trailing_zeros(),
    vector_call_pal = vector::CALL_PAL,
    vector_port_read = vector::PORT_READ,
    vector_port_write = vector::PORT_WRITE,
    vector_system_call = vector::SYSTEM_CALL,
    words = REGISTER_WORDS,
    // The kernel's mode, with interrupts off, that of users, with interrupts, and the bit that they
    // differ by, of the register of QEMU's that has the mode.
    kernel_mode = 7,
    user_mode = 0x18,
    user_bit = 8,
    // Registers of QEMU's (target/alpha/translate.c): the mode, whether there is an FPU, an
    // exception's words, where it came from, the tables, the shadowed registers, temporaries, the
    // clock, its alarm, what switches off and what waits, what empties the TLB, and a word that
    // users read and write without PALcode.
    qemu = 1,
    qemu_alarm = 251,
    qemu_arguments = 3,
    qemu_exc_addr = 6,
    qemu_fen = 1,
    qemu_halt = 252,
    qemu_mode = 0,
    qemu_ptbr = 8,
    qemu_shadows = 32,
    qemu_tbia = 255,
    qemu_temporaries = 40,
    qemu_time = 249,
    qemu_unique = 10,
    qemu_wait = 253,
    // Those of the 21164, for which the fast path is assembled, too.
    exc_addr = 0x10b,
    temporaries = 0x140,
    itb_asn = 0x103,
    dtb_asn = 0x200,
    first_call_pal = 0x80,
];

// `fast/ipc.S`: pairs of words are read at once, and displacements have ten bits.
const _: () = {
    assert!(field!(priority) == field!(gate) + 4 && field!(partner) == field!(handle) + 4);
    assert!(field!(senders) == field!(signals) + 4);
    assert!(field!(gate) % 8 == 0 && field!(handle) % 8 == 0 && field!(signals) % 8 == 0);
    assert!(of_space(hw::TABLE) % 8 == 0 && of_space(hw::TAG) == of_space(hw::TABLE) + 8);
    assert!(HEADER_BYTES < 512 && saved(0) > -512 && of_space(hw::TAG) < 512);
    assert!(SEQUENCE & 0xffff == 0 && Rights::ALL.0 < 256);
    // The fast path is where the last CALL_PAL is entered (`kernel.ld`).
    assert!(call_pal::SYSTEM_CALL == 0xbf);
    // `entry.S`: the three that it handles are one after the other, before the system call.
    assert!(call_pal::PORT_WRITE == call_pal::PORT_READ + 1);
    assert!(call_pal::COUNTER == call_pal::PORT_READ + 2);
};
