// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous calls of other components: Linux continues while a component works.  The call itself is made by
 * another thread of this server, which raises an interrupt when the reply has come.
 */
#include <linux/errno.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include "async_call.h"
#include "l4_syscall.h"
#include "server_thread.h"
#include "start.h"

#define STACK	4096

/* On its own stack and UTCB.  It must call nothing of Linux. */
static asmlinkage void caller_thread(void *arg)
{
	struct l4_async_call *call = arg;
	struct l4_regs r;

	for (;;) {
		r = (struct l4_regs){ L4_OP_RECEIVE << L4_TAG_OP_SHIFT | L4_TAG_NOTIFICATIONS_ONLY };
		l4_syscall(&r);
		if (L4_DELIVERY_KIND(r.r0) != L4_KIND_NOTIFICATION)
			continue;
		call->failed = l4_ipc_call(call->utcb, call->component, call->words, call->request[0], call->request[1],
					   call->request[2], &r);
		call->restarted = l4_was_restarted(r.r0);
		call->reply[0] = r.r2;
		call->reply[1] = r.r3;
		call->reply[2] = r.r4;
		l4_call(L4_OP_NOTIFY, call->done, 0, 0, 0);
	}
}

int __init l4_async_call_init(struct l4_async_call *call, const char *grant, unsigned int irq,
			      irq_handler_t handler, const char *name, void *data)
{
	const struct l4_grant *g = l4_find_grant(grant);
	char *stack = kmalloc(STACK, GFP_KERNEL);
	unsigned long utcb;
	u32 thread;
	int err;

	if (!g || !stack) {
		kfree(stack);
		return g ? -ENOMEM : -ENODEV;
	}
	call->component = g->slot;
	call->done = l4_notifier(irq);
	thread = l4_thread_create(&utcb);
	call->wake = thread ? l4_notifier_of(thread, 1) : 0;
	/* After an error nothing is given back to the microkernel: this is called at boot only. */
	if (!call->done || !call->wake)
		return -ENOMEM;
	call->utcb = utcb;
	*(u32 *)(utcb + L4_UTCB_ACCEPT) = 1;
	err = request_irq(irq, handler, 0, name, data);
	return err ? err : l4_thread_run(thread, caller_thread, call, stack + STACK, L4_INTERRUPT_PRIORITY);
}
