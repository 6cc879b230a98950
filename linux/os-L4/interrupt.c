// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts are notification bits of the Linux thread.  The microkernel keeps the bits until Linux takes them.
 * signals_enabled is the interrupt flag (irqflags.h).
 */
#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <asm/irq.h>
#include <irq_kern.h>
#include <irq_user.h>
#include <kern_util.h>
#include <longjmp.h>
#include <os.h>
#include <skas.h>
#include "idle.h"
#include "inject.h"
#include "interrupt.h"
#include "l4_syscall.h"
#include "time.h"

unsigned long l4_pending;
const volatile unsigned int *l4_arrived;	/* set on entry */

/* Takes the bits that have arrived.  If there are none this needs no system call. */
static unsigned long take_bits(void)
{
	struct l4_regs r = { L4_OP_RECEIVE << L4_TAG_OP_SHIFT |
			     L4_TAG_POLL | L4_TAG_NOTIFICATIONS_ONLY };

	if (!l4_bits_arrived())
		return 0;
	l4_syscall(&r);
	return L4_DELIVERY_KIND(r.r0) == L4_KIND_NOTIFICATION ? r.r2 : 0;
}

/* Registers for interrupts of kernel mode: is_user is 0. */
static struct uml_pt_regs kernel_regs;

/*
 * Handles interrupts.  It may nest: soft interrupts run with interrupts enabled.  The timer's interrupt may nest,
 * too, because it sets a periodic alarm again.
 */
static void handle_bits(unsigned long bits, struct uml_pt_regs *regs)
{
	unsigned long n;

	for (n = L4_TIMER_BIT + 1; n < BITS_PER_LONG; n++)
		if (bits & L4_BIT(n))
			do_IRQ(n, regs);
	if (bits & L4_BIT(L4_TIMER_BIT)) {
		l4_timer_rearm();
		timer_handler(0, NULL, regs);
	}
}

void l4_take_interrupts(void)
{
	unsigned long bits;

	do {
		signals_enabled = 0;
		bits = l4_pending | take_bits();
		l4_pending = 0;
		trace_hardirqs_off();
		handle_bits(bits, &kernel_regs);
		trace_hardirqs_on();
		signals_enabled = 1;
		barrier();
	} while (l4_pending | *l4_arrived);
}

void block_signals(void)
{
	arch_local_irq_disable();
}

void unblock_signals(void)
{
	arch_local_irq_enable();
}

void block_signals_trace(void)
{
	block_signals();
	trace_hardirqs_off();
}

void unblock_signals_trace(void)
{
	trace_hardirqs_on();
	unblock_signals();
}

int um_set_signals(int enable)
{
	int old = signals_enabled;

	arch_local_irq_restore(enable);
	return old;
}

int um_set_signals_trace(int enable)
{
	int old = signals_enabled;

	if (old != enable) {
		if (enable)
			unblock_signals_trace();
		else
			block_signals_trace();
	}
	return old;
}

void l4_deliver(unsigned long bits, struct uml_pt_regs *regs)
{
	if (!signals_enabled) {
		l4_pending |= bits;
		return;
	}
	block_signals_trace();
	handle_bits(bits, regs);
	unblock_signals_trace();
}

/* Interrupts are disabled: bits that arrive go into l4_pending. */
void os_idle_sleep(void)
{
	struct l4_regs r = { L4_OP_RECEIVE << L4_TAG_OP_SHIFT | L4_TAG_NOTIFICATIONS_ONLY };

	if (l4_pending)
		return;
	l4_disk_idle();
	l4_net_idle();
	l4_inject_pause();
	l4_syscall(&r);
	l4_inject_resume();
	if (L4_DELIVERY_KIND(r.r0) == L4_KIND_NOTIFICATION)
		l4_pending |= r.r2;
}

/* Upstream's calibration spins until jiffies change, when interrupts cannot be injected yet. */
unsigned long calibrate_delay_is_known(void)
{
	const unsigned long loops = 1 << 16;
	u64 start = l4_time_ns(), ns;

	__delay(loops);
	ns = l4_time_ns() - start;
	return ns ? div64_u64((u64)loops * (NSEC_PER_SEC / HZ), ns) : loops;
}

void set_sigstack(void *sig_stack, int size) { }
void init_new_thread_signals(void) { }
void timer_set_signal_handler(void) { }
int os_is_signal_stack(void) { return 0; }

/* arch/um/kernel/irq.c waits for file descriptors of the host.  There are none. */
int os_setup_epoll(void) { return 0; }
int os_waiting_for_events_epoll(void) { return 0; }
void *os_epoll_get_data_pointer(int index) { return NULL; }
int os_epoll_triggered(int index, int events) { return 0; }
int os_event_mask(enum um_irq_type irq_type) { return 0; }
int os_add_epoll_fd(int events, int fd, void *data) { return -ENOSYS; }
int os_del_epoll_fd(int fd) { return 0; }
void os_set_ioignore(void) { }
void os_close_epoll_fd(void) { }
int os_set_fd_async(int fd) { return -ENOSYS; }
int ignore_sigio_fd(int fd) { return 0; }
void maybe_sigio_broken(int fd) { }
void free_irqs(void) { }
