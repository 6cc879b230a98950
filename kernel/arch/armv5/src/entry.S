// SPDX-License-Identifier: MIT OR Apache-2.0
// Entry by all exceptions, the saving of all registers, the way back to user mode.
//
// While user mode runs, the stack pointer of supervisor mode is the reference to the running Thread: its saved registers end there. The
// other modes have a stack pointer of their own, which points to three words (`SAVED`) for registers that have to be saved before the
// change to supervisor mode. Interrupts are disabled in the kernel: it polls the interrupt controller.

// Makes the space in `pid`'s register the processor's: `domains` is the value for the domain access register, which is written last
// before user mode. These domains are recorded as open. Destroys all but `domains`.
.macro ENTER_SPACE domains, pid, word, noted
    ldr \domains, [\pid, #{dacr}]
    ldr \word, ={directory} + {dirty}
    ldr \pid, [\pid, #{pid}]
    ldr \noted, [\word]
    orr \noted, \noted, \domains
    str \noted, [\word]
    // A write would cost an XScale core what it knows of branches.
    tst \pid, #{indifferent}
    bne 9f
    mrc p15, 0, \noted, c13, c0, 0
    teq \pid, \noted
    mcrne p15, 0, \pid, c13, c0, 0
9:
.endm

.section .text.entry, "ax", %progbits
.arm

// With the number of the vector in r0, which is saved like all other registers. (System calls come from `fast/`, as do page faults.)
enter:
    str r0, [sp, #{vector}]
    ldr r0, ={all_domains}
    mcr p15, 0, r0, c3, c0, 0
    ldr sp, ={stack} + {stack_bytes}
    mov r11, #0
    bl {enter}

// To user mode, with the saved registers of the thread in `Cpu::current`, and the domains and the process identifier of its space.
.global leave_kernel
leave_kernel:
    ldr r0, ={cpu} + {current}
    ldr sp, [r0]
    ldr r3, [sp, #{space}]
    ENTER_SPACE r2, r3, r4, r5
    ldr r4, [sp, #{thread_pointer}]
    ldr r5, ={thread_pointer_word}
    str r4, [r5]
    ldr lr, [sp, #{pc}]
    ldr r0, [sp, #{cpsr}]
    msr spsr_cxsf, r0
    mcr p15, 0, r2, c3, c0, 0
    ldmdb sp, {{r0-lr}}^
    nop
    movs pc, lr
    .ltorg

// An exception that has a mode of its own. The address that is left to is `offset` after the instruction; `way`
// is where it goes on.
.macro EXCEPTION name, number, offset, way
.global \name
\name:
    .if \offset
    sub lr, lr, #\offset
    .endif
    str r0, [sp]
    str lr, [sp, #4]
    mrs r0, spsr
    tst r0, #{privileged}
    str r0, [sp, #8]
    bne from_kernel
    mov r0, sp
    msr cpsr_c, #{supervisor}
    stmdb sp, {{r0-lr}}^
    nop
    ldmia r0, {{r1, r2, r3}}
    str r1, [sp, #{r0}]
    str r2, [sp, #{pc}]
    str r3, [sp, #{cpsr}]
    mov r0, #\number
    b \way
.endm

    EXCEPTION undefined_entry, {undefined}, 0, enter
    EXCEPTION prefetch_entry, {prefetch}, 4, fetch_fault
    EXCEPTION data_entry, {data}, 8, data_fault
    EXCEPTION interrupt_entry, {interrupt}, 4, enter

// From the kernel itself, where LR is, in the exception's mode: at a word that a user may have unmapped, at a frame whose domain is not
// open (`fast/alien.S`), or a bug.
from_kernel:
    ldr r0, =frame_read
    teq lr, r0
    ldrne r0, =frame_write
    teqne lr, r0
    ldreq r0, [sp]
    msreq cpsr_c, #{supervisor}
    beq slower
    adr r0, read_user
    teq lr, r0
    bne 2f
    msr cpsr_c, #{supervisor}
    mov r0, #0
    mov pc, lr
2:
    ldr r1, [sp, #8]
    mov r0, lr
    msr cpsr_c, #{supervisor}
    mov r2, lr
    mov r3, r11
    ldr sp, ={panic_stack} + {panic_stack_bytes}
    mov r11, #0
    bl {bug}

// A word that a user can read, or 0 if it no longer can.
.global read_user
read_user:
    ldr r0, [r0]
    mov pc, lr

// Exceptions that should never come: reset, the one that no processor has, and a fast interrupt.
.global never
never:
    ldr sp, ={panic_stack} + {panic_stack_bytes}
    mov r0, lr
    mov r1, #0
    mov r2, #0
    mov r3, #0
    bl {bug}
    .ltorg
.text
