/* SPDX-License-Identifier: GPL-2.0 */
/* Changes of mappings are collected as records of L4_OP_MAP (memory.c). */
#ifndef __OS_L4_RECORDS_H
#define __OS_L4_RECORDS_H

#include <linux/compiler.h>
#include <linux/types.h>
#include "abi.h"

struct l4_space;

int l4_unmap_record(u32 space, unsigned long virt, unsigned long len);
/* Unmaps everything at once.  Records that wait are not sent. */
void l4_unmap_all(const struct l4_space *space);
/* Sends all records that wait. */
int l4_map_flush(void);
/* Records that wait, and what a record begins with that continues the last of them. */
extern struct l4_record { unsigned long word[4]; } l4_batch[];
extern unsigned int l4_batched;
extern struct l4_next { unsigned long selectors, what, offset; } l4_next;
int l4_begin_record(u32 selectors, unsigned long what, unsigned long offset, unsigned long len);
static __always_inline int l4_add_record(u32 selectors, unsigned long what, unsigned long offset, unsigned long len)
{
	if (l4_next.what != what || l4_next.offset != offset || l4_next.selectors != selectors || !l4_batched)
		return l4_begin_record(selectors, what, offset, len);
	l4_next.what += len;
	l4_next.offset += len;
	l4_batch[l4_batched - 1].word[3] += len;
	return 0;
}
/* RAM's Memory, and where in Linux's physical memory it begins.  The microkernel refuses to map what is below. */
extern u32 l4_ram_slot;
extern unsigned long l4_ram_start;
static __always_inline int l4_ram_record(u32 space, unsigned long virt, unsigned long phys,
					 unsigned long len, unsigned int prot)
{
	return l4_add_record(l4_ram_slot << 16 | space, virt | L4_MAP_MAP << 8 | prot, phys - l4_ram_start, len);
}

#endif
