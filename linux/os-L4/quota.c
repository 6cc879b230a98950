// SPDX-License-Identifier: GPL-2.0
/*
 * What processes may use of the microkernel's memory and threads.
 *
 * What Linux itself will need is set aside at boot.  The rest is a Quota to which processes' spaces, page tables and
 * threads are charged.  The microkernel's page tables of processes are a cache of Linux's (mm.c): if there is no
 * memory for one, those of another process are reclaimed.  Spaces cannot be reclaimed.  So fork fails if, besides the
 * spaces, there would be no room for TABLES_KEPT page tables.
 */
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <as-layout.h>
#include <kern_util.h>
#include <mem_user.h>
#include <os.h>
#include "l4_syscall.h"
#include "memory.h"
#include "mm.h"
#include "quota.h"
#include "records.h"
#include "start.h"
#include "user_space.h"
#include <os-L4/layout.h>
#include <os-L4/processor.h>

/* More than an instruction can need: then a process always makes progress. */
#define TABLES_KEPT	64
/* Threads that Linux itself creates later, for disks and channels. */
#define OWN_THREADS	8
/* Bytes besides tables and UTCBs: the Quota itself, attachments. */
#define OWN_BYTES	0x10000

/* Where vmalloc begins: after RAM, unless the layout says it. */
#ifndef L4_VMALLOC_START
#define L4_VMALLOC_START	(L4_SERVER_BASE + physmem_size)
#endif

u32 l4_user_quota;
/* The number of spaces, and its limit. */
static unsigned int spaces, spaces_most;

struct use {
	u32 bytes, limit, threads, thread_limit;
};

static struct use use_of(u32 quota)
{
	struct l4_regs r;

	if (l4_call_out(L4_OP_QUOTA_INFO, quota, 0, 0, 0, &r))
		return (struct use){ };
	return (struct use){ r.r1, r.r2, r.r3 & 0xffff, r.r3 >> 16 };
}

/* Slots of relocation, where the processor has them. */
u32 l4_relocation_slots(u32 quota, u32 *used)
{
	struct l4_regs r;

	if (l4_call_out(L4_OP_QUOTA_INFO, quota, 1, 0, 0, &r))
		return *used = 0;
	*used = r.r1;
	return r.r2;
}

/* Creates a space for a process, or a home.  If this Linux is a server, the space shows it before anything runs there. */
static u32 create_space(u32 slot, u32 place, u32 *placed)
{
	struct l4_regs r;
	u32 status = l4_call_out(L4_OP_CREATE_SPACE, l4_user_quota, 0, slot, place, &r);

	*placed = r.r2;
	if (status || !l4_is_server)
		return status;
	status = l4_call(L4_OP_ATTACH, slot, L4_USER_END, L4_SPACE, L4_RIGHT_READ | L4_RIGHT_WRITE | L4_RIGHT_EXECUTE);
	if (status)
		l4_call(L4_OP_DELETE, slot, 0, 0, 0);
	return status;
}

/* How many bytes a space takes without page tables, but with its attachments.  0: there is no memory. */
static u32 __init measure_space(void)
{
	u32 before = use_of(l4_user_quota).bytes, bytes = 0;
	struct l4_space space = { .slot = l4_slot_alloc() };

	if (!space.slot || create_space(space.slot, ARCH_L4_USER_PLACE, &space.placed))
		return 0;
	arch_l4_space_created(&space);
	if (!l4_ram_record(space.low, 0, l4_ram_start, PAGE_SIZE, UM_PROT_READ) && !l4_map_flush()) {
		l4_unmap_all(&space);
		bytes = use_of(l4_user_quota).bytes - before;
	}
	arch_l4_space_deleted(&space);
	l4_delete(space.slot);
	return bytes;
}

int __init l4_quota_init(void)
{
	struct use own = use_of(L4_QUOTA);
	u32 threads = min(own.thread_limit, L4_UTCB_SLOTS);
	/* Page tables for all of vmalloc, and the UTCBs of all threads, which lie in Linux's space. */
	u32 vmalloc = (L4_VMALLOC_END - L4_VMALLOC_START) / PMD_SIZE + 1;
	u32 kept = vmalloc * PAGE_SIZE + DIV_ROUND_UP(threads, L4_UTCB_SLOTS_A_PAGE) * PAGE_SIZE + OWN_BYTES;
	u32 left = own.limit - own.bytes, a_space;
	u32 used, slots = l4_relocation_slots(L4_QUOTA, &used);

	l4_user_quota = l4_slot_alloc();
	if (!l4_user_quota || left <= kept || threads - own.threads <= OWN_THREADS ||
	    l4_call(L4_OP_CREATE_QUOTA, L4_QUOTA, left - kept, l4_user_quota,
		    (threads - own.threads - OWN_THREADS) | (slots - used) << 16))
		return -ENOMEM;
	a_space = measure_space();
	left = use_of(l4_user_quota).limit;
	if (!a_space || left <= TABLES_KEPT * PAGE_SIZE)
		return -ENOMEM;
	spaces_most = (left - TABLES_KEPT * PAGE_SIZE) / a_space;
	return 0;
}

u32 l4_user_space_create(u32 place, u32 *placed)
{
	unsigned long flags;
	u32 slot, status;
	bool own;

	if (spaces >= spaces_most)
		return 0;
	slot = l4_slot_alloc();
	if (!slot)
		return 0;
	do {
		/* In steps, as l4_delete(). */
		local_irq_save(flags);
		status = create_space(slot, place, placed);
		local_irq_restore(flags);
	} while (l4_is_out_of_memory(status) && l4_reclaim_tables(0, &own));
	if (status) {
		l4_slot_free(slot);
		return 0;
	}
	spaces++;
	return slot;
}

void l4_user_space_delete(u32 space)
{
	/* A record that waits might name this slot. */
	WARN_ON_ONCE(l4_batched);
	l4_delete(space);
	spaces--;
}

static int show(struct seq_file *m, void *nothing)
{
	struct use own = use_of(L4_QUOTA), user = use_of(l4_user_quota);

	seq_printf(m, "spaces     %6u of %6u\n", spaces, spaces_most);
	seq_printf(m, "threads    %6u of %6u\n", user.threads, user.thread_limit);
	seq_printf(m, "slots      %6u of %6u\n", l4_slots_used(), l4_slots());
	seq_printf(m, "processes  %6u of %6u KiB\n", user.bytes / 1024, user.limit / 1024);
	seq_printf(m, "Linux      %6u of %6u KiB\n", (own.bytes - user.limit) / 1024, (own.limit - user.limit) / 1024);
	seq_printf(m, "reclaims   %6lu\n", l4_reclaims);
	arch_l4_show(m);
	return 0;
}

/* /proc/macadamia: what Linux uses of the microkernel, and how often page tables were reclaimed. */
static int __init proc_init(void)
{
	return proc_create_single("macadamia", 0444, NULL, show) ? 0 : -ENOMEM;
}
device_initcall(proc_init);
