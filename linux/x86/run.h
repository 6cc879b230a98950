/* SPDX-License-Identifier: GPL-2.0 */
/* What every system call of a program passes, in line: registers, and the microkernel. */
#ifndef __X86_OS_L4_RUN_H
#define __X86_OS_L4_RUN_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <sysdep/ptrace.h>
#include <sysdep/syscalls.h>
#include "../../../um/os-L4/l4.h"

/* How the microkernel is entered: the same for good. */
static inline bool arch_l4_has_sysenter(void)
{
	return l4_kip[L4_KIP_FEATURES / 4] & L4_FEATURE_SYSENTER;
}

/*
 * Replies to a user thread and waits for its next event: returns the kind of delivery, gives the handle of
 * the next reply and the event's first word.  What l4_syscall() does, on a stack that needs no copies.
 * By L4_OP_MAP_RUN so many records are carried out first, which *word gives.
 */
static __always_inline u32 l4_run_by(u32 op, bool sysenter, u32 *handle, u32 *word)
{
	u32 delivery = op << L4_TAG_OP_SHIFT, next = *handle;

	if (sysenter)
		asm volatile ("pushl	%%ebp\n\t"
			      "movl	%%esp, %%ecx\n\t"
			      "movl	$1f, %%edx\n\t"
			      "sysenter\n"
			      "1:	popl	%%ebp"
			      : "+a" (delivery), "+b" (next), "+S" (*word)
			      : : "ecx", "edx", "edi", "memory", "cc");
	else
		asm volatile ("pushl	%%ebp\n\t"
			      "int	%[vector]\n\t"
			      "popl	%%ebp"
			      : "+a" (delivery), "+b" (next), "+S" (*word)
			      : [vector] "i" (L4_INT_VECTOR)
			      : "ecx", "edx", "edi", "memory", "cc");
	*handle = next;
	return L4_DELIVERY_KIND(delivery);
}

static __always_inline u32 l4_run(bool sysenter, u32 *handle, u32 *word)
{
	/* Any, as the microkernel does not look at it. */
	asm ("" : "=S" (*word));
	return l4_run_by(L4_OP_RUN, sysenter, handle, word);
}

/*
 * The first registers lie in uml_pt_regs as in the microkernel's frame (user-offsets.c).  Where a sysenter
 * lands, if one is what the thread comes from, ECX and EDX may be lost.
 */
static __always_inline void arch_l4_load_registers(const struct uml_pt_regs *regs, struct l4_frame *f,
						   unsigned long landing)
{
	const unsigned long *gp = regs->gp;
	bool segments = f->fs_gs != gp[HOST_FS_GS];

	memcpy(f, gp, offsetof(struct l4_frame, vector));
	if (unlikely(landing) && gp[HOST_IP] == landing)
		f->changed |= L4_BY_SYSEXIT;
	/* The microkernel clears it when it has taken the registers: not if a notification came first. */
	if (unlikely(segments))
		f->changed |= L4_CHANGED_SEGMENTS;
}

/* What a system call returns is all that it changes, mostly. */
static __always_inline void arch_l4_load_result(const struct uml_pt_regs *regs, struct l4_frame *f)
{
	f->eax = regs->gp[HOST_AX];
}

static __always_inline void arch_l4_store_registers(struct uml_pt_regs *regs, struct l4_frame *f)
{
	memcpy(regs->gp, f, offsetof(struct l4_frame, vector));
	/* CS and SS are those of get_safe_registers(). */
}

/* Its functions take their arguments, six at most, from the stack (asmlinkage), and may overwrite them there. */
static __always_inline long arch_l4_execute(const struct uml_pt_regs *regs, unsigned long nr)
{
	long result = nr;

	asm volatile ("pushl	%c[bp](%[gp])\n\t"
		      "pushl	%c[di](%[gp])\n\t"
		      "pushl	%c[si](%[gp])\n\t"
		      "pushl	%c[dx](%[gp])\n\t"
		      "pushl	%c[cx](%[gp])\n\t"
		      "pushl	%c[bx](%[gp])\n\t"
		      "call	*sys_call_table(, %%eax, 4)\n\t"
		      "addl	$24, %%esp"
		      : "+a" (result)
		      : [gp] "r" (regs->gp), [bx] "i" (4 * HOST_BX), [cx] "i" (4 * HOST_CX), [dx] "i" (4 * HOST_DX),
			[si] "i" (4 * HOST_SI), [di] "i" (4 * HOST_DI), [bp] "i" (4 * HOST_BP)
		      : "ecx", "edx", "memory", "cc");
	return result;
}

#endif
