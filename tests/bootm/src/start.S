// SPDX-License-Identifier: MIT OR Apache-2.0
// From the emulator to Rust, and from there to the kernel (Linux's Documentation/arch/arm/booting.rst). MMU and caches are off all the time.

.section .text.boot, "ax", %progbits
.arm
.global _start
_start:
    ldr sp, =stack_end
    bl {boot}
    .ltorg

// enter(tags, entry)
.global enter
enter:
    mov r2, r0
    mov r3, r1
    mov r0, #0
    ldr r1, ={machine}
    mov pc, r3
    .ltorg
.text
