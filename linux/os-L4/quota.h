/* SPDX-License-Identifier: GPL-2.0 */
/* What processes are charged to (quota.c). */
#ifndef __OS_L4_QUOTA_H
#define __OS_L4_QUOTA_H

#include <linux/types.h>

/* The Quota to which processes' spaces, page tables and threads are charged. */
extern u32 l4_user_quota;
int l4_quota_init(void);
/* How many slots of relocation a Quota has, and how many are used. */
u32 l4_relocation_slots(u32 quota, u32 *used);
/*
 * Creates a space at a place and says where the microkernel has put it (of L4_OP_CREATE_SPACE).  Returns its slot; 0: there is
 * no memory.
 */
u32 l4_user_space_create(u32 place, u32 *placed);
void l4_user_space_delete(u32 space);

#endif
