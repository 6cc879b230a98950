/* SPDX-License-Identifier: GPL-2.0 */
/* The processor's part of a process's space and of a user thread (os-L4/subarch.h). */
#ifndef __ARM_OS_L4_SPACE_H
#define __ARM_OS_L4_SPACE_H

#include <linux/types.h>

/* Nothing. */
struct arch_l4_space { };

/* The thread pointer that the microkernel knows. */
struct arch_l4_thread {
	unsigned long tls;
};

#endif
