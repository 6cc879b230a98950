// SPDX-License-Identifier: GPL-2.0
/*
 * A command for the one who started this system.  The first write to /dev/macadamia/batch, of the start
 * script, begins it: the shell script /run/batch/command is run, the files that /run/batch/get names are
 * brought out.  All later ones are refused, so that the descriptor is worth nothing to who takes it.
 *
 * What comes of it goes out on the machine-readable line in frames that this driver makes: a byte of
 * stream, two of length, the bytes.  Programs cannot make frames of their own: they have standard output
 * and error, which are devices too, so that they can be opened by name.  The exit status is taken where it
 * arises, and files are read, in the kernel.
 */
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel_read_file.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <linux/umh.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include "l4.h"

/* Streams.  The end of the command has its wait status, that of a file an error or 0, in 4 bytes. */
enum { STREAM_END, STREAM_OUT, STREAM_ERR, STREAM_GET };

#define PART	512

static DEFINE_MUTEX(line);

static bool frame(u8 stream, const void *data, u16 bytes)
{
	u8 header[3] = { stream, bytes, bytes >> 8 };
	bool sent;

	mutex_lock(&line);
	sent = l4_result(header, sizeof(header)) && l4_result(data, bytes);
	mutex_unlock(&line);
	return sent;
}

static ssize_t stream_write(u8 stream, const char __user *buf, size_t count)
{
	char part[PART];
	size_t done = 0;

	while (done < count) {
		size_t n = min(count - done, sizeof(part));

		if (copy_from_user(part, buf + done, n))
			return done ? done : -EFAULT;
		if (!frame(stream, part, n))
			return -EPERM;
		done += n;
		if (signal_pending(current))
			return done;
		cond_resched();
	}
	return done;
}

static ssize_t out_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	return stream_write(STREAM_OUT, buf, count);
}

static ssize_t err_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	return stream_write(STREAM_ERR, buf, count);
}

/* In the new process: its files, and a session of its own. */
static int start(struct subprocess_info *info, struct cred *new)
{
	static const char *const names[] = {
		"/dev/null", "/dev/macadamia/stdout", "/dev/macadamia/stderr",
	};
	unsigned int fd;

	for (fd = 0; fd < 3; fd++) {
		struct file *file = filp_open(names[fd], fd ? O_WRONLY : O_RDONLY, 0);
		int err;

		if (IS_ERR(file))
			return PTR_ERR(file);
		err = replace_fd(fd, file, 0);
		fput(file);
		if (err < 0)
			return err;
	}
	ksys_setsid();
	return 0;
}

/* From the one to the other is what a profile is made of (xtask/src/profile.rs): both are found by name. */
static noinline void batch_end(int status)
{
	frame(STREAM_END, &status, sizeof(status));
}

static noinline void batch_run(void)
{
	static char *env[] = {
		"HOME=/root", "PATH=/bin:/sbin:/usr/bin:/usr/sbin", "TERM=dumb", NULL,
	};
	static char *argv[] = { "/bin/sh", "/run/batch/command", NULL };
	struct subprocess_info *info;

	info = call_usermodehelper_setup(argv[0], argv, env, GFP_KERNEL, start, NULL, NULL);
	batch_end(info ? call_usermodehelper_exec(info, UMH_WAIT_PROC) : -ENOMEM);
}

static int bring_out(const char *path)
{
	struct file *file = filp_open(path, O_RDONLY | O_LARGEFILE, 0);
	char part[PART];
	loff_t at = 0;
	ssize_t n;

	if (IS_ERR(file))
		return PTR_ERR(file);
	do {
		n = kernel_read(file, part, sizeof(part), &at);
		if (n > 0 && !frame(STREAM_GET, part, n))
			n = -EPERM;
		cond_resched();
	} while (n > 0);
	fput(file);
	return n;
}

/* In a task of the kernel's: a signal that ends the start script must not end the reading of files. */
static void batch(struct work_struct *work)
{
	char *path, *list = NULL, *rest;
	ssize_t bytes;

	/* Before the command can change it. */
	bytes = kernel_read_file_from_path("/run/batch/get", 0, (void **)&list, INT_MAX, NULL,
					   READING_UNKNOWN);
	rest = bytes > 0 ? kmemdup_nul(list, bytes, GFP_KERNEL) : NULL;
	vfree(list);
	list = rest;
	batch_run();
	while ((path = strsep(&rest, "\n")) != NULL)
		if (*path)
			batch_end(bring_out(path));
	kfree(list);
}

static DECLARE_WORK(batch_work, batch);
static atomic_t begun = ATOMIC_INIT(0);

static ssize_t batch_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	if (atomic_xchg(&begun, 1))
		return -EBUSY;
	queue_work(system_unbound_wq, &batch_work);
	flush_work(&batch_work);
	return count;
}

/* Held by one for good: what it starts must not take its place. */
static int batch_open(struct inode *inode, struct file *file)
{
	static atomic_t opened = ATOMIC_INIT(0);

	return atomic_xchg(&opened, 1) ? -EBUSY : 0;
}

static void end_anyway(struct work_struct *work)
{
	ksys_sync();
	kernel_power_off();
}

static DECLARE_DELAYED_WORK(anyway, end_anyway);

/*
 * Whoever wrote has ended, or the command killed it: the one who started this system waits for its end, for some
 * minutes for one in order.
 */
static int batch_release(struct inode *inode, struct file *file)
{
	if (atomic_read(&begun)) {
		orderly_poweroff(true);
		schedule_delayed_work(&anyway, 300 * HZ);
	}
	return 0;
}

static const struct file_operations batch_ops = {
	.open = batch_open,
	.write = batch_write,
	.release = batch_release,
};
static const struct file_operations out_ops = { .write = out_write };
static const struct file_operations err_ops = { .write = err_write };

static struct miscdevice devices[] = {
	{ .name = "batch", .nodename = "macadamia/batch", .fops = &batch_ops },
	{ .name = "batch-out", .nodename = "macadamia/stdout", .fops = &out_ops, .mode = 0222 },
	{ .name = "batch-err", .nodename = "macadamia/stderr", .fops = &err_ops, .mode = 0222 },
};

static int __init batch_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		int err;

		devices[i].minor = MISC_DYNAMIC_MINOR;
		err = misc_register(&devices[i]);
		if (err)
			return err;
	}
	return 0;
}
device_initcall(batch_init);
