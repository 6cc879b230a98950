// SPDX-License-Identifier: GPL-2.0
/*
 * Maps the vDSO and the data of its clocks into each process, as arch/x86/entry/vdso and arch/powerpc/kernel/vdso.c do.
 * For processors with CONFIG_UML_OWN_VDSO.
 */
#include <linux/binfmts.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/timekeeper_internal.h>
#include <vdso/datapage.h>
#include <os-L4/vdso.h>
#include "vdso.h"

/* Linux writes clock data before pages can be allocated. */
static struct vdso_data first[CS_BASES] __initdata;
struct vdso_data *l4_vdso_data __refdata = first;

static struct page *data_pages[1 + 1], *code_pages[L4_VDSO_PAGES + 1];

/* Allocates pages of RAM.  Pages of the server's image cannot be mapped into processes. */
static void *__init ram(struct page **pages, unsigned int count)
{
	void *at = alloc_pages_exact(count * PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	unsigned int i;

	for (i = 0; at && i < count; i++)
		pages[i] = virt_to_page(at + i * PAGE_SIZE);
	return at;
}

static int __init vdso_init(void)
{
	size_t bytes = l4_vdso_image_end - l4_vdso_image;
	void *data = ram(data_pages, 1), *code = ram(code_pages, L4_VDSO_PAGES);
	unsigned long flags;

	BUILD_BUG_ON(L4_VDSO_DATA + sizeof(first) > PAGE_SIZE);
	BUG_ON(bytes > L4_VDSO_PAGES * PAGE_SIZE);
	if (!data || !code)
		return -ENOMEM;
	memcpy(code, l4_vdso_image, bytes);
	arch_l4_vdso_init(data);
	local_irq_save(flags);
	l4_vdso_data = memcpy(data + L4_VDSO_DATA, first, sizeof(first));
	local_irq_restore(flags);
	return 0;
}
subsys_initcall(vdso_init);

/* mremap() by a process. */
static int moved(const struct vm_special_mapping *mapping, struct vm_area_struct *vma)
{
	unsigned long *vdso = &current->mm->context.id.vdso;

	arch_l4_vdso_moves(*vdso, vma->vm_start);
	*vdso = vma->vm_start;
	return 0;
}

/*
 * The vDSO lies above the stack, at a random address for which the stack's page table suffices.  Elsewhere it would cost
 * each process a page of the microkernel's memory for a table.
 */
static unsigned long beside(unsigned long stack_end, unsigned long bytes)
{
	unsigned long end = ALIGN(stack_end + bytes, PMD_SIZE) - bytes;

	return get_unmapped_area(NULL, stack_end + (get_random_u32_below((end - stack_end) / PAGE_SIZE + 1) << PAGE_SHIFT),
				 bytes, 0, 0);
}

int arch_setup_additional_pages(struct linux_binprm *bprm, int uses_interp)
{
	static const struct vm_special_mapping data = { .name = "[vvar]", .pages = data_pages };
	static const struct vm_special_mapping code = {
		.name = "[vdso]", .pages = code_pages, .mremap = moved,
	};
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	unsigned long at;

	if (mmap_write_lock_killable(mm))
		return -EINTR;
	at = beside(find_vma(mm, bprm->p)->vm_end, (1 + L4_VDSO_PAGES) * PAGE_SIZE);
	vma = ERR_PTR(at);
	if (IS_ERR_VALUE(at))
		goto out;
	vma = _install_special_mapping(mm, at, PAGE_SIZE, VM_READ | VM_MAYREAD | VM_DONTDUMP, &data);
	if (IS_ERR(vma))
		goto out;
	/* VM_MAYWRITE: a debugger's breakpoint makes a copy of the page. */
	vma = _install_special_mapping(mm, at + PAGE_SIZE, L4_VDSO_PAGES * PAGE_SIZE,
				       VM_READ | VM_EXEC | VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC,
				       &code);
	if (!IS_ERR(vma))
		mm->context.id.vdso = at + PAGE_SIZE;
out:
	mmap_write_unlock(mm);
	if (!IS_ERR_OR_NULL(vma))
		arch_l4_laid_out(mm);
	return PTR_ERR_OR_ZERO(vma);
}
