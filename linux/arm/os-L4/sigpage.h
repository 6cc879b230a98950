/* SPDX-License-Identifier: GPL-2.0 */
/* Which instructions of [sigpage] a handler returns to that names no function for it. */
#ifndef __ARM_OS_L4_SIGPAGE_H
#define __ARM_OS_L4_SIGPAGE_H

#include <linux/types.h>

/* The index of the first, without and with siginfo. */
static inline unsigned int l4_sigreturn_code(bool thumb, bool info)
{
	return (thumb ? 2 : 0) + (info ? 3 : 0);
}

#endif
