// SPDX-License-Identifier: GPL-2.0
/*
 * The microkernel's system calls, and functions that consist of a few of them: messages, notifications, threads, the
 * end.
 */
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include "interrupt.h"
#include "l4_syscall.h"
#include "server_thread.h"
#include "start.h"
#include "subarch.h"
#include <os-L4/processor.h>

u32 l4_call_out(u32 op, unsigned long a0, unsigned long a1, unsigned long a2, unsigned long a3, struct l4_regs *out)
{
	*out = (struct l4_regs){ op << L4_TAG_OP_SHIFT, a0, a1, a2, a3 };
	l4_syscall(out);
	return out->r0;
}

u32 l4_call(u32 op, unsigned long a0, unsigned long a1, unsigned long a2, unsigned long a3)
{
	struct l4_regs r;

	return l4_call_out(op, a0, a1, a2, a3, &r);
}

const char *l4_error_hint(u32 status)
{
	static char more[100];

	switch (status) {
	case L4_ERROR_QUOTA_EXCEEDED:
		snprintf(more, sizeof(more), ", give this Linux more `quota` or `threads` (%u at most) in the system's description",
			 L4_UTCB_SLOTS);
		return more;
	case L4_ERROR_POOL_EXHAUSTED:
		return ", the microkernel has no more memory: give the machine more";
	}
	return "";
}

u32 *l4_messages __ro_after_init;

u32 l4_ipc_call(unsigned long utcb, u32 to, u32 tag, u32 a, u32 b, u32 c, struct l4_regs *out)
{
	++*l4_messages;
	*out = (struct l4_regs){ L4_OP_CALL << L4_TAG_OP_SHIFT | tag, to, a, b, c };
	arch_l4_message(out, utcb);
	return L4_DELIVERY_KIND(out->r0) == L4_KIND_FAILED;
}

u32 l4_notifier_of(u32 thread, u32 bits)
{
	u32 slot = l4_slot_alloc();

	if (!slot || l4_call(L4_OP_COPY, thread, 0, slot,
			     bits << L4_BADGE_SHIFT | L4_RIGHT_NOTIFY))
		return 0;
	return slot;
}

u32 l4_notifier(unsigned int irq)
{
	return l4_notifier_of(L4_THREAD, L4_BIT(irq));
}

u32 l4_thread_create(unsigned long *utcb)
{
	u32 slot = l4_slot_alloc();
	struct l4_regs r;

	if (!slot || l4_call_out(L4_OP_CREATE_THREAD, L4_QUOTA, L4_SPACE, slot, 0, &r))
		return 0;
	*utcb = r.r1;
	/* An exception of the thread goes to the root server, which ends this Linux. */
	if (l4_call(L4_OP_SET_HANDLER, slot, L4_ROOT, 0, 0))
		return 0;
	return slot;
}

bool l4_one_priority;

/* A new thread has its creator's priority.  False: it cannot get this one, though there is one above Linux. */
static bool set_priority(u32 slot, u32 priority)
{
	u32 status = l4_call(L4_OP_SET_PRIORITY, slot, priority, priority, 0);

	if (status == L4_ERROR_BAD_PRIORITY)
		l4_one_priority = true;
	return !status || status == L4_ERROR_BAD_PRIORITY;
}

int l4_thread_run(u32 slot, l4_thread_fn *fn, void *arg, void *stack_top, u32 priority)
{
	if (!set_priority(slot, priority) || arch_l4_thread_start(slot, fn, arg, stack_top))
		return -EPERM;
	return 0;
}

void __noreturn l4_exit(int code)
{
	struct l4_regs r;

	l4_ipc_call(l4_utcb, L4_ROOT, 3, L4_ROOT_EXIT, code, 0, &r);
	for (;;)
		arch_l4_invalid_instruction();
}
