/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hooks of <asm/cacheflush.h> for virtual caches.  Documentation/core-api/cachetlb.rst says when they are called, cache.c what
 * is done.
 */
#ifndef __ARM_OS_L4_CACHEFLUSH_H
#define __ARM_OS_L4_CACHEFLUSH_H

struct folio;
struct page;
struct vm_area_struct;

#define ARCH_IMPLEMENTS_FLUSH_DCACHE_PAGE 1
void flush_dcache_folio(struct folio *folio);
#define flush_dcache_folio flush_dcache_folio
void flush_dcache_page(struct page *page);
#define flush_dcache_page flush_dcache_page

#define ARCH_HAS_FLUSH_ANON_PAGE
void flush_anon_page(struct vm_area_struct *vma, struct page *page, unsigned long address);

void copy_to_user_page(struct vm_area_struct *vma, struct page *page, unsigned long address, void *to, const void *from,
		       unsigned long n);
#define copy_to_user_page copy_to_user_page
void copy_from_user_page(struct vm_area_struct *vma, struct page *page, unsigned long address, void *to, const void *from,
			 unsigned long n);
#define copy_from_user_page copy_from_user_page

#define __HAVE_ARCH_COPY_USER_HIGHPAGE
void copy_user_highpage(struct page *to, struct page *from, unsigned long address, struct vm_area_struct *vma);

void clear_user_highpage(struct page *page, unsigned long address);
#define clear_user_highpage clear_user_highpage

void l4_flush_cache_vunmap(unsigned long start, unsigned long end);

#endif
