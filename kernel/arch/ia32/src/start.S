// SPDX-License-Identifier: MIT OR Apache-2.0
// From the boot loader to Rust. There is no paging yet: addresses are physical until the jump.

.section .multiboot, "a", @progbits
.balign 4
    .long 0x1BADB002, 3, -(0x1BADB002 + 3)

.section .text.boot, "ax", @progbits
.global _start
_start:
    cld
    // The first 4 MiB appear at 0, where the next instruction is, and at KERNEL_BASE.
    mov ecx, offset {directory} - {base}
    mov dword ptr [ecx], {large}
    mov dword ptr [ecx + {kernel_entry}], {large}
    mov edx, cr4
    or edx, {pse}
    mov cr4, edx
    mov cr3, ecx
    mov edx, cr0
    or edx, {paging}
    mov cr0, edx
    mov edx, offset high
    jmp edx
high:
    mov esp, offset {stack} + {stack_bytes}
    xor ebp, ebp
    push ebx
    push eax
    call {start}
    ud2
.text
