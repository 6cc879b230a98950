/* SPDX-License-Identifier: GPL-2.0 */
/* What a process's space has of the processor (os-L4/subarch.h). */
#ifndef __ARM_OS_L4_SPACE_H
#define __ARM_OS_L4_SPACE_H

#include <linux/types.h>

/* Nothing. */
struct arch_l4_space { };

#endif
