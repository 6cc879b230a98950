/* SPDX-License-Identifier: GPL-2.0 */
/* Registers as arch/powerpc has them for programs: in signal frames, for debuggers, in core dumps. */
#ifndef __POWERPC_OS_L4_PTREGS_H
#define __POWERPC_OS_L4_PTREGS_H

struct faultinfo;

/* Words of its pt_regs, of which the last four are not used. */
#define L4_PT_REGISTERS	48

void l4_to_pt_regs(unsigned long *to, const unsigned long *gp, const struct faultinfo *fault);
/* Takes the words that a program may change. */
void l4_from_pt_regs(unsigned long *gp, const unsigned long *from);

#endif
