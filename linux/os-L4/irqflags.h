/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interrupt flag, in line: signals_enabled.  When it is set, pending interrupts are taken.  The UTCB has a mirror
 * of the notification bits, so this needs no system call if there are none.
 */
#ifndef __OS_L4_IRQFLAGS_H
#define __OS_L4_IRQFLAGS_H

#include <linux/compiler.h>

extern int signals_enabled;
/* Bits that were taken from the microkernel while interrupts were disabled. */
extern unsigned long l4_pending;
/* The mirror of the notification bits. */
extern const volatile unsigned int *l4_arrived;
/* Takes pending interrupts. */
void l4_take_interrupts(void);

#define arch_local_save_flags arch_local_save_flags
static inline unsigned long arch_local_save_flags(void)
{
	return signals_enabled;
}

#define arch_local_irq_disable arch_local_irq_disable
static inline void arch_local_irq_disable(void)
{
	signals_enabled = 0;
	barrier();
}

#define arch_local_irq_enable arch_local_irq_enable
static inline void arch_local_irq_enable(void)
{
	barrier();
	signals_enabled = 1;
	barrier();
	if (unlikely(l4_pending | *l4_arrived))
		l4_take_interrupts();
}

#define arch_local_irq_restore arch_local_irq_restore
static inline void arch_local_irq_restore(unsigned long flags)
{
	if (flags)
		arch_local_irq_enable();
	else
		arch_local_irq_disable();
}

#endif
