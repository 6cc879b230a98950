// SPDX-License-Identifier: GPL-2.0
/*
 * An mm's space, and what the microkernel is told of its page table: in place of upstream's
 * tlb.c and skas/mmu.c, which make a page for a stub besides and call a function for each level.
 *
 * The microkernel's page tables are a cache of Linux's: without memory for one, another process's are
 * dropped.  Its pages are marked as new then, as if they had never been told, in no range that is to be
 * told; a fault on one tells it again, with those around it.
 *
 * The microkernel's protect never gives a right that a mapping did not have when it was
 * made: a page with new rights is mapped anew, which costs as much.
 */
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched/signal.h>
#include <asm/mmu_context.h>
#include <asm/tlbflush.h>
#include <os.h>
#include "l4.h"

static struct l4_space own = { .slot = L4_SPACE };

/* Pages around one that is told again. */
#define AROUND		(16 * PAGE_SIZE)

/* Spaces that may have pages; who was told first is in front. */
static LIST_HEAD(told);
unsigned long l4_reclaims;

static void forget(struct l4_space *space)
{
	unsigned long at;
	unsigned int i;

	for (at = 0; at < L4_USER_END; at += PGDIR_SIZE) {
		pmd_t *pmd = pmd_off(space->mm, at);
		pte_t *pte;

		if (!pmd_present(*pmd))
			continue;
		pte = pte_offset_kernel(pmd, 0);
		for (i = 0; i < PTRS_PER_PTE; i++, pte++)
			if (pte_used(*pte))
				*pte = pte_mknewpage(*pte);
	}
	l4_unmap_all(space->slot);
	/*
	 * Records may wait that were noted: all is unmapped when the space is used again.  What they map now has a mark
	 * without need; it is what the entry gives.
	 */
	space->more = true;
	space->forgotten = true;
	l4_reclaims++;
}

bool l4_reclaim_tables(u32 slot, bool *its_own)
{
	struct l4_space *space, *running = NULL, *asking = NULL, *which = NULL;

	*its_own = false;
	if (l4_spaces_shrink())
		return true;
	list_for_each_entry(space, &told, told) {
		if (space->slot == slot)
			asking = space;
		else if (space->mm == current->mm)
			running = space;
		else {
			which = space;
			break;
		}
	}
	which = which ?: running ?: asking;
	*its_own = which && which == asking;
	if (!which)
		return false;
	/* Who asks goes on to map. */
	if (!*its_own)
		list_del_init(&which->told);
	forget(which);
	return true;
}

/* Blocks of a table in which pages from at to before end lie: a bit each. */
static __always_inline u32 blocks(unsigned long at, unsigned long end)
{
	if (__builtin_constant_p(end - at) && end - at == PAGE_SIZE)
		return 1U << at % PGDIR_SIZE / L4_BLOCK;
	return (2U << (end - 1) % PGDIR_SIZE / L4_BLOCK) - (1U << at % PGDIR_SIZE / L4_BLOCK);
}

static noinline void note_other(struct l4_space *space, unsigned long at, unsigned long end)
{
	struct l4_table *t;

	for (t = space->table; t < space->table + space->tables && t->base != (at & PGDIR_MASK); t++)
		;
	if (t == space->table + L4_KEPT_TABLES) {
		space->more = true;
		return;
	}
	if (t == space->table + space->tables) {
		space->tables++;
		*t = (struct l4_table){ .base = at & PGDIR_MASK };
	}
	t->used |= blocks(at, end);
	space->last = t;
}

/* Pages of one table may have got mappings. */
static __always_inline void note(struct l4_space *space, unsigned long at, unsigned long end)
{
	struct l4_table *t = space->last;

	if (unlikely(t->base != (at & PGDIR_MASK) || !space->tables))
		note_other(space, at, end);
	else
		t->used |= blocks(at, end);
}

/* What the microkernel is to give: nothing before the first use, no right to write before the first write. */
static unsigned int rights(pte_t pte, bool user)
{
	if (!pte_used(pte) || (user && !pte_read(pte)))
		return 0;
	return UM_PROT_READ | UM_PROT_EXEC | (pte_write(pte) && pte_dirty(pte) ? UM_PROT_WRITE : 0);
}

bool l4_restore_mappings(unsigned long address, bool write)
{
	struct mm_struct *mm = current->mm;
	unsigned long from = ALIGN_DOWN(address, AROUND);
	pmd_t *pmd = pmd_off(mm, address);
	pte_t pte;

	if (!pmd_present(*pmd))
		return false;
	pte = *pte_offset_kernel(pmd, address);
	if (!pte_newpage(pte) || !(rights(pte, true) & (write ? UM_PROT_WRITE : UM_PROT_READ)))
		return false;
	um_tlb_mark_sync(mm, from, from + AROUND);
	return true;
}

int init_new_context(struct task_struct *task, struct mm_struct *mm)
{
	struct l4_space *space = l4_space_alloc();

	/* Fork copied the parent's. */
	mm->context = (struct mm_context){ .id.vdso = mm->context.id.vdso };
	if (!space)
		return -ENOMEM;
	mm->context.id.pid = space->slot;
	mm->context.id.stack = (unsigned long)space;
	space->mm = mm;
	space->forgotten = false;
	INIT_LIST_HEAD(&space->told);
	return 0;
}

void destroy_context(struct mm_struct *mm)
{
	struct l4_space *space = l4_space_of(mm);

	if (!space)
		return;
	list_del(&space->told);
	l4_space_free(space);
}

/* One record's error does not stop the others, here and below: what is gone must go. */
static int sync_table(struct l4_space *space, pte_t *pte, unsigned long at, unsigned long end)
{
	bool user = space != &own;
	unsigned int all = 0;
	unsigned long from = at;
	int err = 0;

	for (; at < end; pte++, at += PAGE_SIZE) {
		unsigned int may;

		if (!pte_get_bits(*pte, _PAGE_NEWPAGE | _PAGE_NEWPROT))
			continue;
		may = rights(*pte, user);
		all |= may;
		if (may ? l4_ram_record(space->slot, at, pte_val(*pte) & PAGE_MASK, PAGE_SIZE, may) :
			  l4_unmap_record(space->slot, at, PAGE_SIZE))
			err = -ENOMEM;
		*pte = pte_mkuptodate(*pte);
	}
	/* Linux's own is never used again. */
	if (all && user)
		note(space, from, end);
	return err;
}

/*
 * What is gone at the beginning of a range goes by one record, with the entries in between of which the microkernel
 * has nothing: munmap() leaves no others.  Returns where another begins.
 */
static pte_t *sync_gone(struct l4_space *space, pte_t *pte, pte_t *end, unsigned long at, int *err)
{
	pte_t *first = pte, *from = NULL, *to = NULL;

	for (;; pte++) {
		/* Empty, and not new: most of what was mapped and never touched. */
		while (pte < end && !pte_val(*pte))
			pte++;
		if (pte == end || rights(*pte, space != &own))
			break;
		if (!pte_get_bits(*pte, _PAGE_NEWPAGE | _PAGE_NEWPROT))
			continue;
		*pte = pte_mkuptodate(*pte);
		from = from ?: pte;
		to = pte + 1;
	}
	if (to && l4_unmap_record(space->slot, at + (from - first) * PAGE_SIZE, (to - from) * PAGE_SIZE))
		*err = -ENOMEM;
	return pte;
}

static noinline int sync_range(struct mm_struct *mm, struct l4_space *space, unsigned long at, unsigned long end)
{
	unsigned long next;
	int err = 0;

	for (; at < end; at = next) {
		pmd_t *pmd = pmd_off(mm, at);

		next = pgd_addr_end(at, end);
		if (pmd_present(*pmd)) {
			pte_t *pte = pte_offset_kernel(pmd, at);
			pte_t *other = sync_gone(space, pte, pte + (next - at) / PAGE_SIZE, at, &err);

			if (sync_table(space, other, at + (other - pte) * PAGE_SIZE, next))
				err = -ENOMEM;
		} else if (pmd_newpage(*pmd)) {
			/* All that the table had: other ranges in it will find it up to date. */
			if (l4_unmap_record(space->slot, at & PGDIR_MASK, PGDIR_SIZE))
				err = -ENOMEM;
			pmd_mkuptodate(*pmd);
		}
	}
	return err;
}

/* The same for one page, in short if it is there now: that of most faults. */
static __always_inline int sync_page(struct mm_struct *mm, struct l4_space *space, unsigned long at, bool user)
{
	pmd_t *pmd = pmd_off(mm, at);
	unsigned int may;
	pte_t *pte, page;

	if (unlikely(!pmd_present(*pmd)))
		return sync_range(mm, space, at, at + PAGE_SIZE);
	pte = pte_offset_kernel(pmd, at);
	page = *pte;
	may = rights(page, user);
	if (unlikely(!may || !pte_get_bits(page, _PAGE_NEWPAGE | _PAGE_NEWPROT)))
		return sync_range(mm, space, at, at + PAGE_SIZE);
	*pte = pte_mkuptodate(page);
	/* Linux's own space is not used again. */
	if (user)
		note(space, at, at + PAGE_SIZE);
	return l4_ram_record(space->slot, at, pte_val(page) & PAGE_MASK, PAGE_SIZE, may);
}

static __always_inline int collect(struct mm_struct *mm, bool user)
{
	struct l4_space *space = user ? l4_space_of(mm) : &own;
	int err = 0, i;

	if (user && list_empty(&space->told))
		list_add_tail(&space->told, &told);
	for (i = 0; i < UM_SYNC_RANGES && mm->context.sync[i].to; i++) {
		unsigned long from = mm->context.sync[i].from, to = mm->context.sync[i].to;

		mm->context.sync[i].from = mm->context.sync[i].to = 0;
		if (likely(to - from == PAGE_SIZE) ? sync_page(mm, space, from, user) : sync_range(mm, space, from, to))
			err = -ENOMEM;
		l4_walk_synced(mm, from, to);
	}
	return err;
}

/* Linux's own pages at once, those of the process that is current before it runs next. */
int um_tlb_sync(struct mm_struct *mm)
{
	int err = mm == &init_mm ? collect(mm, false) : collect(mm, true);

	if (l4_map_flush())
		err = -ENOMEM;
	/* For Linux itself all memory was set aside (quota.c). */
	if (err && mm == &init_mm)
		panic("l4: no page table for Linux's own memory");
	/* The entries are marked as told all the same: the process goes, the others go on. */
	if (err)
		force_sig(SIGKILL);
	return err;
}

void l4_tlb_collect(struct mm_struct *mm)
{
	int err = collect(mm, true);

	if ((err || (l4_batched && !l4_is_one_page())) && (l4_map_flush() || err))
		force_sig(SIGKILL);
}

void flush_tlb_all(void) { }

/*
 * What fork wrote is marked by set_ptes(); what exit cleared nobody will use.  What is taken from a process is
 * marked at the end of each region (tlb_end_vma()), even if two do it at a time and the second ends here.
 */
void flush_tlb_mm(struct mm_struct *mm) { }

/* l4_map_flush() has said more. */
void report_enomem(void) { }
