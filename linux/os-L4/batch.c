// SPDX-License-Identifier: GPL-2.0
/*
 * `run --batch`: runs a command and brings its results out.
 *
 * The first write to /dev/macadamia/batch, by the start script, runs the shell script /run/batch/command and then
 * brings out the files that /run/batch/get names.  Later writes are refused: a program that gets hold of the
 * descriptor can do nothing with it.
 *
 * Results go out on the machine-readable line.  This driver makes frames of them: a byte for the stream, two for
 * the length, the bytes.  Programs cannot make frames: they write standard output and standard error, which are
 * devices.  The driver itself takes the exit status and reads the files.
 */
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel_read_file.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/oom.h>
#include <linux/pid.h>
#include <linux/reboot.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <linux/umh.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include "batch.h"
#include "console.h"

/* Streams.  STREAM_END has 4 bytes, the low one first: the wait status of the command, or an error or 0 for a file. */
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

struct pid *l4_batch_shell;

/*
 * The shell is the last to go for want of memory: what a user makes the kernel allocate belongs to no process, and the shell may be the
 * largest program besides.  What it starts is as any other program, see l4_batch_fork().
 */
#define SHELL_SCORE	(OOM_SCORE_ADJ_MIN + 1)

/* In the new process: opens its files and makes it the leader of a session. */
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
	current->signal->oom_score_adj = SHELL_SCORE;
	l4_batch_shell = get_pid(task_tgid(current));
	return 0;
}

/* A profile covers the time from batch_run() to batch_end().  xtask/src/profile.rs finds them by name. */
static noinline void batch_end(int status)
{
	__le32 low_first = cpu_to_le32(status);

	frame(STREAM_END, &low_first, sizeof(low_first));
}

static noinline void batch_run(void)
{
	static char *env[] = {
		"HOME=/root", "PATH=/bin:/sbin:/usr/bin:/usr/sbin", "TERM=dumb", NULL,
	};
	static char *argv[] = { "/bin/sh", "/run/batch/command", NULL };
	struct subprocess_info *info;
	int status = -ENOMEM;

	info = call_usermodehelper_setup(argv[0], argv, env, GFP_KERNEL, start, NULL, NULL);
	if (info)
		status = call_usermodehelper_exec(info, UMH_WAIT_PROC);
	put_pid(xchg(&l4_batch_shell, NULL));
	batch_end(status);
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

/* On a workqueue: a signal that kills the start script must not end the reading of files. */
static void batch(struct work_struct *work)
{
	char *path, *list = NULL, *rest;
	ssize_t bytes;

	/* Read before the command can change it. */
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

/* It is opened once.  What the start script runs cannot open it again. */
static int batch_open(struct inode *inode, struct file *file)
{
	static atomic_t opened = ATOMIC_INIT(0);

	return atomic_xchg(&opened, 1) ? -EBUSY : 0;
}

static void hard_poweroff(struct work_struct *work)
{
	ksys_sync();
	kernel_power_off();
}

static DECLARE_DELAYED_WORK(hard_poweroff_work, hard_poweroff);

/*
 * The start script has ended, or was killed by the command.  Then the system must end: by an orderly power-off, or after
 * five minutes by a hard one.
 */
static int batch_release(struct inode *inode, struct file *file)
{
	if (atomic_read(&begun)) {
		orderly_poweroff(true);
		schedule_delayed_work(&hard_poweroff_work, 300 * HZ);
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
