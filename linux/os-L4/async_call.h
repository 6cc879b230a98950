/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __OS_L4_ASYNC_CALL_H
#define __OS_L4_ASYNC_CALL_H

#include <linux/interrupt.h>
#include "l4.h"

/* Who uses which interrupt line: 1 is the console's. */
#define L4_IRQ_DISK	2
#define L4_IRQ_CHANNELS	8

/* A thread that calls a component. */
struct l4_async_call {
	u32 component;	/* capability: who is called */
	u32 wake;	/* capability: a bit of the calling thread */
	u32 answered;	/* capability: the interrupt */
	char *text;	/* of the next message, and of the last answer: L4_TEXT_BYTES */
	u32 words;	/* of the next message, 3 or more */
	u32 ask[3];	/* its first words */
	u32 answer[3];
	bool failed;	/* there is no answer: the component died */
	bool restarted;	/* and lives again: it may be asked once more */
};

int l4_async_call_init(struct l4_async_call *a, const char *grant, unsigned int irq,
		  irq_handler_t handler, const char *name, void *data);

/* Whether a call whose delivery this is failed because the component was started anew. */
static inline bool l4_was_restarted(u32 delivery)
{
	return L4_DELIVERY_KIND(delivery) == L4_KIND_FAILED &&
	       delivery >> L4_BADGE_SHIFT == L4_ERROR_PEER_RESTARTED;
}

/* Makes the call that was prepared; the interrupt tells when it is answered. */
static inline void l4_async_call_start(struct l4_async_call *a)
{
	l4_call(L4_OP_NOTIFY, a->wake, 0, 0, 0);
}

#endif
