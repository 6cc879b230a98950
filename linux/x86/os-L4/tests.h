/* SPDX-License-Identifier: GPL-2.0 */
/* What the crash test and the attack test (linux/tests) ask of the processor. */
#ifndef __X86_OS_L4_TESTS_H
#define __X86_OS_L4_TESTS_H

#include <linux/types.h>
#include "../../../um/os-L4/abi.h"

/* An address of the microkernel, and a device's I/O port. */
#define ARCH_L4_KERNEL_ADDRESS	0xe0100000
#define SERIAL_PORT		0x3f8
/* Flags: I/O privilege, virtual interrupts, virtual 8086 mode. */
#define PRIVILEGED_FLAGS	0x001a3000

/* Instructions that need privileges: access to a device, a change of the processor's state.  Whether they had them. */
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
static inline void arch_l4_make_privileged(struct l4_frame *f, u32 ip, u32 (*random)(void))
{
	f->eflags = random() | PRIVILEGED_FLAGS;
	f->eip = ip;
	f->esp = random();
	f->ds_es = random();
	f->fs_gs = random();
	f->changed = random();
}

static inline bool arch_l4_is_privileged(const struct l4_frame *f)
{
	return f->eflags & PRIVILEGED_FLAGS;
}

#endif
