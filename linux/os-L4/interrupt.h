/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupts: notifications of the Linux thread (interrupt.c). */
#ifndef __OS_L4_INTERRUPT_H
#define __OS_L4_INTERRUPT_H

#include <linux/irqflags.h>
#include <linux/types.h>

struct uml_pt_regs;

/* Notification bits: the timer, then an interrupt line each. */
#define L4_TIMER_BIT	0
#define L4_BIT(irq)	(1UL << (irq))

/* Interrupt lines. */
#define L4_IRQ_CONSOLE	1
#define L4_IRQ_DISK	2
#define L4_IRQ_NET_ATTACH	3
#define L4_IRQ_SCREEN	4
#define L4_IRQ_FOLDER	5
#define L4_IRQ_CHANNELS	8

/* Whether notification bits are pending.  The UTCB has a mirror of them. */
static inline bool l4_bits_arrived(void)
{
	return *l4_arrived;
}

/* Handles notification bits that interrupted a program with these registers. */
void l4_deliver(unsigned long bits, struct uml_pt_regs *regs);

#endif
