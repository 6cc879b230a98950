/* SPDX-License-Identifier: GPL-2.0 */
/* Debug exceptions: what exception.c and ptrace.c want of each other. */
#ifndef __X86_OS_L4_DEBUG_H
#define __X86_OS_L4_DEBUG_H

#include <linux/types.h>

struct task_struct;

/* Reads the debug status register (DR6) of the task's user thread, and clears it. */
u32 l4_debug_status(struct task_struct *task);
/* A signal frame describes a single step as the debug exception that it is on the processor. */
void l4_note_step(void);

#endif
