// SPDX-License-Identifier: GPL-2.0
/*
 * Injects interrupts into Linux while it computes and does not check its notification bits.
 *
 * A thread above Linux, the injector, wakes every millisecond unless Linux is idle.  If a bit is set and interrupts
 * are enabled, it makes the Linux thread enter the interrupt code, as a processor would.  It also handles exceptions
 * of the Linux thread (fault.c).
 *
 * If the system description allows no thread above Linux, nothing is injected: a bit waits until Linux next enables
 * interrupts.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <kern_util.h>
#include <os.h>
#include "fault.h"
#include "inject.h"
#include "interrupt.h"
#include "l4_syscall.h"
#include "server_thread.h"
#include "subarch.h"
#include "time.h"
#include <os-L4/processor.h>

#define PERIOD_NS	1000000ULL
#define STACK		4096

/* Notification bits of the injector. */
#define BIT_ALARM	1
#define BIT_AWAKE	2

/* Where L4_OP_GET_REGISTERS and exceptions put a thread's registers in the UTCB. */
#define FRAME_OFFSET	(L4_REGISTER_WORDS * sizeof(long))
#define FRAME_WORDS	(L4_REGISTER_WORDS + sizeof(struct l4_frame) / sizeof(long))

static unsigned long injector_utcb;
static u32 injector_awake;
static bool idle;
/* The injector's alarm is set. */
static bool alarm_set;
/* An interrupt was injected.  Linux has not entered the interrupt code yet, because other components run. */
static bool injected;
static char stack[STACK] __aligned(16);

static void inject(void)
{
	struct l4_frame *frame = (void *)(injector_utcb + FRAME_OFFSET);
	struct l4_regs r;

	if (READ_ONCE(injected) || !READ_ONCE(signals_enabled) || !l4_bits_arrived() ||
	    l4_call_out(L4_OP_THREAD_INFO, L4_THREAD, 0, 0, 0, &r) || r.r1 != L4_THREAD_READY)
		return;
	/* Linux has a lower priority: it does not run until this thread waits. */
	if (l4_call(L4_OP_STOP, L4_THREAD, 0, 0, 0) ||
	    l4_call(L4_OP_GET_REGISTERS, L4_THREAD, 0, 0, 0))
		return;
	WRITE_ONCE(injected, true);
	arch_l4_inject_interrupt(frame);
	l4_call(L4_OP_SET_REGISTERS, L4_THREAD, 1, 0, 0);
}

/* On its own stack and UTCB.  It must call nothing of Linux. */
static asmlinkage void injector_thread(void *arg)
{
	u32 operation = L4_OP_RECEIVE << L4_TAG_OP_SHIFT, handle = 0;
	struct l4_regs r;
	u64 next;

	for (;;) {
		if (READ_ONCE(idle) || l4_one_priority) {
			WRITE_ONCE(alarm_set, false);
		} else {
			WRITE_ONCE(alarm_set, true);
			next = l4_time_ns() + PERIOD_NS;
			l4_call(L4_OP_ALARM, (u32)next, next >> 32, BIT_ALARM, 0);
		}
		r = (struct l4_regs){ operation, handle };
		l4_syscall(&r);
		operation = L4_OP_RECEIVE << L4_TAG_OP_SHIFT;
		handle = 0;
		if (L4_DELIVERY_KIND(r.r0) == L4_KIND_EXCEPTION) {
			/* The reply sets the Linux thread's registers. */
			struct l4_frame *frame = (void *)(injector_utcb + FRAME_OFFSET);

			if (!arch_l4_ends_interrupt(frame))
				l4_fault(frame);
			operation = L4_OP_REPLY_WAIT << L4_TAG_OP_SHIFT | FRAME_WORDS;
			handle = r.r1;
		} else {
			inject();
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
	if (injector_awake && !READ_ONCE(alarm_set) && !l4_one_priority)
		l4_call(L4_OP_NOTIFY, injector_awake, 0, 0, 0);
}

/* In the Linux thread.  Interrupts were enabled. */
void l4_injected_interrupt(void)
{
	block_signals();
	WRITE_ONCE(injected, false);
	unblock_signals();
}

int __init l4_inject_init(void)
{
	u32 thread = l4_thread_create(&injector_utcb);
	int err;

	if (!thread)
		return -ENOMEM;
	*(u32 *)(injector_utcb + L4_UTCB_ACCEPT) = BIT_ALARM | BIT_AWAKE;
	injector_awake = l4_notifier_of(thread, BIT_AWAKE);
	if (!injector_awake)
		return -ENOMEM;
	err = l4_thread_run(thread, injector_thread, NULL, stack + STACK, L4_INTERRUPT_PRIORITY);
	if (err)
		return err;
	return l4_call(L4_OP_SET_HANDLER, L4_THREAD, thread, 0, 0) ? -EPERM : 0;
}
