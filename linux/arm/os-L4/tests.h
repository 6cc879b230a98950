/* SPDX-License-Identifier: GPL-2.0 */
/* What the crash test and the attack test (linux/tests) ask of the processor. */
#ifndef __ARM_OS_L4_TESTS_H
#define __ARM_OS_L4_TESTS_H

#include <linux/array_size.h>
#include <linux/types.h>
#include <sysdep/ptrace.h>
#include <asm/ptrace.h>
#include "../../../um/os-L4/abi.h"

/* An address of the microkernel. */
#define ARCH_L4_KERNEL_ADDRESS	0xe0010000
/* Flags: interrupts off; the supervisor's mode instead of the user's. */
#define PSR_INTERRUPTS_OFF	0xc0
#define PSR_SUPERVISOR_MODE	0x13

/* Reads and writes the control register of the MMU, through its coprocessor.  Returns if nothing prevents that. */
static __always_inline bool arch_l4_access_device(void)
{
	u32 control;

	asm volatile ("mrc p15, 0, %0, c1, c0, 0\n\t"
		      "mcr p15, 0, %0, c1, c0, 0" : "=r" (control));
	return true;
}

/* Whether interrupts could be disabled: in user mode the processor ignores such a write. */
static __always_inline bool arch_l4_disable_interrupts(void)
{
	u32 psr;

	asm volatile ("msr cpsr_c, %1\n\t"
		      "mrs %0, cpsr" : "=r" (psr) : "r" (PSR_INTERRUPTS_OFF | PSR_USER_MODE));
	return psr & PSR_INTERRUPTS_OFF;
}

/* Fills a frame with random registers that ask for privileges, and this instruction pointer. */
static inline void arch_l4_make_privileged(struct l4_frame *f, u32 ip, u32 (*random)(void))
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(f->r); i++)
		f->r[i] = random();
	f->sp = random();
	f->lr = random();
	f->pc = ip;
	f->cpsr = (random() & ~PSR_MODE) | PSR_INTERRUPTS_OFF | PSR_SUPERVISOR_MODE;
	f->changed = random();
}

static inline bool arch_l4_is_privileged(const struct l4_frame *f)
{
	return f->cpsr & PSR_INTERRUPTS_OFF || (f->cpsr & PSR_MODE) != PSR_USER_MODE;
}

#endif
