// SPDX-License-Identifier: GPL-2.0
/*
 * Access to user memory: a walk of the process's page table finds the page, which is accessed in the linear map,
 * unless the sub-architecture has a better place.  A page that is not present, or does not allow the access, is
 * faulted in first.
 *
 * The walk requires what the processor would require: that the program may make the same access, and that the entry
 * is marked as accessed, and as dirty for a write.  (The fault handler sets these marks.)
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/futex.h>
#include <asm/pgtable.h>
#include <asm/sections.h>
#include <as-layout.h>
#include <kern_util.h>
#include "walk.h"
#include <os-L4/processor.h>

#define WRITABLE	(L4_READABLE | _PAGE_RW | _PAGE_DIRTY)

/* The page table in use.  A kernel thread has that of the last process. */
static __always_inline pgd_t *active_pgd(void)
{
	return current->active_mm->pgd;
}

static __always_inline unsigned long lookup_user(const void __user *user, unsigned long bits)
{
	return l4_walk_user(active_pgd(), user, bits);
}

/* The same by a fault.  0: the program may not access it. */
static noinline unsigned long fault_in_user(const void __user *user, unsigned long bits)
{
	unsigned long entry;
	int code;

	do {
		if (handle_page_fault((unsigned long)user, 0, bits == WRITABLE, 0, &code))
			return 0;
		entry = lookup_user(user, bits);
	} while (!entry && !fatal_signal_pending(current));
	return entry;
}

/*
 * The address for an access to n bytes of user memory, which an entry is for, up to the end of the page.  With it the access
 * ends (arch_l4_end_access()).
 */
static __always_inline void *begin_access(unsigned long entry, const void __user *user, unsigned long n, unsigned long bits)
{
	void *at = l4_linear_map(entry & PAGE_MASK) + offset_in_page(user);

	return arch_l4_begin_access(entry, (unsigned long)user, at, n, bits == WRITABLE);
}

/* The same, by a fault if need be.  NULL: it is not allowed. */
static __always_inline void *user_page_pointer(const void __user *user, unsigned long n, unsigned long bits)
{
	unsigned long entry = lookup_user(user, bits) ?: fault_in_user(user, bits);

	return entry ? begin_access(entry, user, n, bits) : NULL;
}

/* How many of n bytes are in the first page. */
static __always_inline unsigned long bytes_in_page(const void __user *user, unsigned long n)
{
	return min(n, PAGE_SIZE - offset_in_page(user));
}

static noinline unsigned long copy_from_pages(void *to, const void __user *from, unsigned long n)
{
	pgd_t *pgds = active_pgd();

	while (n) {
		unsigned long part = bytes_in_page(from, n), entry = l4_walk_user(pgds, from, L4_READABLE);
		void *at, *next;

		if (unlikely(!entry)) {
			entry = fault_in_user(from, L4_READABLE);
			if (!entry)
				break;
		}
		at = next = begin_access(entry, from, part, L4_READABLE);
		from += part;
		n -= part;
		arch_l4_copy(&to, (const void **)&next, part);
		arch_l4_end_access(at, part);
	}
	return n;
}

static noinline unsigned long copy_to_pages(void __user *to, const void *from, unsigned long n)
{
	pgd_t *pgds = active_pgd();

	while (n) {
		unsigned long part = bytes_in_page(to, n), entry = l4_walk_user(pgds, to, WRITABLE);
		void *at, *next;

		if (unlikely(!entry)) {
			entry = fault_in_user(to, WRITABLE);
			if (!entry)
				break;
		}
		at = next = begin_access(entry, to, part, WRITABLE);
		to += part;
		n -= part;
		arch_l4_copy(&next, &from, part);
		arch_l4_end_access(at, part);
	}
	return n;
}

/* Whether a word can be copied as one between these addresses: both are aligned, and the user's is in one page. */
static __always_inline bool is_word(unsigned long user, unsigned long own)
{
	return likely(offset_in_page(user) + sizeof(u32) <= PAGE_SIZE && IS_ALIGNED(user | own, ARCH_L4_ALIGNMENT));
}

/* Most calls copy a word or a byte of a page that is present. */
unsigned long raw_copy_from_user(void *to, const void __user *from, unsigned long n)
{
	unsigned long entry;
	void *at;

	if (n == sizeof(u32)) {
		entry = is_word((unsigned long)from, (unsigned long)to) ? lookup_user(from, L4_READABLE) : 0;
		if (likely(entry)) {
			at = begin_access(entry, from, n, L4_READABLE);
			*(u32 *)to = *(const u32 *)at;
			arch_l4_end_access(at, n);
			return 0;
		}
	} else if (n == sizeof(u8)) {
		entry = lookup_user(from, L4_READABLE);
		if (likely(entry)) {
			at = begin_access(entry, from, n, L4_READABLE);
			*(u8 *)to = *(const u8 *)at;
			arch_l4_end_access(at, n);
			return 0;
		}
	}
	return copy_from_pages(to, from, n);
}
EXPORT_SYMBOL(raw_copy_from_user);

unsigned long raw_copy_to_user(void __user *to, const void *from, unsigned long n)
{
	unsigned long entry;
	void *at;

	if (n == sizeof(u32)) {
		entry = is_word((unsigned long)to, (unsigned long)from) ? lookup_user(to, WRITABLE) : 0;
		if (likely(entry)) {
			at = begin_access(entry, to, n, WRITABLE);
			*(u32 *)at = *(const u32 *)from;
			arch_l4_end_access(at, n);
			return 0;
		}
	} else if (n == sizeof(u8)) {
		entry = lookup_user(to, WRITABLE);
		if (likely(entry)) {
			at = begin_access(entry, to, n, WRITABLE);
			*(u8 *)at = *(const u8 *)from;
			arch_l4_end_access(at, n);
			return 0;
		}
	}
	return copy_to_pages(to, from, n);
}
EXPORT_SYMBOL(raw_copy_to_user);

unsigned long __clear_user(void __user *to, unsigned long n)
{
	while (n) {
		unsigned long part = bytes_in_page(to, n);
		void *at = user_page_pointer(to, part, WRITABLE);

		if (!at)
			break;
		memset(at, 0, part);
		arch_l4_end_access(at, part);
		to += part;
		n -= part;
	}
	return n;
}
EXPORT_SYMBOL(__clear_user);

/* Returns the length without the final 0; `count` if there is no 0 among so many bytes. */
long strncpy_from_user(char *to, const char __user *from, long count)
{
	long done = 0;

	if (!access_ok(from, 1))
		return -EFAULT;
	while (done < count) {
		unsigned long part = bytes_in_page(from + done, count - done);
		unsigned long seen = part;
		char *at = user_page_pointer(from + done, part, L4_READABLE), *end;

		if (!at)
			return -EFAULT;
		end = memchr(at, 0, part);
		if (end)
			part = end - at;
		memcpy(to + done, at, part);
		arch_l4_end_access(at, seen);
		done += part;
		if (end) {
			to[done] = 0;
			break;
		}
	}
	return done;
}
EXPORT_SYMBOL(strncpy_from_user);

/* Returns the length with the final 0; more than `count` if there is no 0 among so many bytes; 0 if it cannot be read. */
long strnlen_user(const char __user *text, long count)
{
	long done = 0;

	if (!access_ok(text, 1))
		return 0;
	while (done < count) {
		unsigned long part = bytes_in_page(text + done, count - done);
		char *at = user_page_pointer(text + done, part, L4_READABLE), *end;

		if (!at)
			return 0;
		end = memchr(at, 0, part);
		arch_l4_end_access(at, part);
		if (end)
			return done + (end - at) + 1;
		done += part;
	}
	return count + 1;
}
EXPORT_SYMBOL(strnlen_user);

/* This and the next are atomic: there is one processor, and Linux is not preemptible. */
int arch_futex_atomic_op_inuser(int op, u32 argument, int *old, u32 __user *address)
{
	u32 *at, value;
	int err = 0;

	if (!access_ok(address, sizeof(*address)))
		return -EFAULT;
	at = user_page_pointer(address, sizeof(*address), WRITABLE);
	if (!at)
		return -EFAULT;
	value = *at;
	switch (op) {
	case FUTEX_OP_SET:
		*at = argument;
		break;
	case FUTEX_OP_ADD:
		*at = value + argument;
		break;
	case FUTEX_OP_OR:
		*at = value | argument;
		break;
	case FUTEX_OP_ANDN:
		*at = value & ~argument;
		break;
	case FUTEX_OP_XOR:
		*at = value ^ argument;
		break;
	default:
		err = -ENOSYS;
	}
	arch_l4_end_access(at, sizeof(*at));
	*old = value;
	return err;
}
EXPORT_SYMBOL(arch_futex_atomic_op_inuser);

int futex_atomic_cmpxchg_inatomic(u32 *found, u32 __user *address, u32 old, u32 new)
{
	u32 *at;

	if (!access_ok(address, sizeof(*address)))
		return -EFAULT;
	at = user_page_pointer(address, sizeof(*address), WRITABLE);
	if (!at)
		return -EFAULT;
	*found = *at;
	if (*found == old)
		*at = new;
	arch_l4_end_access(at, sizeof(*at));
	return 0;
}
EXPORT_SYMBOL(futex_atomic_cmpxchg_inatomic);
