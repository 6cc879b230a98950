/* SPDX-License-Identifier: GPL-2.0 */
/* RAM (memory.c). */
#ifndef __OS_L4_MEMORY_H
#define __OS_L4_MEMORY_H

#include <linux/types.h>

/* It is upstream's. */
extern long long physmem_size;
int l4_ram_init(void);
/* Whether the memory of the network's port is part of it (net_receive.c). */
extern bool l4_network_pages;
/* Tasks and other unmovable objects are allocated next to the server's data.  Called before the first allocation. */
void l4_group_unmovable(void);

#endif
