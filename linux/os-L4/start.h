/* SPDX-License-Identifier: GPL-2.0 */
/* What the root server told this Linux at its start, and gave it: capabilities (start.c). */
#ifndef __OS_L4_START_H
#define __OS_L4_START_H

#include <linux/types.h>

/* A capability that the root server gave, by the name in the system description. */
struct l4_grant {
	char name[24];
	u32 slot;
	unsigned long address, bytes;
};
const struct l4_grant *l4_find_grant(const char *name);

/* Capability slots. */
u32 l4_slot_alloc(void);
void l4_slot_free(u32 slot);
unsigned int l4_slots(void);
unsigned int l4_slots_used(void);
/* Deletes what is in a slot and frees it. */
void l4_delete(u32 slot);

/* Whether the spaces of processes show this server, which then runs in them without a switch to its own page tables. */
extern bool l4_is_server;

/* Seeds the random pool with the bytes that the root server gave. */
void l4_seed_pool(void);

#endif
