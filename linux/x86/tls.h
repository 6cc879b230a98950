/* SPDX-License-Identifier: GPL-2.0 */
/* TLS descriptors of a task, by their number or, if that is -1, by the one that the user gives. */
#ifndef __OS_L4_TLS_H
#define __OS_L4_TLS_H

#include <linux/types.h>

/* The first one's number. */
#define TLS_FIRST	6

struct task_struct;
struct user_desc;

int tls_read(struct task_struct *task, int entry, struct user_desc __user *user);
/* If the user gives -1, too, it may be one that is free. */
int tls_write(struct task_struct *task, int entry, struct user_desc __user *user, bool any);

#endif
