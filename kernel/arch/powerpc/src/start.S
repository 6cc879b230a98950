// SPDX-License-Identifier: MIT OR Apache-2.0
// From reset to Rust. Addresses are physical until the jump, and stay what they are.

.section .text.boot, "ax"
.global _start
_start:
    // Vectors at 0.
    li 0, 0
    mtmsr 0
    isync
    // No user reaches a device by `eciwx`.
    mtspr 282, 0
    // RAM and the devices, for the supervisor only; the other BATs show nothing.
    .irp n, 530,532,534, 538,540,542
    mtspr \n, 0
    .endr
    li 3, {supervisor}
    li 4, {read_write}
    mtspr 529, 4
    mtspr 528, 3
    mtspr 537, 4
    mtspr 536, 3
    lis 3, {devices}
    ori 4, 3, {device}
    ori 3, 3, {supervisor}
    mtspr 539, 4
    mtspr 538, 3
    isync
    // What is zero at first.
    lis 3, bss_start@ha
    addi 3, 3, bss_start@l
    lis 4, bss_end@ha
    addi 4, 4, bss_end@l
1:  cmplw 3, 4
    bge 2f
    stw 0, 0(3)
    addi 3, 3, 4
    b 1b
2:  lis 1, {stack}@ha
    addi 1, 1, {stack}@l
    addi 1, 1, {stack_bytes}
    stw 0, 0(1)
    li 31, 0
    lis 3, {start}@ha
    addi 3, 3, {start}@l
    mtspr 26, 3
    li 3, {kernel_msr}
    mtspr 27, 3
    rfi
.text
