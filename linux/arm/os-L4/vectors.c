// SPDX-License-Identifier: GPL-2.0
/*
 * The page of exception vectors, with the helpers that programs call: the microkernel's, which all can read.  It is
 * in /proc/PID/maps and in core dumps, as in arch/arm/kernel/process.c.
 */
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/string.h>

#define VECTORS	0xffff0000UL

static struct vm_area_struct vectors;

/*
 * Linux finds the pages of a process in page tables: here in its own, with a copy, because the page itself is not
 * Linux's.
 */
static int __init vectors_init(void)
{
	void *copy = (void *)__get_free_page(GFP_KERNEL);
	pte_t *pte = pte_alloc_kernel(pmd_off_k(VECTORS), VECTORS);

	if (!copy || !pte)
		return -ENOMEM;
	memcpy(copy, (const void *)VECTORS, PAGE_SIZE);
	set_pte(pte, pte_mkuptodate(mk_pte(virt_to_page(copy), PAGE_READONLY)));
	vma_init(&vectors, NULL);
	vectors.vm_page_prot = PAGE_READONLY;
	vectors.vm_start = VECTORS;
	vectors.vm_end = VECTORS + PAGE_SIZE;
	vm_flags_init(&vectors, VM_READ | VM_EXEC | VM_MAYREAD | VM_MAYEXEC);
	return 0;
}
arch_initcall(vectors_init);

struct vm_area_struct *get_gate_vma(struct mm_struct *mm)
{
	return &vectors;
}

int in_gate_area(struct mm_struct *mm, unsigned long address)
{
	return address >= vectors.vm_start && address < vectors.vm_end;
}

int in_gate_area_no_mm(unsigned long address)
{
	return in_gate_area(NULL, address);
}

const char *arch_vma_name(struct vm_area_struct *vma)
{
	return vma == &vectors ? "[vectors]" : NULL;
}
