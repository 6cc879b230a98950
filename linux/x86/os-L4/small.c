// SPDX-License-Identifier: GPL-2.0
/*
 * Small processes.  Their spaces are next to each other in the page tables of a home, which shows this server: so a
 * switch from one to another needs no switch of page tables.  A small process can access only the addresses below the
 * size of its region.  It does not learn where the region is, nor does Linux: the microkernel adds and subtracts.
 *
 * A program is laid out for a region when it is executed: stack, libraries, heap.  The end of its address space is
 * still that of other programs.  If it maps something beyond the region, or if its segments forbid an access, its
 * space becomes a large one, and the instruction is repeated.  It stays large until it executes another program.
 *
 * A thread's segment ends where the region does.  So thread-local variables must not have negative offsets from the
 * thread pointer, as they have with glibc: a program with such variables has a PT_TLS segment, or a dynamic linker
 * that is not musl's.  Any other program with such variables becomes large at the first access to one.
 */
#include <linux/bitmap.h>
#include <linux/elf.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <asm/tlbflush.h>
#include <os.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/mm.h"
#include "../../../um/os-L4/quota.h"
#include "../../../um/os-L4/records.h"
#include "../../../um/os-L4/start.h"
#include "../../../um/os-L4/user_space.h"
#include "small.h"
#include "layout.h"

/* A region has one, two or four of these units.  One is enough for a program that may be loaded at any address. */
#define UNIT		(64UL << 20)
#define UNITS		(L4_USER_END / UNIT)
/* The largest region. */
#define MOST		(256UL << 20)
/* What a program gets in its region beside its image, at least: stack, heap, memory that it maps. */
#define ROOM		(40UL << 20)
/* The largest limit of stacks, and the most random bits of addresses, for which that is enough. */
#define STACK_MOST	(16UL << 20)
#define RANDOM_MOST	10
#define HOMES		16

static struct home {
	u32 slot;
	DECLARE_BITMAP(used, UNITS);
} homes[HOMES];

/*
 * l4_small=: "off"; "all" that can be small; or, by default, those for which it pays off.  Each event of a small
 * process costs more, because of the segments.  Each switch from another small one saves what the page tables would
 * cost: as much as PAYS events cost.  This is evaluated after PERIOD such switches.
 */
static enum { OFF, AUTO, ALL } policy = AUTO;
#define PAYS		15
#define PERIOD		64

static int __init small_setup(char *text)
{
	if (!strcmp(text, "off"))
		policy = OFF;
	else if (!strcmp(text, "all"))
		policy = ALL;
	else if (strcmp(text, "auto"))
		return 0;
	return 1;
}
__setup("l4_small=", small_setup);

/* Small spaces; how often one became large as its program needed that. */
static unsigned int small_spaces;
static unsigned long promotions;

/* All events of processes; what they were when the last space began to run, unless it is gone. */
u32 l4_events;
static u32 events_before;
static struct l4_space *last;

/* Whether this is musl's dynamic linker. */
static bool is_musl(const struct file *interpreter)
{
	const char *name = interpreter->f_path.dentry->d_name.name;

	return strstarts(name, "ld-musl-") || !strcmp(name, "libc.so");
}

/* The region that a program needs, or 0 if it cannot be small. */
static unsigned long region_for(const struct elf32_hdr *elf, const struct elf32_phdr *ph, const struct file *interpreter)
{
	unsigned long end = 0;
	int i;

	if (interpreter && !is_musl(interpreter))
		return 0;
	/* A stack's end is not moved later, and mmap() looks for room only below it. */
	if (rlimit(RLIMIT_STACK) > STACK_MOST || mmap_rnd_bits > RANDOM_MOST)
		return 0;
	for (i = 0; i < elf->e_phnum; i++) {
		if (ph[i].p_type == PT_TLS)
			return 0;
		if (ph[i].p_type == PT_LOAD)
			end = max_t(unsigned long, end, ph[i].p_vaddr + ph[i].p_memsz);
	}
	if (end > MOST - ROOM)
		return 0;
	return max(UNIT, roundup_pow_of_two(end + ROOM));
}

/* Exec has installed the program's mm, and is about to lay it out (patch 18). */
void l4_set_layout(const struct elf32_hdr *elf, const struct elf32_phdr *ph, const struct file *interpreter)
{
	bool wanted = policy != OFF && l4_is_server;

	current->mm->context.id.region = wanted ? region_for(elf, ph, interpreter) : 0;
}

/* Where the current process's stack ends at most.  In a region there is room for the vDSO above. */
unsigned long l4_stack_top(void)
{
	unsigned long region = current->mm ? current->mm->context.id.region : 0;

	return region ? region - 4 * PAGE_SIZE : TASK_SIZE - 2 * PAGE_SIZE;
}

/*
 * The address of a program that may be loaded anywhere and has a dynamic linker; for other programs, that of the
 * heap, which is then up to 32 MiB higher.
 */
unsigned long l4_dyn_base(void)
{
	unsigned long region = current->mm->context.id.region;

	return region ? region / 8 : TASK_SIZE / 3 * 2;
}

/* Finds room in a home for so many units, and takes it.  Regions lie at multiples of their size.  Returns the unit, or -1. */
static int take(struct home *home, unsigned int units)
{
	unsigned long at = bitmap_find_next_zero_area(home->used, UNITS, 0, units, units - 1);

	if (at + units > UNITS)
		return -1;
	bitmap_set(home->used, at, units);
	return at;
}

/* Makes a space small, if there is room. */
static void move_in(struct l4_space *space)
{
	unsigned int units = space->arch.region / UNIT, i = 0;
	struct l4_table *t = space->table;
	struct home *home = homes;
	unsigned long flags;
	u32 status, placed;
	int at, err;

	for (; home < homes + HOMES; home++) {
		if (!home->slot)
			home->slot = l4_user_space_create(L4_HOME, &placed);
		if (!home->slot)
			return;
		at = take(home, units);
		if (at >= 0)
			break;
	}
	if (home == homes + HOMES)
		return;
	/* The space may have tables of an earlier process, or of exec's, beyond its end. */
	err = l4_unmap_record(space->slot, space->arch.region, L4_USER_END - space->arch.region);
	if (l4_map_flush() || err)
		goto out;
	while (i < space->tables) {
		if (t[i].base >= space->arch.region)
			t[i] = t[--space->tables];
		else
			i++;
	}
	space->last = t;
	/* In steps, as l4_delete(). */
	local_irq_save(flags);
	status = l4_call(L4_OP_ATTACH, home->slot, at * UNIT, space->slot,
			 space->arch.region | L4_RIGHT_READ | L4_RIGHT_WRITE | L4_RIGHT_EXECUTE);
	local_irq_restore(flags);
	if (status) {
		if (!l4_is_out_of_memory(status))
			pr_warn_ratelimited("l4: %s[%d] cannot be small: error %u\n", current->comm, task_pid_nr(current), status);
		goto out;
	}
	space->arch.home = home;
	space->arch.unit = at;
	small_spaces++;
	return;
out:
	bitmap_clear(home->used, at, units);
}

static void move_out(struct l4_space *space)
{
	struct home *home = space->arch.home;
	unsigned long flags;

	local_irq_save(flags);
	if (l4_call(L4_OP_DETACH, home->slot, space->arch.unit * UNIT, 0, 0))
		panic("l4: space %u does not leave its home", space->slot);
	local_irq_restore(flags);
	bitmap_clear(home->used, space->arch.unit, space->arch.region / UNIT);
	space->arch.home = NULL;
	small_spaces--;
}

void l4_region_begin(struct l4_space *space, unsigned long region)
{
	space->arch.region = region;
	space->arch.moves = false;
	space->arch.events = space->arch.switches = 0;
	if (region && policy == ALL)
		move_in(space);
}

void l4_space_enlarge(struct l4_space *space)
{
	if (space->arch.home)
		move_out(space);
}

void l4_region_end(struct l4_space *space)
{
	l4_space_enlarge(space);
	space->arch.region = 0;
	if (last == space)
		last = NULL;
}

void l4_enter_region(struct mm_struct *mm)
{
	if (!mm->context.id.region)
		return;
	/* The stack was made elsewhere, and then moved. */
	l4_tlb_sync(mm);
	l4_region_begin(l4_space_of(mm), mm->context.id.region);
}

bool l4_leave_region(struct mm_struct *mm)
{
	struct l4_space *space = l4_space_of(mm);
	bool was_small = space->arch.home;

	if (was_small) {
		move_out(space);
		promotions++;
	}
	/* Nor are its children small. */
	space->arch.region = 0;
	mm->context.id.region = 0;
	return was_small;
}

void l4_region_move(struct l4_space *space)
{
	space->arch.moves = false;
	if (space->arch.home)
		move_out(space);
	else if (space->arch.region)
		move_in(space);
}

/* Whether a small space should be large, or the other way round.  If so, it is changed before it runs again. */
static void look_at(struct l4_space *space)
{
	bool pays = space->arch.switches >= PERIOD && space->arch.events < PAYS * PERIOD;

	space->arch.moves = policy == AUTO && pays != !!space->arch.home;
	space->arch.events = space->arch.switches = 0;
}

/* Adds the events since the last call to this space's.  With so many before PERIOD switches it does not pay off. */
static void note_events(struct l4_space *space)
{
	space->arch.events += l4_events - events_before;
	events_before = l4_events;
	if (space->arch.events >= PAYS * PERIOD)
		look_at(space);
}

void l4_region_tick(struct l4_space *space)
{
	note_events(space);
	l4_mappings_dirty |= space->arch.moves;
}

/* Another mm is to run. */
void l4_region_switched(struct l4_space *space)
{
	if (space == last)
		return;
	if (last && last->arch.region) {
		note_events(last);
		if (space->arch.region && ++space->arch.switches == PERIOD)
			look_at(space);
	}
	events_before = l4_events;
	last = space;
	l4_mappings_dirty |= space->arch.moves;
}

void l4_small_show(struct seq_file *m)
{
	seq_printf(m, "small      %6u\n", small_spaces);
	seq_printf(m, "promotions %6lu\n", promotions);
}

/* In /proc/PID/status. */
void arch_proc_pid_thread_features(struct seq_file *m, struct task_struct *task)
{
	struct mm_struct *mm = get_task_mm(task);

	if (!mm)
		return;
	seq_printf(m, "L4Small:\t%lu kB\n", l4_space_of(mm)->arch.home ? l4_space_of(mm)->arch.region / 1024 : 0);
	mmput(mm);
}
