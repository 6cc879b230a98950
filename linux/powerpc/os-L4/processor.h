/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of the processor that os-L4 inlines, except those in run.h (os-L4/subarch.h). */
#ifndef __POWERPC_OS_L4_PROCESSOR_H
#define __POWERPC_OS_L4_PROCESSOR_H

#include <linux/compiler.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/current.h>
#include <asm/vdso/timebase.h>
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

/* A process's pages are its own. */
static inline void arch_l4_space_created(struct l4_space *space)
{
	space->low = space->slot;
	space->direct = 0;
}

static inline void arch_l4_space_deleted(struct l4_space *space) { }

/* All places are equal. */
static inline bool arch_l4_space_suits(const struct l4_space *space, struct mm_struct *mm)
{
	return true;
}

#define ARCH_L4_USER_PLACE	0
#define ARCH_L4_PLACES		1
/* Instructions that access several words may need them aligned. */
#define ARCH_L4_ALIGNMENT	4
#define ARCH_L4_FAST_MAP	true
#define ARCH_L4_FAULT_FETCH	0
#define ARCH_L4_THREADS_STAY_BOUND	true

/* Caches are physical: any address will do, so the linear map is used. */
static __always_inline void *arch_l4_begin_access(unsigned long entry, unsigned long user, void *at, unsigned long n, bool write)
{
	return at;
}

static __always_inline void arch_l4_end_access(void *at, unsigned long n) { }

static __always_inline int arch_l4_before_map(pte_t page, unsigned int *may)
{
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
static inline void arch_l4_show(struct seq_file *m) { }

static inline unsigned long arch_l4_lookups_end(const struct l4_space *space)
{
	return TASK_SIZE;
}

#define ARCH_L4_CLOCK_NAME	"timebase"
#define ARCH_L4_VDSO_CLOCKMODE	VDSO_CLOCKMODE_ARCHTIMER

static inline u64 arch_l4_ticks(void)
{
	return get_tb();
}

/* A function may write two words of its caller's frame: the pointer to the previous frame, and the return address. */
static inline unsigned long arch_l4_initial_sp(unsigned long stack_top)
{
	return stack_top - 16;
}

static __always_inline void arch_l4_set_current(struct task_struct *task)
{
	__current = task;
}

static __always_inline void arch_l4_invalid_instruction(void)
{
	asm volatile (".long 0");
}

/*
 * Whether an exception of the Linux thread is the end of an injected interrupt: then the registers are those with
 * which it continues.
 */
bool arch_l4_ends_interrupt(struct l4_frame *frame);

#endif
