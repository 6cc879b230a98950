/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __OS_L4_ASYNC_CALL_H
#define __OS_L4_ASYNC_CALL_H

#include <linux/interrupt.h>
#include "l4_syscall.h"

/* Asynchronous calls of one component, one at a time. */
struct l4_async_call {
	u32 component;	/* capability: the component */
	u32 wake;	/* capability: a notification bit of the calling thread */
	u32 done;	/* capability: the interrupt */
	unsigned long utcb;	/* of the calling thread: text of the request, later of the reply */
	u32 words;	/* of the request, 3 or more */
	u32 request[3];	/* its first words */
	u32 reply[3];
	bool failed;	/* there is no reply: the component died */
	bool restarted;	/* it has been restarted: the call may be made again */
};

/* The handler is called with `data` when a call is complete. */
int l4_async_call_init(struct l4_async_call *call, const char *grant, unsigned int irq,
		       irq_handler_t handler, const char *name, void *data);

/* Whether a call failed, by this delivery, because the component was restarted. */
static inline bool l4_was_restarted(u32 delivery)
{
	return L4_DELIVERY_KIND(delivery) == L4_KIND_FAILED &&
	       delivery >> L4_BADGE_SHIFT == L4_ERROR_PEER_RESTARTED;
}

/* Starts the call that was prepared. */
static inline void l4_async_call_start(struct l4_async_call *call)
{
	l4_call(L4_OP_NOTIFY, call->wake, 0, 0, 0);
}

#endif
