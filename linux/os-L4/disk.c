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

/* How often a request is repeated if the disk server dies of it. */
#define MAX_RESTARTS	5

static struct l4_async_call call;
static char *buffer;
static struct request *current_request;
/* How often the disk server was restarted while it had the current request. */
static unsigned int restarts;
static struct blk_mq_tag_set tags;

/* Copies between the request's pages and the buffer. */
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
		call.request[0] = L4_DISK_READ;
		break;
	case REQ_OP_WRITE:
		call.request[0] = L4_DISK_WRITE;
		break;
	case REQ_OP_FLUSH:
		call.request[0] = L4_DISK_FLUSH;
		break;
	default:
		return BLK_STS_NOTSUPP;
	}
	blk_mq_start_request(request);
	current_request = request;
	restarts = 0;
	if (req_op(request) == REQ_OP_WRITE)
		copy(request, true);
	call.words = 3;
	call.request[1] = blk_rq_pos(request);
	call.request[2] = blk_rq_sectors(request);
	l4_async_call_start(&call);
	return BLK_STS_OK;
}

static irqreturn_t call_done(int irq, void *data)
{
	struct request *request = current_request;
	bool failed = call.failed || call.reply[0];

	if (!request)
		return IRQ_NONE;
	/* The request may have been carried out in part.  To repeat it does no harm: its data is still in the buffer. */
	if (call.restarted && restarts++ < MAX_RESTARTS) {
		l4_async_call_start(&call);
		return IRQ_HANDLED;
	}
	current_request = NULL;
	if (failed)
		pr_err_ratelimited("l4a: error %d\n", call.failed ? -1 : (int)call.reply[0]);
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
	/* Linux boots: it may wait for this call itself. */
	do
		failed = l4_ipc_call(disk->slot, 3, L4_DISK_SIZE, 0, 0, &r);
	while (failed && l4_was_restarted(r.r0));
	if (failed || r.r2) {
		pr_err("l4a: no disk\n");
		return -ENODEV;
	}
	buffer = (char *)shared->address;
	/* A request may be as large as the buffer, in segments of any size: they are copied. */
	limits.max_hw_sectors = min_t(u32, r.r4, shared->bytes / SECTOR_SIZE);
	limits.max_segments = limits.max_hw_sectors;
	limits.io_opt = limits.max_hw_sectors * SECTOR_SIZE;
	err = l4_async_call_init(&call, "disk", L4_IRQ_DISK, call_done, "disk", NULL);
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
