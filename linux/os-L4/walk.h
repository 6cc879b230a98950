/* SPDX-License-Identifier: GPL-2.0 */
/* Walks of a process's page table: to an entry, and to a page in the linear map. */
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

static __always_inline pud_t *l4_pud_of(struct mm_struct *mm, unsigned long at)
{
	return pud_offset(p4d_offset(pgd_offset(mm, at), at), at);
}

/* The entry of the table that has a page.  NULL: there is no table of such entries. */
static __always_inline pmd_t *l4_pmd_of(struct mm_struct *mm, unsigned long at)
{
	pud_t *pud = l4_pud_of(mm, at);

	return pud_present(*pud) ? pmd_offset(pud, at) : NULL;
}

/* Where a table ends, or a range.  pmd_addr_end() is the range's end where Linux's page tables have two levels. */
static inline unsigned long l4_table_end(unsigned long at, unsigned long end)
{
	unsigned long next = (at & PMD_MASK) + PMD_SIZE;

	return next - 1 < end - 1 ? next : end;
}

/* Walks to a user address.  Returns its entry, or 0 if that has not all of these bits. */
static __always_inline unsigned long l4_walk_user(pgd_t *pgds, const void __user *user, unsigned long bits)
{
	unsigned long address = (unsigned long)user;
	unsigned long table = pgd_val(*pgd_offset_pgd(pgds, address)), pte;

	if (unlikely(!(table & _PAGE_PRESENT)))
		return 0;
#if CONFIG_PGTABLE_LEVELS > 2
	table = pmd_val(((pmd_t *)l4_linear_map(table & PAGE_MASK))[pmd_index(address)]);
	if (unlikely(!(table & _PAGE_PRESENT)))
		return 0;
#endif
	pte = pte_val(((pte_t *)l4_linear_map(table & PAGE_MASK))[pte_index(address)]);
	return likely(!(~pte & bits)) ? pte : 0;
}

#endif
