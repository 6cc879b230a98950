/* SPDX-License-Identifier: GPL-2.0 */
/* What a process's space, and a user thread, have of the processor (os-L4/subarch.h). */
#ifndef __X86_OS_L4_SPACE_H
#define __X86_OS_L4_SPACE_H

#include <linux/types.h>

struct home;

/*
 * The region for which the program is laid out, or 0; where it lies in which home while the space is small; whether
 * that is to change before it runs again; what that is decided by.
 */
struct arch_l4_space {
	unsigned long region;
	struct home *home;
	unsigned int unit;
	bool moves;
	u32 events, switches;
};

/* Nothing. */
struct arch_l4_thread { };

#endif
