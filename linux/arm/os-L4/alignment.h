/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ARM_OS_L4_ALIGNMENT_H
#define __ARM_OS_L4_ALIGNMENT_H

#include <linux/types.h>

struct uml_pt_regs;

/*
 * Does what a program's instruction was refused for alignment, or sends the signal for memory that it cannot access.
 * False: the signal for alignment is to be sent.
 */
bool l4_mend_alignment(struct uml_pt_regs *regs, unsigned long address);

#endif
