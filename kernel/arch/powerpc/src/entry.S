// SPDX-License-Identifier: MIT OR Apache-2.0
// Exception vectors, the saving of all registers, the way back to user mode.
//
// SPRG1 has the reference to the thread that runs: its saved registers end there. Vectors run with translation off, and the kernel lies at
// its physical addresses, so what they name is what Rust names. In the kernel interrupts are off, but while it waits for one.

// Saves an exception in full, with its number.
.macro SAVE_ALL number
    mtspr 274, 31
    mfspr 31, 273
    stmw 0, {gpr}(31)
    li 30, \number
    b enter
.endm

.macro VECTOR number
    .org \number * 0x100
    SAVE_ALL \number
.endm

.section .vectors, "ax"
    VECTOR 1
    VECTOR 2
    DATA_MISSED
    FETCH_MISSED
    VECTOR 5
    VECTOR 6
    VECTOR 7
    VECTOR 8
    VECTOR 9
    VECTOR 10
    VECTOR 11
    SYSTEM_CALL
    VECTOR 13
    VECTOR 14
    VECTOR 15
    .org 0x1000
    MISS 980, tlbli, fetch_missed
    .org 0x1100
    MISS 976, tlbld, load_missed
    .org 0x1200
    MISS 976, tlbld, store_missed
    VECTOR 19
    VECTOR 20
    .org 0x1500
    MISSED fetch_missed, tlbli, fetch
    MISSED load_missed, tlbld, data
    MISSED store_missed, tlbld, data
    REST_OF_MISSES

// r31: the thread; r30: the number. All general registers are saved except r31, which is in SPRG2.
enter:
    mfspr 0, 274
    stw 0, {gpr} + 31 * 4(31)
    stw 30, {vector}(31)
    mfspr 0, 26
    mfspr 29, 27
    mfcr 28
    mflr 27
    stw 0, {pc}(31)
    stw 29, {msr}(31)
    stw 28, {cr}(31)
    stw 27, {lr}(31)
    mfctr 0
    mfxer 26
    stw 0, {ctr}(31)
    stw 26, {xer}(31)
    andi. 0, 29, {user}
    beq from_kernel
    lis 3, {enter}@ha
    addi 3, 3, {enter}@l
enter_rust:
    lis 1, {stack}@ha
    addi 1, 1, {stack}@l
    addi 1, 1, {stack_bytes}
    li 0, 0
    stw 0, 0(1)
    li 31, 0
    mtspr 26, 3
    li 3, {kernel_msr}
    mtspr 27, 3
    lis 3, leave_kernel@ha
    addi 3, 3, leave_kernel@l
    mtlr 3
    rfi

// From the kernel itself: an interrupt for which it waits, and which it finds by polling after that; or a bug.
from_kernel:
    cmpwi 30, {interrupt}
    beq 1f
    cmpwi 30, {decrementer}
    beq 1f
    addi 3, 31, {context}
    mr 4, 3
    lis 5, {bug}@ha
    addi 5, 5, {bug}@l
    mtspr 26, 5
    li 5, {kernel_msr}
    mtspr 27, 5
    lis 1, {panic_stack}@ha
    addi 1, 1, {panic_stack}@l
    addi 1, 1, {panic_stack_bytes}
    li 0, 0
    stw 0, 0(1)
    rfi
1:  li 0, {kernel_msr}
    mtspr 27, 0
    b restore

.section .text.entry, "ax"
// To user mode, with the saved registers of the thread in `Cpu::current`, whose space was entered.
.global leave_kernel
leave_kernel:
    lis 3, {cpu}@ha
    addi 3, 3, {cpu}@l
    lwz 31, {current}(3)
    mtspr 273, 31
    // Ends any reservation.
    addi 3, 31, {reservation}
    stwcx. 3, 0, 3
// The same, to the thread in r31, which is already in SPRG1, without a reservation.
leave_to:
    lwz 3, {msr}(31)
    mtspr 27, 3
    lwz 3, {pc}(31)
    mtspr 26, 3
    lwz 3, {lr}(31)
    lwz 4, {ctr}(31)
    lwz 5, {xer}(31)
    mtlr 3
    mtctr 4
    mtxer 5
restore:
    lwz 6, {cr}(31)
    mtcrf 0xff, 6
    mr 1, 31
    lmw 2, {gpr} + 2 * 4(1)
    lwz 0, {gpr}(1)
    lwz 1, {gpr} + 4(1)
    rfi
.text
