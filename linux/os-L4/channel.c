// SPDX-License-Identifier: GPL-2.0
/*
 * Channels to native components: /dev/macadamia/NAME for each "channel=NAME" among the
 * arguments, with a grant of this name that may be called.
 *
 * A message that is written is a call of the component; its answer is what the next read
 * returns.  The call is made by a thread of its own, so that Linux goes on meanwhile.
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
#include "l4.h"
#include "layout.h"

/* The interrupt line of the first; each has one. */
#define FIRST_IRQ	8
#define MAX_CHANNELS	4
#define STACK		4096
/* The request that a message of a channel is. */
#define REQUEST_MESSAGE	1

enum state {
	IDLE,		/* the next message may be written */
	SENT,		/* the component has it */
	ANSWERED,	/* the answer may be read */
};

struct channel {
	char name[24];
	struct miscdevice device;
	u32 component;		/* capability: who is called */
	u32 wake;		/* capability: a bit of the calling thread */
	u32 answered;		/* capability: the interrupt */
	u32 utcb;		/* of the calling thread */
	enum state state;
	int bytes;		/* of the message, then of the answer, or an error */
	char text[L4_TEXT_BYTES];
	struct mutex lock;
	wait_queue_head_t changed;
	atomic_t opened;
};

static char names[MAX_CHANNELS][24] __initdata;
static unsigned int count __initdata;

static int __init channel_setup(char *name)
{
	if (count < MAX_CHANNELS)
		strscpy(names[count++], name, sizeof(names[0]));
	return 1;
}
__setup("channel=", channel_setup);

/* On its own stack and UTCB; it calls nothing of Linux. */
static void caller(void *arg)
{
	struct channel *c = arg;
	char *words = (char *)c->utcb + L4_TEXT_WORD * 4;
	struct l4_regs r;

	for (;;) {
		r = (struct l4_regs){ L4_OP_RECEIVE << L4_TAG_OP_SHIFT | L4_TAG_NOTIFICATIONS_ONLY };
		l4_syscall(&r);
		if (L4_DELIVERY_KIND(r.eax) != L4_KIND_NOTIFICATION)
			continue;
		memcpy(words, c->text, c->bytes);
		if (l4_ask(c->component, L4_TEXT_WORD + DIV_ROUND_UP(c->bytes, 4),
			   REQUEST_MESSAGE, c->bytes, 0, &r)) {
			c->bytes = -EPIPE;
		} else {
			c->bytes = min_t(u32, r.edi, L4_TEXT_BYTES);
			memcpy(c->text, words, c->bytes);
		}
		smp_wmb();
		WRITE_ONCE(c->state, ANSWERED);
		l4_call(L4_OP_NOTIFY, c->answered, 0, 0, 0);
	}
}

static irqreturn_t answered(int irq, void *data)
{
	struct channel *c = data;

	wake_up(&c->changed);
	return IRQ_HANDLED;
}

static struct channel *channel_of(struct file *file)
{
	return container_of(file->private_data, struct channel, device);
}

static bool is(struct channel *c, enum state state)
{
	return READ_ONCE(c->state) == state;
}

static bool may_write(struct channel *c)
{
	return is(c, IDLE);
}

/* Without a message there is no answer to wait for. */
static bool may_read(struct channel *c)
{
	return !is(c, SENT);
}

/* Waits for a state, as the file's flags say; the lock is held after success. */
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
	int err;

	if (bytes > L4_TEXT_BYTES)
		return -EMSGSIZE;
	err = await(file, c, may_write);
	if (err)
		return err;
	if (copy_from_user(c->text, buf, bytes)) {
		mutex_unlock(&c->lock);
		return -EFAULT;
	}
	c->bytes = bytes;
	WRITE_ONCE(c->state, SENT);
	l4_call(L4_OP_NOTIFY, c->wake, 0, 0, 0);
	mutex_unlock(&c->lock);
	return bytes;
}

static ssize_t channel_read(struct file *file, char __user *buf, size_t bytes, loff_t *pos)
{
	struct channel *c = channel_of(file);
	int err = await(file, c, may_read);

	if (err)
		return err;
	smp_rmb();
	err = is(c, ANSWERED) ? c->bytes : 0;
	/* One answer, one read: what does not fit is gone, as with datagrams. */
	if (err > 0 && copy_to_user(buf, c->text, min_t(size_t, err, bytes)))
		err = -EFAULT;
	WRITE_ONCE(c->state, IDLE);
	mutex_unlock(&c->lock);
	wake_up(&c->changed);
	return err < 0 ? err : min_t(size_t, err, bytes);
}

static __poll_t channel_poll(struct file *file, poll_table *table)
{
	struct channel *c = channel_of(file);

	poll_wait(file, &c->changed, table);
	return (is(c, ANSWERED) ? EPOLLIN | EPOLLRDNORM : 0) |
	       (is(c, IDLE) ? EPOLLOUT | EPOLLWRNORM : 0);
}

/* Answers belong to messages: one file at a time. */
static int channel_open(struct inode *inode, struct file *file)
{
	return atomic_xchg(&channel_of(file)->opened, 1) ? -EBUSY : 0;
}

static int channel_release(struct inode *inode, struct file *file)
{
	struct channel *c = channel_of(file);

	/* An answer that nobody wants any more is still waited for. */
	wait_event(c->changed, may_read(c));
	WRITE_ONCE(c->state, IDLE);
	atomic_set(&c->opened, 0);
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
	const struct l4_grant *grant = l4_find_grant(name);
	struct channel *c = kzalloc(sizeof(*c), GFP_KERNEL);
	char *stack = kmalloc(STACK, GFP_KERNEL);
	u32 thread;
	int err = -ENOMEM;

	if (!c || !stack)
		goto fail;
	err = -ENODEV;
	if (!grant)
		goto fail;
	strscpy(c->name, name, sizeof(c->name));
	c->component = grant->slot;
	mutex_init(&c->lock);
	init_waitqueue_head(&c->changed);
	c->device.minor = MISC_DYNAMIC_MINOR;
	c->device.name = c->name;
	c->device.nodename = kasprintf(GFP_KERNEL, "macadamia/%s", name);
	c->device.fops = &ops;
	c->device.mode = 0600;
	err = -ENOMEM;
	c->answered = l4_notifier(irq);
	thread = l4_thread_create(&c->utcb);
	c->wake = thread ? l4_notifier_of(thread, 1) : 0;
	if (!c->device.nodename || !c->answered || !c->wake)
		goto fail;
	*(u32 *)(c->utcb + L4_UTCB_ACCEPT) = 1;
	err = request_irq(irq, answered, 0, c->name, c);
	if (!err)
		err = l4_thread_run(thread, caller, c, stack + STACK, L4_INTERRUPT_PRIORITY);
	if (!err)
		err = misc_register(&c->device);
	if (!err)
		return 0;
fail:
	/* What the microkernel gave is lost until the restart; this happens at boot only. */
	pr_err("channel %s: error %d\n", name, err);
	return err;
}

static int __init channel_init(void)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		add(names[i], FIRST_IRQ + i);
	return 0;
}
device_initcall(channel_init);
