/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of the processor that os-L4 inlines, except those in run.h (os-L4/subarch.h). */
#ifndef __ARM_OS_L4_PROCESSOR_H
#define __ARM_OS_L4_PROCESSOR_H

#include <linux/compiler.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/current.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/user_space.h"
#include "layout.h"

/* memcpy() that advances both pointers. */
static __always_inline void arch_l4_copy(void **to, const void **from, unsigned long n)
{
	memcpy(*to, *from, n);
	*to += n;
	*from += n;
}

/* Segments (slots.c). */
void arch_l4_space_created(struct l4_space *space);
void arch_l4_space_deleted(struct l4_space *space);
bool arch_l4_space_suits(const struct l4_space *space, struct mm_struct *mm);

#define ARCH_L4_PLACES		(0x80000000 / L4_SLOT_BYTES)
#define ARCH_L4_ALIGNMENT	4
#define ARCH_L4_FAST_MAP	true
#define ARCH_L4_FAULT_FETCH	0
#define ARCH_L4_THREADS_STAY_BOUND	true

/*
 * Caches are virtual (cache.c).  Where this server has the process's memory at the same modified address, nothing is
 * to be done.  The microkernel has to know of the page.
 */
void *l4_begin_access(unsigned long entry, unsigned long user, void *at, unsigned long n, bool write);
void l4_end_access(void *at, unsigned long n);

static __always_inline void *arch_l4_begin_access(unsigned long entry, unsigned long user, void *at, unsigned long n, bool write)
{
	unsigned long direct = l4_space_of(current->active_mm)->direct;

	if (likely(direct && user < L4_LOW_END && !(entry & (_PAGE_NEWPAGE | _PAGE_NEWPROT))))
		return (void *)(direct + user);
	return l4_begin_access(entry, user, at, n, write);
}

static __always_inline void arch_l4_end_access(void *at, unsigned long n)
{
	if (unlikely((unsigned long)at >= L4_SERVER_BASE))
		l4_end_access(at, n);
}

/* What is known about a page's lines by the linear map. */
enum l4_lines {
	/* Nothing. */
	L4_LINES_ANY,
	/* No lines: it was a process's, and is free. */
	L4_LINES_FREE,
	/* No lines: it has just been allocated, and its use is not known. */
	L4_LINES_NEW,
	/* No lines: it is for the memory of a process, and no process has mapped it yet. */
	L4_LINES_NONE,
	/* There may be lines: it is for the memory of a process, and no process has mapped it yet. */
	L4_LINES_SOME,
	/* No lines: it is memory of one process or several. */
	L4_LINES_SEEN,
	/* There may be lines: it is memory of one process or several. */
	L4_LINES_SEEN_SOME,
	/* No dirty lines: it is of a file. */
	L4_LINES_CLEAN,
	/* Nothing is known, and processes write to it where it is mapped shared: all have it uncached. */
	L4_LINES_SHARED,
	/* No dirty lines, and processes write to it where it is mapped shared. */
	L4_LINES_SHARED_CLEAN,
};

extern u8 l4_lines[];
int l4_drop_before_map(pte_t page, unsigned int *may);

static __always_inline int arch_l4_before_map(pte_t page, unsigned int *may)
{
	u8 *lines = &l4_lines[pte_val(page) >> PAGE_SHIFT];

	if (unlikely(*lines != L4_LINES_NONE && *lines != L4_LINES_SEEN))
		return l4_drop_before_map(page, may);
	*lines = L4_LINES_SEEN;
	return 0;
}

/* In assembly.  Words 3 to 7 of a message are in registers, too. */
void arch_l4_message(struct l4_regs *regs, unsigned long utcb);

/* All spaces stay as they were made. */
static inline void arch_l4_space_begin(struct l4_space *space, const struct mm_id *id) { }
static inline void arch_l4_space_end(struct l4_space *space) { }
static inline void arch_l4_before_unmap_all(struct l4_space *space) { }
static inline void arch_l4_before_sync(struct mm_struct *mm, struct l4_space *space, unsigned long end) { }
static inline int arch_l4_before_run(struct l4_space *space) { return 0; }
static inline void arch_l4_switched(struct l4_space *space) { }
static inline bool arch_l4_page_fault(struct mm_struct *mm, unsigned long address) { return false; }
static inline void arch_l4_interrupted(struct l4_space *space) { }
static inline void arch_l4_note_event(void) { }
void arch_l4_show(struct seq_file *m);

static inline unsigned long arch_l4_lookups_end(const struct l4_space *space)
{
	return TASK_SIZE;
}

/* For a process's space: the processor relocates its first 32 MiB (slots.c). */
extern u32 l4_user_place;
#define ARCH_L4_USER_PLACE	l4_user_place

/* The board's counter.  There is no vDSO. */
#define ARCH_L4_CLOCK_NAME	"counter"
#define ARCH_L4_VDSO_CLOCKMODE	VDSO_CLOCKMODE_NONE

/*
 * The counter has 32 bits.  The microkernel counts how often half of its range has passed (struct Timer of its
 * contract).
 */
static inline u64 arch_l4_ticks(void)
{
	const volatile struct {
		u32 address, half;
	} *timer = (const void *)(L4_KIP_ADDRESS + L4_TIMER_OFFSET);
	u32 half = timer->half, counter = *(const volatile u32 *)timer->address;

	half += (half ^ counter >> 31) & 1;
	return (u64)half << 31 | (counter & 0x7fffffff);
}

static inline unsigned long arch_l4_initial_sp(unsigned long stack_top)
{
	return stack_top - 8;
}

static __always_inline void arch_l4_set_current(struct task_struct *task)
{
	__current = task;
}

static __always_inline void arch_l4_invalid_instruction(void)
{
	asm volatile (".inst 0xe7f000f0");
}

/* Injected interrupts return by themselves. */
static inline bool arch_l4_ends_interrupt(struct l4_frame *frame)
{
	return false;
}

#endif
