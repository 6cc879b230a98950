// SPDX-License-Identifier: GPL-2.0
/*
 * Commands for the one who started this system: /dev/macadamia/batch.
 *
 * "run FILE" runs a shell script, "get FILE" copies a file.  What they write goes out
 * on the machine-readable line in frames that this driver makes: a byte of stream, two
 * of length, the bytes.  The command cannot make frames of its own: it has
 * standard output and error, which are devices too, so that it can open them by name.
 * The exit status is taken where it arises, in the kernel.
 */
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <linux/umh.h>
#include "l4.h"

/* Streams.  The end of a command has its wait status, 4 bytes. */
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

static ssize_t get_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	return stream_write(STREAM_GET, buf, count);
}

/* In the new process: its files, and a session of its own. */
static int start(struct subprocess_info *info, struct cred *new)
{
	const char *const *names = info->data;
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

static noinline int batch_run(char *program, char *argument, const char *const *files)
{
	static char *env[] = {
		"HOME=/root", "PATH=/bin:/sbin:/usr/bin:/usr/sbin", "TERM=dumb", NULL,
	};
	char *argv[] = { program, argument, NULL };
	struct subprocess_info *info;
	int status;

	info = call_usermodehelper_setup(program, argv, env, GFP_KERNEL, start, NULL,
					 (void *)files);
	if (!info)
		return -ENOMEM;
	status = call_usermodehelper_exec(info, UMH_WAIT_PROC);
	batch_end(status);
	return status < 0 ? status : 0;
}

static ssize_t batch_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	static const char *const run_files[] = {
		"/dev/null", "/dev/macadamia/stdout", "/dev/macadamia/stderr",
	};
	static const char *const get_files[] = {
		"/dev/null", "/dev/macadamia/get", "/dev/macadamia/stderr",
	};
	char *text;
	int err;

	if (count >= PAGE_SIZE)
		return -E2BIG;
	text = memdup_user_nul(buf, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	if (!strncmp(text, "run ", 4))
		err = batch_run("/bin/sh", text + 4, run_files);
	else if (!strncmp(text, "get ", 4))
		err = batch_run("/bin/cat", text + 4, get_files);
	else
		err = -EINVAL;
	kfree(text);
	return err ? err : count;
}

/* Held by one for good: what it starts must not take its place. */
static int batch_open(struct inode *inode, struct file *file)
{
	static atomic_t opened = ATOMIC_INIT(0);

	return atomic_xchg(&opened, 1) ? -EBUSY : 0;
}

static const struct file_operations batch_ops = { .open = batch_open, .write = batch_write };
static const struct file_operations out_ops = { .write = out_write };
static const struct file_operations err_ops = { .write = err_write };
static const struct file_operations get_ops = { .write = get_write };

static struct miscdevice devices[] = {
	{ .name = "batch", .nodename = "macadamia/batch", .fops = &batch_ops },
	{ .name = "batch-out", .nodename = "macadamia/stdout", .fops = &out_ops, .mode = 0222 },
	{ .name = "batch-err", .nodename = "macadamia/stderr", .fops = &err_ops, .mode = 0222 },
	{ .name = "batch-get", .nodename = "macadamia/get", .fops = &get_ops },
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
