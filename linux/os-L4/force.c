// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts for a Linux that computes: nothing else looks at its notifications then.
 *
 * A thread above it wakes every millisecond while Linux is not idle.  If a notification
 * waits, interrupts are enabled and Linux is in code of its own, it makes Linux's thread
 * enter the interrupt code, as a processor would.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <kern_util.h>
#include <os.h>
#include "l4.h"
#include "layout.h"

#define PERIOD_NS	1000000ULL
#define STACK		4096

/* Bits of the watching thread. */
#define BIT_ALARM	1
#define BIT_AWAKE	2

/* What thread_info says of a thread that runs or could. */
#define STATE_READY	1

/* Where a thread's registers are in the UTCB of the one who asks for them. */
#define FRAME_OFFSET	(L4_TEXT_WORD * 4)

static u32 watcher_utcb, watcher_awake;
static bool idle;
/* The watcher's alarm is set. */
static bool watching;
static char stack[STACK] __aligned(16);

static void force(void)
{
	struct l4_frame *frame = (void *)(watcher_utcb + FRAME_OFFSET);
	struct l4_regs r;

	if (!READ_ONCE(signals_enabled) || !l4_bits_arrived() ||
	    l4_call_out(L4_OP_THREAD_INFO, L4_THREAD, 0, 0, 0, &r) || r.ebx != STATE_READY)
		return;
	/* It is below this thread: it does not run until this one waits. */
	if (l4_call(L4_OP_STOP, L4_THREAD, 0, 0, 0) ||
	    l4_call(L4_OP_GET_REGISTERS, L4_THREAD, 0, 0, 0))
		return;
	arch_l4_interrupt(frame);
	l4_call(L4_OP_SET_REGISTERS, L4_THREAD, 1, 0, 0);
}

/* On its own stack and UTCB; it calls nothing of Linux. */
static void watch(void *arg)
{
	struct l4_regs r;
	u64 next;

	for (;;) {
		if (READ_ONCE(idle)) {
			WRITE_ONCE(watching, false);
		} else {
			WRITE_ONCE(watching, true);
			next = l4_time_ns() + PERIOD_NS;
			l4_call(L4_OP_ALARM, (u32)next, next >> 32, BIT_ALARM, 0);
		}
		r = (struct l4_regs){ L4_OP_RECEIVE << L4_TAG_OP_SHIFT | L4_TAG_NOTIFICATIONS_ONLY };
		l4_syscall(&r);
		force();
	}
}

void l4_watch_idle(void)
{
	WRITE_ONCE(idle, true);
}

void l4_watch_busy(void)
{
	WRITE_ONCE(idle, false);
	if (watcher_awake && !READ_ONCE(watching))
		l4_call(L4_OP_NOTIFY, watcher_awake, 0, 0, 0);
}

/* From the code that the watcher made Linux enter; interrupts were enabled. */
void l4_forced_interrupt(void)
{
	block_signals();
	unblock_signals();
}

static int __init watch_init(void)
{
	u32 thread = l4_thread_create(&watcher_utcb);

	if (!thread)
		return -ENOMEM;
	*(u32 *)(watcher_utcb + L4_UTCB_ACCEPT) = BIT_ALARM | BIT_AWAKE;
	watcher_awake = l4_notifier_of(thread, BIT_AWAKE);
	if (!watcher_awake)
		return -ENOMEM;
	return l4_thread_run(thread, watch, NULL, stack + STACK, L4_INTERRUPT_PRIORITY);
}
early_initcall(watch_init);
