// SPDX-License-Identifier: GPL-2.0
/*
 * Virtual caches.  A cache line is found only by the virtual address of the access.  A page that a process has mapped
 * may be cached by the process's address.  The linear map is another address of the same page, and vmalloc's a third.
 *
 * The rules are:
 *  - Nothing is cached by the linear map of a page that is mapped elsewhere, except while this server accesses it
 *    there.  So its lines are dropped (written back and invalidated) before a page is mapped, and after each access.
 *    For most pages it is known that they have none (enum l4_lines): because the page was another process's before, or
 *    because the lines of a page of a file, which is mapped read-only everywhere, were written back before.
 *  - Before this server accesses a page that a process has mapped, lines by the process's address are written back;
 *    before it writes they are dropped.  No thread of the process runs meanwhile.
 *  - Before a page is freed nobody has it mapped: the microkernel drops lines when it unmaps.  So pages that are
 *    removed are unmapped at once (flush_tlb_range() and similar functions, patch 20).
 *  - A page of a file that is written where it is mapped shared is not cached by processes: each has it at another
 *    address.  From the first such write on it is uncached for all (L4_LINES_SHARED), until nobody has it mapped so.
 *    Lines that this server has written are written back before a process maps it.  Lines that this server has read
 *    are dropped before it reads again, and when a process that wrote unmaps it: until then these lines may be older
 *    than the page.
 *  - A page that a process has, but that the microkernel has not yet mapped (_PAGE_NEWPAGE), has no dirty lines by the
 *    process's address.  This server may leave lines by the linear map: they are dropped when the page is mapped.
 */
#include <linux/cacheflush.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/sections.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/mm.h"
#include "../../../um/os-L4/records.h"
#include "../../../um/os-L4/user_space.h"
#include "cache.h"
#include "processor.h"

static void do_cache(u32 space, unsigned long at, unsigned long n, u32 what)
{
	/* Linux has asked for addresses of this server, or of a process's below L4_USER_END: neither is refused. */
	WARN_ON_ONCE(l4_call(L4_OP_CACHE, space, at, n, what));
}

/* Of this server's addresses. */
static void drop(const void *at, unsigned long n)
{
	do_cache(L4_SPACE, (unsigned long)at, n, L4_CACHE_DROP);
}

/* Of a process's.  Lines that this server has left where it has the process's memory are the same ones. */
static void do_user_cache(struct mm_struct *mm, unsigned long at, unsigned long n, u32 what)
{
	do_cache(l4_space_of(mm)->slot, at, n, what);
}

static void drop_user(struct mm_struct *mm, unsigned long at, unsigned long n)
{
	do_user_cache(mm, at, n, L4_CACHE_DROP);
}

/* enum l4_lines, by page. */
u8 l4_lines[(L4_VMALLOC_END - L4_SERVER_BASE) >> PAGE_SHIFT];

static u8 *lines_of(const struct page *page)
{
	return &l4_lines[page_to_pfn(page)];
}

static pgoff_t index_of(struct page *page)
{
	struct folio *folio = page_folio(page);

	return folio->index + folio_page_idx(folio, page);
}

/* Whether processes write to it where it is mapped shared. */
static bool is_uncached(u8 lines)
{
	return lines == L4_LINES_SHARED || lines == L4_LINES_SHARED_CLEAN;
}

/*
 * The lines of a page that is uncached were dropped: none is dirty until flush_dcache_folio() says otherwise.  This
 * is not known of a page that is pinned or not of a file: this server may write to it at any time.
 */
static void note_dropped(u8 *lines, pte_t pte)
{
	struct folio *folio = page_folio(pfn_to_page(pte_pfn(pte)));

	if (*lines == L4_LINES_SHARED && folio_flush_mapping(folio) && !folio_maybe_dma_pinned(folio))
		*lines = L4_LINES_SHARED_CLEAN;
}

/*
 * A process is going to write to a page of a file where it has it mapped shared.  Others had it cached: they get it again at their
 * next access.
 */
static int share(struct page *page)
{
	struct address_space *mapping = folio_flush_mapping(page_folio(page));
	pgoff_t index = index_of(page);
	struct vm_area_struct *vma;
	int err = 0;

	*lines_of(page) = L4_LINES_SHARED;
	if (!mapping)
		return 0;
	flush_dcache_mmap_lock(mapping);
	vma_interval_tree_foreach(vma, &mapping->i_mmap, index, index) {
		unsigned long at = vma->vm_start + ((index - vma->vm_pgoff) << PAGE_SHIFT);
		pmd_t *pmd = pmd_off(vma->vm_mm, at);
		pte_t *pte = pmd_present(*pmd) ? pte_offset_kernel(pmd, at) : NULL;
		struct l4_space *space;

		if (!pte || !pte_present(*pte) || pte_pfn(*pte) != page_to_pfn(page) || (pte_write(*pte) && pte_dirty(*pte)))
			continue;
		space = l4_space_of(vma->vm_mm);
		err |= l4_unmap_record(l4_mapped_in(space, at), at, PAGE_SIZE);
		*pte = pte_mknewpage(*pte);
		/* So that a fault maps it. */
		space->reclaimed = true;
	}
	flush_dcache_mmap_unlock(mapping);
	return err;
}

/* Whether a process may write to a page where it has it mapped shared. */
static bool is_shared(struct page *page)
{
	struct address_space *mapping = folio_flush_mapping(page_folio(page));
	pgoff_t index = index_of(page);
	struct vm_area_struct *vma;
	bool is = !mapping;

	if (is)
		return true;
	flush_dcache_mmap_lock(mapping);
	vma_interval_tree_foreach(vma, &mapping->i_mmap, index, index)
		is |= (vma->vm_flags & (VM_SHARED | VM_WRITE)) == (VM_SHARED | VM_WRITE);
	flush_dcache_mmap_unlock(mapping);
	return is;
}

/* Whether a page is for the memory of a process, and no process has mapped it yet: it is mapped only here. */
static bool is_unseen(u8 lines)
{
	return lines == L4_LINES_NONE || lines == L4_LINES_SOME;
}

/* Whether it is memory of a process, whose lines by the linear map are recorded. */
static bool is_known(u8 lines)
{
	return is_unseen(lines) || lines == L4_LINES_SEEN || lines == L4_LINES_SEEN_SOME;
}

/* This server leaves lines of such a page. */
static void leave_some(u8 *lines)
{
	*lines = is_unseen(*lines) ? L4_LINES_SOME : L4_LINES_SEEN_SOME;
}

/* Lines of this access may stay. */
static bool lines_may_stay;

/*
 * Has the microkernel map a page now, which it would do before the process runs in any case: so nothing has to be
 * dropped.  False: it is not mapped, or was unmapped for others.
 */
static bool map_now(struct mm_struct *mm, const struct l4_space *space, unsigned long user)
{
	/* After a reclaim all pages of a space are new, and not in a range that is to be synchronised. */
	if (space->reclaimed)
		um_tlb_mark_sync(mm, user & PAGE_MASK, (user & PAGE_MASK) + PAGE_SIZE);
	l4_tlb_sync(mm);
	return space->direct && !pte_get_bits(*pte_offset_kernel(pmd_off(mm, user), user), _PAGE_NEWPAGE | _PAGE_NEWPROT);
}

void *l4_begin_access(unsigned long entry, unsigned long user, void *at, unsigned long n, bool write)
{
	struct l4_space *space = l4_space_of(current->active_mm);
	u8 *lines = &l4_lines[entry >> PAGE_SHIFT];

	if (space->direct && user < L4_LOW_END && !in_interrupt() && map_now(current->active_mm, space, user))
		return (void *)(space->direct + user);
	lines_may_stay = entry & _PAGE_NEWPAGE && is_known(*lines);
	if (lines_may_stay) {
		leave_some(lines);
	} else if (entry & _PAGE_UNCACHED) {
		if (write && !is_uncached(*lines)) {
			/* Unmapping cannot fail. */
			share(pfn_to_page(entry >> PAGE_SHIFT));
			l4_map_flush();
		}
		drop(at, n);
	} else {
		do_user_cache(current->active_mm, user, n, write ? L4_CACHE_DROP : L4_CACHE_CLEAN);
	}
	return at;
}

void l4_end_access(void *at, unsigned long n)
{
	if (!lines_may_stay)
		drop(at, n);
}

void arch_alloc_page(struct page *page, int order)
{
	u8 *lines = lines_of(page);

	if (order || *lines != L4_LINES_FREE)
		memset(lines, L4_LINES_ANY, 1UL << order);
	else
		*lines = L4_LINES_NEW;
}

void arch_free_page(struct page *page, int order)
{
	u8 *lines = lines_of(page);

	if (order || (*lines != L4_LINES_NONE && *lines != L4_LINES_SEEN))
		memset(lines, L4_LINES_ANY, 1UL << order);
	else
		*lines = L4_LINES_FREE;
}

/*
 * This server is about to write all of a page, which a process gets.  On these processors a store that misses
 * allocates no line.
 */
static void begin_user_page(const struct page *page)
{
	u8 *lines = lines_of(page);

	*lines = *lines == L4_LINES_NEW ? L4_LINES_NONE : L4_LINES_SOME;
}

/* This server reads or writes a page of a process by the linear map. */
static void touch_user_page(const struct page *page)
{
	u8 *lines = lines_of(page);

	if (is_known(*lines))
		leave_some(lines);
	else if (*lines == L4_LINES_CLEAN)
		*lines = L4_LINES_ANY;
	else if (*lines == L4_LINES_SHARED_CLEAN)
		*lines = L4_LINES_SHARED;
}

int l4_drop_before_map(pte_t page, unsigned int *may)
{
	unsigned long at = (unsigned long)__binary_start + (pte_val(page) & PAGE_MASK);
	u8 *lines = &l4_lines[pte_val(page) >> PAGE_SHIFT];
	bool writable = *may & UM_PROT_WRITE;
	int err = 0;

	if (*lines == L4_LINES_CLEAN && !writable)
		return 0;
	if (!is_uncached(*lines) && writable && pte_get_bits(page, _PAGE_UNCACHED))
		err = share(pfn_to_page(pte_pfn(page)));
	if (is_uncached(*lines) && !writable && !is_shared(pfn_to_page(pte_pfn(page))))
		*lines = L4_LINES_ANY;
	if (is_uncached(*lines)) {
		*may |= L4_MAP_UNCACHED;
		if (*lines == L4_LINES_SHARED_CLEAN)
			return err;
		note_dropped(lines, page);
	} else if (*lines == L4_LINES_SOME || *lines == L4_LINES_SEEN_SOME) {
		*lines = L4_LINES_SEEN;
	} else {
		*lines = writable ? L4_LINES_ANY : L4_LINES_CLEAN;
	}
	return l4_add_record(L4_SPACE, at | (L4_MAP_CACHE + L4_CACHE_DROP) << 8, at, PAGE_SIZE) ?: err;
}

/*
 * As upstream's, except that the page is unmapped at once only if it may have dirty lines.  It is unmapped before the
 * process runs in any case.
 */
pte_t ptep_clear_flush(struct vm_area_struct *vma, unsigned long address, pte_t *ptep)
{
	pte_t pte = ptep_get_and_clear(vma->vm_mm, address, ptep);

	if (!pte_present(pte))
		return pte;
	um_tlb_mark_sync(vma->vm_mm, address, address + PAGE_SIZE);
	if (pte_write(pte) && pte_dirty(pte))
		um_tlb_sync(vma->vm_mm);
	return pte;
}

/*
 * A page that a process had uncached, and wrote to, is no longer mapped there: this server may have read it before.
 */
void l4_written_uncached(pte_t page)
{
	drop((void *)((unsigned long)__binary_start + (pte_val(page) & PAGE_MASK)), PAGE_SIZE);
	note_dropped(&l4_lines[pte_val(page) >> PAGE_SHIFT], page);
}

/* This server wrote to a page of a file, or is about to read it, by the linear map. */
void flush_dcache_folio(struct folio *folio)
{
	struct address_space *mapping = folio_flush_mapping(folio);
	struct vm_area_struct *vma;
	unsigned long first, last, i;

	for (i = 0; i < folio_nr_pages(folio); i++)
		touch_user_page(folio_page(folio, i));
	/* In these cases the lines are dropped before it is mapped. */
	if (!folio_mapped(folio) || (!folio_test_large(folio) && is_unseen(*lines_of(&folio->page))))
		return;
	drop(folio_address(folio), folio_size(folio));
	if (!mapping)
		return;
	first = folio->index;
	last = first + folio_nr_pages(folio) - 1;
	flush_dcache_mmap_lock(mapping);
	vma_interval_tree_foreach(vma, &mapping->i_mmap, first, last) {
		unsigned long from = max(first, vma->vm_pgoff), to = min(last, vma->vm_pgoff + vma_pages(vma) - 1);

		drop_user(vma->vm_mm, vma->vm_start + (from - vma->vm_pgoff) * PAGE_SIZE, (to - from + 1) * PAGE_SIZE);
	}
	flush_dcache_mmap_unlock(mapping);
}
EXPORT_SYMBOL(flush_dcache_folio);

void flush_dcache_page(struct page *page)
{
	flush_dcache_folio(page_folio(page));
}
EXPORT_SYMBOL(flush_dcache_page);

/* The same for a page that only one process has, which get_user_pages() has found. */
void flush_anon_page(struct vm_area_struct *vma, struct page *page, unsigned long address)
{
	touch_user_page(page);
	if (!PageAnon(page) || is_unseen(*lines_of(page)))
		return;
	drop_user(vma->vm_mm, address & PAGE_MASK, PAGE_SIZE);
	drop(page_address(page), PAGE_SIZE);
}

/* For a debugger, and the like.  `to`, and `from` below, is in the linear map. */
void copy_to_user_page(struct vm_area_struct *vma, struct page *page, unsigned long address, void *to, const void *from,
		       unsigned long n)
{
	drop_user(vma->vm_mm, address, n);
	memcpy(to, from, n);
	drop(to, n);
	/* Others may have it, too. */
	if (folio_mapping(page_folio(page)))
		flush_dcache_page(page);
	if (vma->vm_flags & VM_EXEC)
		do_user_cache(vma->vm_mm, address, n, L4_CACHE_SYNC_CODE);
}

void copy_from_user_page(struct vm_area_struct *vma, struct page *page, unsigned long address, void *to, const void *from,
			 unsigned long n)
{
	drop_user(vma->vm_mm, address, n);
	memcpy(to, from, n);
	drop(from, n);
}

/*
 * The address at which this server can read a page through the same lines as a process: only for the process whose
 * page table is in use, if it can read the page.
 */
static const void *where_process_has(struct mm_struct *mm, const struct page *page, unsigned long address)
{
	unsigned long direct = l4_space_of(mm)->direct;
	pmd_t *pmd = pmd_off(mm, address);
	pte_t pte;

	if (mm != current->active_mm || !direct || address >= L4_LOW_END || !pmd_present(*pmd))
		return NULL;
	pte = *pte_offset_kernel(pmd, address);
	if (!pte_used(pte) || !pte_read(pte) || pte_get_bits(pte, _PAGE_NEWPAGE | _PAGE_NEWPROT) || pte_pfn(pte) != page_to_pfn(page))
		return NULL;
	return (const void *)(direct + address);
}

/*
 * Nobody writes to a page of which a process gets a copy until it is mapped again, and then its lines are dropped.
 * But a pinned page can be written at any time, and so can a page of a file, by processes that have it uncached.
 */
void copy_user_highpage(struct page *to, struct page *from, unsigned long address, struct vm_area_struct *vma)
{
	bool pinned = folio_maybe_dma_pinned(page_folio(from));
	struct address_space *mapping = folio_mapping(page_folio(from));
	const void *there = pinned ? NULL : where_process_has(vma->vm_mm, from, address & PAGE_MASK);

	begin_user_page(to);
	if (there) {
		copy_page(page_address(to), there);
		return;
	}
	if (pinned)
		drop_user(vma->vm_mm, address & PAGE_MASK, PAGE_SIZE);
	if (mapping && mapping_writably_mapped(mapping))
		drop(page_address(from), PAGE_SIZE);
	copy_page(page_address(to), page_address(from));
	if (PageAnon(from))
		touch_user_page(from);
	if (pinned)
		drop(page_address(from), PAGE_SIZE);
}
EXPORT_SYMBOL(copy_user_highpage);

void clear_user_highpage(struct page *page, unsigned long address)
{
	begin_user_page(page);
	clear_page(page_address(page));
}
EXPORT_SYMBOL(clear_user_highpage);

/* vmalloc's pages are freed before they are unmapped. */
void l4_flush_cache_vunmap(unsigned long start, unsigned long end)
{
	drop((void *)start, end - start);
}

int l4_sync_code(unsigned long start, unsigned long end, unsigned long flags)
{
	if (end < start || flags)
		return -EINVAL;
	if (!access_ok((const void __user *)start, end - start))
		return -EFAULT;
	do_user_cache(current->mm, start, end - start, L4_CACHE_SYNC_CODE);
	return 0;
}
