/* SPDX-License-Identifier: GPL-2.0 */
/* The processor's part of a process's space and of a user thread (os-L4/subarch.h). */
#ifndef __POWERPC_OS_L4_SPACE_H
#define __POWERPC_OS_L4_SPACE_H

/* Nothing. */
struct arch_l4_space { };

/* Nothing: the thread pointer is r2, a register like any other. */
struct arch_l4_thread { };

#endif
