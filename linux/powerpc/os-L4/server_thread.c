// SPDX-License-Identifier: GPL-2.0
/* Threads of the server: how they start, are interrupted, and fail; and which task is current. */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <asm/ptrace.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/server_thread.h"
#include "../../../um/os-L4/subarch.h"
#include "processor.h"
#include "server_frame.h"

struct task_struct *__current = &init_task;
EXPORT_SYMBOL(__current);

/* Below the interrupted frame: the words of a caller, and all registers. */
struct interrupt_frame {
	u32 back, link, unused[2];
	struct l4_frame at;
} __aligned(16);

static const char *fault_name(const struct l4_frame *f)
{
	switch (f->vector) {
	case L4_VECTOR_ALIGNMENT:
		return "alignment fault";
	case L4_VECTOR_PROGRAM:
		if (f->error & L4_PROGRAM_TRAP)
			return "trap";
		return f->error & L4_PROGRAM_PRIVILEGED ? "privileged instruction" : "invalid instruction";
	}
	return "unexpected exception";
}

void arch_l4_describe_fault(const struct l4_frame *f, char *text, size_t bytes)
{
	if (f->vector == L4_VECTOR_PAGE_FAULT)
		scnprintf(text, bytes, "page fault: %s at %08x, %s",
			  f->error & L4_FAULT_WRITE ? "write" : f->error & L4_FAULT_FETCH ? "execution" : "read",
			  f->address, f->error & L4_FAULT_PROTECTION ? "not allowed" : "nothing is there");
	else
		scnprintf(text, bytes, "%s: exception %x00, SRR1 %08x", fault_name(f), f->vector, f->error);
}

void arch_l4_enter(struct l4_frame *f, void (*fn)(void), void *stack_top)
{
	f->pc = (u32)fn;
	f->gpr[1] = arch_l4_initial_sp((u32)stack_top);
	f->changed = 0;
}

u32 arch_l4_thread_start(u32 slot, l4_thread_fn *fn, void *arg, void *stack_top)
{
	extern const char l4_thread_entry[];
	u32 *sp = (u32 *)arch_l4_initial_sp((u32)stack_top);

	/* It has no caller. */
	sp[0] = 0;
	sp[2] = (u32)fn;
	return l4_call(L4_OP_START, slot, (u32)l4_thread_entry, (u32)sp, (u32)arg);
}

/*
 * These operations are done in steps.  The microkernel does not continue one whose thread was stopped, so it is
 * started again, which does no harm.
 */
static bool interrupted_half_way(const struct l4_frame *f)
{
	extern const char l4_syscall_done[];
	const struct l4_regs *r;

	if (f->pc != (u32)l4_syscall_done)
		return false;
	r = *(const struct l4_regs **)(f->gpr[1] + CALL_REGS);
	/* No results yet: the register still has the tag, which is not a status of these operations. */
	switch (r->r0 >> L4_TAG_OP_SHIFT) {
	case L4_OP_MAP:
	case L4_OP_RESET:
	case L4_OP_DELETE:
	case L4_OP_CACHE:
		return f->gpr[3] == r->r0;
	}
	return false;
}

void arch_l4_inject_interrupt(struct l4_frame *f)
{
	extern const char l4_syscall_again[], l4_interrupt_entry[];
	struct interrupt_frame *on_stack = (struct interrupt_frame *)f->gpr[1] - 1;

	if (interrupted_half_way(f))
		f->pc = (u32)l4_syscall_again;
	f->changed = 0;
	on_stack->back = f->gpr[1];
	on_stack->at = *f;
	f->gpr[1] = (u32)on_stack;
	f->pc = (u32)l4_interrupt_entry;
}

bool arch_l4_ends_interrupt(struct l4_frame *f)
{
	extern const char l4_interrupt_done[];

	if (f->vector != L4_VECTOR_PROGRAM || f->pc != (u32)l4_interrupt_done)
		return false;
	*f = ((struct interrupt_frame *)f->gpr[1])->at;
	return true;
}
