// SPDX-License-Identifier: GPL-2.0
/*
 * User processes: a space of aliens for each mm, an alien thread for each task, and the
 * loop that runs them.
 *
 * The thread is made with its task, so that fork and clone fail if there is none left, or
 * when a task that was Linux's own first runs in user mode, and bound anew when
 * the task's mm changes.  Its registers lie in its UTCB slot, which is in this
 * server's space, and so does its FPU state, unless the processor has it.
 *
 * Spaces and threads of the dead are kept and used again.  Only tasks take and give
 * threads, of which none is preempted.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/threads.h>
#include <asm/tlbflush.h>
#include <as-layout.h>
#include <irq_user.h>
#include <kern_util.h>
#include <mm_id.h>
#include <os.h>
#include <registers.h>
#include <skas.h>
#include <sysdep/ptrace_user.h>
#include "l4.h"
#include <os-L4/layout.h>
#include <os-L4/run.h>

/* The dead that are kept, unless "noreuse" is among the arguments. */
#define CACHE_SPACES	16
#define CACHE_THREADS	32

/* A user thread.  Named by task_struct.thread.arch.host. */
struct l4_thread {
	u32 slot;		/* its capability */
	u32 frame;		/* its UTCB slot: registers, then FPU state */
	u32 handle;		/* replying to it lets it run */
	u32 space;		/* the space it is bound to */
	struct l4_thread *next;	/* in the cache */
};

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

static struct l4_thread *thread_of(struct task_struct *task)
{
	return task->thread.arch.host;
}

struct l4_space *l4_space_alloc(void)
{
	struct l4_space *space;

	if (spaces_cached)
		return space_cache[--spaces_cached];
	space = kzalloc(sizeof(*space), GFP_KERNEL);
	if (!space)
		return NULL;
	space->last = space->table;
	space->slot = l4_user_space_create();
	if (space->slot)
		return space;
	kfree(space);
	return NULL;
}

/* Unmaps all that it may have; of the tables the first few stay. */
static int space_clear(struct l4_space *space)
{
	struct l4_table *t;
	int err = 0;

	if (space->more) {
		err = l4_unmap_record(space->slot, 0, TASK_SIZE);
		space->tables = 0;
		space->more = false;
	}
	t = space->table;
	while (t < space->table + space->tables) {
		/* Where a program's stack and heap lie is random: tables that were not used make room for others. */
		if (!t->used && space->tables > L4_KEPT_TABLES / 2) {
			err |= l4_unmap_record(space->slot, t->base, PGDIR_SIZE);
			*t = space->table[--space->tables];
			continue;
		}
		for (; t->used; t->used &= t->used - 1)
			err |= l4_unmap_record(space->slot, t->base + __ffs(t->used) * L4_BLOCK, L4_BLOCK);
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
			l4_unmap_all(space_cache[i]->slot);
			space_cache[i]->tables = 0;
			return true;
		}
	return false;
}

void l4_space_free(struct l4_space *space)
{
	if (reuse && spaces_cached < CACHE_SPACES && !space_clear(space)) {
		space_cache[spaces_cached++] = space;
		return;
	}
	l4_user_space_delete(space->slot);
	kfree(space);
}

/* Called for every process at shutdown, in any order: nobody runs any more. */
void os_kill_ptraced_process(int pid, int reap_child) { }

void __switch_mm(struct mm_id *mm_idp)
{
	userspace_pid[0] = mm_idp->pid;
	l4_mappings_dirty |= container_of(mm_idp, struct mm_struct, context.id)->context.sync[0].to;
}

/* The loop below looks at notifications itself. */
void os_alarm_process(int pid) { }

static struct l4_thread *thread_alloc(void)
{
	struct l4_thread *t = thread_cache;

	if (t) {
		thread_cache = t->next;
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

/* For another task; false if there are enough of them. */
static bool thread_keep(struct l4_thread *t)
{
	if (threads_cached == CACHE_THREADS)
		return false;
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

/* Gives the task a thread of the space, a new one if it has none. */
static int thread_give(struct task_struct *task, u32 space)
{
	struct l4_thread *t = thread_of(task);
	bool fresh;
	struct l4_regs r;
	u32 status;

	if (!t)
		t = thread_alloc();
	if (!t)
		return -EAGAIN;
	fresh = !t->frame;
	if (fresh)
		status = l4_call_out(L4_OP_CREATE_THREAD, l4_user_quota, space, t->slot, L4_SPACE, &r);
	else
		status = l4_call_out(L4_OP_RESET, t->slot, space, L4_SPACE, 0, &r);
	if (status) {
		pr_warn_ratelimited("l4: %s[%d]: no user thread: error %u%s\n", current->comm,
				    task_pid_nr(current), status, l4_error_hint(status));
		if (t != thread_of(task))
			thread_free(t);
		return -EAGAIN;
	}
	t->frame = r.r1;
	t->handle = r.r2;
	t->space = space;
	task->thread.arch.host = t;
	if (fresh) {
		/*
		 * Linux gets all their events. It runs above its processes, or beside them: what
		 * arrives for it stops the one that runs.
		 */
		l4_call(L4_OP_SET_HANDLER, t->slot, L4_THREAD, 0, 0);
		if (!l4_one_priority)
			l4_call(L4_OP_SET_PRIORITY, t->slot, L4_USER_PRIORITY, L4_USER_PRIORITY, 0);
	}
	return arch_l4_load_tls(task);
}

/* The thread of the task's space. */
static struct l4_thread *thread_bound(struct task_struct *task)
{
	struct l4_thread *t = thread_of(task);
	u32 space = task->mm->context.id.pid;

	if (likely(t && t->space == space))
		return t;
	return thread_give(task, space) ? NULL : thread_of(task);
}

/* The copy of a task gets its thread. */
int arch_fork_host(struct task_struct *task)
{
	int err = thread_give(task, task->mm->context.id.pid);

	if (!err && !l4_fp_copy(task, current))
		err = -EAGAIN;
	/* copy_process() does not: for it the thread is not there. */
	if (err)
		exit_thread(task);
	return err;
}

/* A task exits, or its copy was not finished. */
void exit_thread(struct task_struct *task)
{
	struct l4_thread *t = thread_of(task);

	if (!t)
		return;
	task->thread.arch.host = NULL;
	if (!reuse || !thread_keep(t))
		thread_free(t);
}

/* A copy of a task has none of its thread. */
int arch_dup_task_struct(struct task_struct *dst, struct task_struct *src)
{
	*dst = *src;
	dst->thread.arch.host = NULL;
	set_tsk_thread_flag(dst, TIF_HOST_THREAD);
	return 0;
}

u32 l4_fp_slot(struct task_struct *task)
{
	struct l4_thread *t = thread_bound(task);

	if (!t)
		return 0;
	if (*(u32 *)(t->frame + L4_UTCB_FPU) == L4_FPU_LOADED)
		l4_call(L4_OP_FPU_SYNC, t->slot, 0, 0, 0);
	return t->frame;
}

int l4_set_tls(struct task_struct *task, unsigned int index, u32 base, u32 limit)
{
	struct l4_thread *t = thread_of(task);

	return t && l4_call(L4_OP_SET_STATE, t->slot, L4_STATE_TLS + index, base, limit) ? -EINVAL : 0;
}

int l4_set_breakpoints(struct task_struct *task)
{
	const unsigned long *own = task->thread.arch.debugregs;
	struct l4_thread *t = thread_bound(task);
	u32 i, status = 0;

	if (!t)
		return -EAGAIN;
	for (i = 0; i < 4; i++)
		status |= l4_call(L4_OP_SET_STATE, t->slot, L4_STATE_DEBUG + i, own[i], 0);
	status |= l4_call(L4_OP_SET_STATE, t->slot, L4_STATE_DEBUG + 7,
			  arch_l4_debug_control(own), 0);
	return status ? -EINVAL : 0;
}

u32 l4_debug_status(struct task_struct *task)
{
	struct l4_regs r;

	if (l4_call_out(L4_OP_SET_STATE, thread_of(task)->slot, L4_STATE_DEBUG + 7,
			arch_l4_debug_control(task->thread.arch.debugregs), 0, &r))
		return 0;
	return r.r1;
}

#define SYSCALL_WORK	(_TIF_SYSCALL_TRACE | _TIF_SYSCALL_EMU | _TIF_SYSCALL_AUDIT | _TIF_SECCOMP | \
			 _TIF_SINGLESTEP)

/*
 * As handle_syscall(), which is for those that are looked at.  The number is in the register of the result.
 * True if it changed the result for the program, and nothing else but what TIF_HOST_THREAD tells of: then
 * look_behind() has still to be done.
 */
static __always_inline bool system_call(struct uml_pt_regs *r, struct thread_info *ti)
{
	struct pt_regs *regs = container_of(r, struct pt_regs, regs);
	unsigned long nr = PT_REGS_SYSCALL_RET(regs);

	PT_SYSCALL_NR(r->gp) = nr;
	if (unlikely(READ_ONCE(ti->flags) & SYSCALL_WORK || nr >= __NR_syscalls)) {
		handle_syscall(r);
		return false;
	}
	UPT_SYSCALL_NR(r) = nr;
	PT_REGS_SET_SYSCALL_RETURN(regs, arch_l4_execute(r, nr));
	return true;
}

/* Somebody may have begun to look while it was carried out. */
static noinline void look_behind(struct uml_pt_regs *r, struct thread_info *ti)
{
	if (READ_ONCE(ti->flags) & SYSCALL_WORK)
		syscall_trace_leave(container_of(r, struct pt_regs, regs));
}

static noinline void user_event(struct uml_pt_regs *regs, u32 trap, u32 address, u32 error)
{
	int code;

	switch (trap) {
	case L4_VECTOR_SYSENTER:
		if (arch_l4_begin_sysenter(regs) && system_call(regs, current_thread_info()))
			look_behind(regs, current_thread_info());
		break;
	case L4_VECTOR_PAGE_FAULT:
		if (unlikely(l4_space_of(current->mm)->forgotten) && l4_restore_mappings(address, error & L4_FAULT_WRITE))
			break;
		if (likely(!handle_page_fault(address, UPT_IP(regs), error & L4_FAULT_WRITE, 1, &code)))
			break;
		/* As the program would fault again: segv() tries once more, and makes it a signal. */
		regs->faultinfo.cr2 = address;
		/* Whether anything is there is nobody's business, where no process may have anything. */
		regs->faultinfo.error_code = address < TASK_SIZE ? error : error | L4_FAULT_PROTECTION;
		regs->faultinfo.trap_no = trap;
		segv(regs->faultinfo, UPT_IP(regs), 1, regs);
		break;
	default:
		arch_l4_exception(regs, trap, error);
	}
}

/* Gives the task a thread of its space.  Without memory for it the task goes. */
static void get_ready(struct task_struct *task)
{
	if (!thread_bound(task)) {
		force_sig(SIGKILL);
		return;
	}
	clear_tsk_thread_flag(task, TIF_HOST_THREAD);
	arch_l4_check_selectors(&task->thread.regs.regs);
}

/* Whether something is to be done before the task's thread runs: this, or what these flags say. */
static __always_inline bool has_work(struct task_struct *task, unsigned long flags)
{
	flags |= _TIF_WORK_MASK | _TIF_HOST_THREAD;
	return l4_mappings_dirty | (READ_ONCE(task_thread_info(task)->flags) & flags);
}

/* Does it.  Interrupts are disabled before and after. */
static noinline void work(struct task_struct *task)
{
	do {
		if (READ_ONCE(task_thread_info(task)->flags) & (_TIF_WORK_MASK | _TIF_HOST_THREAD)) {
			arch_local_irq_enable();
			interrupt_end();
			get_ready(task);
			arch_local_irq_disable();
			/* Flags may be set again: records that are collected must not wait while others run. */
			continue;
		}
		/*
		 * No interrupt changes a page table; of the mms that are not loaded __switch_mm() tells.  A
		 * page goes with the next run, before which nobody else can come.
		 */
		l4_mappings_dirty = 0;
		l4_tlb_collect(task->mm);
	} while (has_work(task, 0));
}

static __always_inline bool is_alien(u32 kind, u32 word, u32 vector)
{
	return kind == L4_KIND_ALIEN && word == vector;
}

/* Behind the record that waits, if any.  If it fails the thread has not run, and it still waits. */
static __always_inline u32 map_and_run(bool sysenter, u32 *handle, u32 *word)
{
	u32 kept = *handle, kind;

	if (likely(!l4_batched))
		return l4_run(sysenter, handle, word);
	memcpy((void *)l4_utcb, l4_batch, sizeof(l4_batch[0]));
	*word = 1;
	kind = l4_run_by(L4_OP_MAP_RUN, sysenter, handle, word);
	if (unlikely(kind == L4_KIND_FAILED))
		*handle = kept;
	else
		l4_batched = 0;
	return kind;
}

/* One of its own for each way into the microkernel. */
static __always_inline void run_user(struct uml_pt_regs *regs, bool sysenter)
{
	/* The one that runs, for this stack is its: found by what is in a register anyway. */
	struct task_struct *task = container_of(regs, struct task_struct, thread.regs.regs);
	struct l4_thread *t;
	struct l4_frame *frame;
	u32 handle, kind, word;
	/* If it comes from a sysenter: what it goes on with there takes ECX and EDX from the stack. */
	unsigned long landing = 0;

	regs->is_user = 1;
	for (;;) {
		/*
		 * From here to the registers' return nothing else may run.  What arrives
		 * meanwhile interrupts the thread, or is seen at the next unblocking.
		 */
		arch_local_irq_disable();
		if (unlikely(has_work(task, 0)))
			work(task);
		t = thread_of(task);
		frame = (void *)t->frame;
		handle = t->handle;
		arch_l4_load_registers(regs, frame, landing);
		for (kind = map_and_run(sysenter, &handle, &word);; kind = l4_run(sysenter, &handle, &word)) {
			arch_l4_store_registers(regs, frame);
			signals_enabled = 1;
			l4_walk_event(task->mm);
			if (unlikely(!is_alien(kind, word, L4_VECTOR_SYSTEM_CALL)) ||
			    unlikely(!system_call(regs, task_thread_info(task))))
				break;
			arch_local_irq_disable();
			if (unlikely(has_work(task, SYSCALL_WORK))) {
				arch_local_irq_enable();
				look_behind(regs, task_thread_info(task));
				break;
			}
			/* The frame has the other registers still. */
			arch_l4_load_result(regs, frame);
		}
		t->handle = handle;
		landing = 0;
		/* One that has been carried out: interrupts may be disabled, as they will be above. */
		if (is_alien(kind, word, L4_VECTOR_SYSTEM_CALL))
			continue;
		/* Nothing that could be begun again. */
		PT_SYSCALL_NR(regs->gp) = -1;
		UPT_SYSCALL_NR(regs) = -1;
		if (kind == L4_KIND_ALIEN) {
			user_event(regs, frame->vector, frame->address, frame->error);
			if (word == L4_VECTOR_SYSENTER)
				landing = arch_l4_landing();
		} else if (kind == L4_KIND_INTERRUPTED) {
			/* It may be that the thread has not run. */
			frame->changed &= ~L4_BY_SYSEXIT;
			l4_deliver(word, regs);
		} else if (l4_batched) {
			frame->changed &= ~L4_BY_SYSEXIT;
			if (l4_map_flush())
				force_sig(SIGKILL);
		} else {
			panic("l4: a user thread cannot run: %x %x", kind, word);
		}
	}
}

void userspace(struct uml_pt_regs *regs, unsigned long *aux_fp_regs)
{
	if (arch_l4_has_sysenter())
		run_user(regs, true);
	else
		run_user(regs, false);
}
