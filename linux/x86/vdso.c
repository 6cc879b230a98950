// SPDX-License-Identifier: GPL-2.0
/* Mapping the vDSO into each process, as arch/x86/um/vdso does for 64 bits. */
#include <linux/binfmts.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include "../../../um/os-L4/l4.h"
#include "vdso.h"

unsigned long l4_vdso __ro_after_init = L4_VDSO;
unsigned long l4_vdso_syscall __ro_after_init = L4_VDSO + L4_VDSO_SYSCALL;
void __user *const l4_vdso_sigreturn = (void __user *)(L4_VDSO + L4_VDSO_SIGRETURN);
void __user *const l4_vdso_rt_sigreturn = (void __user *)(L4_VDSO + L4_VDSO_RT_SIGRETURN);

static struct page *pages[2];

static int __init vdso_init(void)
{
	extern const char l4_vdso_image[], l4_vdso_image_end[];

	BUG_ON(l4_vdso_image_end - l4_vdso_image != PAGE_SIZE);
	/* A page of RAM: those of the image are nobody else's. */
	pages[0] = alloc_page(GFP_KERNEL);
	if (!pages[0])
		return -ENOMEM;
	copy_page(page_address(pages[0]), l4_vdso_image);
	if (l4_kip[L4_KIP_FEATURES / 4] & L4_FEATURE_SYSENTER)
		l4_vdso_syscall = L4_VDSO + L4_VDSO_SYSENTER;
	return 0;
}
subsys_initcall(vdso_init);

int arch_setup_additional_pages(struct linux_binprm *bprm, int uses_interp)
{
	static const struct vm_special_mapping mapping = { .name = "[vdso]", .pages = pages };
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;

	if (mmap_write_lock_killable(mm))
		return -EINTR;
	vma = _install_special_mapping(mm, L4_VDSO, PAGE_SIZE,
				       VM_READ | VM_EXEC | VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC,
				       &mapping);
	mmap_write_unlock(mm);
	return PTR_ERR_OR_ZERO(vma);
}
