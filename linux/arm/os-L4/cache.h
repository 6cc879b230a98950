/* SPDX-License-Identifier: GPL-2.0 */
/* What Linux has to do about virtual caches (cache.c). */
#ifndef __ARM_OS_L4_CACHE_H
#define __ARM_OS_L4_CACHE_H

/* cacheflush(): the current process executes what it wrote to [start, end). */
int l4_sync_code(unsigned long start, unsigned long end, unsigned long flags);

#endif
