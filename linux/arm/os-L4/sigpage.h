/* SPDX-License-Identifier: GPL-2.0 */
/* The page by which signal handlers return that name no function for it. */
#ifndef __ARM_OS_L4_SIGPAGE_H
#define __ARM_OS_L4_SIGPAGE_H

#include <linux/types.h>

/* Its address in the current process. */
unsigned long l4_sigpage(void);

/* Its instructions, and the index of the first that a handler without and with siginfo returns to. */
extern const u32 l4_sigreturn_codes[];

static inline unsigned int l4_sigreturn_code(bool thumb, bool info)
{
	return (thumb ? 2 : 0) + (info ? 3 : 0);
}

#endif
