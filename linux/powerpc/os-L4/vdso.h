/* SPDX-License-Identifier: GPL-2.0 */
/* Offsets in the vDSO, and in the page of data before it (os-L4/vdso.h). */
#ifndef __POWERPC_OS_L4_VDSO_H
#define __POWERPC_OS_L4_VDSO_H

#define L4_VDSO_PAGES		2
#define L4_VDSO_TEXT		0x400
/* The addresses to which signal handlers return. */
#define L4_VDSO_SIGRETURN	(L4_VDSO_TEXT + 0x04)
#define L4_VDSO_RT_SIGRETURN	(L4_VDSO_TEXT + 0x10)

/*
 * Data: the frequency of the time base, 64 bits, and a bitmap of the system calls, in which the highest bit is the
 * first.
 */
#define L4_VDSO_TICKS		0
#define L4_VDSO_CALLS		8

#endif
