// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts for a Linux that computes: nothing else looks at its notifications then.
 *
 * A thread above it wakes every millisecond while Linux is not idle.  If a notification
 * waits, interrupts are enabled and Linux is in code of its own, it makes Linux's thread
 * enter the interrupt code, as a processor would.  Linux's own exceptions come to it, too.
 * Where the description allows no thread above Linux, nothing is forced: what waits is taken
 * when Linux next enables interrupts.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <kern_util.h>
#include <os.h>
#include "l4.h"
#include <os-L4/layout.h>

#define PERIOD_NS	1000000ULL
#define STACK		4096

/* Bits of the watching thread. */
#define BIT_ALARM	1
#define BIT_AWAKE	2

/* Where a thread's registers are in the UTCB of the one who asks for them. */
#define FRAME_OFFSET	(L4_TEXT_WORD * 4)
#define FRAME_WORDS	(L4_TEXT_WORD + sizeof(struct l4_frame) / 4)

static u32 watcher_utcb, watcher_awake;
static bool idle;
/* The watcher's alarm is set. */
static bool watching;
/* Linux was made to enter the interrupt code and has not got there: somebody else runs. */
static bool forced;
static char stack[STACK] __aligned(16);

static void force(void)
{
	struct l4_frame *frame = (void *)(watcher_utcb + FRAME_OFFSET);
	struct l4_regs r;

	if (READ_ONCE(forced) || !READ_ONCE(signals_enabled) || !l4_bits_arrived() ||
	    l4_call_out(L4_OP_THREAD_INFO, L4_THREAD, 0, 0, 0, &r) || r.r1 != L4_THREAD_READY)
		return;
	/* It is below this thread: it does not run until this one waits. */
	if (l4_call(L4_OP_STOP, L4_THREAD, 0, 0, 0) ||
	    l4_call(L4_OP_GET_REGISTERS, L4_THREAD, 0, 0, 0))
		return;
	WRITE_ONCE(forced, true);
	arch_l4_inject_interrupt(frame);
	l4_call(L4_OP_SET_REGISTERS, L4_THREAD, 1, 0, 0);
}

/* On its own stack and UTCB; it calls nothing of Linux. */
static asmlinkage void watch(void *arg)
{
	u32 operation = L4_OP_RECEIVE << L4_TAG_OP_SHIFT, handle = 0;
	struct l4_regs r;
	u64 next;

	for (;;) {
		if (READ_ONCE(idle) || l4_one_priority) {
			WRITE_ONCE(watching, false);
		} else {
			WRITE_ONCE(watching, true);
			next = l4_time_ns() + PERIOD_NS;
			l4_call(L4_OP_ALARM, (u32)next, next >> 32, BIT_ALARM, 0);
		}
		r = (struct l4_regs){ operation, handle };
		l4_syscall(&r);
		operation = L4_OP_RECEIVE << L4_TAG_OP_SHIFT;
		handle = 0;
		if (L4_DELIVERY_KIND(r.r0) == L4_KIND_EXCEPTION) {
			/* The answer has all registers. */
			l4_fault((void *)(watcher_utcb + FRAME_OFFSET));
			operation = L4_OP_REPLY_WAIT << L4_TAG_OP_SHIFT | FRAME_WORDS;
			handle = r.r1;
		} else {
			force();
		}
	}
}

void l4_inject_pause(void)
{
	WRITE_ONCE(idle, true);
}

void l4_inject_resume(void)
{
	WRITE_ONCE(idle, false);
	if (watcher_awake && !READ_ONCE(watching) && !l4_one_priority)
		l4_call(L4_OP_NOTIFY, watcher_awake, 0, 0, 0);
}

/* From the code that the watcher made Linux enter; interrupts were enabled. */
void l4_injected_interrupt(void)
{
	block_signals();
	WRITE_ONCE(forced, false);
	unblock_signals();
}

int __init l4_inject_init(void)
{
	u32 thread = l4_thread_create(&watcher_utcb);
	int err;

	if (!thread)
		return -ENOMEM;
	*(u32 *)(watcher_utcb + L4_UTCB_ACCEPT) = BIT_ALARM | BIT_AWAKE;
	watcher_awake = l4_notifier_of(thread, BIT_AWAKE);
	if (!watcher_awake)
		return -ENOMEM;
	err = l4_thread_run(thread, watch, NULL, stack + STACK, L4_INTERRUPT_PRIORITY);
	if (err)
		return err;
	return l4_call(L4_OP_SET_HANDLER, L4_THREAD, thread, 0, 0) ? -EPERM : 0;
}
