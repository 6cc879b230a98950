/* SPDX-License-Identifier: GPL-2.0 */
/* What every system call of a program passes, in line: registers, and the microkernel. */
#ifndef __X86_OS_L4_RUN_H
#define __X86_OS_L4_RUN_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <asm/processor-flags.h>
#include <sysdep/ptrace.h>
#include <sysdep/syscalls.h>
#include "../../../um/os-L4/l4.h"
#include "vdso.h"

/* Replies to a user thread and waits for its next event.  What l4_syscall() does, on a stack that needs no copies. */
static __always_inline void l4_run(u32 handle, struct l4_event *event)
{
	asm volatile ("pushl	%%ebp\n\t"
		      "testb	%[sysenter], l4_kip + %c[features]\n\t"
		      "jz	1f\n\t"
		      "movl	%%esp, %%ecx\n\t"
		      "movl	$2f, %%edx\n\t"
		      "sysenter\n"
		      "1:	int	%[vector]\n"
		      "2:	movl	%%ebp, %%ecx\n\t"
		      "popl	%%ebp"
		      : "=a" (event->delivery), "=b" (event->handle), "=S" (event->word[0]),
			"=D" (event->word[1]), "=&c" (event->word[2])
		      : "0" (L4_OP_RUN << L4_TAG_OP_SHIFT), "1" (handle), [vector] "i" (L4_INT_VECTOR),
			[sysenter] "i" (L4_FEATURE_SYSENTER), [features] "i" (L4_KIP_FEATURES)
		      : "edx", "memory", "cc");
}

/* The first registers lie in uml_pt_regs as in the microkernel's frame (user-offsets.c). */
static __always_inline void arch_l4_load_registers(const struct uml_pt_regs *regs, struct l4_frame *f,
						   bool by_sysenter)
{
	const unsigned long *gp = regs->gp;
	u32 fs_gs = (u16)gp[HOST_FS] | gp[HOST_GS] << 16;

	memcpy(f, gp, offsetof(struct l4_frame, ds_es));
	f->ds_es = (u16)gp[HOST_DS] | gp[HOST_ES] << 16;
	f->changed &= ~L4_BY_SYSEXIT;
	if (by_sysenter && gp[HOST_IP] == L4_VDSO + L4_VDSO_LANDING)
		f->changed |= L4_BY_SYSEXIT;
	/* The microkernel clears it when it has taken the registers: not if a notification came first. */
	if (unlikely(f->fs_gs != fs_gs)) {
		f->fs_gs = fs_gs;
		f->changed |= L4_CHANGED_SEGMENTS;
	}
}

static __always_inline void arch_l4_single_step(struct l4_frame *f)
{
	f->eflags |= X86_EFLAGS_TF;
}

static __always_inline void arch_l4_store_registers(struct uml_pt_regs *regs, const struct l4_frame *f)
{
	unsigned long *gp = regs->gp;

	memcpy(gp, f, offsetof(struct l4_frame, ds_es));
	gp[HOST_EFLAGS] &= ~X86_EFLAGS_TF;
	gp[HOST_DS] = (u16)f->ds_es;
	gp[HOST_ES] = f->ds_es >> 16;
	gp[HOST_FS] = (u16)f->fs_gs;
	gp[HOST_GS] = f->fs_gs >> 16;
	/* CS and SS are those of get_safe_registers(). */
}

/* Their order is that of a system call's arguments, too. */
static __always_inline long arch_l4_execute(const struct uml_pt_regs *regs, unsigned long nr)
{
	BUILD_BUG_ON(HOST_CX != HOST_BX + 1 || HOST_DX != HOST_BX + 2 || HOST_SI != HOST_BX + 3 ||
		     HOST_DI != HOST_BX + 4 || HOST_BP != HOST_BX + 5);
	return sys_call_table[nr](*(const struct syscall_args *)&regs->gp[HOST_BX]);
}

#endif
