/* SPDX-License-Identifier: GPL-2.0 */
/* What a process's space, and a user thread, have of the processor (os-L4/subarch.h). */
#ifndef __POWERPC_OS_L4_SPACE_H
#define __POWERPC_OS_L4_SPACE_H

/* Nothing. */
struct arch_l4_space { };

/* Nothing: the thread pointer is r2, a register as any other. */
struct arch_l4_thread { };

#endif
