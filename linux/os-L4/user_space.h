/* SPDX-License-Identifier: GPL-2.0 */
/* The spaces of processes (user.c). */
#ifndef __OS_L4_USER_SPACE_H
#define __OS_L4_USER_SPACE_H

#include <linux/mm_types.h>
#include <linux/types.h>
#include <asm/pgtable.h>
#include <os-L4/layout.h>
#include <os-L4/space.h>

/*
 * The space of a process.  When the process ends, its space is kept for another one, with a few page tables of
 * the microkernel: so they need not be freed, allocated and cleared for each process.  The space notes in which
 * blocks of these tables something may be mapped.
 */
#define L4_KEPT_TABLES	8
#define L4_BLOCK	(PMD_SIZE / 32)
struct l4_space {
	u32 slot;
	u32 placed;		/* where the microkernel has put it: L4_OP_CREATE_SPACE */
	u32 low;		/* what has the pages below L4_LOW_END: the space, or a Segment */
	unsigned long direct;	/* where this server has that Segment, or 0 */
	bool reclaimed;		/* pages of this mm were unmapped that it still has: they may have to be restored */
	struct mm_struct *mm;
	struct list_head populated;	/* in the list of spaces that may have pages */
	unsigned int tables;
	bool more;		/* pages were mapped in more tables than the array has */
	/* A table spans addresses from base on.  A bit of used is a block that may have pages.  last: changed last. */
	struct l4_table { unsigned long base; u32 used; } table[L4_KEPT_TABLES], *last;
	struct arch_l4_space arch;
};
/* The space of an mm.  Upstream keeps the address of a stub's stack in this member; there is no stub here. */
#define l4_space_of(mm)	((struct l4_space *)(mm)->context.id.stack)
/* What has the page at an address of a space. */
#define l4_mapped_in(space, at)	((at) < L4_LOW_END ? (space)->low : (space)->slot)
/* An empty space in which a fork of this mm, if it is one, has all its mappings; or NULL. */
struct l4_space *l4_space_alloc(struct mm_struct *parent);
void l4_space_free(struct l4_space *space);
/* Unmaps all pages.  The first few page tables of the microkernel stay. */
int l4_space_clear(struct l4_space *space);
/* Frees the page tables of a space that is kept.  False: there are none. */
bool l4_spaces_shrink(void);

#endif
