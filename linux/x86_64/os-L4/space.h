/* SPDX-License-Identifier: GPL-2.0 */
/* The processor's part of a process's space and of a user thread (os-L4/subarch.h): nothing, and the base of GS that it has. */
#ifndef __X86_64_OS_L4_SPACE_H
#define __X86_64_OS_L4_SPACE_H

struct arch_l4_space { };
struct arch_l4_thread {
	unsigned long gs_base;
};

#endif
