/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __UM_PROCESSOR_H
#define __UM_PROCESSOR_H

#include <linux/time-internal.h>
#include <sysdep/faultinfo.h>

struct l4_thread;

struct arch_thread {
	struct faultinfo faultinfo;
	unsigned long tls;		/* the thread pointer */
	struct l4_thread *host;		/* its user thread */
};

#define INIT_ARCH_THREAD { }

#define STACKSLOTS_PER_LINE 8

static inline void arch_flush_thread(struct arch_thread *thread)
{
	thread->tls = 0;
}

static inline void arch_copy_thread(struct arch_thread *from, struct arch_thread *to)
{
	to->tls = from->tls;
}

#define KSTK_EIP(task)	KSTK_REG(task, HOST_IP)
#define KSTK_ESP(task)	KSTK_REG(task, HOST_SP)
#define KSTK_EBP(task)	0

#define cpu_relax()	barrier()
#define task_pt_regs(task)	(&(task)->thread.regs)
#define current_sp()	({ void *sp; asm ("mov %0, sp" : "=r" (sp)); sp; })
#define current_bp()	0UL

/* Where mappings go that do not fit a slot (slots.c). */
unsigned long l4_unmapped_base(void);
#define HAVE_ARCH_UNMAPPED_AREA
#define HAVE_ARCH_UNMAPPED_AREA_TOPDOWN

#include <asm/processor-generic.h>

#undef TASK_UNMAPPED_BASE
#define TASK_UNMAPPED_BASE	l4_unmapped_base()

#endif
