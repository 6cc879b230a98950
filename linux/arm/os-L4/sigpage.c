// SPDX-License-Identifier: GPL-2.0
/* Maps [sigpage] into each process, as arch/arm/kernel/process.c does. */
#include <linux/binfmts.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <asm/unistd.h>
#include "layout.h"
#include "sigpage.h"

/* mov r7, #nr; swi #nr.  (EABI looks at r7 alone.)  Then the same of Thumb, in one word. */
#define ARM_CALL(nr)	0xe3a07000 | (nr), 0xef900000 | (nr)
#define THUMB_CALL(nr)	0xdf002700 | (nr)

/* A word more: two are read from each index on. */
const u32 l4_sigreturn_codes[] = {
	ARM_CALL(__NR_sigreturn), THUMB_CALL(__NR_sigreturn),
	ARM_CALL(__NR_rt_sigreturn), THUMB_CALL(__NR_rt_sigreturn), 0,
};

static struct page *pages[2];

static int __init sigpage_init(void)
{
	void *page = (void *)get_zeroed_page(GFP_KERNEL);

	if (!page)
		return -ENOMEM;
	memcpy(page, l4_sigreturn_codes, sizeof(l4_sigreturn_codes));
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
	/* Behind the stack. */
	at = get_unmapped_area(NULL, L4_LOW_END - PAGE_SIZE, PAGE_SIZE, 0, 0);
	vma = ERR_PTR(at);
	if (!IS_ERR_VALUE(at))
		vma = _install_special_mapping(mm, at, PAGE_SIZE,
					       VM_READ | VM_EXEC | VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC, &mapping);
	if (!IS_ERR(vma))
		mm->context.id.vdso = at;
	mmap_write_unlock(mm);
	return PTR_ERR_OR_ZERO(vma);
}
