// SPDX-License-Identifier: GPL-2.0
/*
 * Signal frames, as arch/powerpc/kernel/signal_32.c makes them.  This takes the place of upstream's signal.c in arch/um.
 */
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <asm/elf.h>
#include <asm/sigcontext.h>
#include <asm/ucontext.h>
#include <asm/unistd.h>
#include <kern_util.h>
#include <sysdep/ptrace.h>
#include <sysdep/ptrace_user.h>
#include "fpu.h"
#include "ptregs.h"
#include "vdso.h"

/* Programs use so many bytes below their stack pointer. */
#define BELOW	224

struct sigframe {
	struct sigcontext context;
	struct mcontext registers;
	char below[BELOW];
};

struct rt_sigframe {
	struct siginfo info;
	struct ucontext uc;
	char below[BELOW];
};

/*
 * Between such a frame and the handler's stack pointer.  The word there points to the program's previous stack frame.
 */
#define CALLER_BYTES	64
#define RT_CALLER_BYTES	(CALLER_BYTES + 16)

static_assert(L4_FP_ENTRIES * sizeof(u64) == sizeof(elf_fpregset_t));

static bool put_registers(struct mcontext __user *to, const unsigned long *gp)
{
	unsigned long words[L4_PT_REGISTERS];
	u64 fp[L4_FP_ENTRIES];

	l4_to_pt_regs(words, gp, &current->thread.arch.faultinfo);
	return l4_fp_get(current, fp) && !__copy_to_user(&to->mc_gregs, words, sizeof(words)) &&
	       !__copy_to_user(&to->mc_fregs, fp, sizeof(fp));
}

/* A handler begins with the FPU's registers unchanged, and with the FPU's status of a new program. */
static bool begin_fp(void)
{
	u64 fp[L4_FP_ENTRIES];

	if (!l4_fp_get(current, fp))
		return false;
	if (!fp[L4_FP_ENTRIES - 1])
		return true;
	fp[L4_FP_ENTRIES - 1] = 0;
	return l4_fp_put(current, fp);
}

static bool enter_handler(struct ksignal *ksig, unsigned long *gp, unsigned long stack, unsigned long back)
{
	if (!begin_fp() || put_user(gp[HOST_SP], (unsigned long __user *)stack))
		return false;
	gp[HOST_SP] = stack;
	gp[HOST_R3] = ksig->sig;
	gp[HOST_LR] = back;
	gp[HOST_IP] = (unsigned long)ksig->ka.sa.sa_handler;
	gp[HOST_MSR] &= ~(MSR_USER_FLAGS | MSR_STEP);
	return true;
}

/* A place for a frame, aligned to 16 bytes, or NULL. */
static void __user *frame_place(struct ksignal *ksig, unsigned long sp, size_t size, size_t caller)
{
	unsigned long frame = (sigsp(sp, ksig) - size) & ~15UL;

	return access_ok((void __user *)(frame - caller), size + caller) ? (void __user *)frame : NULL;
}

static unsigned long in_vdso(unsigned long offset)
{
	return current->mm->context.id.vdso + offset;
}

static bool setup_frame(struct ksignal *ksig, unsigned long *gp, const sigset_t *set)
{
	struct sigframe __user *frame = frame_place(ksig, gp[HOST_SP], sizeof(*frame), CALLER_BYTES);
	struct sigcontext context = {
		.handler = (unsigned long)ksig->ka.sa.sa_handler, .oldmask = set->sig[0], ._unused[3] = set->sig[1],
		.signal = ksig->sig,
	};

	if (!frame)
		return false;
	context.regs = (void __user *)&frame->registers;
	if (__copy_to_user(&frame->context, &context, sizeof(context)) || !put_registers(&frame->registers, gp) ||
	    !enter_handler(ksig, gp, (unsigned long)frame - CALLER_BYTES, in_vdso(L4_VDSO_SIGRETURN)))
		return false;
	gp[HOST_R3 + 1] = (unsigned long)&frame->context;
	return true;
}

static bool setup_rt_frame(struct ksignal *ksig, unsigned long *gp, const sigset_t *set)
{
	struct rt_sigframe __user *frame = frame_place(ksig, gp[HOST_SP], sizeof(*frame), RT_CALLER_BYTES);
	struct ucontext __user *uc;

	if (!frame)
		return false;
	uc = &frame->uc;
	if (copy_siginfo_to_user(&frame->info, &ksig->info) || __put_user(0, &uc->uc_flags) || __put_user(NULL, &uc->uc_link) ||
	    __save_altstack(&uc->uc_stack, gp[HOST_SP]) || __put_user(&uc->uc_mcontext, &uc->uc_regs) ||
	    __copy_to_user(&uc->uc_sigmask, set, sizeof(*set)) || !put_registers(&uc->uc_mcontext, gp) ||
	    !enter_handler(ksig, gp, (unsigned long)frame - RT_CALLER_BYTES, in_vdso(L4_VDSO_RT_SIGRETURN)))
		return false;
	gp[HOST_R3 + 1] = (unsigned long)&frame->info;
	gp[HOST_R3 + 2] = (unsigned long)uc;
	gp[HOST_R3 + 3] = (unsigned long)frame;
	return true;
}

/* The error with which a system call ended, or 0. */
static long failed(const unsigned long *gp)
{
	return (long)PT_SYSCALL_NR(gp) != -1 && gp[HOST_CR] & CR0_SO ? gp[HOST_R3] : 0;
}

/* Lets the program execute the instruction again. */
static void restart_system_call(unsigned long *gp)
{
	gp[HOST_R3] = gp[HOST_ORIG_R3];
	gp[HOST_IP] -= 4;
}

static void handle_signal(struct ksignal *ksig, struct pt_regs *regs)
{
	unsigned long *gp = regs->regs.gp;
	const sigset_t *set = sigmask_to_save();
	bool done;

	switch (failed(gp)) {
	case ERESTART_RESTARTBLOCK:
	case ERESTARTNOHAND:
		gp[HOST_R3] = EINTR;
		break;
	case ERESTARTSYS:
		if (!(ksig->ka.sa.sa_flags & SA_RESTART)) {
			gp[HOST_R3] = EINTR;
			break;
		}
		fallthrough;
	case ERESTARTNOINTR:
		restart_system_call(gp);
		break;
	}
	/* Only once: the handler's own system calls come next. */
	PT_SYSCALL_NR(gp) = -1;
	done = ksig->ka.sa.sa_flags & SA_SIGINFO ? setup_rt_frame(ksig, gp, set) : setup_frame(ksig, gp, set);
	if (done)
		set_thread_flag(TIF_HOST_THREAD);
	signal_setup_done(!done, ksig, 0);
}

void do_signal(struct pt_regs *regs)
{
	unsigned long *gp = regs->regs.gp;
	struct ksignal ksig;

	if (get_signal(&ksig)) {
		handle_signal(&ksig, regs);
		return;
	}
	switch (failed(gp)) {
	case ERESTART_RESTARTBLOCK:
		gp[HOST_R0] = __NR_restart_syscall;
		fallthrough;
	case ERESTARTNOHAND:
	case ERESTARTSYS:
	case ERESTARTNOINTR:
		restart_system_call(gp);
		PT_SYSCALL_NR(gp) = -1;
		set_thread_flag(TIF_HOST_THREAD);
		break;
	}
	restore_saved_sigmask();
}

static bool restore_registers(struct uml_pt_regs *regs, struct mcontext __user *from)
{
	unsigned long words[L4_PT_REGISTERS];
	u64 fp[L4_FP_ENTRIES];

	if (copy_from_user(words, &from->mc_gregs, sizeof(words)) || copy_from_user(fp, &from->mc_fregs, sizeof(fp)) ||
	    !l4_fp_put(current, fp))
		return false;
	l4_from_pt_regs(regs->gp, words);
	/* sigreturn() does not restart the interrupted system call. */
	current->restart_block.fn = do_no_restart_syscall;
	PT_SYSCALL_NR(regs->gp) = -1;
	UPT_SYSCALL_NR(regs) = -1;
	set_thread_flag(TIF_HOST_THREAD);
	return true;
}

SYSCALL_DEFINE0(sigreturn)
{
	struct uml_pt_regs *regs = &current->thread.regs.regs;
	struct sigframe __user *frame = (void __user *)(UPT_SP(regs) + CALLER_BYTES);
	struct sigcontext context;
	sigset_t set;

	if (!copy_from_user(&context, &frame->context, sizeof(context))) {
		set.sig[0] = context.oldmask;
		set.sig[1] = context._unused[3];
		set_current_blocked(&set);
		if (restore_registers(regs, (struct mcontext __user *)context.regs))
			return 0;
	}
	force_sig(SIGSEGV);
	return 0;
}

SYSCALL_DEFINE0(rt_sigreturn)
{
	struct uml_pt_regs *regs = &current->thread.regs.regs;
	struct rt_sigframe __user *frame = (void __user *)(UPT_SP(regs) + RT_CALLER_BYTES);
	struct mcontext __user *registers;
	sigset_t set;

	if (!copy_from_user(&set, &frame->uc.uc_sigmask, sizeof(set)) && !get_user(registers, &frame->uc.uc_regs)) {
		set_current_blocked(&set);
		if (restore_registers(regs, registers) && !restore_altstack(&frame->uc.uc_stack))
			return 0;
	}
	force_sig(SIGSEGV);
	return 0;
}

/*
 * Saves the caller's registers and continues with others, or only saves them: for the C library's functions of this
 * name.
 */
SYSCALL_DEFINE3(swapcontext, struct ucontext __user *, old, struct ucontext __user *, new, long, bytes)
{
	struct uml_pt_regs *regs = &current->thread.regs.regs;
	struct mcontext __user *registers;
	sigset_t set;

	if (bytes < sizeof(struct ucontext))
		return -EINVAL;
	if (old) {
		/* A program that continues there gets the result of a call that did not fail. */
		regs->gp[HOST_CR] &= ~CR0_SO;
		if (!access_ok(old, sizeof(*old)) || !put_registers(&old->uc_mcontext, regs->gp) ||
		    __copy_to_user(&old->uc_sigmask, &current->blocked, sizeof(set)) ||
		    __put_user(&old->uc_mcontext, &old->uc_regs))
			return -EFAULT;
	}
	if (!new)
		return 0;
	if (copy_from_user(&set, &new->uc_sigmask, sizeof(set)) || get_user(registers, &new->uc_regs))
		return -EFAULT;
	set_current_blocked(&set);
	if (restore_registers(regs, registers))
		return 0;
	force_sig(SIGSEGV);
	return 0;
}
