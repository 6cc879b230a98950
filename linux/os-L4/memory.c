// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings, and the boot modules seen as files.
 *
 * Linux's physical memory is one window that the root server mapped: the image, and
 * behind it all of the Memory called "ram".  User processes get pages of the latter only.
 * Records collect in the UTCB's order and go to the microkernel when the batch is full, or
 * by l4_map_flush(), which ends whatever made some.
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
#include "l4.h"
#include <os-L4/layout.h>

#define RAM_FD		1
#define INITRD_FD	2
#define MAX_RECORDS	L4_MAP_MAX

u32 l4_ram_slot;
unsigned long l4_ram_start;

struct l4_record l4_batch[MAX_RECORDS];
unsigned int l4_batched;

int __init l4_ram_init(void)
{
	const struct l4_grant *ram = l4_find_grant("ram");
	unsigned long base = (unsigned long)__binary_start & PAGE_MASK;
	unsigned long end = PAGE_ALIGN((unsigned long)_end);

	BUILD_BUG_ON(L4_SERVER_BASE % (4 << 20));
	if (!ram || ram->address != end || ram->bytes > L4_RAM_END - end)
		return -ENOMEM;
	/* What stays shares the large page of the server's data. */
	memblock_set_bottom_up(true);
	l4_ram_slot = ram->slot;
	l4_ram_start = end - base;
	physmem_size = l4_ram_start + ram->bytes;
	return 0;
}

/* Tasks and their like first come from what is left of that large page. */
void __init l4_group_unmovable(void)
{
	set_pageblock_migratetype(virt_to_page((unsigned long)_end), MIGRATE_UNMOVABLE);
}

/* The index of the record that failed is in *bad. */
static u32 carry_out(const void *records, unsigned int count, u32 *bad)
{
	unsigned long flags;
	struct l4_regs r;
	u32 status;

	/* The UTCB is also that of an interrupt which prints something. */
	local_irq_save(flags);
	memcpy((void *)l4_utcb, records, count * sizeof(l4_batch[0]));
	status = l4_call_out(L4_OP_MAP, count, 0, 0, 0, &r);
	local_irq_restore(flags);
	*bad = min(r.r1, count - 1);
	return status;
}

void l4_unmap_all(u32 space)
{
	const u32 record[4] = { space, L4_MAP_UNMAP << 8, 0, L4_USER_END };
	u32 bad;

	/* Of what is there no record fails. */
	carry_out(record, 1, &bad);
}

int l4_map_flush(void)
{
	unsigned int first = 0, count = l4_batched;
	/* Behind the record that page tables of its own space were dropped for. */
	unsigned int helped = 0;
	bool own;
	int err = 0;

	l4_batched = 0;
	/* A record that fails does not keep the others from being carried out. */
	while (first < count) {
		const u32 *bad;
		u32 status, failed;

		status = carry_out(&l4_batch[first], count - first, &failed);
		if (!status)
			break;
		first += failed;
		bad = l4_batch[first].word;
		if (l4_is_out_of_memory(status) && first >= helped && l4_reclaim_tables(bad[0] & 0xffff, &own)) {
			if (own)
				helped = first + 1;
			continue;
		}
		pr_err("l4: %s[%d]: a page cannot be mapped: error %u%s (record %u of %u: %x %x %x %x)\n",
		       current->comm, task_pid_nr(current), status, l4_error_hint(status), first, count,
		       bad[0], bad[1], bad[2], bad[3]);
		err = -ENOMEM;
		first++;
	}
	return err;
}

struct l4_next l4_next;

int l4_begin_record(u32 selectors, u32 what, u32 offset, unsigned long len)
{
	int err = l4_batched == MAX_RECORDS ? l4_map_flush() : 0;

	BUILD_BUG_ON(UM_PROT_READ != L4_RIGHT_READ || UM_PROT_WRITE != L4_RIGHT_WRITE || UM_PROT_EXEC != L4_RIGHT_EXECUTE);
	l4_batch[l4_batched++] = (struct l4_record){ { selectors, what, offset, len } };
	l4_next = (struct l4_next){ selectors, what + len, offset + len };
	return err;
}

int l4_unmap_record(u32 space, unsigned long virt, unsigned long len)
{
	/* The offset is not looked at; so it goes on, too. */
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

/* The server's own memory: vmalloc; the linear map has been there from the start. */
int os_map_memory(void *virt, int fd, unsigned long long off,
		  unsigned long len, int r, int w, int x)
{
	int err;

	if ((unsigned long)virt == uml_physmem + (unsigned long)off)
		return 0;
	err = l4_ram_record(L4_SPACE, (unsigned long)virt, off, len, prot_of(r, w, x));
	return err ? err : l4_map_flush();
}

int os_protect_memory(void *addr, unsigned long len, int r, int w, int x)
{
	return -EINVAL;		/* tlb.c maps anew instead */
}

int os_unmap_memory(void *addr, int len)
{
	int err = l4_unmap_record(L4_SPACE, (unsigned long)addr, len);

	return err ? err : l4_map_flush();
}

void stack_protections(unsigned long address) { }
int __init parse_iomem(char *str, int *add) { return 1; }

/* initrd=NAME: the grant of this name, which the root server mapped. */
static const struct l4_grant *initrd;

int __init os_file_size(const char *file, unsigned long long *size_out)
{
	initrd = l4_find_grant(file);
	if (!initrd || !initrd->address)
		return -ENOENT;
	*size_out = initrd->bytes;
	/* Its memory is given back: until it is closed, if it is opened, from the other end. */
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

void __init os_close_file(int fd)
{
	memblock_set_bottom_up(true);
}

/* setup_physmem() copies the stub page into the RAM file; there is no stub. */
int os_seek_file(int fd, unsigned long long offset) { return 0; }
int os_write_file(int fd, const void *buf, int count) { return count; }
int os_fsync_file(int fd) { return 0; }
