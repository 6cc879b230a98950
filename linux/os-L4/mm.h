/* SPDX-License-Identifier: GPL-2.0 */
/* The page tables of processes, and the microkernel's of them (mm.c). */
#ifndef __OS_L4_MM_H
#define __OS_L4_MM_H

#include <linux/types.h>

struct l4_space;
struct mm_struct;

/* Nonzero: a page table has changed, perhaps that of the process that runs next (asm/pgtable.h). */
extern unsigned int l4_mappings_dirty;
/* Tells the microkernel of all that has changed in an mm. */
int l4_tlb_sync(struct mm_struct *mm);
/* As l4_tlb_sync(), but leaves a single record to L4_OP_MAP_RUN if that has a fast path for it. */
void l4_tlb_collect(struct mm_struct *mm);
/* Whether nothing of a process's can be mapped in a space. */
bool l4_space_is_clear(const struct l4_space *space);
/*
 * Reclaims the microkernel's page tables of a process: if possible neither those of the current process nor those
 * of this space.  *own says whether they are those of this space.  False: there are none.
 */
bool l4_reclaim_tables(u32 space, bool *own);
/* How often that was done. */
extern unsigned long l4_reclaims;
/* A process faults.  If the page was mapped before a reclaim, maps it again and returns true. */
bool l4_restore_mappings(unsigned long address, bool write);

#endif
