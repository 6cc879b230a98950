// SPDX-License-Identifier: GPL-2.0
/*
 * The console: a tty (hvc0) on the console server, and printk before there is
 * one.  A second thread of this server waits for input, byte by byte, and puts
 * it into a ring, and for new sizes of the terminal; the Linux thread learns of
 * either by a notification.
 */
#include <linux/console.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "../../../drivers/tty/hvc/hvc_console.h"
#include "console.h"
#include "interrupt.h"
#include "l4_syscall.h"
#include "server_thread.h"
#include "time.h"

#define RING		1024
/*
 * Room for the echo of all that the line discipline takes at once: a buffer of 256 bytes, of which a tab has the
 * longest.  Output that does not fit is shown only when the next key is pressed.
 */
#define OUTPUT		(256 * 8)
#define STACK		4096
/* The console server's reply to a request that it refuses. */
#define REFUSED		U32_MAX

/* Notification bits of the input thread: the ring has room; it is time to call the console server again. */
#define BIT_ROOM	1
#define BIT_RETRY	2
/* The pause after a call that failed. */
#define RETRY_NS	10000000ULL

static struct hvc_struct *tty;
static char ring[RING];
static unsigned int ring_in, ring_out;
static unsigned long input_utcb;
static u32 input_bit, input_room;
/*
 * Rows of the terminal in the upper half, columns in the lower one; 0: unknown.  The second word is what the tty was
 * told.
 */
static u32 size, size_told;
/* The input thread waits for room. */
static bool full;
static char input_stack[STACK] __aligned(16);

static void wait_for_notification(void)
{
	struct l4_regs r = { L4_OP_RECEIVE << L4_TAG_OP_SHIFT | L4_TAG_NOTIFICATIONS_ONLY };

	l4_syscall(&r);
}

static bool is_full(void)
{
	return READ_ONCE(ring_in) - READ_ONCE(ring_out) >= RING;
}

/* On its own stack and UTCB.  It must call nothing of Linux. */
static asmlinkage void input_thread(void *arg)
{
	struct l4_regs r;
	u64 retry;

	for (;;) {
		/* The console server keeps further input.  Linux may run between any two of these lines. */
		if (is_full()) {
			WRITE_ONCE(full, true);
			if (is_full())
				wait_for_notification();
			continue;
		}
		if (l4_ipc_call(input_utcb, L4_CONSOLE, 3, L4_CONSOLE_READ_SIZED, size, 0, &r) || r.r2 == REFUSED) {
			/* The console server may be restarted. */
			retry = l4_time_ns() + RETRY_NS;
			l4_call(L4_OP_ALARM, (u32)retry, retry >> 32, BIT_RETRY, 0);
			wait_for_notification();
			continue;
		}
		if (r.r2 == L4_CONSOLE_RESIZED) {
			WRITE_ONCE(size, r.r3);
		} else {
			ring[ring_in % RING] = r.r2;
			smp_wmb();
			WRITE_ONCE(ring_in, ring_in + 1);
		}
		l4_call(L4_OP_NOTIFY, input_bit, 0, 0, 0);
	}
}

static bool send(u32 request, const void *data, unsigned int n)
{
	const char *s = data;
	bool taken = true;
	unsigned long flags;
	struct l4_regs r;

	while (n) {
		unsigned int part = min_t(unsigned int, n, L4_TEXT_BYTES);

		/* An interrupt that prints something uses the same UTCB. */
		local_irq_save(flags);
		l4_put_text(l4_utcb, s, part);
		taken &= !l4_ipc_call(l4_utcb, L4_CONSOLE, L4_TEXT_WORD + DIV_ROUND_UP(part, 4),
				 request, part, 0, &r) && r.r2 != REFUSED;
		local_irq_restore(flags);
		s += part;
		n -= part;
	}
	return taken;
}

void l4_console_write(const char *s, unsigned int n)
{
	send(L4_CONSOLE_RAW, s, n);
}

bool l4_result(const void *data, unsigned int n)
{
	return send(L4_CONSOLE_RESULT, data, n);
}

void um_early_printk(const char *s, unsigned int n);

void um_early_printk(const char *s, unsigned int n)
{
	l4_console_write(s, n);
}

static ssize_t put_chars(uint32_t vtermno, const u8 *buf, size_t count)
{
	l4_console_write(buf, count);
	return count;
}

/* Under the lock of the tty. */
static void tell_size(struct hvc_struct *hp)
{
	u32 now = READ_ONCE(size);
	struct winsize ws = { .ws_row = now >> 16, .ws_col = now & 0xffff };

	if (now != size_told) {
		size_told = now;
		__hvc_resize(hp, ws);
	}
}

static ssize_t get_chars(uint32_t vtermno, u8 *buf, size_t count)
{
	size_t n = 0;

	if (tty)
		tell_size(tty);

	while (n < count && ring_out != READ_ONCE(ring_in)) {
		smp_rmb();
		buf[n++] = ring[ring_out % RING];
		WRITE_ONCE(ring_out, ring_out + 1);
	}
	if (n && READ_ONCE(full)) {
		WRITE_ONCE(full, false);
		l4_call(L4_OP_NOTIFY, input_room, 0, 0, 0);
	}
	return n;
}

/* The tty is opened: the size may have changed while it was closed. */
static int add(struct hvc_struct *hp, int irq)
{
	unsigned long flags;

	spin_lock_irqsave(&hp->lock, flags);
	size_told = 0;
	tell_size(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
	return notifier_add_irq(hp, irq);
}

static const struct hv_ops ops = {
	.get_chars = get_chars,
	.put_chars = put_chars,
	.notifier_add = add,
	.notifier_del = notifier_del_irq,
	.notifier_hangup = notifier_hangup_irq,
};

static int __init console_init_early(void)
{
	return hvc_instantiate(0, 0, &ops);
}
console_initcall(console_init_early);

static int __init console_init_tty(void)
{
	struct hvc_struct *hvc = hvc_alloc(0, L4_IRQ_CONSOLE, &ops, OUTPUT);
	u32 thread;

	if (IS_ERR(hvc))
		return PTR_ERR(hvc);
	tty = hvc;
	input_bit = l4_notifier(L4_IRQ_CONSOLE);
	if (!input_bit)
		return -ENOMEM;
	thread = l4_thread_create(&input_utcb);
	if (!thread)
		return -ENOMEM;
	*(u32 *)(input_utcb + L4_UTCB_ACCEPT) = BIT_ROOM | BIT_RETRY;
	input_room = l4_notifier_of(thread, BIT_ROOM);
	if (!input_room)
		return -ENOMEM;
	return l4_thread_run(thread, input_thread, NULL, input_stack + STACK,
			     L4_INTERRUPT_PRIORITY);
}
device_initcall(console_init_tty);
