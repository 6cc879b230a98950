/* SPDX-License-Identifier: GPL-2.0 */
/* TLS descriptors of a task, by number.  If it is -1 the number is that in the user's structure. */
#ifndef __X86_OS_L4_TLS_H
#define __X86_OS_L4_TLS_H

#include <linux/types.h>

/* The number of the first. */
#define TLS_FIRST	6

struct task_struct;
struct user_desc;

int tls_read(struct task_struct *task, int entry, struct user_desc __user *user);
/* If that is -1, too, and `any` is set, a free descriptor is used. */
int tls_write(struct task_struct *task, int entry, struct user_desc __user *user, bool any);

#endif
