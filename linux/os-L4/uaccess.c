// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of programs, reached by a walk of the process's page table and through Linux's own
 * mapping of all RAM; what is not there is faulted in first.
 *
 * Upstream's code calls functions for each page, also for a word.  This demands of a page what the
 * processor would: that the program may do the same, and that it is marked as used and as written.
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

#define READABLE	(_PAGE_PRESENT | _PAGE_USER | _PAGE_ACCESSED)
#define WRITABLE	(READABLE | _PAGE_RW | _PAGE_DIRTY)

/* Linux's own mapping begins where its image does. */
static __always_inline void *mapped(unsigned long physical)
{
	return __binary_start + physical;
}

/* What the processor would use: never NULL. */
static __always_inline pgd_t *tables(void)
{
	return current->active_mm->pgd;
}

/* Where Linux has a byte of the process with these tables, if its page has all of these bits. */
static __always_inline bool find(pgd_t *pgds, const void __user *user, unsigned long bits, void **at)
{
	unsigned long address = (unsigned long)user;
	unsigned long pgd = pgd_val(*pgd_offset_pgd(pgds, address)), pte;

	if (unlikely(!(pgd & _PAGE_PRESENT)))
		return false;
	pte = pte_val(((pte_t *)mapped(pgd & PAGE_MASK))[pte_index(address)]);
	*at = mapped(pte & PAGE_MASK) + offset_in_page(address);
	return likely(!(~pte & bits));
}

static __always_inline bool look_up(const void __user *user, unsigned long bits, void **at)
{
	return find(tables(), user, bits, at);
}

/* The same by a fault; NULL if the program may not. */
static noinline void *fault_in(const void __user *user, unsigned long bits)
{
	void *at;
	int code;

	do {
		if (handle_page_fault((unsigned long)user, 0, bits == WRITABLE, 0, &code))
			return NULL;
	} while (!look_up(user, bits, &at) && !fatal_signal_pending(current));
	return look_up(user, bits, &at) ? at : NULL;
}

static __always_inline void *reach(const void __user *user, unsigned long bits)
{
	void *at;

	return look_up(user, bits, &at) ? at : fault_in(user, bits);
}

/* How much of n bytes is in the page of the first one. */
static __always_inline unsigned long in_page(const void __user *user, unsigned long n)
{
	return min(n, PAGE_SIZE - offset_in_page(user));
}

static __always_inline bool is_in_page(const void __user *user, unsigned long n)
{
	return likely(offset_in_page(user) + n <= PAGE_SIZE);
}

/* memcpy() that leaves both pointers behind what was copied. */
static __always_inline void copy(void **to, const void **from, unsigned long n)
{
	unsigned long count = n / 4;

	asm volatile ("rep movsl" : "+D" (*to), "+S" (*from), "+c" (count) : : "memory");
	count = n % 4;
	if (unlikely(count))
		asm volatile ("rep movsb" : "+D" (*to), "+S" (*from), "+c" (count) : : "memory");
}

/* Here and below reach() is written out: what it returns need not be looked at for a page that is there. */
static noinline unsigned long copy_from_pages(void *to, const void __user *from, unsigned long n)
{
	pgd_t *pgds = tables();

	while (n) {
		unsigned long part = in_page(from, n);
		void *at;

		if (unlikely(!find(pgds, from, READABLE, &at))) {
			at = fault_in(from, READABLE);
			if (!at)
				break;
		}
		from += part;
		n -= part;
		copy(&to, (const void **)&at, part);
	}
	return n;
}

static noinline unsigned long copy_to_pages(void __user *to, const void *from, unsigned long n)
{
	pgd_t *pgds = tables();

	while (n) {
		unsigned long part = in_page(to, n);
		void *at;

		if (unlikely(!find(pgds, to, WRITABLE, &at))) {
			at = fault_in(to, WRITABLE);
			if (!at)
				break;
		}
		to += part;
		n -= part;
		copy(&at, &from, part);
	}
	return n;
}

/* A word or a byte of a page that is there, mostly. */
unsigned long raw_copy_from_user(void *to, const void __user *from, unsigned long n)
{
	void *at;

	if (n == sizeof(u32)) {
		if (is_in_page(from, n) && look_up(from, READABLE, &at)) {
			*(u32 *)to = *(const u32 *)at;
			return 0;
		}
	} else if (n == sizeof(u8)) {
		if (look_up(from, READABLE, &at)) {
			*(u8 *)to = *(const u8 *)at;
			return 0;
		}
	}
	return copy_from_pages(to, from, n);
}
EXPORT_SYMBOL(raw_copy_from_user);

unsigned long raw_copy_to_user(void __user *to, const void *from, unsigned long n)
{
	void *at;

	if (n == sizeof(u32)) {
		if (is_in_page(to, n) && look_up(to, WRITABLE, &at)) {
			*(u32 *)at = *(const u32 *)from;
			return 0;
		}
	} else if (n == sizeof(u8)) {
		if (look_up(to, WRITABLE, &at)) {
			*(u8 *)at = *(const u8 *)from;
			return 0;
		}
	}
	return copy_to_pages(to, from, n);
}
EXPORT_SYMBOL(raw_copy_to_user);

unsigned long __clear_user(void __user *to, unsigned long n)
{
	while (n) {
		unsigned long part = in_page(to, n);
		void *at = reach(to, WRITABLE);

		if (!at)
			break;
		memset(at, 0, part);
		to += part;
		n -= part;
	}
	return n;
}
EXPORT_SYMBOL(__clear_user);

/* Its length without the end; `count` if the end is not among so many bytes. */
long strncpy_from_user(char *to, const char __user *from, long count)
{
	long done = 0;

	if (!access_ok(from, 1))
		return -EFAULT;
	while (done < count) {
		unsigned long part = in_page(from + done, count - done);
		const char *at = reach(from + done, READABLE), *end;

		if (!at)
			return -EFAULT;
		end = memchr(at, 0, part);
		if (end)
			part = end - at;
		memcpy(to + done, at, part);
		done += part;
		if (end) {
			to[done] = 0;
			break;
		}
	}
	return done;
}
EXPORT_SYMBOL(strncpy_from_user);

/* Its length with the end; more than `count` if the end is not among so many bytes; 0 if it cannot be read. */
long strnlen_user(const char __user *text, long count)
{
	long done = 0;

	if (!access_ok(text, 1))
		return 0;
	while (done < count) {
		unsigned long part = in_page(text + done, count - done);
		const char *at = reach(text + done, READABLE), *end;

		if (!at)
			return 0;
		end = memchr(at, 0, part);
		if (end)
			return done + (end - at) + 1;
		done += part;
	}
	return count + 1;
}
EXPORT_SYMBOL(strnlen_user);

/* Nothing comes between: there is one processor, and no preemption of Linux. */
int arch_futex_atomic_op_inuser(int op, u32 argument, int *old, u32 __user *address)
{
	u32 *at, value;

	if (!access_ok(address, sizeof(*address)))
		return -EFAULT;
	at = reach(address, WRITABLE);
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
		return -ENOSYS;
	}
	*old = value;
	return 0;
}
EXPORT_SYMBOL(arch_futex_atomic_op_inuser);

int futex_atomic_cmpxchg_inatomic(u32 *found, u32 __user *address, u32 old, u32 new)
{
	u32 *at;

	if (!access_ok(address, sizeof(*address)))
		return -EFAULT;
	at = reach(address, WRITABLE);
	if (!at)
		return -EFAULT;
	*found = *at;
	if (*found == old)
		*at = new;
	return 0;
}
EXPORT_SYMBOL(futex_atomic_cmpxchg_inatomic);
