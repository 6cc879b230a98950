/* SPDX-License-Identifier: GPL-2.0 */
/* The command of --batch (batch.c). */
#ifndef __OS_L4_BATCH_H
#define __OS_L4_BATCH_H

struct pid;

/* The shell that runs it; NULL: none does. */
extern struct pid *l4_batch_shell;

#endif
