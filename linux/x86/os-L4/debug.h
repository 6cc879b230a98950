/* SPDX-License-Identifier: GPL-2.0 */
/* Debug exceptions and debug registers: what exception.c, breakpoints.c, step.c and ptrace.c need of each other. */
#ifndef __X86_OS_L4_DEBUG_H
#define __X86_OS_L4_DEBUG_H

struct task_struct;
struct uml_pt_regs;

/* Turns a debug exception of the current task into its signal. */
void l4_debug_exception(struct uml_pt_regs *regs);
/* A signal frame describes a single step as the debug exception that it is on the processor. */
void l4_note_step(void);

/* A debug register of a task, by its offset in struct user.  Another offset: 0, or -EIO. */
unsigned long l4_debug_register(struct task_struct *task, unsigned long at);
int l4_set_debug_register(struct task_struct *task, unsigned long at, unsigned long value);

#endif
