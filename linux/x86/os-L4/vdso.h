/* SPDX-License-Identifier: GPL-2.0 */
/* Offsets in the vDSO.  A page of data lies before it. */
#ifndef __X86_OS_L4_VDSO_H
#define __X86_OS_L4_VDSO_H

#define L4_VDSO_PAGES		2
#define L4_VDSO_TEXT		0x600
#define L4_VDSO_SYSCALL		(L4_VDSO_TEXT + 0x00)
#define L4_VDSO_SYSENTER	(L4_VDSO_TEXT + 0x10)
#define L4_VDSO_LANDING		(L4_VDSO_TEXT + 0x20)
#define L4_VDSO_SIGRETURN	(L4_VDSO_TEXT + 0x40)
#define L4_VDSO_RT_SIGRETURN	(L4_VDSO_TEXT + 0x60)

#ifndef __ASSEMBLY__
/* AT_SYSINFO of the current process (patch 8). */
unsigned long l4_vdso_entry(void);
#endif

#endif
