/* SPDX-License-Identifier: GPL-2.0 */
/* What lies where in the vDSO, from where it is mapped; a page of data lies before it. */
#ifndef __OS_L4_VDSO_H
#define __OS_L4_VDSO_H

#define L4_VDSO_PAGES		2
#define L4_VDSO_TEXT		0x600
#define L4_VDSO_SYSCALL		(L4_VDSO_TEXT + 0x00)
#define L4_VDSO_SYSENTER	(L4_VDSO_TEXT + 0x10)
#define L4_VDSO_LANDING		(L4_VDSO_TEXT + 0x20)
#define L4_VDSO_SIGRETURN	(L4_VDSO_TEXT + 0x40)
#define L4_VDSO_RT_SIGRETURN	(L4_VDSO_TEXT + 0x60)

#ifndef __ASSEMBLY__
/* For patch 9: where the current process calls Linux. */
unsigned long l4_vdso_entry(void);
#endif

#endif
