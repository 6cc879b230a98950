/* SPDX-License-Identifier: GPL-2.0 */
/* FPU state of tasks, in their user threads: what signals and exceptions want of it. */
#ifndef __OS_L4_FPU_H
#define __OS_L4_FPU_H

#include <linux/types.h>

/* Where the state goes on a stack that ends here. */
unsigned long l4_fp_frame(unsigned long sp);
/* Writes the state of the current task there, which then has that of a program that begins. */
bool l4_fp_to_frame(void __user *to);
/* Takes it from there; NULL: that of a program that begins. */
bool l4_fp_from_frame(const void __user *from);
/* si_code of an exception of the x87, or of SSE; 0: it is over. */
int l4_fp_exception(bool sse);

#endif
