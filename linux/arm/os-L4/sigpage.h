/* SPDX-License-Identifier: GPL-2.0 */
/* The instructions of [sigpage] to which a handler returns if the program names no function for that. */
#ifndef __ARM_OS_L4_SIGPAGE_H
#define __ARM_OS_L4_SIGPAGE_H

#include <linux/types.h>

/* The index of the first, without and with siginfo. */
static inline unsigned int l4_sigreturn_code(bool thumb, bool info)
{
	return (thumb ? 2 : 0) + (info ? 3 : 0);
}

#endif
