// SPDX-License-Identifier: GPL-2.0
/*
 * Cleared pages for processes.  The microkernel clears pages while it is idle (docs/powerpc.md, "The idle loop");
 * processes get these first.
 *
 * It clears the pages of one range in order, and returns how many it has cleared when it is asked.  So Linux
 * allocates some contiguous pages, the reserve: processes get the first of them, as far as they are known to be
 * clear.  When all are used, Linux allocates others.  It asks when a process needs a page, none is known to be clear,
 * and Linux was idle since it last asked.
 */
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include "../../../um/os-L4/l4_syscall.h"

/* Pages of the reserve. */
#define ORDER	5
#define PAGES	(1u << ORDER)
/* They are user pages; the allocation must not wait. */
#define FLAGS	((GFP_HIGHUSER_MOVABLE & ~__GFP_RECLAIM) | __GFP_NOWARN)

/* Whether the microkernel clears pages. */
static bool clears;
/* The reserve.  Its pages from `next` on are not yet used, and those below `clear` are clear. */
static unsigned long reserve;
static unsigned int next = PAGES, clear = PAGES;
/* How often the idle task had stopped when the microkernel was asked last. */
static unsigned long asked;

/*
 * Asks the microkernel to clear these pages of the reserve.  Returns how many it has cleared of those for which it
 * was asked before.
 */
static unsigned int want(unsigned int first, unsigned int count)
{
	struct l4_regs r;

	if (l4_call_out(L4_OP_CACHE, L4_SPACE, reserve + first * PAGE_SIZE, count * PAGE_SIZE, L4_CACHE_CLEAR, &r))
		return 0;
	return r.r1;
}

/* Allocates a new reserve, if there is memory. */
static void set_apart(void)
{
	struct page *pages = alloc_pages(FLAGS, ORDER);

	if (!pages)
		return;
	split_page(pages, ORDER);
	reserve = (unsigned long)page_address(pages);
	next = clear = 0;
	want(0, PAGES);
}

/* Asks how many are clear, and for the rest to be cleared. */
static void ask(void)
{
	clear = min(clear + want(clear, 0), PAGES);
	if (clear < PAGES)
		want(clear, PAGES - clear);
}

/* A page that is clear; NULL if there is none. */
static struct page *take(void)
{
	unsigned long stopped = idle_task(0)->nivcsw;
	struct page *page = NULL;

	if (next == clear && asked != stopped) {
		asked = stopped;
		if (next < PAGES)
			ask();
		else
			set_apart();
	}
	if (next < clear) {
		page = virt_to_page((void *)(reserve + next++ * PAGE_SIZE));
		if (next == PAGES)
			set_apart();
	}
	return page;
}

struct folio *l4_zeroed_folio(struct vm_area_struct *vma, unsigned long vaddr)
{
	struct page *page = NULL;
	struct folio *folio;

	if (clears) {
		preempt_disable();
		page = take();
		preempt_enable();
	}
	if (page)
		return page_folio(page);
	folio = vma_alloc_folio(GFP_HIGHUSER_MOVABLE, 0, vma, vaddr, false);
	if (folio)
		clear_user_highpage(&folio->page, vaddr);
	return folio;
}

/* The microkernel does not clear pages if its boot line has the word "clear=off". */
static int __init clear_init(void)
{
	struct l4_regs r;

	clears = !l4_call_out(L4_OP_CACHE, L4_SPACE, PAGE_ALIGN_DOWN((unsigned long)clear_init), 0, L4_CACHE_CLEAR, &r);
	return 0;
}
late_initcall(clear_init);
