/* SPDX-License-Identifier: GPL-2.0 */
/* What each event of a program passes, in line: registers, and the microkernel (os-L4/subarch.h). */
#ifndef __X86_OS_L4_RUN_H
#define __X86_OS_L4_RUN_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <sysdep/ptrace.h>
#include <sysdep/ptrace_user.h>
#include <sysdep/syscalls.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/walk.h"
#include "vdso.h"

/* The microkernel is entered by sysenter, or by int where the processor has no sysenter.  This does not change. */
static inline bool arch_l4_has_fast_entry(void)
{
	return l4_kip[L4_KIP_FEATURES / 4] & L4_FEATURE_SYSENTER;
}

/*
 * Replies to a user thread and waits for its next event.  Returns the kind of delivery, the handle for
 * the next reply and the first word of the event.  It does what l4_syscall() does, without copies of registers in
 * memory.  By L4_OP_MAP_RUN the microkernel carries out *word records first.
 */
static __always_inline u32 arch_l4_run_by(u32 op, bool fast_entry, u32 *handle, u32 *word)
{
	u32 delivery = op << L4_TAG_OP_SHIFT, next = *handle;

	if (fast_entry)
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

static __always_inline u32 arch_l4_run(bool fast_entry, u32 *handle, u32 *word)
{
	/* Any value: the microkernel does not look at it. */
	asm ("" : "=S" (*word));
	return arch_l4_run_by(L4_OP_RUN, fast_entry, handle, word);
}

/* A sysenter of a program: the microkernel does not know the program's stack pointer and return address. */
static __always_inline bool arch_l4_is_vdso_call(u32 vector)
{
	return vector == L4_VECTOR_SYSENTER;
}

/* Reads it where the program's stack pointer says, by a fault if need be.  False: it cannot be read, and this is the result. */
bool l4_read_sixth_argument(struct uml_pt_regs *regs);

/* A program that entered by sysenter goes on at the vDSO's landing pad, which restores ECX, EDX and EBP from the stack. */
static __always_inline unsigned long l4_landing_pad(const struct task_struct *task)
{
	return task->mm->context.id.vdso + L4_VDSO_LANDING;
}

static __always_inline unsigned long arch_l4_fast_return(const struct task_struct *task, u32 vector)
{
	return vector == L4_VECTOR_SYSENTER ? l4_landing_pad(task) : 0;
}

/*
 * Linux's convention for sysenter: ECX and EDX are arguments.  The microkernel takes them for stack pointer and
 * return address.  EBP is the stack pointer, where the sixth argument lies.
 */
static __always_inline bool arch_l4_begin_vdso_call(struct task_struct *task)
{
	unsigned long *gp = task->thread.regs.regs.gp, stack = gp[HOST_BP], entry;

	gp[HOST_CX] = gp[HOST_SP];
	gp[HOST_DX] = gp[HOST_IP];
	gp[HOST_SP] = stack;
	gp[HOST_IP] = l4_landing_pad(task);
	entry = l4_walk_user(task->mm->pgd, (const void __user *)stack, L4_READABLE);
	/* The page of a stack that is in use is there.  An entry that programs may read is a process's. */
	if (unlikely(!entry || stack % sizeof(stack)))
		return l4_read_sixth_argument(&task->thread.regs.regs);
	gp[HOST_BP] = *(const unsigned long *)(l4_linear_map(entry & PAGE_MASK) + offset_in_page(stack));
	return true;
}

static __always_inline void arch_l4_cancel_fast_return(struct l4_frame *f)
{
	f->changed &= ~L4_BY_SYSEXIT;
}

/*
 * The first registers lie in uml_pt_regs as in the microkernel's frame (user-offsets.c).  At the address
 * fast_return, if it is not 0, the program does not need ECX and EDX: the microkernel may return by sysexit.
 */
static __always_inline void arch_l4_load_registers(const struct uml_pt_regs *regs, struct l4_frame *f,
						   unsigned long fast_return)
{
	const unsigned long *gp = regs->gp;
	bool segments = f->fs_gs != gp[HOST_FS_GS];

	memcpy(f, gp, offsetof(struct l4_frame, vector));
	if (unlikely(fast_return) && gp[HOST_IP] == fast_return)
		f->changed |= L4_BY_SYSEXIT;
	/* The microkernel clears the flag when it takes the registers: not if a notification comes first. */
	if (unlikely(segments))
		f->changed |= L4_CHANGED_SEGMENTS;
}

/*
 * Most system calls change only the result.  A program that came by sysenter does not need ECX and EDX any more: the
 * microkernel returns by sysexit.
 */
static __always_inline void arch_l4_load_result(const struct uml_pt_regs *regs, struct l4_frame *f, bool by_vdso)
{
	f->eax = regs->gp[HOST_AX];
	if (!by_vdso)
		return;
	f->esp = regs->gp[HOST_SP];
	f->eip = regs->gp[HOST_IP];
	f->ebp = regs->gp[HOST_BP];
	f->changed = L4_BY_SYSEXIT;
}

/* CS and SS stay those of get_safe_registers(). */
static __always_inline void arch_l4_store_registers(struct uml_pt_regs *regs, struct l4_frame *f)
{
	memcpy(regs->gp, f, offsetof(struct l4_frame, vector));
}

/* The number of a system call is in the register of its result. */
static __always_inline unsigned long arch_l4_begin_system_call(struct uml_pt_regs *regs)
{
	return PT_SYSCALL_NR(regs->gp) = regs->gp[HOST_AX];
}

static __always_inline void arch_l4_no_system_call(struct uml_pt_regs *regs)
{
	PT_SYSCALL_NR(regs->gp) = -1;
	UPT_SYSCALL_NR(regs) = -1;
}

/* The functions of system calls take six arguments from the stack (asmlinkage), and may overwrite them there. */
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
