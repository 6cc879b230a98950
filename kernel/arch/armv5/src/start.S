// SPDX-License-Identifier: MIT OR Apache-2.0
// From the boot loader to Rust. It enters with r0 = 0, r1 the machine, r2 the list of tags, the MMU and the data cache off. There is no
// translation yet: addresses are physical until the jump.

.section .text.boot, "ax", %progbits
.arm
.global _start
_start:
    msr cpsr_c, #{supervisor}
    // What is zero at first, with the first-level table in it.
    ldr r3, =bss_start - {base}
    ldr r4, =bss_end - {base}
    mov r5, #0
1:
    cmp r3, r4
    strlo r5, [r3], #4
    blo 1b
    // The first MiB appears where it is, and the kernel's 8 MiB at their place.
    ldr r3, ={directory} - {base}
    ldr r4, ={section}
    str r4, [r3]
    add r5, r3, #{kernel_entry}
    mov r6, #{kernel_sections}
2:
    str r4, [r5], #4
    add r4, r4, #{section_bytes}
    subs r6, r6, #1
    bne 2b
    mov r5, #0
    mcr p15, 0, r5, c7, c7, 0
    mcr p15, 0, r5, c7, c10, 4
    mcr p15, 0, r5, c8, c7, 0
    mcr p15, 0, r5, c13, c0, 0
    mcr p15, 0, r3, c2, c0, 0
    ldr r5, ={domains}
    mcr p15, 0, r5, c3, c0, 0
    mrc p15, 0, r5, c1, c0, 0
    ldr r6, ={control_clear}
    bic r5, r5, r6
    ldr r6, ={control_set}
    orr r5, r5, r6
    mcr p15, 0, r5, c1, c0, 0
    // Until the processor knows, it may fetch two instructions more.
    nop
    nop
    ldr pc, =high
    .ltorg

high:
    // The other modes' stack pointers name where they save what they lack.
    ldr r3, ={saved}
    msr cpsr_c, #{abort}
    mov sp, r3
    msr cpsr_c, #{undefined}
    mov sp, r3
    msr cpsr_c, #{irq}
    mov sp, r3
    msr cpsr_c, #{supervisor}
    ldr sp, ={stack} + {stack_bytes}
    mov r11, #0
    mov r0, r2
    bl {start}
    .ltorg
.text
