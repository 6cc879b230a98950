// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps that several fast paths make.

// The thread that the handle in EBX names: its index is one of the table, whatever a user made of it.
.macro THREAD_OF_HANDLE to
    mov \to, ss:[{pool} + {index_mask}]
    and \to, ebx
    shl \to, {thread_shift}
    add \to, {threads}
.endm

// The thread in ESP waits for an answer of `partner`, under a new handle, which goes to EBX.
.macro AWAIT_ANSWER partner, gate
    add dword ptr [esp + {handle}], {sequence}
    mov ebx, [esp + {handle}]
    mov [esp + {partner}], \partner
    mov dword ptr [esp + {gate}], \gate
.endm

