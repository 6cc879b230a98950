// SPDX-License-Identifier: GPL-2.0
/* Maps the vDSO and the data of its clocks into each process, as arch/x86/entry/vdso does. */
#include <linux/binfmts.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/timekeeper_internal.h>
#include <vdso/datapage.h>
#include <asm/vdso/vsyscall.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "small.h"
#include "vdso.h"

static unsigned long entry __ro_after_init = L4_VDSO_SYSCALL;

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
	extern const char l4_vdso_image[], l4_vdso_image_end[];
	size_t bytes = l4_vdso_image_end - l4_vdso_image;
	void *data = ram(data_pages, 1), *code = ram(code_pages, L4_VDSO_PAGES);
	unsigned long flags;

	BUG_ON(bytes > L4_VDSO_PAGES * PAGE_SIZE);
	if (!data || !code)
		return -ENOMEM;
	memcpy(code, l4_vdso_image, bytes);
	local_irq_save(flags);
	l4_vdso_data = memcpy(data + L4_VDSO_DATA, first, sizeof(first));
	local_irq_restore(flags);
	if (l4_kip[L4_KIP_FEATURES / 4] & L4_FEATURE_SYSENTER)
		entry = L4_VDSO_SYSENTER;
	return 0;
}
subsys_initcall(vdso_init);

unsigned long l4_vdso_entry(void)
{
	return current->mm->context.id.vdso + entry;
}

/* mremap() by a process.  If this system call came by the vDSO's landing pad, it returns to the new one. */
static int moved(const struct vm_special_mapping *mapping, struct vm_area_struct *vma)
{
	unsigned long *vdso = &current->mm->context.id.vdso;
	struct pt_regs *regs = task_pt_regs(current);

	if (PT_REGS_IP(regs) == *vdso + L4_VDSO_LANDING) {
		PT_REGS_IP(regs) = vma->vm_start + L4_VDSO_LANDING;
		set_thread_flag(TIF_HOST_THREAD);
	}
	*vdso = vma->vm_start;
	return 0;
}

/*
 * The vDSO lies above the stack, at a random address for which the stack's page table suffices.  Elsewhere it would cost
 * each process a page of the microkernel's memory for a table.
 */
static unsigned long beside(unsigned long stack_end, unsigned long bytes)
{
	unsigned long end = ALIGN(stack_end + bytes, PGDIR_SIZE) - bytes;

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
	/* Exec lays out nothing any more. */
	if (!IS_ERR_OR_NULL(vma))
		l4_enter_region(mm);
	return PTR_ERR_OR_ZERO(vma);
}
