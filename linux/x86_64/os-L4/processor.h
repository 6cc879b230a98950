/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of the processor that os-L4 inlines, except those in run.h (os-L4/subarch.h). */
#ifndef __X86_64_OS_L4_PROCESSOR_H
#define __X86_64_OS_L4_PROCESSOR_H

#include <linux/compiler.h>
#include <linux/mm_types.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <asm/current.h>
#include <kern_util.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/user_space.h"
#include "vsyscall.h"

struct seq_file;

/* memcpy() that advances both pointers. */
static __always_inline void arch_l4_copy(void **to, const void **from, unsigned long n)
{
	unsigned long count = n / 8;

	asm volatile ("rep movsq" : "+D" (*to), "+S" (*from), "+c" (count) : : "memory");
	count = n % 8;
	if (unlikely(count))
		asm volatile ("rep movsb" : "+D" (*to), "+S" (*from), "+c" (count) : : "memory");
}

static inline void arch_l4_space_created(struct l4_space *space)
{
	space->low = space->slot;
}

static inline void arch_l4_space_deleted(struct l4_space *space)
{
}

/* A process may use any address in any space. */
static inline bool arch_l4_space_suits(const struct l4_space *space, const struct mm_struct *mm)
{
	return true;
}
#define ARCH_L4_PLACES		1

/* Words need not be aligned, and caches are physical: user memory is accessed where it is in the linear map. */
#define ARCH_L4_ALIGNMENT	1
#define ARCH_L4_FAST_MAP	false
#define ARCH_L4_FAULT_FETCH	UM_FAULT_FETCH
/* It has an FPU. */
#define ARCH_L4_THREADS_STAY_BOUND	false

static __always_inline void *arch_l4_begin_access(unsigned long entry, unsigned long user, void *at, unsigned long n, bool write)
{
	return at;
}

static __always_inline void arch_l4_end_access(void *at, unsigned long n)
{
}

/* A page of the linear map is about to be mapped elsewhere. */
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
static inline void arch_l4_interrupted(struct l4_space *space) { }
static inline void arch_l4_note_event(void) { }
static inline void arch_l4_show(struct seq_file *m) { }

static inline bool arch_l4_page_fault(struct mm_struct *mm, unsigned long address)
{
	return unlikely((address & PAGE_MASK) == L4_VSYSCALL_PAGE) && l4_vsyscall(address);
}

static inline unsigned long arch_l4_lookups_end(const struct l4_space *space)
{
	return TASK_SIZE;
}

/* For a process's space. */
#define ARCH_L4_USER_PLACE	0

/* The time-stamp counter. */
#define ARCH_L4_CLOCK_NAME	"tsc"
#define ARCH_L4_VDSO_CLOCKMODE	VDSO_CLOCKMODE_TSC

static inline u64 arch_l4_ticks(void)
{
	u32 low, high;

	asm volatile ("rdtsc" : "=a" (low), "=d" (high));
	return (u64)high << 32 | low;
}

/* A function finds its return address on the stack; here the word is not used.  Above it the stack is aligned to 16 bytes. */
static inline unsigned long arch_l4_initial_sp(unsigned long stack_top)
{
	return (stack_top & -16UL) - sizeof(void *);
}

static __always_inline void arch_l4_set_current(struct task_struct *task)
{
	this_cpu_write(pcpu_hot.current_task, task);
}

static __always_inline void arch_l4_invalid_instruction(void)
{
	asm volatile ("ud2");
}

/* Injected interrupts return by themselves. */
static inline bool arch_l4_ends_interrupt(struct l4_frame *frame)
{
	return false;
}

#endif
