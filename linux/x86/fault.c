// SPDX-License-Identifier: GPL-2.0
/* Faults of the server in words, and what makes its thread enter another function. */
#include <linux/kernel.h>
#include <asm/processor-flags.h>
#include <asm/trapnr.h>
#include "../../../um/os-L4/l4.h"

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

void arch_l4_name_fault(const struct l4_frame *f, char *text, size_t bytes)
{
	const char *name = f->vector < ARRAY_SIZE(names) ? names[f->vector] : NULL;

	if (f->vector == X86_TRAP_PF)
		scnprintf(text, bytes, "page fault: %s at %08x, %s",
			  f->error & L4_FAULT_WRITE ? "write" :
			  f->address == f->eip ? "execution" : "read", f->address,
			  f->error & L4_FAULT_PROTECTION ? "not allowed" : "nothing is there");
	else
		scnprintf(text, bytes, "%s: exception %u, error code %04x",
			  name ?: "unexpected", f->vector, f->error);
}

void arch_l4_enter(struct l4_frame *f, void (*fn)(void), void *stack_top)
{
	u32 *sp = stack_top;

	/* As if called, with no way back. */
	*--sp = 0;
	f->eip = (u32)fn;
	f->esp = (u32)sp;
	f->ebp = 0;
	f->eflags = X86_EFLAGS_IF | X86_EFLAGS_FIXED;
	f->changed = 0;
}
