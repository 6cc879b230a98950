/* SPDX-License-Identifier: GPL-2.0 */
/* The page that each process finds below its end, and its entry points. */
#ifndef __OS_L4_VDSO_H
#define __OS_L4_VDSO_H

#include "../../../um/os-L4/layout.h"

#define L4_VDSO			(L4_USER_END - 0x1000)
#define L4_VDSO_TEXT		0x800
#define L4_VDSO_SYSCALL		(L4_VDSO_TEXT + 0x00)
#define L4_VDSO_SYSENTER	(L4_VDSO_TEXT + 0x10)
#define L4_VDSO_LANDING		(L4_VDSO_TEXT + 0x20)
#define L4_VDSO_SIGRETURN	(L4_VDSO_TEXT + 0x40)
#define L4_VDSO_RT_SIGRETURN	(L4_VDSO_TEXT + 0x60)

#endif
