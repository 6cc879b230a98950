// SPDX-License-Identifier: GPL-2.0
/*
 * An exception of Linux itself: message, registers, call trace, panic.
 *
 * Linux expects no faults of its own: it accesses user memory by a walk of page tables (uaccess.c).  The thread above
 * Linux (inject.c) gets Linux's exceptions.  It makes Linux enter fault() on another stack, because the old stack may
 * be the cause.
 */
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/panic.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/debug.h>
#include <linux/sched/task_stack.h>
#include <as-layout.h>
#include <kern_util.h>
#include <registers.h>
#include <sysdep/ptrace.h>
#include "fault.h"
#include "l4_syscall.h"
#include "subarch.h"
#include "test_hooks.h"
#include <os-L4/run.h>

/* The stack on which upstream handles signals of its host. */
extern union thread_union cpu0_irqstack;

/* The registers at the exception. */
static struct l4_frame at;
static struct pt_regs regs;

static bool is_within(unsigned long address, unsigned long start, unsigned long bytes)
{
	return address - start < bytes;
}

static void show_trace(unsigned long stack)
{
	unsigned long sp = PT_REGS_SP(&regs);

	/*
	 * The stack has overflowed: the trace begins at its lowest word but one, which marks the stack's end.  A push that
	 * faulted has left the stack pointer where the stack begins.
	 */
	if (is_within(sp, stack - PAGE_SIZE, PAGE_SIZE + 1))
		sp = (unsigned long)(end_of_stack(current) + 1);
	if (!is_within(sp, stack, THREAD_SIZE)) {
		pr_emerg("The stack pointer is outside of the task's stack: no call trace\n");
		return;
	}
	PT_REGS_SP(&regs) = ALIGN(sp, sizeof(long));
	current->thread.segv_regs = &regs;
	show_stack(current, NULL, KERN_EMERG);
}

static void __noreturn fault(void)
{
	unsigned long stack = (unsigned long)task_stack_page(current);
	char what[80];

	local_irq_disable();
	/* If the following fails, too, the root server gets the exception and ends this Linux. */
	l4_call(L4_OP_SET_HANDLER, L4_THREAD, L4_ROOT, 0, 0);
	get_safe_registers(regs.regs.gp, NULL);
	arch_l4_store_registers(&regs.regs, &at);
	arch_l4_describe_fault(&at, what, sizeof(what));

	bust_spinlocks(1);
	if (at.vector == L4_VECTOR_PAGE_FAULT && is_within(at.address, stack - PAGE_SIZE, PAGE_SIZE))
		pr_emerg("BUG: stack overflow: the guard page of [%lx, %lx) was hit\n",
			 stack, stack + THREAD_SIZE);
	pr_emerg("BUG: %s\n", what);
	pr_emerg("At %pS, task %s[%d]\n", (void *)PT_REGS_IP(&regs), current->comm, current->pid);
	show_regs(&regs);
	show_trace(stack);
	/* A kernel with this taint shows no second trace. */
	add_taint(TAINT_DIE, LOCKDEP_NOW_UNRELIABLE);
	panic("Fault of the kernel: %s", what);
}

void l4_fault(struct l4_frame *frame)
{
	if (l4_attack_fault(frame))
		return;
	at = *frame;
	preempt_count_set(0);
	arch_l4_enter(frame, fault, (void *)&cpu0_irqstack + THREAD_SIZE);
}
