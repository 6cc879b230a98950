// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of other components while Linux goes on: each asker is a thread of the microkernel
 * that makes one call at a time and raises an interrupt when it is answered.
 */
#include <linux/errno.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include "async_call.h"
#include <os-L4/layout.h>

#define STACK	4096

/* On its own stack and UTCB; it calls nothing of Linux. */
static asmlinkage void ask(void *arg)
{
	struct l4_async_call *a = arg;
	struct l4_regs r;

	for (;;) {
		r = (struct l4_regs){ L4_OP_RECEIVE << L4_TAG_OP_SHIFT | L4_TAG_NOTIFICATIONS_ONLY };
		l4_syscall(&r);
		if (L4_DELIVERY_KIND(r.r0) != L4_KIND_NOTIFICATION)
			continue;
		a->failed = l4_ipc_call(a->component, a->words, a->ask[0], a->ask[1], a->ask[2], &r);
		a->restarted = l4_was_restarted(r.r0);
		a->answer[0] = r.r2;
		a->answer[1] = r.r3;
		a->answer[2] = r.r4;
		l4_call(L4_OP_NOTIFY, a->answered, 0, 0, 0);
	}
}

int __init l4_async_call_init(struct l4_async_call *a, const char *grant, unsigned int irq,
			 irq_handler_t handler, const char *name, void *data)
{
	const struct l4_grant *g = l4_find_grant(grant);
	char *stack = kmalloc(STACK, GFP_KERNEL);
	u32 thread, utcb;
	int err;

	if (!g || !stack) {
		kfree(stack);
		return g ? -ENOMEM : -ENODEV;
	}
	a->component = g->slot;
	a->answered = l4_notifier(irq);
	thread = l4_thread_create(&utcb);
	a->wake = thread ? l4_notifier_of(thread, 1) : 0;
	/* What the microkernel gave is lost if this fails: it happens at boot only. */
	if (!a->answered || !a->wake)
		return -ENOMEM;
	a->text = (char *)utcb + L4_TEXT_WORD * 4;
	*(u32 *)(utcb + L4_UTCB_ACCEPT) = 1;
	err = request_irq(irq, handler, 0, name, data);
	return err ? err : l4_thread_run(thread, ask, a, stack + STACK, L4_INTERRUPT_PRIORITY);
}
