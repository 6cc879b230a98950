// SPDX-License-Identifier: GPL-2.0
/* What the vDSO has of the processor: where system calls enter. */
#include <linux/init.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/vdso.h"
#include "small.h"
#include "vdso.h"

static unsigned long entry __ro_after_init = L4_VDSO_SYSCALL;

void __init arch_l4_vdso_init(void *data)
{
	if (l4_kip[L4_KIP_FEATURES / 4] & L4_FEATURE_SYSENTER)
		entry = L4_VDSO_SYSENTER;
}

unsigned long l4_vdso_entry(void)
{
	return current->mm->context.id.vdso + entry;
}

/* If this system call came by the vDSO's landing pad, it returns to the new one. */
void arch_l4_vdso_moves(unsigned long from, unsigned long to)
{
	struct pt_regs *regs = task_pt_regs(current);

	if (PT_REGS_IP(regs) == from + L4_VDSO_LANDING) {
		PT_REGS_IP(regs) = to + L4_VDSO_LANDING;
		set_thread_flag(TIF_HOST_THREAD);
	}
}

void arch_l4_laid_out(struct mm_struct *mm)
{
	l4_enter_region(mm);
}
