// SPDX-License-Identifier: GPL-2.0
/*
 * A disk (l4a): a range of the disk server's, by the protocol of docs/disk.md.  The server is granted as "disk" and
 * "disk-bell", the memory that it shares with this Linux as "disk-memory".  A request's tag is its slot.
 */
#include <linux/bio.h>
#include <linux/bitmap.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/highmem.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>
#include "async_call.h"
#include "idle.h"
#include "interrupt.h"
#include "l4_syscall.h"
#include "start.h"

/* More requests would wait for one disk all the same. */
#define MAX_TAGS	32U
/* How often the disk server may die while it has only one request, before that request fails. */
#define MAX_DEATHS	10
/* The server itself detects within half of that time that a device does not answer. */
#define TIMEOUT		(120 * HZ)

/* Calls of the server: there is one, to attach. */
static struct l4_async_call call;
static u32 bell;
static char *memory;
static u32 slots;
static struct blk_mq_tag_set tags;

/*
 * Requests by tag, and how often the server died of each.  Bits are tags: those that have a request, those of them
 * that the server has, and those that the last life of the server had when it died without an answer.  As long as
 * there are suspects the server has one request at a time, and theirs first: so the one that it dies of is found.
 */
static struct request *requests[MAX_TAGS];
static unsigned int deaths[MAX_TAGS];
static unsigned long waiting, submitted, suspects;
static bool answered;

/*
 * Requests of which the server was not notified, because it works on others.  It is notified of all of them together:
 * when an answer comes, when Linux is idle, or when there are many.  Each notification costs the server a check of
 * the ring, and a notification of the device.
 */
static unsigned int held;
#define MAX_HELD	8U

/* Requests that were put into the ring, and answers that were taken out, since the server was attached. */
static u32 produced, consumed;
static enum { ATTACHED, ATTACHING, ATTACHING_AGAIN, GONE } state;

static u32 *word(u32 offset)
{
	return (u32 *)(memory + offset);
}

static char *data_of(unsigned int tag)
{
	return memory + L4_DISK_DATA + tag * L4_DISK_SLOT;
}

/* Copies between the request's pages and its slot. */
static void copy(struct request *request, bool to_slot)
{
	struct req_iterator iter;
	struct bio_vec part;
	char *at = data_of(request->tag);

	rq_for_each_segment(part, request, iter) {
		if (to_slot) {
			flush_dcache_page(part.bv_page);
			memcpy_from_bvec(at, &part);
		} else {
			memcpy_to_bvec(&part, at);
		}
		at += part.bv_len;
	}
}

static u32 operation(struct request *request)
{
	switch (req_op(request)) {
	case REQ_OP_READ:
		return L4_DISK_READ;
	case REQ_OP_WRITE:
		return L4_DISK_WRITE;
	case REQ_OP_FLUSH:
		return L4_DISK_FLUSH;
	default:
		return 0;
	}
}

static void put(unsigned int tag)
{
	u32 at = L4_DISK_FIRST_REQUEST + produced % slots * L4_DISK_REQUEST;
	struct request *request = requests[tag];
	u64 first = blk_rq_pos(request);

	WRITE_ONCE(*word(at), tag);
	WRITE_ONCE(*word(at + L4_DISK_REQUEST_OPERATION), operation(request));
	WRITE_ONCE(*word(at + L4_DISK_REQUEST_COUNT), blk_rq_sectors(request));
	WRITE_ONCE(*word(at + L4_DISK_REQUEST_FIRST), lower_32_bits(first));
	WRITE_ONCE(*word(at + L4_DISK_REQUEST_FIRST + 4), upper_32_bits(first));
	mb();
	WRITE_ONCE(*word(L4_DISK_REQUESTS + L4_NET_PRODUCED), ++produced);
	submitted |= BIT(tag);
	held++;
}

/* Tells the server of requests if it sleeps. */
static void kick(void)
{
	u32 *waits = word(L4_DISK_REQUESTS + L4_NET_CONSUMER_WAITS);

	held = 0;
	mb();
	if (READ_ONCE(*waits)) {
		WRITE_ONCE(*waits, 0);
		l4_call(L4_OP_NOTIFY, bell, 0, 0, 0);
	}
}

void l4_disk_idle(void)
{
	if (held)
		kick();
}

/* Gives the server what it may have.  Interrupts are disabled. */
static void submit(void)
{
	unsigned long next;

	if (state != ATTACHED)
		return;
	if (suspects) {
		if (!submitted)
			put(__ffs(suspects));
		return;
	}
	while ((next = waiting & ~submitted))
		put(__ffs(next));
}

static void end(unsigned int tag, blk_status_t status)
{
	struct request *request = requests[tag];

	waiting &= ~BIT(tag);
	submitted &= ~BIT(tag);
	suspects &= ~BIT(tag);
	requests[tag] = NULL;
	if (status == BLK_STS_OK && req_op(request) == REQ_OP_READ)
		copy(request, false);
	blk_mq_end_request(request, status);
}

/*
 * Starts the protocol again.  Requests without an answer are repeated: that does no harm, because their data is still
 * in their slots.
 */
static void attach(void)
{
	if (state == ATTACHING || state == ATTACHING_AGAIN) {
		/* The server may answer the call that is in progress, and then be restarted. */
		state = ATTACHING_AGAIN;
		return;
	}
	state = ATTACHING;
	l4_async_call_start(&call);
}

static void begin(void)
{
	u32 *waits = word(L4_DISK_ANSWERS + L4_NET_CONSUMER_WAITS);
	unsigned int tag;

	produced = 0;
	consumed = 0;
	if (submitted && !answered) {
		suspects |= submitted;
		tag = __ffs(submitted);
		if (submitted == BIT(tag) && ++deaths[tag] > MAX_DEATHS) {
			pr_err_ratelimited("l4a: the disk server dies of a request\n");
			end(tag, BLK_STS_IOERR);
		}
	}
	submitted = 0;
	answered = false;
	state = ATTACHED;
	WRITE_ONCE(*waits, 1);
	submit();
	kick();
}

/* An attempt to attach has ended. */
static irqreturn_t call_done(int irq, void *data)
{
	if (state != ATTACHING && state != ATTACHING_AGAIN)
		return IRQ_NONE;
	if (state == ATTACHING_AGAIN || call.restarted) {
		state = ATTACHING;
		l4_async_call_start(&call);
	} else if (call.failed || call.reply[0]) {
		pr_err("l4a: error %d: the disk is gone\n", call.failed ? -1 : (int)call.reply[0]);
		state = GONE;
		while (waiting)
			end(__ffs(waiting), BLK_STS_IOERR);
	} else {
		begin();
	}
	return IRQ_HANDLED;
}

/* The server was restarted, and asks for it. */
static irqreturn_t again(int irq, void *data)
{
	attach();
	return IRQ_HANDLED;
}

/* Takes an answer.  False: there is none, or the server breaks the ring. */
static bool take(void)
{
	u32 filled = READ_ONCE(*word(L4_DISK_ANSWERS + L4_NET_PRODUCED)) - consumed;
	u32 at = L4_DISK_FIRST_ANSWER + consumed % slots * L4_DISK_ANSWER, tag, status;

	if (filled > slots)
		attach();
	if (!filled || filled > slots)
		return false;
	mb();
	tag = READ_ONCE(*word(at));
	status = READ_ONCE(*word(at + L4_DISK_ANSWER_STATUS));
	mb();
	WRITE_ONCE(*word(L4_DISK_ANSWERS + L4_NET_CONSUMED), ++consumed);
	if (tag >= MAX_TAGS || !(submitted & BIT(tag)))
		return true;
	if (status)
		pr_err_ratelimited("l4a: error %u\n", status);
	answered = true;
	end(tag, status ? BLK_STS_IOERR : BLK_STS_OK);
	return true;
}

static irqreturn_t answers(int irq, void *data)
{
	bool more;

	if (state != ATTACHED)
		return IRQ_HANDLED;
	do {
		while (take())
			;
		WRITE_ONCE(*word(L4_DISK_ANSWERS + L4_NET_CONSUMER_WAITS), 1);
		mb();
		more = READ_ONCE(*word(L4_DISK_ANSWERS + L4_NET_PRODUCED)) != consumed;
	} while (more && state == ATTACHED);
	submit();
	if (held)
		kick();
	return IRQ_HANDLED;
}

static blk_status_t queue(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *data)
{
	struct request *request = data->rq;
	unsigned long flags;

	if (!operation(request))
		return BLK_STS_NOTSUPP;
	local_irq_save(flags);
	/* If the server is gone, its device may still read the slot. */
	if (state == GONE) {
		local_irq_restore(flags);
		return BLK_STS_IOERR;
	}
	blk_mq_start_request(request);
	if (req_op(request) == REQ_OP_WRITE)
		copy(request, true);
	requests[request->tag] = request;
	deaths[request->tag] = 0;
	waiting |= BIT(request->tag);
	submit();
	if (held && held >= min_t(unsigned int, hweight_long(submitted), MAX_HELD))
		kick();
	local_irq_restore(flags);
	return BLK_STS_OK;
}

/* The server has not answered for a long time.  If it is alive and has nothing to do, a notification was lost. */
static enum blk_eh_timer_return timed_out(struct request *request)
{
	unsigned long flags;

	local_irq_save(flags);
	if (state == ATTACHED)
		attach();
	local_irq_restore(flags);
	return BLK_EH_RESET_TIMER;
}

static const struct blk_mq_ops queue_ops = { .queue_rq = queue, .timeout = timed_out };
static const struct block_device_operations disk_ops = { .owner = THIS_MODULE };

static int __init disk_init(void)
{
	const struct l4_grant *disk = l4_find_grant("disk"), *shared = l4_find_grant("disk-memory");
	const struct l4_grant *notified = l4_find_grant("disk-bell");
	struct queue_limits limits = { .features = BLK_FEAT_WRITE_CACHE };
	struct gendisk *gendisk;
	struct l4_regs r;
	int err, major;
	bool failed;

	if (!disk || !notified || !shared || !shared->address || shared->bytes < L4_DISK_DATA + L4_DISK_SLOT)
		return 0;
	/* Linux boots: it may wait for this call itself. */
	do
		failed = l4_ipc_call(l4_utcb, disk->slot, 3, L4_DISK_ATTACH, 0, 0, &r);
	while (failed && l4_was_restarted(r.r0));
	if (failed || r.r2) {
		pr_err("l4a: no disk\n");
		return -ENODEV;
	}
	memory = (char *)shared->address;
	bell = notified->slot;
	slots = rounddown_pow_of_two(min_t(u32, (shared->bytes - L4_DISK_DATA) / L4_DISK_SLOT, L4_DISK_MOST_SLOTS));
	call.words = 3;
	call.request[0] = L4_DISK_ATTACH;
	/* A request may be as large as a slot, in segments of any size: they are copied. */
	limits.max_hw_sectors = L4_DISK_SLOT / SECTOR_SIZE;
	limits.max_segments = limits.max_hw_sectors;
	limits.io_opt = L4_DISK_SLOT;
	begin();
	err = l4_async_call_init(&call, "disk", L4_IRQ_DISK, call_done, "disk", NULL);
	if (!err)
		err = request_irq(L4_DISK_BIT_ANSWERS, answers, 0, "disk-answers", NULL);
	if (!err)
		err = request_irq(L4_DISK_BIT_ATTACH, again, 0, "disk-again", NULL);
	if (err)
		return err;
	major = register_blkdev(0, "l4disk");
	if (major < 0)
		return major;
	err = blk_mq_alloc_sq_tag_set(&tags, &queue_ops, min(slots, MAX_TAGS), 0);
	if (err)
		return err;
	tags.timeout = TIMEOUT;
	gendisk = blk_mq_alloc_disk(&tags, &limits, NULL);
	if (IS_ERR(gendisk))
		return PTR_ERR(gendisk);
	gendisk->major = major;
	gendisk->minors = 16;
	gendisk->fops = &disk_ops;
	strscpy(gendisk->disk_name, "l4a", sizeof(gendisk->disk_name));
	set_capacity(gendisk, (u64)r.r4 << 32 | r.r3);
	return device_add_disk(NULL, gendisk, NULL);
}
device_initcall(disk_init);
