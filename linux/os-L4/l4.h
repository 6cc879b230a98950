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
#include <os-L4/space.h>
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

/* An operation on an object.  Returns the status; other results are in *out. */
u32 l4_call_out(u32 op, u32 a0, u32 a1, u32 a2, u32 a3, struct l4_regs *out);
u32 l4_call(u32 op, u32 a0, u32 a1, u32 a2, u32 a3);
/* What helps against an error: text that follows its number in a message. */
const char *l4_error_hint(u32 status);
/* How many messages threads of this Linux have sent, by l4_ipc_call(): the root server reads it. */
extern u32 *l4_messages;
/*
 * Calls a thread with a message of three words, and of those behind them that are in this thread's UTCB, and waits for the
 * reply, whose words are in r2 to r4 and behind them.  True: it failed.
 */
u32 l4_ipc_call(u32 utcb, u32 to, u32 tag, u32 a, u32 b, u32 c, struct l4_regs *out);

/*
 * Priorities.  Linux's own is the description's and lies between these two.  If the description allows nothing
 * above Linux, all its threads have Linux's priority.
 */
#define L4_USER_PRIORITY	80
#define L4_INTERRUPT_PRIORITY	120

/* A capability that the root server gave, by the name in the system description. */
struct l4_grant {
	char name[24];
	u32 slot, address, bytes;
};
const struct l4_grant *l4_find_grant(const char *name);

/* Seeds the random pool with the bytes that the root server gave. */
void l4_seed_pool(void);

/* Capability slots. */
u32 l4_slot_alloc(void);
void l4_slot_free(u32 slot);
unsigned int l4_slots(void);
unsigned int l4_slots_used(void);

/*
 * The space of a process.  When the process ends, its space is kept for another one, with a few page tables of
 * the microkernel: so they need not be freed, allocated and cleared for each process.  The space notes in which
 * blocks of these tables something may be mapped.
 */
#define L4_KEPT_TABLES	8
#define L4_BLOCK	(PGDIR_SIZE / 32)
struct l4_space {
	u32 slot;
	u32 placed;		/* where the microkernel has put it: L4_OP_CREATE_SPACE */
	u32 low;		/* what has the pages below L4_LOW_END: the space, or a Segment */
	unsigned long direct;	/* where this server has that Segment, or 0 */
	bool reclaimed;		/* pages of this mm were unmapped that it still has: they may have to be restored */
	struct mm_struct *mm;
	struct list_head populated;	/* in the list of spaces that may have pages */
	unsigned int tables;
	bool more;		/* pages were mapped in more tables than the array has */
	/* A table spans addresses from base on.  A bit of used is a block that may have pages.  last: changed last. */
	struct l4_table { unsigned long base; u32 used; } table[L4_KEPT_TABLES], *last;
	struct arch_l4_space arch;
};
/* The space of an mm.  Upstream keeps the address of a stub's stack in this member; there is no stub here. */
#define l4_space_of(mm)	((struct l4_space *)(mm)->context.id.stack)
/* What has the page at an address of a space.  (The sub-architecture's layout.h has the limit.) */
#define l4_mapped_in(space, at)	((at) < L4_LOW_END ? (space)->low : (space)->slot)
/* An empty space in which a fork of this mm, if it is one, has all its mappings; or NULL. */
struct l4_space *l4_space_alloc(struct mm_struct *parent);
void l4_space_free(struct l4_space *space);
/* Unmaps all pages.  The first few page tables of the microkernel stay. */
int l4_space_clear(struct l4_space *space);
/* Whether nothing of a process's can be mapped. */
bool l4_space_is_clear(const struct l4_space *space);
/* Frees the page tables of a space that is kept.  False: there are none. */
bool l4_spaces_shrink(void);

/* Deletes what is in a slot and frees it. */
void l4_delete(u32 slot);

/* Whether the spaces of processes show this server, which then runs in them without a switch to its own page tables. */
extern bool l4_is_server;

/* The Quota to which processes' spaces, page tables and threads are charged. */
extern u32 l4_user_quota;
int l4_quota_init(void);
/* How many slots of relocation a Quota has, and how many are used. */
u32 l4_relocation_slots(u32 quota, u32 *used);
/*
 * Creates a space at a place and says where the microkernel has put it (of L4_OP_CREATE_SPACE).  Returns its slot; 0: there is
 * no memory.
 */
u32 l4_user_space_create(u32 place, u32 *placed);
void l4_user_space_delete(u32 space);
/* Whether an operation failed because the microkernel has no memory left for it. */
static inline bool l4_is_out_of_memory(u32 status)
{
	return status == L4_ERROR_QUOTA_EXCEEDED || status == L4_ERROR_POOL_EXHAUSTED;
}
/*
 * Reclaims the microkernel's page tables of a process: if possible neither those of the current process nor those
 * of this space.  *own says whether they are those of this space.  False: there are none.
 */
bool l4_reclaim_tables(u32 space, bool *own);
/* How often that was done. */
extern unsigned long l4_reclaims;
/* The shell that runs the command of --batch; NULL: none does. */
extern struct pid *l4_batch_shell;
/* A process faults.  If the page was mapped before a reclaim, maps it again and returns true. */
bool l4_restore_mappings(unsigned long address, bool write);

/* RAM.  physmem_size is upstream's. */
extern long long physmem_size;
int l4_ram_init(void);
/* Whether the memory of the network's port is part of it (net_receive.c). */
extern bool l4_network_pages;
/* Tasks and other unmovable objects are allocated beside the server's data.  Called before the first allocation. */
void l4_group_unmovable(void);

/*
 * Changes of mappings are collected as records of L4_OP_MAP.
 */
int l4_unmap_record(u32 space, unsigned long virt, unsigned long len);
/* Unmaps everything at once.  Records that wait are not sent. */
void l4_unmap_all(const struct l4_space *space);
/* Nonzero: a page table has changed, perhaps that of the process that runs next (asm/pgtable.h). */
extern unsigned int l4_mappings_dirty;
/* Sends all records that wait. */
int l4_map_flush(void);
/* Records that wait, and what a record begins with that continues the last of them. */
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
/* RAM's Memory, and where in Linux's physical memory it begins.  The microkernel refuses to map what is below. */
extern u32 l4_ram_slot;
extern unsigned long l4_ram_start;
static __always_inline int l4_ram_record(u32 space, unsigned long virt, unsigned long phys,
					 unsigned long len, unsigned int prot)
{
	return l4_add_record(l4_ram_slot << 16 | space, virt | L4_MAP_MAP << 8 | prot, phys - l4_ram_start, len);
}
struct mm_struct;
/* Tells the microkernel of all that has changed in an mm. */
int l4_tlb_sync(struct mm_struct *mm);
/* As l4_tlb_sync(), but leaves a single record to L4_OP_MAP_RUN if that has a fast path for it. */
void l4_tlb_collect(struct mm_struct *mm);

/* Comparison of page tables with the microkernel's (linux/tests/walk.c). */
#ifdef L4_TESTS
/* A range of a process was synchronised: there are records for it. */
void l4_walk_synced(struct mm_struct *mm, unsigned long from, unsigned long to);
/* An event of a process has come.  All records were carried out before. */
void l4_walk_event(struct mm_struct *mm);
#else
static inline void l4_walk_synced(struct mm_struct *mm, unsigned long from, unsigned long to) { }
static inline void l4_walk_event(struct mm_struct *mm) { }
#endif

/* Attacks of a server that was taken over (a sub-architecture's). */
struct l4_frame;
#ifdef L4_TESTS
/* The Linux thread raised an exception.  True: by an attack, and goes on with these registers. */
bool l4_attack_fault(struct l4_frame *frame);
/* An event of a process has come. */
void l4_attack_event(u32 kind, u32 vector);
#else
static inline bool l4_attack_fault(struct l4_frame *frame) { return false; }
static inline void l4_attack_event(u32 kind, u32 vector) { }
#endif

/* The first words of the kernel information page: a copy in Linux's own data, which costs no page of the TLB. */
extern u32 l4_kip[];

/* Time.  The microkernel's alarm fires once.  A periodic one is set again each time. */
u64 l4_time_ns(void);
void l4_timer_rearm(void);

/* Whether notification bits of the Linux thread wait.  The UTCB has a mirror of them. */
extern u32 l4_utcb;
static inline bool l4_bits_arrived(void)
{
	return *l4_arrived;
}

/* Starts the thread above Linux, which injects interrupts into the Linux thread and gets its exceptions. */
int l4_inject_init(void);
/* Linux is going to wait: it needs no injected interrupts.  Linux runs again. */
void l4_inject_pause(void);
void l4_inject_resume(void);
/* What an injected interrupt calls. */
void l4_injected_interrupt(void);
/* The Linux thread raised an exception: changes its registers so that it panics. */
void l4_fault(struct l4_frame *frame);

/* Handles notification bits that interrupted a program with these registers. */
struct uml_pt_regs;
void l4_deliver(unsigned long bits, struct uml_pt_regs *regs);
/* A capability that sets these notification bits of a thread; one that raises an interrupt of Linux.  0: no slot is free. */
u32 l4_notifier_of(u32 thread, u32 bits);
u32 l4_notifier(unsigned int irq);
/* Creates another thread of this server, which must call nothing of Linux.  0: none is left. */
u32 l4_thread_create(u32 *utcb);
/* Starts it: fn(arg) on a stack of its own. */
typedef asmlinkage void l4_thread_fn(void *arg);
int l4_thread_run(u32 slot, l4_thread_fn *fn, void *arg, void *stack_top, u32 priority);
/* Whether all threads of this Linux have one priority.  Known once l4_inject_init() has returned. */
extern bool l4_one_priority;

/* Linux is going to wait: the disk server is told of requests that it was not told of. */
void l4_disk_idle(void);
/* The same of the network: slots whose frames were read go back.  Interrupts are disabled. */
void l4_net_idle(void);

/* Console. */
void l4_console_write(const char *s, unsigned int n);
/* Writes to the machine-readable line.  False: the system description does not let this Linux. */
bool l4_result(const void *data, unsigned int n);

void __noreturn l4_exit(int code);

/* The user thread of a task: an alien.  task_struct.thread.arch.host names it. */
struct l4_thread {
	u32 slot;		/* its capability */
	u32 frame;		/* its UTCB slot: registers, then the state of an FPU */
	u32 handle;		/* a reply to it resumes the thread */
	u32 space;		/* the space to which it is bound */
	struct l4_thread *next;	/* in the list of those that are kept */
	struct arch_l4_thread arch;
};

/* The user thread that a task has: perhaps none, or one that is bound to a former space. */
#define l4_thread_of(task)	((task)->thread.arch.host)
/* A user thread that is bound to the task's space.  A task without one gets one.  NULL: none is left. */
struct task_struct;
struct l4_thread *l4_thread_bound(struct task_struct *task);

#endif
