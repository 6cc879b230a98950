// SPDX-License-Identifier: MIT OR Apache-2.0
// From the boot loader to Rust. A loader of Multiboot 2, or of PVH guests, enters in 32-bit protected mode without paging:
// addresses are physical until the jump to 64-bit code.

.section .multiboot, "a", @progbits
.balign 8
// For 32-bit mode. Memory map and modules are wanted, and modules at pages.
multiboot:
    .long {multiboot}, 0, multiboot_end - multiboot, -({multiboot} + multiboot_end - multiboot)
    .short 1, 0
    .long 16, {memory_map}, {module}
    .short 6, 0
    .long 8
    .short 0, 0
    .long 8
multiboot_end:

// The note of a PVH guest: where it is entered.
.section .note.pvh, "a", @note
.balign 4
    .long 4, 8, {pvh_note}
    .asciz "Xen"
    .quad enter_pvh

.section .text.boot, "ax", @progbits
.code32
enter_pvh:
    mov eax, {pvh}
.global _start
_start:
    cld
    mov esi, eax
    mov edi, ebx
    // A processor with long mode has CPUID.
    mov eax, 0x80000000
    cpuid
    cmp eax, 0x80000001
    jb too_old
    mov eax, 0x80000001
    cpuid
    bt edx, {long_mode}
    jnc too_old
    bt edx, {no_execute}
    jnc too_old
    // The first 2 MiB appear at 0, where the next instruction is, and the first 4 MiB at KERNEL_BASE. The upper halves of entries
    // are zero.
    mov ecx, offset {top} + {minus_base}
    mov edx, offset {upper} + {minus_base}
    lea eax, [edx + {table}]
    mov [ecx], eax
    mov [ecx + {last}], eax
    mov eax, offset {directory} + {minus_base}
    or eax, {table}
    mov [edx], eax
    mov [edx + {last}], eax
    mov edx, offset {directory} + {minus_base}
    mov dword ptr [edx], {large}
    mov dword ptr [edx + {kernel_entry}], {large}
    mov dword ptr [edx + {kernel_entry} + 8], {large} + {large_page}
    // Whatever the loader had in these.
    mov eax, {pae}
    mov cr4, eax
    mov cr3, ecx
    mov ecx, {efer}
    mov eax, {long_and_nx}
    xor edx, edx
    wrmsr
    mov eax, {paging}
    mov cr0, eax
    lgdt [descriptors_pointer]
    // A far jump to 64-bit code, which is in the next line.
    .byte 0xea
    .long low
    .word 8
// Prints that on the first serial line. Nothing else can print yet.
too_old:
    mov esi, offset too_old_text
    mov dx, {serial}
1:
    lodsb
    test al, al
    jz 2f
    out dx, al
    jmp 1b
2:
    cli
    hlt
    jmp 2b
too_old_text:
    .asciz "this processor lacks what the kernel needs: 64-bit words (long mode), and pages that are not executed (NX)\r\n"

.code64
low:
    mov rax, offset high
    jmp rax
.balign 8
descriptors:
    .quad 0, {code}
descriptors_pointer:
    .word 15
    .long descriptors

.section .text.entry, "ax", @progbits
high:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov fs, eax
    mov gs, eax
    mov rsp, offset {stack} + {stack_bytes}
    xor ebp, ebp
    // What the loader left in EAX and EBX are the arguments.
    mov eax, esi
    mov esi, edi
    mov edi, eax
    call {start}
    ud2
.text
