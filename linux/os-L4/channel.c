// SPDX-License-Identifier: GPL-2.0
/*
 * Channels to native components: /dev/macadamia/NAME for each "channel=NAME" among the
 * arguments, with a grant of this name that may be called.
 *
 * A write() is an asynchronous call of the component.  The next read() returns its reply.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include "async_call.h"
#include "interrupt.h"
#include "l4_syscall.h"

#define MAX_CHANNELS	4
/* The request number of a channel's message. */
#define REQUEST_MESSAGE	1

enum state {
	IDLE,		/* a message may be written */
	SENT,		/* the component has the message */
	REPLIED,	/* the reply may be read */
	ABANDONED,	/* the component has the message, but the file was closed */
};

struct channel {
	char name[24];
	struct miscdevice device;
	struct l4_async_call call;
	enum state state;
	struct mutex lock;
	wait_queue_head_t changed;
	atomic_t opened;
};

static char names[MAX_CHANNELS][24] __initdata;
static unsigned int count __initdata;

static int __init channel_setup(char *name)
{
	if (count == MAX_CHANNELS)
		pr_err("l4: no channel `%s`: there are %u already\n", name, MAX_CHANNELS);
	else if (strscpy(names[count], name, sizeof(names[0])) < 0)
		pr_err("l4: no channel `%s`: its name has more than %zu bytes\n", name, sizeof(names[0]) - 1);
	else
		count++;
	return 1;
}
__setup("channel=", channel_setup);

static bool is(struct channel *c, enum state state)
{
	return READ_ONCE(c->state) == state;
}

static irqreturn_t call_done(int irq, void *data)
{
	struct channel *c = data;

	if (is(c, ABANDONED)) {
		WRITE_ONCE(c->state, IDLE);
		atomic_set(&c->opened, 0);
	} else {
		WRITE_ONCE(c->state, REPLIED);
		wake_up(&c->changed);
	}
	return IRQ_HANDLED;
}

static struct channel *channel_of(struct file *file)
{
	return container_of(file->private_data, struct channel, device);
}

static bool may_write(struct channel *c)
{
	return is(c, IDLE);
}

/* If no message was sent, read() returns 0 at once. */
static bool may_read(struct channel *c)
{
	return !is(c, SENT);
}

/* Waits until may(c), unless O_NONBLOCK is set.  After success the lock is held. */
static int await(struct file *file, struct channel *c, bool (*may)(struct channel *))
{
	int err;

	for (;;) {
		err = mutex_lock_interruptible(&c->lock);
		if (err || may(c))
			return err;
		mutex_unlock(&c->lock);
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(c->changed, may(c));
		if (err)
			return err;
	}
}

static ssize_t channel_write(struct file *file, const char __user *buf, size_t bytes, loff_t *pos)
{
	struct channel *c = channel_of(file);
	char text[L4_TEXT_BYTES];
	int err;

	if (bytes > L4_TEXT_BYTES)
		return -EMSGSIZE;
	err = await(file, c, may_write);
	if (err)
		return err;
	if (copy_from_user(text, buf, bytes)) {
		mutex_unlock(&c->lock);
		return -EFAULT;
	}
	l4_put_text(c->call.utcb, text, bytes);
	c->call.words = L4_TEXT_WORD + DIV_ROUND_UP(bytes, 4);
	c->call.request[0] = REQUEST_MESSAGE;
	c->call.request[1] = bytes;
	WRITE_ONCE(c->state, SENT);
	l4_async_call_start(&c->call);
	mutex_unlock(&c->lock);
	return bytes;
}

static ssize_t channel_read(struct file *file, char __user *buf, size_t bytes, loff_t *pos)
{
	struct channel *c = channel_of(file);
	ssize_t err = await(file, c, may_read);
	char text[L4_TEXT_BYTES];

	if (err)
		return err;
	/* As with datagrams, what does not fit into the buffer is lost. */
	if (!is(c, REPLIED))
		bytes = 0;
	else if (c->call.failed)
		err = -EPIPE;
	else
		bytes = min_t(size_t, bytes, min_t(u32, c->call.reply[1], L4_TEXT_BYTES));
	if (!err) {
		l4_get_text(text, c->call.utcb, bytes);
		if (copy_to_user(buf, text, bytes))
			err = -EFAULT;
	}
	WRITE_ONCE(c->state, IDLE);
	mutex_unlock(&c->lock);
	wake_up(&c->changed);
	return err ? err : bytes;
}

static __poll_t channel_poll(struct file *file, poll_table *table)
{
	struct channel *c = channel_of(file);

	poll_wait(file, &c->changed, table);
	return (is(c, REPLIED) ? EPOLLIN | EPOLLRDNORM : 0) |
	       (is(c, IDLE) ? EPOLLOUT | EPOLLWRNORM : 0);
}

/* One file may be open at a time, and none while a closed file's reply has not come. */
static int channel_open(struct inode *inode, struct file *file)
{
	return atomic_xchg(&channel_of(file)->opened, 1) ? -EBUSY : 0;
}

static int channel_release(struct inode *inode, struct file *file)
{
	struct channel *c = channel_of(file);

	/* close() does not wait for a reply, which may never come.  If it comes it is dropped. */
	if (cmpxchg(&c->state, SENT, ABANDONED) != SENT) {
		WRITE_ONCE(c->state, IDLE);
		atomic_set(&c->opened, 0);
	}
	return 0;
}

static const struct file_operations ops = {
	.open = channel_open,
	.release = channel_release,
	.read = channel_read,
	.write = channel_write,
	.poll = channel_poll,
};

static int __init add(const char *name, unsigned int irq)
{
	struct channel *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int err = -ENOMEM;

	if (!c)
		goto fail;
	strscpy(c->name, name, sizeof(c->name));
	mutex_init(&c->lock);
	init_waitqueue_head(&c->changed);
	c->device.minor = MISC_DYNAMIC_MINOR;
	c->device.name = c->name;
	c->device.nodename = kasprintf(GFP_KERNEL, "macadamia/%s", name);
	c->device.fops = &ops;
	c->device.mode = 0600;
	if (!c->device.nodename)
		goto fail;
	err = l4_async_call_init(&c->call, name, irq, call_done, c->name, c);
	if (!err)
		err = misc_register(&c->device);
	if (!err)
		return 0;
fail:
	pr_err("channel %s: error %d\n", name, err);
	return err;
}

static int __init channel_init(void)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		add(names[i], L4_IRQ_CHANNELS + i);
	return 0;
}
device_initcall(channel_init);
