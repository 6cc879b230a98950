// SPDX-License-Identifier: GPL-2.0
/*
 * Processes and tasks of users, and the loop that runs them.  A process is a space of aliens, a task an
 * alien thread in it: its user thread.
 *
 * A task gets its user thread when it is forked, so that fork and clone fail if none is left.  A kernel thread
 * that becomes a program gets one when it first runs in user mode.  If the task's mm changes, its user
 * thread is bound to the new space.
 *
 * The registers of a user thread and its FPU state lie in its UTCB slot, which is in this server's space.
 * (The FPU state may be newer in the processor.)
 *
 * Spaces and user threads of the dead are kept for others.  Only tasks allocate and free user threads, and
 * Linux is not preemptible: no lock is needed.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/threads.h>
#include <asm/tlbflush.h>
#include <asm/unistd.h>
#include <as-layout.h>
#include <irq_user.h>
#include <kern_util.h>
#include <mm_id.h>
#include <os.h>
#include <registers.h>
#include <skas.h>
#include <sysdep/ptrace_user.h>
#include "batch.h"
#include "interrupt.h"
#include "l4_syscall.h"
#include "mm.h"
#include "quota.h"
#include "records.h"
#include "server_thread.h"
#include "start.h"
#include "subarch.h"
#include "test_hooks.h"
#include "user_space.h"
#include "user_thread.h"
#include <os-L4/layout.h>
#include <os-L4/processor.h>
#include <os-L4/run.h>

/* How many of the dead are kept.  None are with the argument "noreuse". */
#define CACHE_SPACES	16
#define CACHE_THREADS	32

int userspace_pid[NR_CPUS];

static struct l4_space *space_cache[CACHE_SPACES];
static unsigned int spaces_cached;
static struct l4_thread *thread_cache;
static unsigned int threads_cached;
static bool reuse = true;

static int __init noreuse_setup(char *text)
{
	reuse = false;
	return 1;
}
__setup("noreuse", noreuse_setup);

static struct l4_space *space_create(void)
{
	struct l4_space *space = kzalloc(sizeof(*space), GFP_KERNEL);

	if (!space)
		return NULL;
	space->last = space->table;
	space->slot = l4_user_space_create(ARCH_L4_USER_PLACE, &space->placed);
	if (space->slot) {
		arch_l4_space_created(space);
		return space;
	}
	kfree(space);
	return NULL;
}

/* Of those that are kept. */
static struct l4_space *space_take(struct mm_struct *parent)
{
	unsigned int i;

	for (i = spaces_cached; i--;)
		if (!parent || arch_l4_space_suits(space_cache[i], parent)) {
			struct l4_space *space = space_cache[i];

			space_cache[i] = space_cache[--spaces_cached];
			return space;
		}
	return NULL;
}

struct l4_space *l4_space_alloc(struct mm_struct *parent)
{
	struct l4_space *space = space_take(parent), *other, *next;
	unsigned int places = ARCH_L4_PLACES;
	LIST_HEAD(unsuitable);

	/* They are kept until one was found: otherwise the microkernel would give the same place again. */
	while (!space && places--) {
		space = space_create();
		if (!space)
			break;
		if (parent && !arch_l4_space_suits(space, parent)) {
			list_add(&space->populated, &unsuitable);
			space = NULL;
		}
	}
	list_for_each_entry_safe(other, next, &unsuitable, populated)
		l4_space_free(other);
	return space;
}

int l4_space_clear(struct l4_space *space)
{
	struct l4_table *t;
	int err = 0;

	if (l4_space_is_clear(space))
		return 0;
	if (space->more) {
		err = l4_map_flush();
		l4_unmap_all(space);
		space->tables = 0;
		space->more = false;
	}
	t = space->table;
	while (t < space->table + space->tables) {
		u32 in = l4_mapped_in(space, t->base);

		/*
		 * Stacks and heaps lie at random addresses.  A table that the last process did not use is unlikely
		 * to be used by the next, unless there are but a few.
		 */
		if (!t->used && t->base >= L4_LOW_END && space->tables > L4_KEPT_TABLES / 2) {
			err |= l4_unmap_record(in, t->base, PMD_SIZE);
			*t = space->table[--space->tables];
			continue;
		}
		for (; t->used; t->used &= t->used - 1)
			err |= l4_unmap_record(in, t->base + __ffs(t->used) * L4_BLOCK, L4_BLOCK);
		t++;
	}
	space->last = space->table;
	return l4_map_flush() ?: err;
}

bool l4_spaces_shrink(void)
{
	unsigned int i;

	for (i = 0; i < spaces_cached; i++)
		if (space_cache[i]->tables) {
			l4_unmap_all(space_cache[i]);
			space_cache[i]->tables = 0;
			return true;
		}
	return false;
}

void l4_space_free(struct l4_space *space)
{
	struct l4_thread *t;

	if (reuse && spaces_cached < CACHE_SPACES && !l4_space_clear(space)) {
		space_cache[spaces_cached++] = space;
		return;
	}
	arch_l4_space_deleted(space);
	/* Another space may get the slot. */
	for (t = thread_cache; t; t = t->next)
		if (t->space == space->slot)
			t->space = 0;
	l4_user_space_delete(space->slot);
	kfree(space);
}

/* Upstream kills its processes at shutdown.  Here nothing is to be done: they do not run any more. */
void os_kill_ptraced_process(int pid, int reap_child) { }

void __switch_mm(struct mm_id *mm_idp)
{
	struct mm_struct *mm = container_of(mm_idp, struct mm_struct, context.id);

	userspace_pid[0] = mm_idp->pid;
	l4_mappings_dirty |= mm->context.sync[0].to;
	arch_l4_switched(l4_space_of(mm));
}

/* Upstream tells the process of an interrupt.  Here arch_l4_run() returns for each notification. */
void os_alarm_process(int pid) { }

/* One that was kept, of this space if there is one, or a new one. */
static struct l4_thread *thread_alloc(u32 space)
{
	struct l4_thread *t, **at = &thread_cache;

	while (ARCH_L4_THREADS_STAY_BOUND && *at && (*at)->space != space)
		at = &(*at)->next;
	at = *at ? at : &thread_cache;
	t = *at;
	if (t) {
		*at = t->next;
		threads_cached--;
		return t;
	}
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return NULL;
	t->slot = l4_slot_alloc();
	if (t->slot)
		return t;
	kfree(t);
	return NULL;
}

/* Keeps a user thread for another task.  False: enough are kept. */
static bool thread_keep(struct l4_thread *t)
{
	if (threads_cached == CACHE_THREADS)
		return false;
	if (!ARCH_L4_THREADS_STAY_BOUND)
		t->space = 0;
	t->next = thread_cache;
	thread_cache = t;
	threads_cached++;
	return true;
}

static void thread_free(struct l4_thread *t)
{
	if (t->frame)
		l4_delete(t->slot);
	else
		l4_slot_free(t->slot);
	kfree(t);
}

/* Binds the task's user thread to a space.  A task without one gets one. */
static int thread_give(struct task_struct *task, u32 space)
{
	struct l4_thread *t = l4_thread_of(task);
	bool fresh;
	struct l4_regs r;
	u32 status;

	if (!t)
		t = thread_alloc(space);
	if (!t)
		return -EAGAIN;
	fresh = !t->frame;
	if (!fresh && t->space == space) {
		/* It waits where its last task has ended. */
		task->thread.arch.host = t;
		return arch_l4_load_state(task);
	}
	if (fresh)
		status = l4_call_out(L4_OP_CREATE_THREAD, l4_user_quota, space, t->slot, L4_SPACE, &r);
	else
		status = l4_call_out(L4_OP_RESET, t->slot, space, L4_SPACE, 0, &r);
	if (status) {
		pr_warn_ratelimited("l4: %s[%d]: no user thread: error %u%s\n", current->comm,
				    task_pid_nr(current), status, l4_error_hint(status));
		if (t != l4_thread_of(task))
			thread_free(t);
		return -EAGAIN;
	}
	t->frame = r.r1;
	t->handle = r.r2;
	t->space = space;
	t->arch = (struct arch_l4_thread){ };
	task->thread.arch.host = t;
	if (fresh) {
		/*
		 * Linux gets all events of the thread.  The thread's priority is not above Linux's: a notification for
		 * Linux interrupts it.
		 */
		l4_call(L4_OP_SET_HANDLER, t->slot, L4_THREAD, 0, 0);
		if (!l4_one_priority)
			l4_call(L4_OP_SET_PRIORITY, t->slot, L4_USER_PRIORITY, L4_USER_PRIORITY, 0);
	}
	return arch_l4_load_state(task);
}

struct l4_thread *l4_thread_bound(struct task_struct *task)
{
	struct l4_thread *t = l4_thread_of(task);
	u32 space = task->mm->context.id.pid;

	if (likely(t && t->space == space))
		return t;
	return thread_give(task, space) ? NULL : l4_thread_of(task);
}

/* Programs that the shell of --batch starts do not have the shell's protection if memory runs out. */
static void l4_batch_fork(struct task_struct *task)
{
	if (unlikely(task_tgid(current) == l4_batch_shell) && task->signal != current->signal)
		task->signal->oom_score_adj = 0;
}

/* Gives a forked task its user thread (patch 16). */
int arch_fork_host(struct task_struct *task)
{
	int err = thread_give(task, task->mm->context.id.pid);

	l4_batch_fork(task);
	if (!err && !arch_l4_copy_fpu(task, current))
		err = -EAGAIN;
	/* copy_process() does so only if copy_thread() has succeeded. */
	if (err)
		exit_thread(task);
	return err;
}

/* A task exits, or fork has failed after it got its user thread. */
void exit_thread(struct task_struct *task)
{
	struct l4_thread *t = l4_thread_of(task);

	if (!t)
		return;
	task->thread.arch.host = NULL;
	if (!reuse || !thread_keep(t))
		thread_free(t);
}

/* A forked task does not share its parent's user thread. */
int arch_dup_task_struct(struct task_struct *dst, struct task_struct *src)
{
	*dst = *src;
	dst->thread.arch.host = NULL;
	set_tsk_thread_flag(dst, TIF_HOST_THREAD);
	return 0;
}

/* The system call is traced, audited or filtered. */
#define SYSCALL_WORK	(_TIF_SYSCALL_TRACE | _TIF_SYSCALL_EMU | _TIF_SYSCALL_AUDIT | _TIF_SECCOMP | \
			 _TIF_SINGLESTEP)

/*
 * Carries out a system call.  Those with SYSCALL_WORK go to upstream's handle_syscall(); then false is returned.
 * True: the result is the only register that has changed, unless TIF_HOST_THREAD is set.  The caller still has to
 * call syscall_exit_work(), unless it sees that there is none.
 */
static __always_inline bool system_call(struct uml_pt_regs *r, struct thread_info *ti)
{
	struct pt_regs *regs = container_of(r, struct pt_regs, regs);
	unsigned long nr = arch_l4_begin_system_call(r);

	if (unlikely(READ_ONCE(ti->flags) & SYSCALL_WORK || nr >= __NR_syscalls)) {
		handle_syscall(r);
		return false;
	}
	UPT_SYSCALL_NR(r) = nr;
	PT_REGS_SET_SYSCALL_RETURN(regs, arch_l4_execute(r, nr));
	return true;
}

/* A debugger may have attached during the system call. */
static noinline void syscall_exit_work(struct uml_pt_regs *r, struct thread_info *ti)
{
	if (READ_ONCE(ti->flags) & SYSCALL_WORK)
		syscall_trace_leave(container_of(r, struct pt_regs, regs));
}

/* Any event but a plain system call. */
static noinline void user_event(struct uml_pt_regs *regs, const struct l4_frame *frame, u32 vector)
{
	int code;

	if (vector == L4_VECTOR_PAGE_FAULT) {
		unsigned long address = frame->address, access = frame->error & (L4_FAULT_WRITE | ARCH_L4_FAULT_FETCH);

		if (unlikely(l4_space_of(current->mm)->reclaimed) && l4_restore_mappings(address, access & L4_FAULT_WRITE))
			return;
		if (arch_l4_page_fault(current->mm, address))
			return;
		if (likely(!handle_page_fault(address, UPT_IP(regs), access, 1, &code)))
			return;
		/* The program would fault again.  segv() tries once more and sends the signal. */
		arch_l4_note_page_fault(regs, frame);
		segv(regs->faultinfo, UPT_IP(regs), 1, regs);
	} else {
		arch_l4_exception(regs, frame);
	}
}

/* TIF_HOST_THREAD: binds the task's user thread to its space.  If none is left the task is killed. */
static void prepare_user_thread(struct task_struct *task)
{
	if (!l4_thread_bound(task)) {
		force_sig(SIGKILL);
		return;
	}
	clear_tsk_thread_flag(task, TIF_HOST_THREAD);
	arch_l4_check_registers(&task->thread.regs.regs);
}

/* Whether there is work before the task returns to user mode.  `flags` are further flags that count as work. */
static __always_inline bool has_exit_to_user_work(struct task_struct *task, unsigned long flags)
{
	flags |= _TIF_WORK_MASK | _TIF_HOST_THREAD;
	return l4_mappings_dirty | (READ_ONCE(task_thread_info(task)->flags) & flags);
}

/* Does this work.  Interrupts are disabled before and after. */
static noinline void exit_to_user_work(struct task_struct *task)
{
	do {
		if (READ_ONCE(task_thread_info(task)->flags) & (_TIF_WORK_MASK | _TIF_HOST_THREAD)) {
			arch_local_irq_enable();
			interrupt_end();
			prepare_user_thread(task);
			arch_local_irq_disable();
			/* Flags may be set again.  Mappings are collected last: records must not wait while other tasks run. */
			continue;
		}
		/*
		 * Interrupts change no page table.  __switch_mm() sets l4_mappings_dirty if the next mm has changes.  A
		 * single record is left to the next run, before which no other task can run.
		 */
		l4_mappings_dirty = 0;
		l4_tlb_collect(task->mm);
	} while (has_exit_to_user_work(task, 0));
}

static __always_inline bool is_alien(u32 kind, u32 word, u32 vector)
{
	return kind == L4_KIND_ALIEN && word == vector;
}

static __always_inline bool is_vdso_call(u32 kind, u32 word)
{
	return kind == L4_KIND_ALIEN && arch_l4_is_vdso_call(word);
}

/*
 * Resumes the user thread; the record that waits, if any, is carried out before.  If that fails the thread has not
 * run, and the record still waits.
 */
static __always_inline u32 map_and_run(bool fast_entry, u32 *handle, u32 *word)
{
	u32 kept = *handle, kind;

	if (likely(!l4_batched))
		return arch_l4_run(fast_entry, handle, word);
	memcpy((void *)l4_utcb, l4_batch, sizeof(l4_batch[0]));
	*word = 1;
	kind = arch_l4_run_by(L4_OP_MAP_RUN, fast_entry, handle, word);
	if (unlikely(kind == L4_KIND_FAILED))
		*handle = kept;
	else
		l4_batched = 0;
	return kind;
}

/*
 * A usual system call.  False: it has its result, but other registers may have changed, or there is work before the
 * task returns to user mode.  True: the task continues with the registers of the frame.
 */
static __always_inline bool plain_call(struct task_struct *task, struct l4_frame *frame, bool by_vdso)
{
	struct uml_pt_regs *regs = &task->thread.regs.regs;

	if (by_vdso && unlikely(!arch_l4_begin_vdso_call(task)))
		return false;
	if (unlikely(!system_call(regs, task_thread_info(task))))
		return false;
	arch_local_irq_disable();
	if (unlikely(has_exit_to_user_work(task, SYSCALL_WORK))) {
		arch_local_irq_enable();
		syscall_exit_work(regs, task_thread_info(task));
		return false;
	}
	/* The other registers are still in the frame. */
	arch_l4_load_result(regs, frame, by_vdso);
	return true;
}

/* The loop of a task in user mode.  It is compiled once for each way into the microkernel. */
static __always_inline void run_user(struct uml_pt_regs *regs, bool fast_entry)
{
	/* As `current`, but computed from a register. */
	struct task_struct *task = container_of(regs, struct task_struct, thread.regs.regs);
	struct l4_thread *t;
	struct l4_frame *frame;
	u32 handle, kind, word;
	/* See arch_l4_fast_return(). */
	unsigned long fast_return = 0;

	regs->is_user = 1;
	for (;;) {
		/*
		 * With interrupts disabled no other task runs until this one's registers are back from the frame.  An
		 * interrupt that comes meanwhile ends arch_l4_run(), or is taken when interrupts are next enabled.
		 */
		arch_local_irq_disable();
		if (unlikely(has_exit_to_user_work(task, 0)))
			exit_to_user_work(task);
		t = l4_thread_of(task);
		frame = (void *)t->frame;
		handle = t->handle;
		arch_l4_load_registers(regs, frame, fast_return);
		for (kind = map_and_run(fast_entry, &handle, &word);; kind = arch_l4_run(fast_entry, &handle, &word)) {
			/* The task may end in the following call. */
			if (ARCH_L4_THREADS_STAY_BOUND)
				t->handle = handle;
			l4_attack_event(kind, word);
			arch_l4_note_event();
			arch_l4_store_registers(regs, frame);
			signals_enabled = 1;
			l4_walk_event(task->mm);
			if (likely(is_alien(kind, word, L4_VECTOR_SYSTEM_CALL)) ? !plain_call(task, frame, false) :
			    !is_vdso_call(kind, word) || !plain_call(task, frame, true))
				break;
		}
		t->handle = handle;
		fast_return = kind == L4_KIND_ALIEN ? arch_l4_fast_return(task, word) : 0;
		/* The system call has its result.  Interrupts may be disabled: they are above, too. */
		if (is_alien(kind, word, L4_VECTOR_SYSTEM_CALL) || is_vdso_call(kind, word))
			continue;
		arch_l4_no_system_call(regs);
		if (kind == L4_KIND_ALIEN) {
			user_event(regs, frame, word);
		} else if (kind == L4_KIND_INTERRUPTED) {
			/* The thread may not have run: what was tested above may have changed. */
			arch_l4_cancel_fast_return(frame);
			l4_deliver(word, regs);
			arch_l4_interrupted(l4_space_of(task->mm));
		} else if (l4_batched) {
			/* The record has failed.  l4_map_flush() tries to make room. */
			arch_l4_cancel_fast_return(frame);
			if (l4_map_flush())
				force_sig(SIGKILL);
		} else {
			panic("l4: a user thread cannot run: %x %x", kind, word);
		}
	}
}

void userspace(struct uml_pt_regs *regs, unsigned long *aux_fp_regs)
{
	if (arch_l4_has_fast_entry())
		run_user(regs, true);
	else
		run_user(regs, false);
}
