// SPDX-License-Identifier: MIT OR Apache-2.0
// Entry by interrupt, trap and `int`; the saving of all registers; the way back to user mode.
//
// On an entry from user mode the processor pushes at `Cpu::current`. That is right below the running Thread's reference, in its
// `context`. The stubs push the rest there, and then change to the kernel's only stack. In kernel mode interrupts are enabled in one
// place (`interrupts::open`); there they are only recorded.

// Calls a Rust function on the kernel's stack.
.macro CALL_KERNEL function
    cld
    LOAD_DATA {kernel_data}, eax
    mov esp, offset {stack} + {stack_bytes}
    xor ebp, ebp
    call \function
.endm

.section .text.entry, "ax", @progbits

// A stub for each of the vectors 0 to 0x30. Those with an error code: 8, 10 to 14, 17, 21.
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
.rept {vectors}
    STUB %i
    .set i, i + 1
.endr
.noaltmacro

// On an entry from user mode the pushed words end at `Cpu::current`. On a real processor the saved CS would tell the same, but QEMU
// lets ring 3 load CS with a null selector.
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
    // As bytes: of a segment register the assembler would push 16 bits.
    .byte 0x1e                                          // push ds
    .byte 0x06                                          // push es
    .byte 0x0f, 0xa0                                    // push fs
    .byte 0x0f, 0xa8                                    // push gs
    CALL_KERNEL {enter}

// To user mode by `iret`, with the saved registers of the thread in `Cpu::current`. FS and GS are not
// among them: the lazy switch has loaded them. CS and SS are the space's. They are written here and on a slow
// entry, and a server's thread that waits has them right: only they are needed to enter it. A fast path comes here with the user's DS.
.global leave_kernel
leave_kernel:
    mov esp, ss:[{current}]
    mov ecx, [esp + {space}]
    mov eax, ss:[ecx + {segments}]
    mov [esp - 16], eax
    shr eax, 16
    mov [esp - 4], eax
    sub esp, {frame_bytes} - 8
pop_es:
    .byte 0x07                                          // pop es
pop_ds:
    .byte 0x1f                                          // pop ds
    popad
    add esp, 8
leave_iret:
    iretd

// As `leave_kernel`, from the space in EAX, if a small space is left or entered. It records whose tables the processor has, unless a
// server has recorded that already.
.global leave_kernel_with_care
leave_kernel_with_care:
    cmp eax, ss:[eax + {server}]
    je 1f
    mov eax, ss:[eax + {home}]
    mov ss:[{directory_of}], eax
1:
    CALL_KERNEL {leave_with_care}
    jmp leave_kernel

// On an entry from virtual 8086 mode the processor pushes four words more. On a real processor ring 3 cannot enter that mode, but
// QEMU's `iret` takes the VM flag from ring 3, too.
not_from_user:
    add eax, {virtual_bytes}
    cmp eax, ss:[{current}]
    jne from_kernel
    CALL_KERNEL {enter_virtual}
    jmp leave_kernel

// Whether a byte can be read through FS at EDX, which is beyond FS's limit: EAX becomes 1 if not.
.global limit_probe_entry
limit_probe_entry:
    xor eax, eax
limit_probe:
    mov cl, fs:[edx]
limit_probe_end:
    ret

// From kernel mode: an interrupt in `interrupts::open`, something that a user left, or a bug.
from_kernel:
    mov eax, ss:[esp + {kernel_vector}]
    cmp eax, {vector_debug}
    je 2f
    cmp eax, {vector_invalid_tss}
    je 4f
    cmp eax, {vector_not_present}
    je 5f
    cmp eax, {vector_protection}
    je 5f
    sub eax, {first_line}
    cmp eax, {last_line} - {first_line}
    ja 3f
    bts ss:[{pending}], eax
    and dword ptr [esp + {kernel_eflags}], ~{interrupt_flag}
1:
    popad
    add esp, 8
    iretd
    // A debug exception. The kernel sets no breakpoint and no TF. So it is the user's TF, which takes effect at `sysenter_entry`; or
    // the user's breakpoint at a `mov` to SS, which the processor delays until after the next instruction, and that may be an `int`.
    // The status register is cleared, because the next thread would see it.
2:
    xor eax, eax
    mov dr6, eax
    and dword ptr [esp + {kernel_eflags}], ~{trap_flag}
    cmp dword ptr [esp + {kernel_eip}], offset sysenter_entry
    jne 1b
    or dword ptr ss:[{loaded}], {step}
    jmp 1b
    // An invalid TSS: the user had set NT, `sysenter` left it, and with it `iretd` switches tasks.
4:
    btr dword ptr [esp + {kernel_eflags}], {nested_task}
    jc 1b
    jmp 3f
    // DS or ES cannot be loaded: the segment descriptor is gone since the thread loaded it. It gets a
    // null selector.
5:
    mov eax, [esp + {kernel_eip}]
    cmp eax, offset pop_es
    je 6f
    cmp eax, offset pop_ds
    je 6f
    cmp eax, offset leave_iret
    je 7f
    cmp eax, offset alien_iret
    je 7f
    cmp eax, offset away_iret
    je 7f
    cmp eax, offset server_iret
    je 7f
    cmp eax, offset event_iret
    je 7f
    cmp eax, offset small_iret
    je 7f
    cmp eax, offset small_alien_iret
    je 7f
    cmp eax, offset limit_probe
    jne 3f
    // Boot's test whether the machine checks segment limits: it does.
    mov dword ptr [esp + {kernel_eip}], offset limit_probe_end
    mov dword ptr [esp + {kernel_eax}], 1
    jmp 1b
6:
    mov dword ptr [esp + {kernel_next}], 0
    jmp 1b
    // The address at which the thread would continue is beyond its code segment. All registers except those that `iret` loads are
    // already the thread's: the fault is treated as one of the thread.
7:
    .byte 0x1e                                          // push ds
    .byte 0x06                                          // push es
    .byte 0x0f, 0xa0                                    // push fs
    .byte 0x0f, 0xa8                                    // push gs
    CALL_KERNEL {enter_beyond}
    jmp leave_kernel
    // A bug. The stack may be in a thread's saved registers: another stack is used to print what happened.
3:
    LOAD_DATA {kernel_data}, eax
    mov eax, esp
    mov esp, offset {panic_stack} + {panic_stack_bytes}
    push eax
    call {bug}
.global double_fault
double_fault:
    call {double_fault}

// Addresses of the stubs, for the IDT.
.section .rodata
.balign 4
.global vector_table
vector_table:
.macro ENTRY vector
    .long vector_\vector
.endm
.altmacro
.set i, 0
.rept {vectors}
    ENTRY %i
    .set i, i + 1
.endr
.noaltmacro
.text
