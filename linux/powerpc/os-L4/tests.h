/* SPDX-License-Identifier: GPL-2.0 */
/* What the crash test and the attack test (linux/tests) ask of the processor. */
#ifndef __POWERPC_OS_L4_TESTS_H
#define __POWERPC_OS_L4_TESTS_H

#include <linux/array_size.h>
#include <linux/types.h>
#include <sysdep/ptrace.h>
#include <asm/ptrace.h>
#include "../../../um/os-L4/abi.h"

/* An address of the microkernel. */
#define ARCH_L4_KERNEL_ADDRESS	0xf0010000
/* Of the machine state: interrupts, and the user's mode. */
#define MSR_INTERRUPTS	0x8000
#define MSR_USER_MODE	0x4000

/* Reads and writes SDR1, which has the hashed table's address.  Returns if nothing prevents that. */
static __always_inline bool arch_l4_access_device(void)
{
	u32 table;

	asm volatile ("mfspr %0, 25\n\t"
		      "mtspr 25, %0" : "=r" (table));
	return true;
}

static __always_inline bool arch_l4_disable_interrupts(void)
{
	asm volatile ("mtmsr %0" : : "r" (MSR_USER & ~MSR_INTERRUPTS));
	return true;
}

/* Fills a frame with random registers that ask for privileges, and this instruction pointer. */
static inline void arch_l4_make_privileged(struct l4_frame *f, u32 ip, u32 (*random)(void))
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(f->gpr); i++)
		f->gpr[i] = random();
	f->lr = random();
	f->ctr = random();
	f->xer = random();
	f->cr = random();
	f->pc = ip;
	f->msr = random() & ~(MSR_INTERRUPTS | MSR_USER_MODE);
	f->changed = random();
}

static inline bool arch_l4_is_privileged(const struct l4_frame *f)
{
	return (f->msr & (MSR_INTERRUPTS | MSR_USER_MODE)) != (MSR_INTERRUPTS | MSR_USER_MODE);
}

#endif
