/* SPDX-License-Identifier: GPL-2.0 */
/* The page by which signal handlers return (sigpage.c). */
#ifndef __OS_L4_SIGPAGE_H
#define __OS_L4_SIGPAGE_H

#include <linux/types.h>

/* Its address in the current process. */
unsigned long l4_sigpage(void);

/* The sub-architecture's: the instructions. */
extern const u32 arch_l4_sigreturn[];
extern const size_t arch_l4_sigreturn_bytes;

#endif
