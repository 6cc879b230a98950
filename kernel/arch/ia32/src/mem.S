// SPDX-License-Identifier: MIT OR Apache-2.0
// What the compiler calls to fill and copy memory, by words. Clearing a page is most of what a new
// translation table costs. String instructions move a whole line at a time on processors since the
// Pentium Pro.
//
// void *memset(void *to, int byte, size_t count)
// void *memcpy(void *to, const void *from, size_t count)

.text
.balign 16
.global memset
memset:
    push edi
    mov edi, [esp + 8]
    movzx eax, byte ptr [esp + 12]
    imul eax, eax, 0x01010101
    mov edx, [esp + 16]
    mov ecx, edx
    shr ecx, 2
    rep stosd
    mov ecx, edx
    and ecx, 3
    rep stosb
    mov eax, [esp + 8]
    pop edi
    ret

.balign 16
.global memcpy
memcpy:
    push edi
    push esi
    mov edi, [esp + 12]
    mov esi, [esp + 16]
    mov edx, [esp + 20]
    mov eax, edi
    mov ecx, edx
    shr ecx, 2
    rep movsd
    mov ecx, edx
    and ecx, 3
    rep movsb
    pop esi
    pop edi
    ret
