// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings, and the initrd.
 *
 * Linux's physical memory is one window that the root server mapped: the image, and after it all of the Memory
 * called "ram".  Processes get pages of "ram" only.
 *
 * Changes of mappings are collected in a batch of records.  It goes to the microkernel when it is full, and by
 * l4_map_flush().
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/memblock.h>
#include <linux/mm.h>
#include <linux/page-isolation.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <asm/sections.h>
#include <as-layout.h>
#include <kern_util.h>
#include <mem_user.h>
#include <os.h>
#include "l4_syscall.h"
#include "memory.h"
#include "mm.h"
#include "records.h"
#include "start.h"
#include "user_space.h"
#include <os-L4/layout.h>
#include <os-L4/processor.h>

/* The operation of a record. */
#define L4_RECORD_OP(what)	((what) >> 8 & 15)

#define RAM_FD		1
#define INITRD_FD	2
#define MAX_RECORDS	L4_MAP_MAX

u32 l4_ram_slot;
unsigned long l4_ram_start;
bool l4_network_pages;

struct l4_record l4_batch[MAX_RECORDS];
unsigned int l4_batched;

int __init l4_ram_init(void)
{
	const struct l4_grant *ram = l4_find_grant("ram"), *network = l4_find_grant("network");
	unsigned long base = (unsigned long)__binary_start & PAGE_MASK;
	unsigned long end = PAGE_ALIGN((unsigned long)_end);

	BUILD_BUG_ON(L4_SERVER_BASE % (4 << 20) || L4_USER_END % (4 << 20));
	if (!ram || ram->address != end || ram->bytes > L4_RAM_END - end)
		return -ENOMEM;
	/* Memory that boot allocates, and keeps, is in the large page of the server's data. */
	memblock_set_bottom_up(true);
	l4_ram_slot = ram->slot;
	l4_ram_start = end - base;
	physmem_size = l4_ram_start + ram->bytes;
	/* Frames that follow it have page descriptors, but these pages are never allocated. */
	if (network && network->address >= ram->address + ram->bytes && network->address < L4_RAM_END) {
		l4_network_pages = true;
		end = PAGE_ALIGN(network->address + network->bytes);
		memblock_reserve(physmem_size, end - base - physmem_size);
		physmem_size = end - base;
	}
	return 0;
}

/* Later allocations that cannot be moved, such as tasks, begin with the rest of that large page. */
void __init l4_group_unmovable(void)
{
	set_pageblock_migratetype(virt_to_page((unsigned long)_end), MIGRATE_UNMOVABLE);
}

/* Sends records to the microkernel.  If one fails, *bad is its index. */
static u32 send_records(const void *records, unsigned int count, u32 *bad)
{
	unsigned long flags;
	struct l4_regs r;
	u32 status;

	/* An interrupt that prints something uses the same UTCB. */
	local_irq_save(flags);
	memcpy((void *)l4_utcb, records, count * sizeof(l4_batch[0]));
	status = l4_call_out(L4_OP_MAP, count, 0, 0, 0, &r);
	local_irq_restore(flags);
	*bad = min(r.r1, count - 1);
	return status;
}

void l4_unmap_all(const struct l4_space *space)
{
	const unsigned long records[2][4] = {
		{ space->slot, L4_LOW_END | L4_MAP_UNMAP << 8, 0, L4_USER_END - L4_LOW_END },
		{ space->low, L4_MAP_UNMAP << 8, 0, L4_LOW_END },
	};
	u32 bad;

	/* Unmapping cannot fail. */
	send_records(records, L4_LOW_END ? 2 : 1, &bad);
}

/* How many of these records are sent at once.  One that maps has a fast path of its own on some processors. */
static unsigned int at_once(const struct l4_record *records, unsigned int count)
{
	unsigned int n = 0;

	if (!ARCH_L4_FAST_MAP)
		return count;
	while (n < count && L4_RECORD_OP(records[n].word[1]) != L4_MAP_MAP)
		n++;
	return n ?: 1;
}

int l4_map_flush(void)
{
	unsigned int first = 0, count = l4_batched, n;
	/* Records below this index must not reclaim again, because their own space's tables were reclaimed once. */
	unsigned int reclaimed = 0;
	bool own;
	int err = 0;

	l4_batched = 0;
	/* After a record that fails the others are sent all the same. */
	while (first < count) {
		const unsigned long *bad;
		u32 status, failed;

		n = at_once(&l4_batch[first], count - first);
		status = send_records(&l4_batch[first], n, &failed);
		if (!status) {
			first += n;
			continue;
		}
		first += failed;
		bad = l4_batch[first].word;
		if (l4_is_out_of_memory(status) && first >= reclaimed && l4_reclaim_tables(bad[0] & 0xffff, &own)) {
			if (own)
				reclaimed = first + 1;
			continue;
		}
		pr_err("l4: %s[%d]: a page cannot be mapped: error %u%s (record %u of %u: %lx %lx %lx %lx)\n",
		       current->comm, task_pid_nr(current), status, l4_error_hint(status), first, count,
		       bad[0], bad[1], bad[2], bad[3]);
		err = -ENOMEM;
		first++;
	}
	return err;
}

struct l4_next l4_next;

int l4_begin_record(u32 selectors, unsigned long what, unsigned long offset, unsigned long len)
{
	int err = l4_batched == MAX_RECORDS ? l4_map_flush() : 0;

	BUILD_BUG_ON(UM_PROT_READ != L4_RIGHT_READ || UM_PROT_WRITE != L4_RIGHT_WRITE || UM_PROT_EXEC != L4_RIGHT_EXECUTE);
	l4_batch[l4_batched++] = (struct l4_record){ { selectors, what, offset, len } };
	l4_next = (struct l4_next){ selectors, what + len, offset + len };
	return err;
}

int l4_unmap_record(u32 space, unsigned long virt, unsigned long len)
{
	/* The microkernel ignores the offset.  It is the address, so that l4_add_record() can join records. */
	return l4_add_record(space, virt | L4_MAP_UNMAP << 8, virt, len);
}

static unsigned int prot_of(int r, int w, int x)
{
	return (r ? UM_PROT_READ : 0) | (w ? UM_PROT_WRITE : 0) |
	       (x ? UM_PROT_EXEC : 0);
}

int __init create_mem_file(unsigned long long len)
{
	return RAM_FD;
}

/* Maps vmalloc's memory.  The root server has mapped the linear map. */
int os_map_memory(void *virt, int fd, unsigned long long off,
		  unsigned long len, int r, int w, int x)
{
	int err;

	if ((unsigned long)virt == uml_physmem + (unsigned long)off)
		return 0;
	err = l4_ram_record(L4_SPACE, (unsigned long)virt, off, len, prot_of(r, w, x));
	return err ? err : l4_map_flush();
}

int os_unmap_memory(void *addr, int len)
{
	int err = l4_unmap_record(L4_SPACE, (unsigned long)addr, len);

	return err ? err : l4_map_flush();
}

void stack_protections(unsigned long address) { }
int __init parse_iomem(char *str, int *add) { return 1; }

/* initrd=NAME is the grant of this name.  The root server has mapped it, below L4_VMALLOC_END. */
static const struct l4_grant *initrd;

int __init os_file_size(const char *file, unsigned long long *size_out)
{
	initrd = l4_find_grant(file);
	if (!initrd || !initrd->address)
		return -ENOENT;
	*size_out = initrd->bytes;
	/* The memory for its copy is freed later.  So it is allocated from the other end, until the file is closed. */
	if (initrd->bytes)
		memblock_set_bottom_up(false);
	return 0;
}

int os_open_file(const char *file, struct openflags flags, int mode)
{
	return INITRD_FD;
}

int os_read_file(int fd, void *buf, int len)
{
	memcpy(buf, (const void *)initrd->address, len);
	return len;
}

/* The initrd was read.  It lies where vmalloc is going to be. */
void __init os_close_file(int fd)
{
	memblock_set_bottom_up(true);
	os_unmap_memory((void *)initrd->address, PAGE_ALIGN(initrd->bytes));
}

/* setup_physmem() copies the stub page into the RAM file; there is no stub. */
int os_seek_file(int fd, unsigned long long offset) { return 0; }
int os_write_file(int fd, const void *buf, int count) { return count; }
int os_fsync_file(int fd) { return 0; }
