// SPDX-License-Identifier: GPL-2.0
/*
 * Spaces of mms, and the synchronisation of the microkernel's page tables with Linux's.  This takes the place of
 * upstream's tlb.c and skas/mmu.c.
 *
 * As upstream, an entry of a page table that has changed is marked by _PAGE_NEWPAGE or _PAGE_NEWPROT, and lies in
 * a range of mm->context.sync.  l4_mappings_dirty says that there may be such ranges.  Before a process runs,
 * its ranges become records for the microkernel.
 *
 * The microkernel's page tables are a cache of Linux's.  If it has no memory for one, those of another process
 * are reclaimed.  Linux then marks that process's pages as new, but in no range.  A fault on one of them maps
 * it again, with those around it.
 *
 * L4_OP_MAP also changes rights: the microkernel's protect cannot add a right.
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
#include "l4_syscall.h"
#include "mm.h"
#include "records.h"
#include "test_hooks.h"
#include "user_space.h"
#include "walk.h"
#include <os-L4/layout.h>
#include <os-L4/processor.h>

/* Linux's own space. */
static struct l4_space own = { .slot = L4_SPACE };

/* Bytes that are restored at a fault after a reclaim. */
#define AROUND		(16 * PAGE_SIZE)

/* Spaces that may have pages, in the order of their first synchronisation. */
static LIST_HEAD(populated_spaces);
unsigned long l4_reclaims;

static void reclaim(struct l4_space *space)
{
	unsigned long at, next;
	unsigned int i;

	for (at = 0; at < L4_USER_END; at = next) {
		pmd_t *pmd = l4_pmd_of(space->mm, at);
		pte_t *pte;

		if (!pmd) {
			next = l4_hole_end(l4_hole_of(space->mm, at), L4_USER_END);
			continue;
		}
		next = at + PMD_SIZE;
		if (!pmd_present(*pmd))
			continue;
		pte = pte_offset_kernel(pmd, 0);
		for (i = 0; i < PTRS_PER_PTE; i++, pte++)
			if (pte_used(*pte))
				*pte = pte_mknewpage(*pte);
	}
	arch_l4_before_unmap_all(space);
	l4_unmap_all(space);
	/*
	 * Pending records may still map pages after this.  So everything is unmapped when the space is used again.
	 * The marks of these pages are not needed, and do no harm.
	 */
	space->more = true;
	space->reclaimed = true;
	l4_reclaims++;
}

bool l4_reclaim_tables(u32 slot, bool *is_own)
{
	struct l4_space *space, *running = NULL, *asking = NULL, *which = NULL;

	*is_own = false;
	if (l4_spaces_shrink())
		return true;
	list_for_each_entry(space, &populated_spaces, populated) {
		if (space->slot == slot || space->low == slot)
			asking = space;
		else if (space->mm == current->mm)
			running = space;
		else {
			which = space;
			break;
		}
	}
	which = which ?: running ?: asking;
	*is_own = which && which == asking;
	if (!which)
		return false;
	/* The space itself is going to have pages again. */
	if (!*is_own)
		list_del_init(&which->populated);
	reclaim(which);
	return true;
}

/* A bit for each block of a table in which pages of [at, end) lie. */
static __always_inline u32 blocks(unsigned long at, unsigned long end)
{
	if (__builtin_constant_p(end - at) && end - at == PAGE_SIZE)
		return 1U << at % PMD_SIZE / L4_BLOCK;
	return (2U << (end - 1) % PMD_SIZE / L4_BLOCK) - (1U << at % PMD_SIZE / L4_BLOCK);
}

static noinline void note_other(struct l4_space *space, unsigned long at, unsigned long end)
{
	struct l4_table *t;

	for (t = space->table; t < space->table + space->tables && t->base != (at & PMD_MASK); t++)
		;
	if (t == space->table + L4_KEPT_TABLES) {
		space->more = true;
		return;
	}
	if (t == space->table + space->tables) {
		space->tables++;
		*t = (struct l4_table){ .base = at & PMD_MASK };
	}
	t->used |= blocks(at, end);
	space->last = t;
}

/* Notes that pages of [at, end), which lie in one table, may be mapped. */
static __always_inline void note(struct l4_space *space, unsigned long at, unsigned long end)
{
	struct l4_table *t = space->last;

	if (unlikely(t->base != (at & PMD_MASK) || !space->tables))
		note_other(space, at, end);
	else
		t->used |= blocks(at, end);
}

/* Whether pages of [at, end), which lie in one table, may be mapped.  Of Linux's own space nothing is noted. */
static bool may_be_mapped(const struct l4_space *space, unsigned long at, unsigned long end)
{
	const struct l4_table *t;

	if (space == &own || space->more)
		return true;
	for (t = space->table; t < space->table + space->tables; t++)
		if (t->base == (at & PMD_MASK))
			return t->used & blocks(at, end);
	return false;
}

bool l4_space_is_clear(const struct l4_space *space)
{
	const struct l4_table *t;

	for (t = space->table; t < space->table + space->tables; t++)
		if (t->used)
			return false;
	return !space->more;
}

static int unmap_pages(struct l4_space *space, unsigned long at, unsigned long n)
{
	return may_be_mapped(space, at, at + n) ? l4_unmap_record(l4_mapped_in(space, at), at, n) : 0;
}

/* The rights that the microkernel is to give: none before the first access, none to write before the first write. */
static unsigned int rights(pte_t pte, bool user)
{
	if (!pte_used(pte) || (user && !pte_read(pte)))
		return 0;
	return UM_PROT_READ | (pte_get_bits(pte, _PAGE_NX) ? 0 : UM_PROT_EXEC) |
	       (pte_write(pte) && pte_dirty(pte) ? UM_PROT_WRITE : 0);
}

bool l4_restore_mappings(unsigned long address, bool write)
{
	struct mm_struct *mm = current->mm;
	unsigned long from = ALIGN_DOWN(address, AROUND);
	pmd_t *pmd = l4_pmd_of(mm, address);
	pte_t pte;

	if (!pmd || !pmd_present(*pmd))
		return false;
	pte = *pte_offset_kernel(pmd, address);
	if (!pte_newpage(pte) || !(rights(pte, true) & (write ? UM_PROT_WRITE : UM_PROT_READ)))
		return false;
	um_tlb_mark_sync(mm, from, from + AROUND);
	return true;
}

int init_new_context(struct task_struct *task, struct mm_struct *mm)
{
	/* exec makes one for the task that runs: it has nothing of the mm before. */
	struct l4_space *space = l4_space_alloc(task == current ? NULL : current->mm);

	/* Fork has copied the parent's. */
	mm->context = (struct mm_context){ .id.vdso = mm->context.id.vdso, .id.region = mm->context.id.region };
	if (!space)
		return -ENOMEM;
	mm->context.id.pid = space->slot;
	mm->context.id.stack = (unsigned long)space;
	space->mm = mm;
	space->reclaimed = false;
	INIT_LIST_HEAD(&space->populated);
	arch_l4_space_begin(space, &mm->context.id);
	return 0;
}

void destroy_context(struct mm_struct *mm)
{
	struct l4_space *space = l4_space_of(mm);

	if (!space)
		return;
	list_del(&space->populated);
	arch_l4_space_end(space);
	l4_space_free(space);
}

/* Makes a record that maps a page. */
static __always_inline int map_page(struct l4_space *space, unsigned long at, pte_t page, unsigned int may)
{
	int err = arch_l4_before_map(page, &may);

	return l4_ram_record(l4_mapped_in(space, at), at, pte_val(page) & PAGE_MASK, PAGE_SIZE, may) ?: err;
}

/* Makes records for [at, end) of a table.  An error does not stop the rest: pages that are gone must be unmapped. */
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
		if (may ? map_page(space, at, *pte, may) : unmap_pages(space, at, PAGE_SIZE))
			err = -ENOMEM;
		*pte = pte_mkuptodate(*pte);
	}
	/* Linux's own space is not kept for others. */
	if (all && user)
		note(space, from, end);
	return err;
}

/*
 * Unmaps pages that are gone, up to the first entry that has rights; returns that entry.  This is one
 * record, as the entries in between are not mapped.  After munmap() it covers the whole range.
 */
static pte_t *sync_gone(struct l4_space *space, pte_t *pte, pte_t *end, unsigned long at, int *err)
{
	pte_t *first = pte, *from = NULL, *to = NULL;

	for (;; pte++) {
		/* Empty and unmarked, as most pages that were never accessed. */
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
	if (to && unmap_pages(space, at + (from - first) * PAGE_SIZE, (to - from) * PAGE_SIZE))
		*err = -ENOMEM;
	return pte;
}

/* Unmaps what may be mapped of many tables. */
static int unmap_tables(struct l4_space *space, unsigned long at, unsigned long bytes)
{
	const struct l4_table *t;
	int err = 0;

	if (space == &own || space->more)
		return l4_unmap_record(l4_mapped_in(space, at), at, bytes);
	for (t = space->table; t < space->table + space->tables; t++)
		if (t->base - at < bytes && t->used && l4_unmap_record(l4_mapped_in(space, at), t->base, PMD_SIZE))
			err = -ENOMEM;
	return err;
}

static noinline int sync_range(struct mm_struct *mm, struct l4_space *space, unsigned long at, unsigned long end)
{
	unsigned long next;
	int err = 0;

	for (; at < end; at = next) {
		pmd_t *pmd = l4_pmd_of(mm, at);

		if (!pmd) {
			/* Where Linux's page tables have more than two levels, many of them may go at once. */
			struct l4_hole hole = l4_hole_of(mm, at);

			next = l4_hole_end(hole, end);
			if (!hole.newpage)
				continue;
			if (unmap_tables(space, hole.start, hole.bytes))
				err = -ENOMEM;
			l4_hole_mkuptodate(mm, at);
			continue;
		}
		next = l4_table_end(at, end);
		if (pmd_present(*pmd)) {
			pte_t *pte = pte_offset_kernel(pmd, at);
			pte_t *other = sync_gone(space, pte, pte + (next - at) / PAGE_SIZE, at, &err);

			if (sync_table(space, other, at + (other - pte) * PAGE_SIZE, next))
				err = -ENOMEM;
		} else if (pmd_newpage(*pmd)) {
			/* Linux's table is gone.  All of it is unmapped, and is up to date for other ranges in it. */
			if (unmap_pages(space, at & PMD_MASK, PMD_SIZE))
				err = -ENOMEM;
			pmd_mkuptodate(*pmd);
		}
	}
	return err;
}

/* The same for one page, fast if it is present: after most page faults. */
static __always_inline int sync_page(struct mm_struct *mm, struct l4_space *space, unsigned long at, bool user)
{
	pmd_t *pmd = l4_pmd_of(mm, at);
	unsigned int may;
	pte_t *pte, page;

	if (unlikely(!pmd || !pmd_present(*pmd)))
		return sync_range(mm, space, at, at + PAGE_SIZE);
	pte = pte_offset_kernel(pmd, at);
	page = *pte;
	may = rights(page, user);
	if (unlikely(!may || !pte_get_bits(page, _PAGE_NEWPAGE | _PAGE_NEWPROT)))
		return sync_range(mm, space, at, at + PAGE_SIZE);
	*pte = pte_mkuptodate(page);
	/* Linux's own space is not kept for others. */
	if (user)
		note(space, at, at + PAGE_SIZE);
	return map_page(space, at, page, may);
}

static __always_inline int collect(struct mm_struct *mm, bool user)
{
	struct l4_space *space = user ? l4_space_of(mm) : &own;
	int err = 0, i;

	if (user && list_empty(&space->populated))
		list_add_tail(&space->populated, &populated_spaces);
	for (i = 0; i < UM_SYNC_RANGES && mm->context.sync[i].to; i++) {
		unsigned long from = mm->context.sync[i].from, to = mm->context.sync[i].to;

		mm->context.sync[i].from = mm->context.sync[i].to = 0;
		if (user)
			arch_l4_before_sync(mm, space, to);
		if (likely(to - from == PAGE_SIZE) ? sync_page(mm, space, from, user) : sync_range(mm, space, from, to))
			err = -ENOMEM;
		l4_walk_synced(mm, from, to);
	}
	return err;
}

/* Synchronises an mm at once. */
int l4_tlb_sync(struct mm_struct *mm)
{
	int err = mm == &init_mm ? collect(mm, false) : collect(mm, true);

	if (l4_map_flush())
		err = -ENOMEM;
	/* The memory for Linux's own page tables was set aside (quota.c). */
	if (err && mm == &init_mm)
		panic("l4: no page table for Linux's own memory");
	/* The entries are marked as synchronised all the same: only this process is killed, and not accessed where it is mapped. */
	if (err) {
		l4_space_of(mm)->direct = 0;
		force_sig(SIGKILL);
	}
	return err;
}

/* The same, if pages may have to go.  Otherwise ranges of a process wait until it runs: l4_tlb_collect(). */
int um_tlb_sync(struct mm_struct *mm)
{
	return mm != &init_mm && l4_space_is_clear(l4_space_of(mm)) ? 0 : l4_tlb_sync(mm);
}

/* Whether L4_OP_MAP_RUN has a fast path for all records that wait. */
static bool may_wait(void)
{
	return l4_batched == 1 && (ARCH_L4_FAST_MAP || l4_batch[0].word[3] == PAGE_SIZE);
}

void l4_tlb_collect(struct mm_struct *mm)
{
	struct l4_space *space = l4_space_of(mm);
	int err = collect(mm, true);

	err |= arch_l4_before_run(space);
	if ((err || (l4_batched && !may_wait())) && (l4_map_flush() || err)) {
		space->direct = 0;
		force_sig(SIGKILL);
	}
}

void flush_tlb_all(void) { }

/*
 * Nothing has to be done where caches are physical.  Fork's changes are marked by set_ptes(), and after exit the mm
 * is not used any more.  Pages that are taken from a process are marked by tlb_end_vma(), even if two tasks do so at
 * a time and the second ends here.
 */
void flush_tlb_mm(struct mm_struct *mm)
{
	if (!IS_ENABLED(CONFIG_UML_VIRTUAL_CACHES))
		return;
	if (atomic_read(&mm->mm_users)) {
		um_tlb_sync(mm);
		return;
	}
	/*
	 * Its pages are about to be freed.  What was written to them is still cached by its addresses.  Unmapping cannot
	 * fail.
	 */
	l4_space_clear(l4_space_of(mm));
}

/* l4_map_flush() has reported more. */
void report_enomem(void) { }
