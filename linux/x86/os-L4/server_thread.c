// SPDX-License-Identifier: GPL-2.0
/*
 * Threads of the server: how they start, are interrupted, and fail; and which task is current.  For servers of 32 and of 64 bits:
 * frame.h has what differs.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched/task.h>
#include <asm/processor-flags.h>
#include <asm/trapnr.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/server_thread.h"
#include "../../../um/os-L4/subarch.h"
#include "frame.h"
#include "processor.h"

/* `current` and the preemption count lie here, as on x86 itself. */
DEFINE_PER_CPU_ALIGNED(struct pcpu_hot, pcpu_hot) = {
	.current_task = &init_task,
	.preempt_count = INIT_PREEMPT_COUNT,
};
EXPORT_PER_CPU_SYMBOL(pcpu_hot);

static const char *const names[] = {
	[X86_TRAP_DE] = "divide error",
	[X86_TRAP_DB] = "debug exception",
	[X86_TRAP_BP] = "breakpoint",
	[X86_TRAP_OF] = "overflow",
	[X86_TRAP_BR] = "bounds",
	[X86_TRAP_UD] = "invalid opcode",
	[X86_TRAP_NP] = "segment not present",
	[X86_TRAP_SS] = "stack segment",
	[X86_TRAP_GP] = "general protection fault",
	[X86_TRAP_MF] = "x87 FPU error",
	[X86_TRAP_AC] = "alignment check",
	[X86_TRAP_XF] = "SIMD error",
};

void arch_l4_describe_fault(const struct l4_frame *f, char *text, size_t bytes)
{
	const char *name = f->vector < ARRAY_SIZE(names) ? names[f->vector] : NULL;

	if (f->vector == X86_TRAP_PF)
		scnprintf(text, bytes, "page fault: %s at %0*lx, %s",
			  f->error & L4_FAULT_WRITE ? "write" : l4_was_fetch(f) ? "execution" : "read",
			  (int)(2 * sizeof(long)), (unsigned long)f->address,
			  f->error & L4_FAULT_PROTECTION ? "not allowed" : "nothing is there");
	else
		scnprintf(text, bytes, "%s: exception %lu, error code %04lx",
			  name ?: "unexpected", (unsigned long)f->vector, (unsigned long)f->error);
}

void arch_l4_enter(struct l4_frame *f, void (*fn)(void), void *stack_top)
{
	unsigned long *sp = (unsigned long *)arch_l4_initial_sp((unsigned long)stack_top);

	/* As if called, with a return address that is not used. */
	*sp = 0;
	f->FRAME_IP = (unsigned long)fn;
	f->FRAME_SP = (unsigned long)sp;
	f->FRAME_BP = 0;
	f->FRAME_FLAGS = X86_EFLAGS_IF | X86_EFLAGS_FIXED;
	f->changed = 0;
}

u32 arch_l4_thread_start(u32 slot, l4_thread_fn *fn, void *arg, void *stack_top)
{
	return l4_begin(slot, fn, arg, stack_top);
}

/*
 * These operations go in steps.  The microkernel does not continue one whose thread was stopped, so it is begun again,
 * which does no harm.
 */
static bool interrupted_half_way(const struct l4_frame *f)
{
	extern const char l4_syscall_done[];
	const struct l4_regs *r;

	if (f->FRAME_IP != (unsigned long)l4_syscall_done)
		return false;
	r = *(const struct l4_regs **)f->FRAME_SP;
	/* No results yet: the register still has the tag, which is not a status of these operations. */
	switch (r->r0 >> L4_TAG_OP_SHIFT) {
	case L4_OP_MAP:
	case L4_OP_RESET:
	case L4_OP_DELETE:
		return f->FRAME_AX == r->r0;
	}
	return false;
}

void arch_l4_inject_interrupt(struct l4_frame *f)
{
	extern const char l4_syscall_again[], l4_interrupt_entry[];
	unsigned long *sp;

	if (interrupted_half_way(f))
		f->FRAME_IP = (unsigned long)l4_syscall_again;
	sp = (unsigned long *)f->FRAME_SP;
	*--sp = f->FRAME_IP;
	*--sp = f->FRAME_FLAGS;
	f->FRAME_SP = (unsigned long)sp;
	f->FRAME_IP = (unsigned long)l4_interrupt_entry;
	f->changed = 0;
}
