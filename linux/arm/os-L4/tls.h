/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ARM_OS_L4_TLS_H
#define __ARM_OS_L4_TLS_H

struct task_struct;

/* Sets a task's thread pointer. */
int l4_set_tls(struct task_struct *task, unsigned long tls);

#endif
