/* SPDX-License-Identifier: GPL-2.0 */
/* Time (time.c).  The microkernel's alarm fires once.  A periodic one is set again each time. */
#ifndef __OS_L4_TIME_H
#define __OS_L4_TIME_H

#include <linux/types.h>

u64 l4_time_ns(void);
void l4_timer_rearm(void);

#endif
