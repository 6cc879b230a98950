// SPDX-License-Identifier: GPL-2.0
/*
 * Maps a page into each process with the instructions by which signal handlers return.  Debuggers and libraries know a
 * signal's frame by them, at any address.
 */
#include <linux/binfmts.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <asm/unistd.h>
#include "layout.h"
#include "sigpage.h"

/* li r0, nr; sc */
#define CALL(nr)	0x38000000 | (nr), 0x44000002

static const u32 codes[] = { CALL(__NR_sigreturn), CALL(__NR_rt_sigreturn) };
static struct page *pages[2];

static int __init sigpage_init(void)
{
	void *page = (void *)get_zeroed_page(GFP_KERNEL);

	if (!page)
		return -ENOMEM;
	memcpy(page, codes, sizeof(codes));
	pages[0] = virt_to_page(page);
	return 0;
}
subsys_initcall(sigpage_init);

unsigned long l4_sigreturn_code(bool info)
{
	return current->mm->context.id.vdso + (info ? sizeof(codes) / 2 : 0);
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
	at = get_unmapped_area(NULL, L4_USER_END - PAGE_SIZE, PAGE_SIZE, 0, 0);
	vma = ERR_PTR(at);
	if (!IS_ERR_VALUE(at))
		vma = _install_special_mapping(mm, at, PAGE_SIZE,
					       VM_READ | VM_EXEC | VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC, &mapping);
	if (!IS_ERR(vma))
		mm->context.id.vdso = at;
	mmap_write_unlock(mm);
	return PTR_ERR_OR_ZERO(vma);
}
