// SPDX-License-Identifier: GPL-2.0
/*
 * The addresses of programs (layout.h).  Stack, heap, image and libraries are in a slot, from above and from below,
 * as in generic layouts.  When mmap() finds no room there it searches from l4_unmapped_base() on, and finally
 * everywhere except at the modified addresses of the process's own slot: there the processor has the first 32 MiB.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/quota.h"
#include "../../../um/os-L4/start.h"
#include "../../../um/os-L4/user_space.h"
#include "layout.h"
#include "processor.h"

/* What does not fit is at one of these places, by the slot's number, so that few spaces have a section in common. */
#define SPILL_PLACES	16
#define SPILL_STEP	(8UL << 20)

/* The arguments "l4_slots=pages" and "l4_slots=none" leave out Segments or also slots, to measure what these save. */
u32 l4_user_place __ro_after_init = L4_PLACE_RELOCATED;
static bool segments __ro_after_init = true;

static int __init slots_setup(char *text)
{
	segments = false;
	if (!strcmp(text, "none"))
		l4_user_place = 0;
	else if (strcmp(text, "pages"))
		pr_warn("l4_slots=%s: it is pages or none\n", text);
	return 1;
}
__setup("l4_slots=", slots_setup);

unsigned long l4_stack_top(void)
{
	/* The last page is for sigpage.c. */
	return L4_LOW_END - PAGE_SIZE;
}

unsigned long l4_dyn_base(void)
{
	return 4UL << 20;
}

unsigned long l4_unmapped_base(void)
{
	return L4_SPILL + l4_space_of(current->mm)->slot % SPILL_PLACES * SPILL_STEP;
}

/* The start of its slot; 0: it has none. */
static unsigned long slot_of(const struct l4_space *space)
{
	return (unsigned long)space->placed * L4_SLOT_BYTES;
}

static bool overlaps_slot(const struct l4_space *space, unsigned long from, unsigned long end)
{
	unsigned long slot = slot_of(space);

	return slot && from < slot + L4_SLOT_BYTES && end > slot;
}

bool arch_l4_space_suits(const struct l4_space *space, struct mm_struct *mm)
{
	unsigned long slot = slot_of(space);
	bool overlaps;

	if (!slot)
		return true;
	mmap_read_lock(mm);
	overlaps = find_vma_intersection(mm, slot, slot + L4_SLOT_BYTES);
	mmap_read_unlock(mm);
	return !overlaps;
}

/*
 * The highest free range, first above the process's slot, then below: one of the two has room for 1 GiB.  Other
 * processes have their slots there, and this server its shared memory: if the process touches pages there, each
 * switch to the owner of these addresses cleans the cache.  Addresses that are only reserved cost nothing.
 */
static unsigned long anywhere(unsigned long len)
{
	unsigned long slot = slot_of(l4_space_of(current->mm));
	struct vm_unmapped_area_info info = {
		.flags = VM_UNMAPPED_AREA_TOPDOWN,
		.length = len,
		.low_limit = slot ? slot + L4_SLOT_BYTES : L4_LOW_END,
		.high_limit = TASK_SIZE,
	};
	unsigned long found = vm_unmapped_area(&info);

	if (!IS_ERR_VALUE(found) || slot <= L4_LOW_END)
		return found;
	info.low_limit = L4_LOW_END;
	info.high_limit = slot;
	return vm_unmapped_area(&info);
}

/* The range that the generic functions found, if the process can access it. */
static unsigned long reachable(unsigned long found, unsigned long len, unsigned long flags)
{
	if (IS_ERR_VALUE(found) ? found != -ENOMEM : !overlaps_slot(l4_space_of(current->mm), found, found + len))
		return found;
	return flags & MAP_FIXED ? -ENOMEM : anywhere(len);
}

unsigned long arch_get_unmapped_area(struct file *file, unsigned long addr, unsigned long len, unsigned long pgoff, unsigned long flags,
				     vm_flags_t vm_flags)
{
	return reachable(generic_get_unmapped_area(file, addr, len, pgoff, flags, vm_flags), len, flags);
}

unsigned long arch_get_unmapped_area_topdown(struct file *file, unsigned long addr, unsigned long len, unsigned long pgoff,
					     unsigned long flags, vm_flags_t vm_flags)
{
	return reachable(generic_get_unmapped_area_topdown(file, addr, len, pgoff, flags, vm_flags), len, flags);
}

/*
 * The memory of a process in its slot is a Segment, which this server has attached at the same modified addresses:
 * the same lines of the cache, the same entries of the TLB (fass-wombat-arm-2007, sections 3.4 and 5).  Without
 * memory for one, or with others in the same slot, the space has pages of its own there, and this server reaches them
 * by the linear map.
 */
void arch_l4_space_created(struct l4_space *space)
{
	unsigned long at = slot_of(space), flags;
	u32 segment = space->placed && segments ? l4_slot_alloc() : 0, all = L4_RIGHT_READ | L4_RIGHT_WRITE | L4_RIGHT_EXECUTE;

	space->low = space->slot;
	space->direct = 0;
	if (!segment)
		return;
	if (l4_call(L4_OP_CREATE_SEGMENT, l4_user_quota, L4_LOW_END, segment, 0)) {
		l4_slot_free(segment);
		return;
	}
	/* In steps, as l4_delete(). */
	local_irq_save(flags);
	if (!l4_call(L4_OP_ATTACH, L4_SPACE, at, segment, all) && !l4_call(L4_OP_ATTACH, space->slot, 0, segment, all)) {
		space->low = segment;
		space->direct = at;
	}
	local_irq_restore(flags);
	if (!space->direct)
		l4_delete(segment);
}

void arch_l4_space_deleted(struct l4_space *space)
{
	if (space->low != space->slot)
		l4_delete(space->low);
}

/* All programs have one layout. */
void l4_set_layout(const struct elf32_hdr *elf, const struct elf32_phdr *ph, const struct file *interpreter) { }

/* In /proc/macadamia. */
void arch_l4_show(struct seq_file *m)
{
	u32 used, all = l4_relocation_slots(l4_user_quota, &used);

	seq_printf(m, "relocation %6u of %6u\n", used, all);
}

/* In /proc/PID/status: the slot, and how much is outside. */
void arch_proc_pid_thread_features(struct seq_file *m, struct task_struct *task)
{
	struct mm_struct *mm = get_task_mm(task);
	unsigned long outside = 0;
	struct vm_area_struct *vma;
	VMA_ITERATOR(all, mm, L4_LOW_END);

	if (!mm)
		return;
	mmap_read_lock(mm);
	for_each_vma(all, vma)
		outside += vma->vm_end - vma->vm_start;
	mmap_read_unlock(mm);
	seq_printf(m, "L4Slot:\t%u\nL4Outside:\t%lu kB\n", l4_space_of(mm)->placed, outside / 1024);
	mmput(mm);
}
