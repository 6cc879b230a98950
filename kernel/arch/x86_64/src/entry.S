// SPDX-License-Identifier: MIT OR Apache-2.0
// Entry by interrupt, exception and `syscall`; the saving of all registers; the way back to user mode.
//
// On an entry from user mode the processor pushes at `Cpu::current`, whose upper half is ones. That is right below the running Thread's
// reference, in its `context`; `syscall` pushes nothing, so the entry does. The stubs push the rest there, and then change to the kernel's
// only stack. In kernel mode interrupts are enabled in one place (`interrupts::open`); there they are only recorded.

// Pushes the general registers, in the frame's order from the lowest address on.
.macro PUSH_ALL
    .irp register, r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax
    push \register
    .endr
.endm

.macro POP_ALL
    .irp register, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
    pop \register
    .endr
.endm

.section .text.entry, "ax", @progbits

// A stub for each of the vectors up to the last line's. A page fault has fast paths (`fast/alien.S`). Those with an error code: 8, 10 to 14, 17, 21, 29, 30. Those with a
// stack of their own: 1, 2, 8, 18.
.macro STUB vector
    .balign 16
vector_\vector:
    .if \vector == {vector_page_fault}
    jmp page_fault
    .else
    .if ((\vector == 8) || ((\vector >= 10) && (\vector <= 14)) || (\vector == 17) || (\vector == 21) || (\vector == 29) || (\vector == 30)) == 0
    push 0
    .endif
    push \vector
    .if (\vector == 2) || (\vector == 8) || (\vector == 18)
    jmp machine
    .elseif \vector == 1
    jmp debug
    .else
    jmp entered
    .endif
    .endif
.endm
.altmacro
.set i, 0
.rept {vectors}
    STUB %i
    .set i, i + 1
.endr
.noaltmacro

// System calls that the fast paths do not handle (`fast/ipc.S`), with all registers as the user had them. `syscall` leaves the user's stack
// pointer. No interrupt comes here, because `syscall` has disabled them; exceptions that can come nevertheless have stacks of their own.
.balign 16
.global save_call
save_call:
    mov [{scratch}], rsp
    mov rsp, [{stack_of_ring_0}]
    push {user_data}
    push qword ptr [{scratch}]
    push r11
    push {user_code}
    push rcx
    push 0
    push {vector_call}

// On an entry from user mode the pushed words end at `Cpu::current`.
.global entered
entered:
    PUSH_ALL
.global entered_saved
entered_saved:
    lea rax, [rsp + {pushed}]
    cmp eax, [{current}]
    jne from_kernel
    // QEMU 10 lets users set the I/O privilege and virtual 8086 mode, and `iretq` and `sysretq` load the first from here.
    and qword ptr [rsp + {rflags}], {user_flags}
    or qword ptr [rsp + {rflags}], {fixed_flags}
    // Flags that the user had set, and an interrupt keeps: AC would open users' pages to the kernel.
    push 2
    popfq
    mov rsp, offset {stack} + {stack_bytes}
    xor ebp, ebp
    call {enter}
.global entered_last
entered_last:
    test rax, rax
    jnz leave_by_area

// To user mode, with the saved registers of the thread in `Cpu::current`, whose RIP is a user's. It uses `sysretq` if rcx and r11 have the
// values that `sysretq` gives them.
.global leave_kernel
leave_kernel:
    mov rsp, [{stack_of_ring_0}]
    sub rsp, {pushed}
    mov rcx, [rsp + {rcx}]
    mov r11, [rsp + {r11}]
    cmp rcx, [rsp + {rip}]
    jne 1f
    cmp r11, [rsp + {rflags}]
    jne 1f
    test r11d, {not_by_sysret}
    jnz 1f
    POP_ALL
    mov rsp, [rsp + {rsp} - {vector}]
    sysretq
1:
    mov qword ptr [rsp + {cs}], {user_code}
    mov qword ptr [rsp + {ss}], {user_data}
    POP_ALL
    add rsp, 16
    iretq

// The first exit, with what `leave` has returned in RDI.
.global leave_first
leave_first:
    mov rax, rdi
    jmp entered_last

// The same through an entry area, whose tables are in RAX: the area begins with the way out.
leave_by_area:
    mov rdi, rax
    jmp area_seen

// From kernel mode: an interrupt in `interrupts::open`, or a bug.
from_kernel:
    mov eax, [rsp + {vector}]
    sub eax, {first_line}
    cmp eax, {last_line} - {first_line}
    ja bug
    bts [{pending}], eax
    and qword ptr [rsp + {rflags}], ~{interrupt_flag}
    POP_ALL
    add rsp, 16
    iretq
    // The stack may be in a thread's saved registers: another stack is used to print what happened.
bug:
    mov rdi, rsp
    mov rsp, offset {panic_stack} + {panic_stack_bytes}
    push 2
    popfq
    xor ebp, ebp
    call {bug}

// A report of the machine, or a fault while a fault was delivered: the stack cannot be trusted.
machine:
    // The registers go where the words that the processor pushed have room below them.
    PUSH_ALL
    jmp bug

// A debug exception, on a stack of its own. In the kernel it is the user's single step, which takes effect at the first instruction of an
// entry on some processors, or the user's breakpoint at a word from which SS was loaded right before: the kernel has no breakpoint. Then
// the exception is over. From user mode it is like any other exception, and continues with the words that it would have pushed at
// `Cpu::current`.
debug:
    cmp word ptr [rsp + 24], {kernel_code}
    jne 1f
    // In virtual 8086 mode this word may have any value.
    test dword ptr [rsp + 32], {vm_flag}
    jnz 1f
    and qword ptr [rsp + 32], ~{trap_flag}
    add rsp, 16
    iretq
1:
    mov [{scratch}], rax
    mov rax, rsp
    mov rsp, [{stack_of_ring_0}]
    .irp offset, 48, 40, 32, 24, 16, 8, 0
    push qword ptr [rax + \offset]
    .endr
    mov rax, [{scratch}]
    jmp entered

// Addresses of the stubs, for the IDT.
.section .rodata
.balign 8
.global vector_table
vector_table:
.macro ENTRY vector
    .quad vector_\vector
.endm
.altmacro
.set i, 0
.rept {vectors}
    ENTRY %i
    .set i, i + 1
.endr
.noaltmacro
.text
