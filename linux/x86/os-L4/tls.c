// SPDX-License-Identifier: GPL-2.0
/*
 * TLS descriptors.  The microkernel has three for each thread, at the numbers of i386 Linux.  This takes the place of
 * upstream's file, which sets those of its host at each switch of tasks.
 */
#include <linux/kernel.h>
#include <linux/regset.h>
#include <linux/sched.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <asm/desc.h>
#include <asm/ldt.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/subarch.h"
#include "../../../um/os-L4/user_thread.h"
#include "regset.h"
#include "tls.h"

static struct uml_tls_struct *descriptors(struct task_struct *task)
{
	return task->thread.arch.tls_array;
}

/* Whether the user means an empty descriptor: LDT_empty(), or all zeros. */
static bool is_empty(const struct user_desc *info)
{
	return LDT_empty(info) ||
	       !(info->base_addr | info->limit | info->contents | info->read_exec_only | info->seg_32bit |
		 info->limit_in_pages | info->seg_not_present | info->useable);
}

/* The microkernel allows 32-bit data segments that grow upwards. */
static bool acceptable(const struct user_desc *info)
{
	return is_empty(info) || (info->seg_32bit && !info->contents && !info->seg_not_present);
}

/*
 * Sets a descriptor of the user thread.  Without a user thread nothing has to be done now: arch_l4_load_state() is
 * called later.
 */
static int load(struct task_struct *task, unsigned int i)
{
	const struct uml_tls_struct *d = &descriptors(task)[i];
	struct l4_thread *t = l4_thread_of(task);
	u32 limit = 0;

	if (d->present)
		limit = d->tls.limit | L4_TLS_PRESENT | (d->tls.limit_in_pages ? L4_TLS_PAGES : 0) |
			(d->tls.read_exec_only ? L4_TLS_READ_ONLY : 0);
	return t && l4_call(L4_OP_SET_STATE, t->slot, L4_STATE_TLS + i, d->present ? d->tls.base_addr : 0, limit) ?
	       -EINVAL : 0;
}

static int set(struct task_struct *task, unsigned int i, const struct user_desc *info)
{
	struct uml_tls_struct *d = &descriptors(task)[i];

	d->tls = *info;
	d->tls.entry_number = TLS_FIRST + i;
	d->tls.limit &= 0xfffff;
	d->present = !is_empty(info);
	return load(task, i);
}

static void get(struct task_struct *task, unsigned int i, struct user_desc *info)
{
	const struct uml_tls_struct *d = &descriptors(task)[i];

	if (d->present)
		*info = d->tls;
	else
		*info = (struct user_desc){
			.entry_number = TLS_FIRST + i, .read_exec_only = 1, .seg_not_present = 1,
		};
}

/* A new user thread has no descriptors yet. */
int arch_l4_load_state(struct task_struct *task)
{
	unsigned int i;

	for (i = 0; i < GDT_ENTRY_TLS_ENTRIES; i++)
		if (descriptors(task)[i].present && load(task, i))
			return -EINVAL;
	return 0;
}

/* Each user thread has its own descriptors: nothing is to be done when tasks are switched or copied. */
void arch_switch_to(struct task_struct *task) { }
void clear_flushed_tls(struct task_struct *task) { }

static int first_free(struct task_struct *task)
{
	int i;

	for (i = 0; i < GDT_ENTRY_TLS_ENTRIES; i++)
		if (!descriptors(task)[i].present)
			return TLS_FIRST + i;
	return -ESRCH;
}

int tls_write(struct task_struct *task, int entry, struct user_desc __user *user, bool any)
{
	struct user_desc info;

	if (copy_from_user(&info, user, sizeof(info)))
		return -EFAULT;
	if (!acceptable(&info))
		return -EINVAL;
	if (entry == -1)
		entry = info.entry_number;
	if (entry == -1 && any) {
		entry = first_free(task);
		if (entry < 0)
			return entry;
		if (put_user(entry, &user->entry_number))
			return -EFAULT;
	}
	if (entry < TLS_FIRST || entry >= TLS_FIRST + GDT_ENTRY_TLS_ENTRIES)
		return -EINVAL;
	return set(task, entry - TLS_FIRST, &info);
}

int tls_read(struct task_struct *task, int entry, struct user_desc __user *user)
{
	struct user_desc info;

	if (entry == -1 && get_user(entry, &user->entry_number))
		return -EFAULT;
	if (entry < TLS_FIRST || entry >= TLS_FIRST + GDT_ENTRY_TLS_ENTRIES)
		return -EINVAL;
	get(task, entry - TLS_FIRST, &info);
	return copy_to_user(user, &info, sizeof(info)) ? -EFAULT : 0;
}

SYSCALL_DEFINE1(set_thread_area, struct user_desc __user *, user)
{
	return tls_write(current, -1, user, true);
}

SYSCALL_DEFINE1(get_thread_area, struct user_desc __user *, user)
{
	return tls_read(current, -1, user);
}

/* CLONE_SETTLS.  The child has no user thread yet. */
int arch_set_tls(struct task_struct *task, unsigned long tls)
{
	return tls_write(task, -1, (struct user_desc __user *)tls, false);
}

int tls_active(struct task_struct *task, const struct user_regset *set)
{
	int n = GDT_ENTRY_TLS_ENTRIES;

	while (n && !descriptors(task)[n - 1].present)
		n--;
	return n;
}

int tls_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	struct user_desc info;
	unsigned int i;

	for (i = 0; to.left; i++) {
		get(task, i, &info);
		membuf_write(&to, &info, sizeof(info));
	}
	return 0;
}

int tls_set(struct task_struct *task, const struct user_regset *regset, unsigned int at,
	    unsigned int bytes, const void *from, const void __user *user)
{
	struct user_desc infos[GDT_ENTRY_TLS_ENTRIES];
	unsigned int i, n = bytes / sizeof(infos[0]), first = at / sizeof(infos[0]);
	int err;

	if (at % sizeof(infos[0]) || bytes % sizeof(infos[0]) || first + n > GDT_ENTRY_TLS_ENTRIES)
		return -EINVAL;
	err = user_regset_copyin(&at, &bytes, &from, &user, infos, at, at + bytes);
	for (i = 0; !err && i < n; i++)
		if (!acceptable(&infos[i]))
			err = -EINVAL;
	for (i = 0; !err && i < n; i++)
		err = set(task, first + i, &infos[i]);
	return err;
}
