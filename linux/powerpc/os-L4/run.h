/* SPDX-License-Identifier: GPL-2.0 */
/* The inlined path of each event of a program: registers, and the call of the microkernel (os-L4/subarch.h). */
#ifndef __POWERPC_OS_L4_RUN_H
#define __POWERPC_OS_L4_RUN_H

#include <linux/stddef.h>
#include <linux/string.h>
#include <sysdep/ptrace.h>
#include <sysdep/ptrace_user.h>
#include <sysdep/syscalls.h>
#include "../../../um/os-L4/abi.h"
#include "../../../um/os-L4/one_entry.h"

/*
 * Replies to a user thread and waits for its next event.  Returns the kind of delivery, the handle for the next reply
 * and the first word of the event.  By L4_OP_MAP_RUN the microkernel carries out *word records first.  It keeps only
 * r1 and r2.
 */
static __always_inline u32 arch_l4_run_by(u32 op, bool fast_entry, u32 *handle, u32 *word)
{
	register u32 r3 asm ("r3") = op << L4_TAG_OP_SHIFT;
	register u32 r4 asm ("r4") = *handle;
	register u32 r5 asm ("r5") = *word;

	asm volatile ("sc"
		      : "+r" (r3), "+r" (r4), "+r" (r5)
		      : : "r0", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r14", "r15", "r16", "r17", "r18", "r19", "r20",
			  "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31",
			  "cr0", "cr1", "cr2", "cr3", "cr4", "cr5", "cr6", "cr7", "ctr", "lr", "xer", "memory");
	*handle = r4;
	*word = r5;
	return L4_DELIVERY_KIND(r3);
}

static __always_inline u32 arch_l4_run(bool fast_entry, u32 *handle, u32 *word)
{
	/* Any value: the microkernel ignores it. */
	asm ("" : "=r" (*word));
	return arch_l4_run_by(L4_OP_RUN, fast_entry, handle, word);
}

/* The first registers have the same order in uml_pt_regs as in the microkernel's frame (user-offsets.c). */
static __always_inline void arch_l4_load_registers(const struct uml_pt_regs *regs, struct l4_frame *f,
						   unsigned long fast_return)
{
	memcpy(f, regs->gp, offsetof(struct l4_frame, vector));
}

/* Most system calls change only the result, and whether it is an error. */
static __always_inline void arch_l4_load_result(const struct uml_pt_regs *regs, struct l4_frame *f, bool by_vdso)
{
	f->gpr[3] = regs->gp[HOST_R3];
	f->cr = regs->gp[HOST_CR];
}

static __always_inline void arch_l4_store_registers(struct uml_pt_regs *regs, struct l4_frame *f)
{
	memcpy(regs->gp, f, offsetof(struct l4_frame, vector));
}

/* The number is in r0.  The first argument is in the register of the result, and is kept. */
static __always_inline unsigned long arch_l4_begin_system_call(struct uml_pt_regs *regs)
{
	regs->gp[HOST_ORIG_R3] = regs->gp[HOST_R3];
	return PT_SYSCALL_NR(regs->gp) = regs->gp[HOST_R0];
}

static __always_inline void arch_l4_no_system_call(struct uml_pt_regs *regs)
{
	PT_SYSCALL_NR(regs->gp) = -1;
	UPT_SYSCALL_NR(regs) = -1;
	regs->gp[HOST_ORIG_R3] = -1;
}

static __always_inline long arch_l4_execute(const struct uml_pt_regs *regs, unsigned long nr)
{
	const unsigned long *r = &regs->gp[HOST_R3];

	return sys_call_table[nr](r[0], r[1], r[2], r[3], r[4], r[5]);
}

#endif
