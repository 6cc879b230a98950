/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __UM_PROCESSOR_H
#define __UM_PROCESSOR_H

/* Assembly in arch/powerpc/lib includes this, too. */
#ifndef __ASSEMBLY__
#include <linux/time-internal.h>
#include <sysdep/faultinfo.h>

struct l4_thread;

struct arch_thread {
	struct faultinfo faultinfo;
	struct l4_thread *host;		/* its user thread */
};

#define INIT_ARCH_THREAD { }

#define STACKSLOTS_PER_LINE 8

/* The thread pointer is r2, a register like any other. */
static inline void arch_flush_thread(struct arch_thread *thread) { }
static inline void arch_copy_thread(struct arch_thread *from, struct arch_thread *to) { }

/* Which exceptions of the FPU are raised: the C library enables them by prctl(PR_SET_FPEXC). */
struct task_struct;
int l4_set_fpexc(struct task_struct *task, unsigned int mode);
int l4_get_fpexc(struct task_struct *task, unsigned long address);
#define SET_FPEXC_CTL(task, mode)	l4_set_fpexc(task, mode)
#define GET_FPEXC_CTL(task, address)	l4_get_fpexc(task, address)

#define KSTK_EIP(task)	KSTK_REG(task, HOST_IP)
#define KSTK_ESP(task)	KSTK_REG(task, HOST_SP)
#define KSTK_EBP(task)	0

#define cpu_relax()	barrier()
#define task_pt_regs(task)	(&(task)->thread.regs)
#define current_sp()	({ void *sp; asm ("mr %0, 1" : "=r" (sp)); sp; })
#define current_bp()	0UL

#include <asm/processor-generic.h>
#endif

#endif
