/* SPDX-License-Identifier: GPL-2.0 */
/* A walk of a process's page table, to a page of it in the linear map. */
#ifndef __OS_L4_WALK_H
#define __OS_L4_WALK_H

#include <linux/mm.h>
#include <linux/pgtable.h>
#include <asm/sections.h>

/* What an entry must have for a read by the program: the mark of an access, too, which the fault handler sets. */
#define L4_READABLE	(_PAGE_PRESENT | _PAGE_USER | _PAGE_ACCESSED)

/* As __va(), which reads a variable.  The linear map begins with the image. */
static __always_inline void *l4_linear_map(unsigned long physical)
{
	return __binary_start + physical;
}

/* Walks to a user address.  Returns its entry, or 0 if that has not all of these bits. */
static __always_inline unsigned long l4_walk_user(pgd_t *pgds, const void __user *user, unsigned long bits)
{
	unsigned long address = (unsigned long)user;
	unsigned long pgd = pgd_val(*pgd_offset_pgd(pgds, address)), pte;

	if (unlikely(!(pgd & _PAGE_PRESENT)))
		return 0;
	pte = pte_val(((pte_t *)l4_linear_map(pgd & PAGE_MASK))[pte_index(address)]);
	return likely(!(~pte & bits)) ? pte : 0;
}

#endif
