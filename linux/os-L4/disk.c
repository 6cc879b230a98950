// SPDX-License-Identifier: GPL-2.0
/*
 * A disk (l4a): the disk server, granted as "disk", and memory that it shares with this
 * Linux, granted as "buffer".  One request at a time.
 */
#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/highmem.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "async_call.h"

/* A request that the server dies of is not given to it more often than this. */
#define MAX_RESTARTS	5

static struct l4_async_call asker;
static char *buffer;
static struct request *current_request;
/* How often the server was started anew while it had this request. */
static unsigned int restarts;
static struct blk_mq_tag_set tags;

/* Between the request's pages and the buffer. */
static void copy(struct request *request, bool to_buffer)
{
	struct req_iterator iter;
	struct bio_vec part;
	char *at = buffer;

	rq_for_each_segment(part, request, iter) {
		if (to_buffer)
			memcpy_from_bvec(at, &part);
		else
			memcpy_to_bvec(&part, at);
		at += part.bv_len;
	}
}

static blk_status_t queue(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *data)
{
	struct request *request = data->rq;

	switch (req_op(request)) {
	case REQ_OP_READ:
		asker.ask[0] = L4_DISK_READ;
		break;
	case REQ_OP_WRITE:
		asker.ask[0] = L4_DISK_WRITE;
		break;
	case REQ_OP_FLUSH:
		asker.ask[0] = L4_DISK_FLUSH;
		break;
	default:
		return BLK_STS_NOTSUPP;
	}
	blk_mq_start_request(request);
	current_request = request;
	restarts = 0;
	if (req_op(request) == REQ_OP_WRITE)
		copy(request, true);
	asker.words = 3;
	asker.ask[1] = blk_rq_pos(request);
	asker.ask[2] = blk_rq_sectors(request);
	l4_async_call_start(&asker);
	return BLK_STS_OK;
}

static irqreturn_t answered(int irq, void *data)
{
	struct request *request = current_request;
	bool failed = asker.failed || asker.answer[0];

	if (!request)
		return IRQ_NONE;
	/* Nobody knows how far it came, but doing it again does no harm: its data is still here. */
	if (asker.restarted && restarts++ < MAX_RESTARTS) {
		l4_async_call_start(&asker);
		return IRQ_HANDLED;
	}
	current_request = NULL;
	if (failed)
		pr_err_ratelimited("l4a: error %d\n", asker.failed ? -1 : (int)asker.answer[0]);
	else if (req_op(request) == REQ_OP_READ)
		copy(request, false);
	blk_mq_end_request(request, failed ? BLK_STS_IOERR : BLK_STS_OK);
	return IRQ_HANDLED;
}

static const struct blk_mq_ops queue_ops = { .queue_rq = queue };
static const struct block_device_operations disk_ops = { .owner = THIS_MODULE };

static int __init disk_init(void)
{
	const struct l4_grant *disk = l4_find_grant("disk"), *shared = l4_find_grant("buffer");
	struct queue_limits limits = { .features = BLK_FEAT_WRITE_CACHE };
	struct gendisk *gendisk;
	struct l4_regs r;
	int err, major;
	bool failed;

	if (!disk || !shared || !shared->address)
		return 0;
	/* Nothing waits for the disk yet: Linux itself may. */
	do
		failed = l4_ipc_call(disk->slot, 3, L4_DISK_SIZE, 0, 0, &r);
	while (failed && l4_was_restarted(r.r0));
	if (failed || r.r2) {
		pr_err("l4a: no disk\n");
		return -ENODEV;
	}
	buffer = (char *)shared->address;
	/* As much at a time as the buffer takes, in parts of any size: they are copied. */
	limits.max_hw_sectors = min_t(u32, r.r4, shared->bytes / SECTOR_SIZE);
	limits.max_segments = limits.max_hw_sectors;
	limits.io_opt = limits.max_hw_sectors * SECTOR_SIZE;
	err = l4_async_call_init(&asker, "disk", L4_IRQ_DISK, answered, "disk", NULL);
	if (err)
		return err;
	major = register_blkdev(0, "l4disk");
	if (major < 0)
		return major;
	err = blk_mq_alloc_sq_tag_set(&tags, &queue_ops, 1, 0);
	if (err)
		return err;
	gendisk = blk_mq_alloc_disk(&tags, &limits, NULL);
	if (IS_ERR(gendisk))
		return PTR_ERR(gendisk);
	gendisk->major = major;
	gendisk->minors = 16;
	gendisk->fops = &disk_ops;
	strscpy(gendisk->disk_name, "l4a", sizeof(gendisk->disk_name));
	set_capacity(gendisk, r.r3);
	return device_add_disk(NULL, gendisk, NULL);
}
device_initcall(disk_init);
