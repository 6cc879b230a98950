/* SPDX-License-Identifier: GPL-2.0 */
/* The inlined path of each event of a program: registers, and the call of the microkernel (os-L4/subarch.h). */
#ifndef __X86_64_OS_L4_RUN_H
#define __X86_64_OS_L4_RUN_H

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
 * the stack pointer.
 */
static __always_inline u32 arch_l4_run_by(u32 op, bool fast_entry, u32 *handle, u32 *word)
{
	unsigned long delivery = op << L4_TAG_OP_SHIFT, next = *handle, first = *word;

	asm volatile ("pushq	%%rbp\n\t"
		      "syscall\n\t"
		      "popq	%%rbp"
		      : "+a" (delivery), "+D" (next), "+S" (first)
		      : : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	*handle = next;
	*word = first;
	return L4_DELIVERY_KIND(delivery);
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
	bool base = f->fs_base != regs->gp[HOST_FS_BASE];

	memcpy(f, regs->gp, offsetof(struct l4_frame, vector));
	/* The microkernel clears the flag when it takes the registers: but not if a notification comes first. */
	if (unlikely(base))
		f->changed |= L4_CHANGED_STATE;
}

/* Most system calls change only the result. */
static __always_inline void arch_l4_load_result(const struct uml_pt_regs *regs, struct l4_frame *f, bool by_vdso)
{
	f->rax = regs->gp[HOST_AX];
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

static __always_inline long arch_l4_execute(const struct uml_pt_regs *regs, unsigned long nr)
{
	return sys_call_table[nr](UPT_SYSCALL_ARG1(regs), UPT_SYSCALL_ARG2(regs), UPT_SYSCALL_ARG3(regs),
				  UPT_SYSCALL_ARG4(regs), UPT_SYSCALL_ARG5(regs), UPT_SYSCALL_ARG6(regs));
}

#endif
