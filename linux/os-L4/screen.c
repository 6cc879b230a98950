// SPDX-License-Identifier: GPL-2.0
/* The screen: the life cycle of its memory, and the ring of rectangles. */
#include <linux/completion.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include "async_call.h"
#include "interrupt.h"
#include "l4_syscall.h"
#include "screen.h"
#include "start.h"

/* How long Linux's boot waits for the server. */
#define BOOT_WAIT	(5 * HZ)
/* The pause before it is attached again after an error: at first, and at most. */
#define FIRST_PAUSE	(HZ / 10)
#define LONGEST_PAUSE	(10 * HZ)
/* The largest width and height, and the most pictures a second. */
#define MOST_PIXELS	8192
#define MOST_REFRESH	240
#define USUAL_REFRESH	60

struct l4_screen l4_screen;

static u32 bytes;		/* of what we write */
static u32 bell;		/* capability: notifies the server */
static struct l4_async_call call;
static bool attaching;		/* that call is under way */
static bool done;		/* it has ended */
static bool again;		/* the server asks to be attached */
static bool size_is_known;	/* it stays as it is */
static bool registered;		/* there are input devices, and there may be a picture */
static unsigned long pause_now = FIRST_PAUSE;
static struct drm_rect rest;	/* what found no room in the ring */
static u32 shown;		/* of the rectangles that were published the server has been told so many */
static struct delayed_work retry;
static struct work_struct make_devices;
static DECLARE_COMPLETION(first);

static u32 read_word(u32 word)
{
	return READ_ONCE(*(u32 *)(l4_screen.theirs + word));
}

static void write_word(u32 word, u32 value)
{
	WRITE_ONCE(*(u32 *)(l4_screen.ours + word), value);
}

int l4_screen_waiting(void)
{
	u32 waiting = l4_screen.produced - read_word(L4_SCREEN_DAMAGE_CONSUMED);

	mb();
	return waiting <= L4_SCREEN_MOST_RECTANGLES ? waiting : -EPROTO;
}

static void put(const struct drm_rect *rect)
{
	u32 at = L4_SCREEN_RECTANGLES + l4_screen.produced++ % L4_SCREEN_MOST_RECTANGLES * L4_SCREEN_RECTANGLE;

	write_word(at, rect->x1);
	write_word(at + 4, rect->y1);
	write_word(at + 8, drm_rect_width(rect));
	write_word(at + 12, drm_rect_height(rect));
}

static bool has_room(void)
{
	int waiting = l4_screen_waiting();

	return waiting >= 0 && waiting < L4_SCREEN_MOST_RECTANGLES;
}

/* A server that is not attached yet draws everything when it is. */
void l4_screen_add(const struct drm_rect *rect)
{
	if (!l4_screen.attached)
		return;
	if (!drm_rect_visible(&rest) && has_room()) {
		put(rect);
	} else if (!drm_rect_visible(&rest)) {
		rest = *rect;
	} else {
		rest.x1 = min(rest.x1, rect->x1);
		rest.y1 = min(rest.y1, rect->y1);
		rest.x2 = max(rest.x2, rect->x2);
		rest.y2 = max(rest.y2, rect->y2);
	}
}

void l4_screen_show(void)
{
	if (!l4_screen.attached)
		return;
	if (l4_screen_waiting() < 0)
		tasklet_schedule(&l4_screen.tasklet);
	if (drm_rect_visible(&rest) && has_room()) {
		put(&rest);
		rest = (struct drm_rect){};
	}
	if (shown == l4_screen.produced)
		return;
	shown = l4_screen.produced;
	mb();
	write_word(L4_SCREEN_DAMAGE_PRODUCED, shown);
	mb();
	if (read_word(L4_SCREEN_SERVER_WAITS))
		l4_call(L4_OP_NOTIFY, bell, 0, 0, 0);
}

bool l4_screen_is_drawn(void)
{
	return !l4_screen.attached || (!drm_rect_visible(&rest) && l4_screen_waiting() <= 0);
}

static void detach(void)
{
	l4_screen.attached = false;
	l4_screen.produced = l4_screen.taken = shown = 0;
	rest = (struct drm_rect){};
	if (registered) {
		l4_screen_release_all();
		l4_screen_drm_advance();
	}
}

static void try_later(void)
{
	schedule_delayed_work(&retry, pause_now);
	pause_now = min(pause_now * 2, LONGEST_PAUSE);
}

static void run_retry(struct work_struct *work)
{
	again = true;
	tasklet_schedule(&l4_screen.tasklet);
}

/* The rings begin at 0: our words before the call, the server's before its reply. */
static void start_attach(void)
{
	detach();
	write_word(L4_SCREEN_CLIENT_WAITS, 0);
	write_word(L4_SCREEN_DAMAGE_PRODUCED, 0);
	write_word(L4_SCREEN_EVENTS_CONSUMED, 0);
	mb();
	attaching = true;
	again = false;
	call.words = 3;
	call.request[0] = L4_SCREEN_ATTACH;
	call.request[1] = L4_SCREEN_VERSION | L4_SCREEN_DRAWS_POINTER;
	l4_async_call_start(&call);
}

/* Whether a size has room in our memory, and is that of before. */
static bool is_possible(u32 width, u32 height)
{
	if (!width || !height || width > MOST_PIXELS || height > MOST_PIXELS)
		return false;
	if ((u64)width * height * sizeof(u32) + L4_SCREEN_PIXELS > bytes)
		return false;
	return !size_is_known || (width == l4_screen.width && height == l4_screen.height);
}

/* The reply to ATTACH has come, or the call has failed. */
static void finish_attach(void)
{
	u32 width = call.reply[1], height = call.reply[2], refresh = ((unsigned long *)call.utcb)[L4_TEXT_WORD];

	attaching = false;
	if (call.failed && call.restarted) {
		again = true;
		return;
	}
	if (call.failed || call.reply[0]) {
		pr_err_ratelimited("screen: its server refuses us\n");
		try_later();
		return;
	}
	if (!is_possible(width, height)) {
		pr_err_ratelimited("screen: its server says %ux%u, which has no room or is another size than before\n", width, height);
		try_later();
		return;
	}
	cancel_delayed_work(&retry);
	pause_now = FIRST_PAUSE;
	l4_screen.width = width;
	l4_screen.height = height;
	l4_screen.refresh = refresh && refresh <= MOST_REFRESH ? refresh : USUAL_REFRESH;
	l4_screen.attached = true;
	if (!size_is_known) {
		size_is_known = true;
		schedule_work(&make_devices);
	}
}

/* In a task, as devices are registered there: once, when the size is known. */
static void run_make_devices(struct work_struct *work)
{
	int err = l4_screen_input_init();

	if (!err) {
		local_bh_disable();
		/* The first picture waits for the server already. */
		registered = true;
		tasklet_schedule(&l4_screen.tasklet);
		local_bh_enable();
		err = l4_screen_drm_init();
	}
	if (err)
		pr_err("screen: not all devices are there: error %d\n", err);
	complete(&first);
}

/* Reads what the server has written; the server notifies us of what it writes after that. */
static void look(void)
{
	u32 drawn = read_word(L4_SCREEN_DAMAGE_CONSUMED);

	write_word(L4_SCREEN_CLIENT_WAITS, 0);
	if (l4_screen_take_events() < 0 || l4_screen_waiting() < 0) {
		pr_err_ratelimited("screen: its server broke a ring\n");
		detach();
		try_later();
		return;
	}
	l4_screen_show();
	l4_screen_drm_advance();
	write_word(L4_SCREEN_CLIENT_WAITS, 1);
	mb();
	/* An event may have come before the server could know that we wait for it. */
	if (read_word(L4_SCREEN_EVENTS_PRODUCED) != l4_screen.taken || read_word(L4_SCREEN_DAMAGE_CONSUMED) != drawn)
		tasklet_schedule(&l4_screen.tasklet);
}

/* The life cycle, one step at a time. */
static void run(struct tasklet_struct *tasklet)
{
	if (done) {
		done = false;
		/* The server may have asked again since it replied: what it replied is out of date. */
		if (again)
			attaching = false;
		else
			finish_attach();
	}
	if (again && !attaching)
		start_attach();
	if (registered && l4_screen.attached)
		look();
}

static irqreturn_t call_done(int irq, void *data)
{
	done = true;
	tasklet_schedule(&l4_screen.tasklet);
	return IRQ_HANDLED;
}

static irqreturn_t attach_again(int irq, void *data)
{
	again = true;
	tasklet_schedule(&l4_screen.tasklet);
	return IRQ_HANDLED;
}

static irqreturn_t notified(int irq, void *data)
{
	tasklet_schedule(&l4_screen.tasklet);
	return IRQ_HANDLED;
}

/* DRM begins with the drivers, which are linked after this. */
static int __init screen_init(void)
{
	const struct l4_grant *ours = l4_find_grant("surface"), *theirs = l4_find_grant("surface-events");
	const struct l4_grant *notifies = l4_find_grant("screen-bell");
	int err;

	if (!ours || !ours->address || !theirs || !theirs->address || !notifies)
		return 0;
	if (ours->bytes < L4_SCREEN_PIXELS || theirs->bytes < L4_SCREEN_EVENTS_BYTES) {
		pr_err("screen: its memory is too small\n");
		return -EINVAL;
	}
	l4_screen.ours = (char *)ours->address;
	l4_screen.theirs = (char *)theirs->address;
	bytes = ours->bytes;
	bell = notifies->slot;
	/* Contents that a previous Linux left are not shown. */
	memset(l4_screen_pixels(), 0, bytes - L4_SCREEN_PIXELS);
	tasklet_setup(&l4_screen.tasklet, run);
	INIT_DELAYED_WORK(&retry, run_retry);
	INIT_WORK(&make_devices, run_make_devices);
	err = l4_async_call_init(&call, "screen", L4_IRQ_SCREEN, call_done, "screen-attach", NULL);
	if (!err)
		err = request_irq(L4_SCREEN_BIT_SCREEN, notified, 0, "screen", NULL);
	if (!err)
		err = request_irq(L4_SCREEN_BIT_ATTACH, attach_again, 0, "screen-again", NULL);
	if (err)
		return err;
	again = true;
	tasklet_schedule(&l4_screen.tasklet);
	/* The server may not be there yet.  There are devices whenever it is. */
	wait_for_completion_timeout(&first, BOOT_WAIT);
	return 0;
}
late_initcall(screen_init);
