// SPDX-License-Identifier: GPL-2.0
/*
 * With the argument "walk": compares the microkernel's page tables with Linux's.  The invariant is that of mm.c and
 * asm/pgtable.h.  At the first page that breaks it Linux panics:
 *
 * - An entry without a mark: the microkernel has this page with these rights; nothing if it was not accessed.
 * - An entry with a mark: the microkernel has nothing, or the same, or the entry is in a range that waits for
 *   synchronisation.
 *
 * At each event of a process all records have been carried out.  Then the ranges are compared for which records were
 * made.  All pages of the process are compared if another process ran before, and every OFTEN events.  So a
 * forked process is compared before its first system call, and a process before its last.
 *
 * Together with all pages of a process, Linux's own vmalloc is compared.  There an entry that was removed may only be
 * marked: Linux frees vmalloc's addresses lazily.
 *
 * /proc/macadamia-walk has counters.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <asm/sections.h>
#include "l4_syscall.h"
#include "records.h"
#include "start.h"
#include "test_hooks.h"
#include "user_space.h"
#include "walk.h"
#include <os-L4/processor.h>

/* All pages of a process are compared after so many events. */
#define OFTEN		64
/* What is compared.  Where pages can be read, they can be executed, unless an entry can forbid that. */
#define RIGHTS		(L4_RIGHT_READ | L4_RIGHT_WRITE | (_PAGE_NX ? L4_RIGHT_EXECUTE : 0))

static bool wanted;
static const struct l4_grant *ram;
/* The mm of the last event. */
static struct mm_struct *last;
/* Its ranges that were synchronised since then.  If they are too many, last is NULL: all pages are compared. */
static struct synced_range {
	unsigned long from, to;
} synced[2 * UM_SYNC_RANGES];
static unsigned int ranges, events;
static unsigned long whole, pages, mapped, own;

static int __init walk_setup(char *text)
{
	wanted = true;
	return 1;
}
__setup("walk", walk_setup);

void l4_walk_synced(struct mm_struct *mm, unsigned long from, unsigned long to)
{
	if (!wanted || mm != last)
		return;
	if (ranges < ARRAY_SIZE(synced))
		synced[ranges++] = (struct synced_range){ from, to };
	else
		last = NULL;
}

/* What the microkernel has at an address: rights, offset in Linux's RAM, and the size of the mapping or hole. */
struct found {
	u32 rights, offset;
	unsigned long bytes;
};

static struct found look(u32 space, unsigned long at)
{
	struct l4_regs r;
	u32 status = l4_call_out(L4_OP_LOOKUP, space, at, ram->slot, 0, &r);

	if (status)
		panic("walk: no lookup at %lx: error %u", at, status);
	return (struct found){ .rights = r.r1, .bytes = r.r2, .offset = r.r3 };
}

/* The offset of a page in Linux's RAM. */
static u32 offset_of_page(pte_t pte)
{
	return (pte_val(pte) & PAGE_MASK) - (ram->address - ((unsigned long)__binary_start & PAGE_MASK));
}

static u32 expected(struct mm_struct *mm, pte_t pte)
{
	if (!pte_present(pte) || !pte_young(pte) || (mm != &init_mm && !pte_read(pte)))
		return 0;
	return (L4_RIGHT_READ | (pte_write(pte) && pte_dirty(pte) ? L4_RIGHT_WRITE : 0) |
		(pte_get_bits(pte, _PAGE_NX) ? 0 : L4_RIGHT_EXECUTE)) & RIGHTS;
}

static bool is_pending(struct mm_struct *mm, unsigned long at)
{
	int i;

	for (i = 0; i < UM_SYNC_RANGES; i++)
		if (mm->context.sync[i].from <= at && at < mm->context.sync[i].to)
			return true;
	return false;
}

static void compare_page(struct mm_struct *mm, unsigned long at, pte_t pte, bool marked, struct found found)
{
	u32 want = expected(mm, pte);
	bool late = mm == &init_mm && !pte_present(pte);

	if (mm == &init_mm) {
		own += !!found.rights;
	} else {
		pages++;
		mapped += !!found.rights;
	}
	if ((found.rights & RIGHTS) == want && (!want || found.offset == offset_of_page(pte)))
		return;
	if (marked && (!found.rights || late || is_pending(mm, at)))
		return;
	panic("walk: %s[%d] at %lx: Linux has %lx%s, rights %x, offset %x; the microkernel rights %x, offset %x",
	      current->comm, task_pid_nr(current), at, (unsigned long)pte_val(pte),
	      marked ? " (marked)" : "", want, want ? offset_of_page(pte) : 0, found.rights & RIGHTS, found.offset);
}

/*
 * Compares pages of one table of Linux's.  The microkernel is known to have nothing before `empty`; returns that bound for the
 * next table.
 */
static unsigned long compare_table(struct mm_struct *mm, pte_t *pte, unsigned long at, unsigned long end, unsigned long empty)
{
	u32 space = mm == &init_mm ? L4_SPACE : mm->context.id.pid;

	for (; at < end; at += PAGE_SIZE, pte++) {
		struct found found = { };

		if (at >= empty) {
			found = look(space, at);
			if (!found.rights)
				empty = ALIGN_DOWN(at, found.bytes) + found.bytes;
		}
		compare_page(mm, at, *pte, pte_get_bits(*pte, _PAGE_NEWPAGE | _PAGE_NEWPROT), found);
	}
	return empty;
}

/* The same where Linux has no table.  It may have had one whose pages the microkernel still has: `gone`. */
static unsigned long compare_hole(struct mm_struct *mm, unsigned long at, unsigned long end, bool gone, unsigned long empty)
{
	u32 space = mm == &init_mm ? L4_SPACE : mm->context.id.pid;

	for (at = max(at, empty); at < end;) {
		struct found found = look(space, at);

		if (found.rights) {
			compare_page(mm, at, __pte(0), gone, found);
			at += PAGE_SIZE;
		} else {
			at = empty = ALIGN_DOWN(at, found.bytes) + found.bytes;
		}
	}
	return empty;
}

static void compare(struct mm_struct *mm, unsigned long at, unsigned long end)
{
	unsigned long next, empty = 0;

	for (; at < end; at = next) {
		pmd_t *pmd = l4_pmd_of(mm, at);

		if (pmd) {
			next = l4_table_end(at, end);
			if (pmd_present(*pmd))
				empty = compare_table(mm, pte_offset_kernel(pmd, at), at, next, empty);
			else
				empty = compare_hole(mm, at, next, pmd_newpage(*pmd), empty);
		} else {
			struct l4_hole hole = l4_hole_of(mm, at);

			next = l4_hole_end(hole, end);
			empty = compare_hole(mm, at, next, hole.newpage, empty);
		}
	}
}

void l4_walk_event(struct mm_struct *mm)
{
	struct l4_space *space = l4_space_of(mm);
	unsigned long end = arch_l4_lookups_end(space);
	unsigned int i;

	/* While records wait the tables differ. */
	if (!wanted || l4_batched)
		return;
	if (mm != last || ++events % OFTEN == 0) {
		compare(mm, 0, end);
		compare(&init_mm, VMALLOC_START, VMALLOC_END);
		whole++;
	} else {
		for (i = 0; i < ranges; i++)
			compare(mm, min(synced[i].from, end), min(synced[i].to, end));
	}
	last = mm;
	ranges = 0;
}

static int show(struct seq_file *m, void *nothing)
{
	seq_printf(m, "walks   %lu\npages   %lu\nmapped  %lu\nown     %lu\n", whole, pages, mapped, own);
	return 0;
}

static int __init walk_init(void)
{
	if (!wanted)
		return 0;
	ram = l4_find_grant("ram");
	return ram && proc_create_single("macadamia-walk", 0444, NULL, show) ? 0 : -ENOMEM;
}
/* Before there are processes. */
core_initcall(walk_init);
