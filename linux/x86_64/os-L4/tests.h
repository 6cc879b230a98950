/* SPDX-License-Identifier: GPL-2.0 */
/* What the crash test and the attack test (linux/tests) ask of the processor. */
#ifndef __X86_64_OS_L4_TESTS_H
#define __X86_64_OS_L4_TESTS_H

#include <linux/types.h>
#include "../../../um/os-L4/abi.h"

/* An address of the microkernel, and a device's I/O port. */
#define ARCH_L4_KERNEL_ADDRESS	0xffffffff80100000
#define SERIAL_PORT		0x3f8
/* Flags: I/O privilege, virtual interrupts, virtual 8086 mode. */
#define PRIVILEGED_FLAGS	0x001a3000

/*
 * Privileged instructions: access to a device, a change of the processor's state.  They return whether they had an
 * effect.
 */
static __always_inline bool arch_l4_access_device(void)
{
	asm volatile ("outb %0, %1" : : "a" ((u8)'H'), "dN" ((u16)SERIAL_PORT));
	return true;
}

static __always_inline bool arch_l4_disable_interrupts(void)
{
	asm volatile ("cli");
	return true;
}

/* Fills a frame with random registers that ask for privileges, and this instruction pointer. */
static inline void arch_l4_make_privileged(struct l4_frame *f, unsigned long ip, u32 (*random)(void))
{
	f->rflags = random() | PRIVILEGED_FLAGS;
	f->rip = ip;
	f->rsp = (u64)random() << 32 | random();
	f->fs_base = (u64)random() << 32 | random();
	f->changed = random();
}

static inline bool arch_l4_is_privileged(const struct l4_frame *f)
{
	return f->rflags & PRIVILEGED_FLAGS;
}

#endif
