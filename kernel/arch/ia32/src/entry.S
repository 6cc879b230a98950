// SPDX-License-Identifier: MIT OR Apache-2.0
// Entry by interrupt, trap and `int`; the saving of all registers; the way back to user mode.
//
// From user mode the processor pushes at `Cpu::current`, that is right below the running Thread's
// reference, into its `context`. The stubs push the rest there and go on with the kernel's only
// stack. In kernel mode interrupts are open in one place (`interrupts::open`), and only note what came.

// Calls a Rust function on the kernel's stack.
.macro CALL_KERNEL function
    cld
    LOAD_DATA {kernel_data}, eax
    mov esp, offset {stack} + {stack_bytes}
    xor ebp, ebp
    call \function
.endm

.section .text.entry, "ax", @progbits
// Vectors 0 to 0x30. Those with an error code: 8, 10 to 14, 17, 21.
.macro STUB vector
    .balign 16
vector_\vector:
    .if ((\vector == 8) || ((\vector >= 10) && (\vector <= 14)) || (\vector == 17) || (\vector == 21)) == 0
    push 0
    .endif
    push \vector
    jmp entered
.endm
    .altmacro
    .set i, 0
    .rept 49
    STUB %i
    .set i, i + 1
    .endr
    .noaltmacro
// From user mode the processor began to push at `Cpu::current`. The selector in the frame
// says as much on a real processor, but QEMU lets ring 3 load CS with a null selector.
.global entered
entered:
    pushad
.global entered_saved
entered_saved:
    lea eax, [esp + {pushed}]
    cmp eax, ss:[{current}]
    jne not_from_user
    jmp save_segments
.global save_registers
save_registers:
    pushad
save_segments:
    // In its Intel syntax the assembler would move 16 bits of a segment register.
    .byte 0x1e                                          // push ds
    .byte 0x06                                          // push es
    .byte 0x0f, 0xa0                                    // push fs
    .byte 0x0f, 0xa8                                    // push gs
    CALL_KERNEL {enter}
.global leave_kernel
leave_kernel:
    // FS and GS were loaded by the lazy switch. The fast path saves only what it
    // needs itself, and uses the word of SS as scratch: CS and SS are constants.
    // Through SS: the fast path comes here with the user's DS.
    mov esp, ss:[{current}]
    mov dword ptr [esp - 4], {user_data}
    mov dword ptr [esp - 16], {user_code}
    sub esp, {frame_bytes} - 8
pop_es:
    .byte 0x07                                          // pop es
pop_ds:
    .byte 0x1f                                          // pop ds
    popad
    add esp, 8
    iretd
// From virtual 8086 mode the processor pushes four words more. Ring 3 cannot get
// there, but QEMU's `iret` takes the VM flag from ring 3, too.
not_from_user:
    add eax, {virtual_bytes}
    cmp eax, ss:[{current}]
    jne from_kernel
    CALL_KERNEL {enter_virtual}
    jmp leave_kernel
// In kernel mode: an interrupt in the window, what a user left behind, or a bug.
from_kernel:
    mov eax, ss:[esp + 32]
    cmp eax, {vector_debug}
    je 2f
    cmp eax, {vector_invalid_tss}
    je 4f
    cmp eax, {vector_not_present}
    je 5f
    cmp eax, {vector_protection}
    je 5f
    sub eax, 0x20
    cmp eax, 0x0f
    ja 3f
    bts ss:[{pending}], eax
    and dword ptr [esp + 48], ~{interrupt_flag}
1:
    popad
    add esp, 8
    iretd
    // The kernel sets no breakpoint and no TF: it is the user's TF at sysenter's entry, or a
    // breakpoint at a `mov` to SS, which waits until the instruction behind an `int` was to begin.
    // What it left in the status register would be told to the next thread that looks.
2:
    xor eax, eax
    mov dr6, eax
    and dword ptr [esp + 48], ~{trap_flag}
    cmp dword ptr [esp + 40], offset sysenter_entry
    jne 1b
    or dword ptr ss:[{loaded}], {step}
    jmp 1b
    // `sysenter` leaves NT as the user had it, with which `iretd` is another instruction.
4:
    btr dword ptr [esp + 48], {nested_task}
    jc 1b
    jmp 3f
    // A selector whose descriptor is gone since the thread loaded it: it becomes null.
5:
    mov eax, [esp + 40]
    cmp eax, offset pop_es
    je 6f
    cmp eax, offset pop_ds
    jne 3f
6:
    mov dword ptr [esp + 52], 0
    jmp 1b
3:
    LOAD_DATA {kernel_data}, eax
    // The stack may be a thread's saved registers: say what happened on another.
    mov eax, esp
    mov esp, offset {panic_stack} + {panic_stack_bytes}
    push eax
    call {bug}
.global double_fault
double_fault:
    call {double_fault}
.section .rodata
    .balign 4
.global vector_table
vector_table:
    .altmacro
.macro ENTRY vector
    .long vector_\vector
.endm
    .set i, 0
    .rept 49
    ENTRY %i
    .set i, i + 1
    .endr
    .noaltmacro
.text
