/* SPDX-License-Identifier: GPL-2.0 */
/* Where signal handlers return to. */
#ifndef __POWERPC_OS_L4_SIGPAGE_H
#define __POWERPC_OS_L4_SIGPAGE_H

#include <linux/types.h>

/* Where a handler with or without siginfo returns to, in the current process. */
unsigned long l4_sigreturn_code(bool info);

#endif
