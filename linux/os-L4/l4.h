/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The microkernel as the host layer sees it.  Numbers come from abi.h, which
 * the build makes out of the kernel's own crate; docs/manual.md says what the
 * calls mean.
 */
#ifndef __OS_L4_L4_H
#define __OS_L4_L4_H

#include <linux/irqflags.h>
#include <linux/linkage.h>
#include <linux/types.h>
#include <asm/page.h>
#include "abi.h"

/* Slots of the capability table that every component starts with. */
#define L4_QUOTA	1
#define L4_SPACE	2
#define L4_THREAD	3
#define L4_CONSOLE	4
#define L4_ROOT		5

/* Notification bits of the Linux thread: the timer, then an interrupt line each. */
#define L4_TIMER_BIT	0
#define L4_BIT(irq)	(1UL << (irq))

/* Text begins in this word of a message. */
#define L4_TEXT_WORD	3
#define L4_TEXT_BYTES	((L4_MAX_WORDS - L4_TEXT_WORD) * 4)

/*
 * Registers of a system call by their roles: the tag or operation and its arguments a0 to a3 go in, results come
 * out.  r0 is the status or delivery.
 */
struct l4_regs {
	u32 r0, r1, r2, r3, r4;
};

/* Enters the microkernel; in assembly. */
void l4_syscall(struct l4_regs *regs);

/* An operation on an object; returns the status, results are in *out. */
u32 l4_call_out(u32 op, u32 a0, u32 a1, u32 a2, u32 a3, struct l4_regs *out);
u32 l4_call(u32 op, u32 a0, u32 a1, u32 a2, u32 a3);
/* What helps against an error, behind its number in a message. */
const char *l4_error_hint(u32 status);
/* A call of a thread with three words; the reply's words are in r2 to r4. */
u32 l4_ipc_call(u32 to, u32 tag, u32 a, u32 b, u32 c, struct l4_regs *out);

/*
 * Priorities.  Linux's own is the description's and lies between these two.  If the description allows nothing
 * above Linux, all its threads have Linux's priority.
 */
#define L4_USER_PRIORITY	80
#define L4_INTERRUPT_PRIORITY	120

/* What the root server told in the start block. */
struct l4_grant {
	char name[24];
	u32 slot, address, bytes;
};
const struct l4_grant *l4_find_grant(const char *name);

/* Gives the random pool what the root server told. */
void l4_seed_pool(void);

/* Capability slots. */
u32 l4_slot_alloc(void);
void l4_slot_free(u32 slot);
unsigned int l4_slots(void);
unsigned int l4_slots_used(void);

/*
 * A process's space.  Used again, it keeps a few of the microkernel's tables, which would be freed, made and
 * cleared for each process: where in them something may be mapped is noted here.
 */
#define L4_KEPT_TABLES	8
#define L4_BLOCK	(PGDIR_SIZE / 32)
struct l4_space {
	u32 slot;
	bool forgotten;		/* the microkernel was made to forget pages of this mm */
	struct mm_struct *mm;
	struct list_head told;	/* among those that may have pages */
	unsigned int tables;
	bool more;		/* there are others */
	/* Its addresses begin at base; a bit for each block that may have pages.  The one that changed last is looked at first. */
	struct l4_table { unsigned long base; u32 used; } table[L4_KEPT_TABLES], *last;
};
/* An mm's, in upstream's word for a stub's page, of which there is none. */
#define l4_space_of(mm)	((struct l4_space *)(mm)->context.id.stack)
/* An empty one, or NULL; and what becomes of it. */
struct l4_space *l4_space_alloc(void);
void l4_space_free(struct l4_space *space);
/* Those that wait to be used again give tables back; false: they have none. */
bool l4_spaces_shrink(void);
/* Deletes what is in a slot and frees it. */
void l4_delete(u32 slot);

/* What pays for processes' spaces, page tables and threads; known before the first one. */
extern u32 l4_user_quota;
int l4_quota_init(void);
/* A new space, in a slot; 0: none. */
u32 l4_user_space_create(void);
void l4_user_space_delete(u32 space);
/* Whether an operation failed for want of the microkernel's memory. */
static inline bool l4_is_out_of_memory(u32 status)
{
	return status == L4_ERROR_QUOTA_EXCEEDED || status == L4_ERROR_POOL_EXHAUSTED;
}
/*
 * Drops the page tables of a process, if possible neither of the one that runs nor those of this space; of
 * this space *its_own tells.  False: there are none.
 */
bool l4_reclaim_tables(u32 space, bool *its_own);
/* How often that was done. */
extern unsigned long l4_reclaims;
/* A process faults on a page of which the microkernel was made to forget: it is told again. */
bool l4_restore_mappings(unsigned long address, bool write);

/* RAM: offsets are those of Linux's physical addresses. Its bytes are upstream's. */
extern long long physmem_size;
int l4_ram_init(void);
/* Before the first page is given out. */
void l4_group_unmovable(void);
int l4_unmap_record(u32 space, unsigned long virt, unsigned long len);
/* At once, whatever is collected. */
void l4_unmap_all(u32 space);
/* A page table has changed that may be that of the process which runs next (asm/pgtable.h). */
extern unsigned int l4_mappings_dirty;
/* Carries out all records, before anybody runs. */
int l4_map_flush(void);
/* Records that wait, and what makes the last of them longer. */
extern struct l4_record { u32 word[4]; } l4_batch[];
extern unsigned int l4_batched;
extern struct l4_next { u32 selectors, what, offset; } l4_next;
int l4_begin_record(u32 selectors, u32 what, u32 offset, unsigned long len);
static __always_inline int l4_add_record(u32 selectors, u32 what, u32 offset, unsigned long len)
{
	if (l4_next.what != what || l4_next.offset != offset || l4_next.selectors != selectors || !l4_batched)
		return l4_begin_record(selectors, what, offset, len);
	l4_next.what += len;
	l4_next.offset += len;
	l4_batch[l4_batched - 1].word[3] += len;
	return 0;
}
/* The selector of the Memory, and where in Linux's physical memory it begins: what is below the microkernel refuses. */
extern u32 l4_ram_slot;
extern unsigned long l4_ram_start;
static __always_inline int l4_ram_record(u32 space, unsigned long virt, unsigned long phys,
					 unsigned long len, unsigned int prot)
{
	return l4_add_record(l4_ram_slot << 16 | space, virt | L4_MAP_MAP << 8 | prot, phys - l4_ram_start, len);
}
/* One page is for L4_OP_MAP_RUN, whose fast path is for that; behind others, carried out before, L4_OP_RUN has one. */
static inline bool l4_is_one_page(void)
{
	return l4_batched == 1 && l4_batch[0].word[3] == PAGE_SIZE;
}
/* As um_tlb_sync(), but one page is left for that. */
struct mm_struct;
void l4_tlb_collect(struct mm_struct *mm);

/* A page table that is compared with the microkernel's (linux/tests/walk.c). */
#ifdef L4_TESTS
/* The process is told of a range: records are made for it. */
void l4_walk_synced(struct mm_struct *mm, unsigned long from, unsigned long to);
/* It has run, and all records have been carried out before. */
void l4_walk_event(struct mm_struct *mm);
#else
static inline void l4_walk_synced(struct mm_struct *mm, unsigned long from, unsigned long to) { }
static inline void l4_walk_event(struct mm_struct *mm) { }
#endif

/* The first words of the kernel information page, in Linux's own data: a page less that is touched. */
extern u32 l4_kip[];

/* Time.  The microkernel's alarm fires once: a periodic one is set anew when it did. */
u64 l4_time_ns(void);
void l4_timer_rearm(void);

/* Whether notification bits of the Linux thread wait: the UTCB has a mirror of them. */
extern u32 l4_utcb;
static inline bool l4_bits_arrived(void)
{
	return *l4_arrived;
}

/* Starts the thread above Linux, which forces interrupts on it and gets its exceptions. */
int l4_inject_init(void);
/* Linux is going to wait, or works again: while it works, interrupts can be forced on it. */
void l4_inject_pause(void);
void l4_inject_resume(void);

/* Interrupts: of a user process, whose registers these are. */
struct uml_pt_regs;
void l4_deliver(unsigned long bits, struct uml_pt_regs *regs);
/* A capability that sets notification bits of a thread; that raises an interrupt of Linux. 0: none. */
u32 l4_notifier_of(u32 thread, u32 bits);
u32 l4_notifier(unsigned int irq);
/* Another thread of this server, and where its UTCB is; it calls nothing of Linux. 0: none. */
u32 l4_thread_create(u32 *utcb);
/* It begins: fn(arg) on a stack of its own. */
typedef asmlinkage void l4_thread_fn(void *arg);
/* Whether everything of this Linux has one priority. Known once the watching thread runs. */
extern bool l4_one_priority;
int l4_thread_run(u32 slot, l4_thread_fn *fn, void *arg, void *stack_top, u32 priority);

/* Console. */
void l4_console_write(const char *s, unsigned int n);
/* To the machine-readable line; false if the description does not let this Linux write it. */
bool l4_result(const void *data, unsigned int n);

void __noreturn l4_exit(int code);

/* The user thread of a task, and its registers. */
struct task_struct;
/* Where the current process's sysenter goes on. */
unsigned long arch_l4_landing(void);
/* False if the system call's arguments cannot be read. */
bool arch_l4_begin_sysenter(struct uml_pt_regs *regs);
/* Changes the registers of the Linux thread so that it calls l4_injected_interrupt() and goes on. */
struct l4_frame;
void arch_l4_inject_interrupt(struct l4_frame *frame);
void l4_injected_interrupt(void);
/* Linux's own exception: changes its registers so that it panics. */
void l4_fault(struct l4_frame *frame);
void arch_l4_enter(struct l4_frame *frame, void (*fn)(void), void *stack_top);
/* In words. */
void arch_l4_name_fault(const struct l4_frame *frame, char *text, size_t bytes);
/* Fills whole words from the processor's source of chance; the bytes that it gave, or -1 without one. */
ssize_t arch_l4_random(unsigned long *words, size_t bytes);
/* An exception of a program becomes its signal. */
void arch_l4_exception(struct uml_pt_regs *regs, u32 trap, u32 error);
/* Another signal if it cannot go on with its selectors. */
void arch_l4_check_selectors(const struct uml_pt_regs *regs);
/* A signal frame tells of a step as of the exception. */
void arch_l4_note_step(void);
/*
 * The UTCB slot of a task's user thread, in whose area its FPU state is when this returns, and stays
 * until it runs.  A task that has no thread of its space yet gets one; 0: there is none.
 */
u32 l4_fp_slot(struct task_struct *task);
bool l4_fp_copy(struct task_struct *child, struct task_struct *parent);
/* Without a thread there is nothing to do: who gets one loads them. */
int l4_set_tls(struct task_struct *task, unsigned int index, u32 base, u32 limit);
int arch_l4_load_tls(struct task_struct *task);
/* Debug registers of the task become the thread's; its status register, which is clear then. */
int l4_set_breakpoints(struct task_struct *task);
u32 arch_l4_debug_control(const unsigned long *registers);
u32 l4_debug_status(struct task_struct *task);

#endif
