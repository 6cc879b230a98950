/* SPDX-License-Identifier: GPL-2.0 */
/* Walks of a process's page table: to an entry, and to a page in the linear map. */
#ifndef __OS_L4_WALK_H
#define __OS_L4_WALK_H

#include <linux/mm.h>
#include <linux/pgtable.h>
#include <asm/sections.h>

/* What an entry must have for a read by the program: the mark of an access, too, which the fault handler sets. */
#define L4_READABLE	(_PAGE_PRESENT | _PAGE_USER | _PAGE_ACCESSED)

/* Where no page is kept from being executed, no entry says so. */
#ifndef _PAGE_NX
#define _PAGE_NX	0
#endif

/* As __va(), which reads a variable.  The linear map begins with the image. */
static __always_inline void *l4_linear_map(unsigned long physical)
{
	return __binary_start + physical;
}

static __always_inline p4d_t *l4_p4d_of(struct mm_struct *mm, unsigned long at)
{
	return p4d_offset(pgd_offset(mm, at), at);
}

/* The entry of the directory that has a table of entries for a page's tables.  NULL: there is no such directory. */
static __always_inline pud_t *l4_pud_of(struct mm_struct *mm, unsigned long at)
{
	p4d_t *p4d = l4_p4d_of(mm, at);

	return p4d_present(*p4d) ? pud_offset(p4d, at) : NULL;
}

/* The entry of the table that has a page.  NULL: there is no table of such entries. */
static __always_inline pmd_t *l4_pmd_of(struct mm_struct *mm, unsigned long at)
{
	pud_t *pud = l4_pud_of(mm, at);

	return pud && pud_present(*pud) ? pmd_offset(pud, at) : NULL;
}

/* Where l4_pmd_of() is NULL: a hole, for which an entry of a higher level is empty. */
struct l4_hole {
	unsigned long start, bytes;
	/* Linux's tables are gone, and what they had may still be mapped. */
	bool newpage;
};

static inline struct l4_hole l4_hole_of(struct mm_struct *mm, unsigned long at)
{
	pud_t *pud = l4_pud_of(mm, at);

	if (pud)
		return (struct l4_hole){ at & PUD_MASK, PUD_SIZE, pud_newpage(*pud) };
	return (struct l4_hole){ at & P4D_MASK, P4D_SIZE, p4d_newpage(*l4_p4d_of(mm, at)) };
}

/* Says that what was there is unmapped. */
static inline void l4_hole_mkuptodate(struct mm_struct *mm, unsigned long at)
{
	pud_t *pud = l4_pud_of(mm, at);

	if (pud)
		pud_mkuptodate(*pud);
	else
		p4d_mkuptodate(*l4_p4d_of(mm, at));
}

/* Where a hole ends, or a range. */
static inline unsigned long l4_hole_end(struct l4_hole hole, unsigned long end)
{
	unsigned long next = hole.start + hole.bytes;

	return next - 1 < end - 1 ? next : end;
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
#if CONFIG_PGTABLE_LEVELS > 3
	table = pud_val(((pud_t *)l4_linear_map(table & PAGE_MASK))[pud_index(address)]);
	if (unlikely(!(table & _PAGE_PRESENT)))
		return 0;
#endif
#if CONFIG_PGTABLE_LEVELS > 2
	table = pmd_val(((pmd_t *)l4_linear_map(table & PAGE_MASK))[pmd_index(address)]);
	if (unlikely(!(table & _PAGE_PRESENT)))
		return 0;
#endif
	pte = pte_val(((pte_t *)l4_linear_map(table & PAGE_MASK))[pte_index(address)]);
	return likely(!(~pte & bits)) ? pte : 0;
}

#endif
