// SPDX-License-Identifier: GPL-2.0
/*
 * Where programs lie (layout.h).  Stack, heap, image and libraries fit a slot, from above and from below, as generic layouts
 * have it.  When mmap() finds no room there it looks from l4_unmapped_base() on.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include "../../../um/os-L4/l4.h"
#include "layout.h"

/* Processes have what does not fit at different places, so that their spaces have no section in common. */
#define SPILL_PLACES	16
#define SPILL_STEP	(8UL << 20)

u32 l4_events;

unsigned long l4_stack_top(void)
{
	/* The last page is for sigpage.c. */
	return L4_SLOT_END - PAGE_SIZE;
}

unsigned long l4_dyn_base(void)
{
	return 4UL << 20;
}

unsigned long l4_unmapped_base(void)
{
	return L4_SPILL + l4_space_of(current->mm)->slot % SPILL_PLACES * SPILL_STEP;
}

/* All programs have one layout. */
void l4_set_layout(const struct elf32_hdr *elf, const struct elf32_phdr *ph, const struct file *interpreter) { }

/* No space becomes small or large: the microkernel relocates all of them. */
void l4_region_begin(struct l4_space *space, unsigned long region) { }
void l4_region_end(struct l4_space *space) { }
void l4_space_enlarge(struct l4_space *space) { }
void l4_region_move(struct l4_space *space) { }
void l4_region_switched(struct l4_space *space) { }
void l4_region_tick(struct l4_space *space) { }
void l4_small_show(struct seq_file *m) { }

/* In /proc/PID/status: the slot, and how much lies outside. */
void arch_proc_pid_thread_features(struct seq_file *m, struct task_struct *task)
{
	struct mm_struct *mm = get_task_mm(task);
	unsigned long outside = 0;
	struct vm_area_struct *vma;
	VMA_ITERATOR(all, mm, L4_SLOT_END);

	if (!mm)
		return;
	mmap_read_lock(mm);
	for_each_vma(all, vma)
		outside += vma->vm_end - vma->vm_start;
	mmap_read_unlock(mm);
	seq_printf(m, "L4Slot:\t%u\nL4Outside:\t%lu kB\n", l4_space_of(mm)->placed, outside / 1024);
	mmput(mm);
}

bool l4_leave_region(struct mm_struct *mm)
{
	return false;
}
