/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ARM_OS_L4_ALIGNMENT_H
#define __ARM_OS_L4_ALIGNMENT_H

#include <linux/types.h>

struct uml_pt_regs;

/*
 * Carries out a program's instruction that failed for its alignment, or sends the signal for memory that the program
 * cannot access.  False: the signal for alignment is to be sent.
 */
bool l4_mend_alignment(struct uml_pt_regs *regs, unsigned long address);

#endif
