// SPDX-License-Identifier: GPL-2.0
/*
 * Maps [sigpage] into each process, as arch/arm/kernel/process.c does: a page with the instructions by which signal handlers return.
 * For processors without a vDSO.
 */
#include <linux/binfmts.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "sigpage.h"

static struct page *pages[2];

static int __init sigpage_init(void)
{
	void *page = (void *)get_zeroed_page(GFP_KERNEL);

	if (!page)
		return -ENOMEM;
	memcpy(page, arch_l4_sigreturn, arch_l4_sigreturn_bytes);
	pages[0] = virt_to_page(page);
	return 0;
}
subsys_initcall(sigpage_init);

unsigned long l4_sigpage(void)
{
	return current->mm->context.id.vdso;
}

static int moved(const struct vm_special_mapping *mapping, struct vm_area_struct *vma)
{
	current->mm->context.id.vdso = vma->vm_start;
	return 0;
}

int arch_setup_additional_pages(struct linux_binprm *bprm, int uses_interp)
{
	static const struct vm_special_mapping mapping = { .name = "[sigpage]", .pages = pages, .mremap = moved };
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	unsigned long at;

	if (mmap_write_lock_killable(mm))
		return -EINTR;
	/* After the stack. */
	at = get_unmapped_area(NULL, l4_stack_top(), PAGE_SIZE, 0, 0);
	vma = ERR_PTR(at);
	if (!IS_ERR_VALUE(at))
		vma = _install_special_mapping(mm, at, PAGE_SIZE,
					       VM_READ | VM_EXEC | VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC, &mapping);
	if (!IS_ERR(vma))
		mm->context.id.vdso = at;
	mmap_write_unlock(mm);
	return PTR_ERR_OR_ZERO(vma);
}
