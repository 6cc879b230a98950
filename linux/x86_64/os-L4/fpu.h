/* SPDX-License-Identifier: GPL-2.0 */
/* FPU state of tasks, for signals and exceptions. */
#ifndef __X86_64_OS_L4_FPU_H
#define __X86_64_OS_L4_FPU_H

#include <linux/types.h>

/* The address of the state in a signal frame, on a stack that grows down from sp. */
unsigned long l4_fp_frame(unsigned long sp);
/* Whether it has the format of xsave. */
bool l4_fp_has_xsave(void);
/* Writes the state of the current task to a signal frame.  Afterwards the task has the state of a new program. */
bool l4_fp_to_frame(void __user *to);
/* Reads it from a signal frame.  NULL: the task gets the state of a new program. */
bool l4_fp_from_frame(const void __user *from);
/* si_code for an exception of the x87 or of SSE.  0: the state shows no exception any more. */
int l4_fp_exception(bool sse);

#endif
