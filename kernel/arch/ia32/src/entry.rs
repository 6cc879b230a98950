// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entry by interrupt, trap and `int`, the common saving of registers, and the exit.
//!
//! From user mode the processor pushes at `Cpu::current`, that is right below the
//! running Thread's reference, into its `context`; the stubs push the rest there
//! and go on with the kernel's only stack. In kernel mode interrupts are open in
//! one place ([`window`]), and only note what came.

use crate::fast::field;
use crate::layout::CPU;
use crate::regs::{EFLAGS_IF, EFLAGS_TF};
use core::arch::global_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, Ordering};
use ia32_context::{selector, word};
use kcore::{Cpu, Thread};

/// Bytes of the saved frame.
const FRAME_BYTES: u32 = (32 - word::GS as u32) * 4;

/// Interrupt lines that came in a [`window`], a bit each.
pub static PENDING: AtomicU32 = AtomicU32::new(0);

global_asm!(
    ".section .text.entry, \"ax\", @progbits",
    // Vectors 0 to 0x30. Those with an error code: 8, 10 to 14, 17, 21.
    ".macro STUB vector",
    ".balign 16",
    "vector_\\vector:",
    ".if ((\\vector == 8) || ((\\vector >= 10) && (\\vector <= 14)) || (\\vector == 17) || (\\vector == 21)) == 0",
    "push 0",
    ".endif",
    "push \\vector",
    "jmp entered",
    ".endm",
    ".altmacro",
    ".set i, 0",
    ".rept 49",
    "STUB %i",
    ".set i, i + 1",
    ".endr",
    ".noaltmacro",
    // From user mode the processor began to push at `Cpu::current`. The selector in the frame
    // says as much on a real processor, but QEMU lets ring 3 load CS with a null selector.
    ".global entered",
    "entered:",
    "pushad",
    ".global entered_saved",
    "entered_saved:",
    "lea eax, [esp + {pushed}]",
    "cmp eax, ss:[{current}]",
    "jne not_from_user",
    "jmp save_segments",
    ".global save_registers",
    "save_registers:",
    "pushad",
    "save_segments:",
    // In its Intel syntax the assembler would move 16 bits of a segment register.
    ".byte 0x1e",       // push ds
    ".byte 0x06",       // push es
    ".byte 0x0f, 0xa0", // push fs
    ".byte 0x0f, 0xa8", // push gs
    "cld",
    "mov eax, {kernel_data}",
    "mov ds, eax",
    "mov es, eax",
    "mov esp, offset {stack} + {stack_bytes}",
    "xor ebp, ebp",
    "call {enter}",
    ".global leave_kernel",
    "leave_kernel:",
    // FS and GS were loaded by the lazy switch. The fast path saves only what it
    // needs itself, and uses the word of SS as scratch: CS and SS are constants.
    // Through SS: the fast path comes here with the user's DS.
    "mov esp, ss:[{current}]",
    "mov dword ptr [esp - 4], {user_data}",
    "mov dword ptr [esp - 16], {user_code}",
    "sub esp, {frame_bytes} - 8",
    "pop_es:",
    ".byte 0x07", // pop es
    "pop_ds:",
    ".byte 0x1f", // pop ds
    "popad",
    "add esp, 8",
    "iretd",
    // From virtual 8086 mode the processor pushes four words more. Ring 3 cannot get
    // there, but QEMU's `iret` takes the VM flag from ring 3, too.
    "not_from_user:",
    "add eax, {virtual_bytes}",
    "cmp eax, ss:[{current}]",
    "jne from_kernel",
    "cld",
    "mov eax, {kernel_data}",
    "mov ds, eax",
    "mov es, eax",
    "mov esp, offset {stack} + {stack_bytes}",
    "xor ebp, ebp",
    "call {enter_virtual}",
    "jmp leave_kernel",
    // In kernel mode: an interrupt in the window, what a user left behind, or a bug.
    "from_kernel:",
    "mov eax, ss:[esp + 32]",
    "cmp eax, {debug}",
    "je 2f",
    "cmp eax, {invalid_tss}",
    "je 4f",
    "cmp eax, {not_present}",
    "je 5f",
    "cmp eax, {protection}",
    "je 5f",
    "sub eax, 0x20",
    "cmp eax, 0x0f",
    "ja 3f",
    "bts ss:[{pending}], eax",
    "and dword ptr [esp + 48], ~{interrupt_flag}",
    "1:",
    "popad",
    "add esp, 8",
    "iretd",
    // The kernel sets no breakpoint and no TF: it is the user's TF at sysenter's entry, or a
    // breakpoint at a `mov` to SS, which waits until the instruction behind an `int` was to begin.
    // What it left in the status register would be told to the next thread that looks.
    "2:",
    "xor eax, eax",
    "mov dr6, eax",
    "and dword ptr [esp + 48], ~{trap_flag}",
    "cmp dword ptr [esp + 40], offset sysenter_entry",
    "jne 1b",
    "or dword ptr ss:[{loaded}], {step}",
    "jmp 1b",
    // `sysenter` leaves NT as the user had it, with which `iretd` is another instruction.
    "4:",
    "btr dword ptr [esp + 48], {nested_task}",
    "jc 1b",
    "jmp 3f",
    // A selector whose descriptor is gone since the thread loaded it: it becomes null.
    "5:",
    "mov eax, [esp + 40]",
    "cmp eax, offset pop_es",
    "je 6f",
    "cmp eax, offset pop_ds",
    "jne 3f",
    "6:",
    "mov dword ptr [esp + 52], 0",
    "jmp 1b",
    "3:",
    "mov eax, {kernel_data}",
    "mov ds, eax",
    "mov es, eax",
    // The stack may be a thread's saved registers: say what happened on another.
    "mov eax, esp",
    "mov esp, offset {panic_stack} + {panic_stack_bytes}",
    "push eax",
    "call {bug}",
    ".global double_fault",
    "double_fault:",
    "call {double_fault}",
    ".section .rodata",
    ".balign 4",
    ".global vector_table",
    "vector_table:",
    ".altmacro",
    ".macro ENTRY vector",
    ".long vector_\\vector",
    ".endm",
    ".set i, 0",
    ".rept 49",
    "ENTRY %i",
    ".set i, i + 1",
    ".endr",
    ".noaltmacro",
    ".text",
    kernel_data = const crate::gdt::KERNEL_DATA,
    user_data = const selector::USER_DATA,
    user_code = const selector::USER_CODE,
    current = const CPU + offset_of!(Cpu, current) as u32,
    loaded = const CPU + offset_of!(Cpu, loaded) as u32,
    stack = sym crate::boot::KERNEL_STACK,
    stack_bytes = const size_of_val(&crate::boot::KERNEL_STACK),
    panic_stack = sym crate::boot::PANIC_STACK,
    panic_stack_bytes = const size_of_val(&crate::boot::PANIC_STACK),
    frame_bytes = const FRAME_BYTES,
    debug = const abi::frame::vector::DEBUG,
    invalid_tss = const 10,
    not_present = const 11,
    protection = const abi::frame::vector::GENERAL_PROTECTION,
    nested_task = const 14,
    interrupt_flag = const EFLAGS_IF,
    trap_flag = const EFLAGS_TF,
    step = const crate::lazy::STEP_PENDING,
    pending = sym PENDING,
    enter = sym crate::trap::enter,
    enter_virtual = sym crate::trap::enter_virtual,
    // `pushad`, vector, error code, and the five words of an entry from ring 3.
    pushed = const 32 + 8 + 20,
    virtual_bytes = const crate::trap::VIRTUAL_WORDS * 4,
    bug = sym crate::trap::kernel_exception,
    double_fault = sym crate::trap::double_fault,
);

const _: () = assert!(field!(context) == -128 && offset_of!(Thread, context) == 0);

unsafe extern "C" {
    /// Leaves to the thread in `Cpu::current`.
    pub fn leave_kernel() -> !;
    static vector_table: [u32; 49];
    fn double_fault();
}

/// Entry points for the interrupt table, and of the double fault's task.
pub fn handlers() -> ([u32; 256], u32) {
    let mut all = [0; 256];
    // SAFETY: a constant table that the assembly above lays down.
    let stubs = unsafe { &vector_table };
    all[..stubs.len()].copy_from_slice(stubs);
    all[usize::from(ALIEN_CALL)] = crate::alien::alien_entry as *const () as u32;
    all[abi::frame::vector::PAGE_FAULT as usize] = crate::alien::alien_fault as *const () as u32;
    (all, double_fault as *const () as u32)
}

/// Vector of an alien's system call.
pub const ALIEN_CALL: u8 = 0x80;

/// Opens interrupts for a moment, or until one comes (`wait`). What came is in [`PENDING`].
pub fn window(wait: bool) {
    // SAFETY: in kernel mode an interrupt only sets a bit in `PENDING` and closes
    // interrupts again (`from_kernel` above). `sti` takes effect behind the next
    // instruction, so none can slip in before `hlt`.
    unsafe {
        if wait {
            core::arch::asm!("sti", "hlt", "cli");
        } else {
            core::arch::asm!("sti", "nop", "nop", "cli");
        }
    }
}

/// Whether lines came in windows.
pub fn is_pending() -> bool {
    PENDING.load(Ordering::Relaxed) != 0
}

/// Takes the lines that came in windows.
pub fn take_pending() -> u32 {
    PENDING.swap(0, Ordering::Relaxed)
}
