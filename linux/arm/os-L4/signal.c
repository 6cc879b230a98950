// SPDX-License-Identifier: GPL-2.0
/*
 * Signal frames, as arch/arm/kernel/signal.c makes them.  This takes the place of upstream's signal.c in arch/um.
 */
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <asm/ucontext.h>
#include <asm/unistd.h>
#include <kern_util.h>
#include <sysdep/ptrace.h>
#include <sysdep/ptrace_user.h>
#include "../../../um/os-L4/sigpage.h"
#include "sigpage.h"

struct sigframe {
	struct ucontext uc;
	unsigned long retcode[4];
};

struct rt_sigframe {
	struct siginfo info;
	struct sigframe sig;
};

/* A value of uc_flags that is not the number of a trap: it marks a frame without siginfo. */
#define FLAGS_WITHOUT_INFO	0x5ac3c35a

/* Registers have the same order in a frame's context as in the microkernel's frame. */
#define CONTEXT_REGISTERS	(HOST_CPSR + 1)
static_assert(offsetof(struct sigcontext, arm_cpsr) - offsetof(struct sigcontext, arm_r0) == 4 * HOST_CPSR);

static bool put_context(struct sigframe __user *to, const unsigned long *gp, const sigset_t *set)
{
	const struct faultinfo *fault = &current->thread.arch.faultinfo;
	struct sigcontext context = {
		.trap_no = fault->trap_no, .error_code = fault->error_code, .oldmask = set->sig[0],
		.fault_address = fault->address,
	};

	memcpy(&context.arm_r0, gp, CONTEXT_REGISTERS * sizeof(long));
	return !__copy_to_user(&to->uc.uc_mcontext, &context, sizeof(context)) &&
	       !__copy_to_user(&to->uc.uc_sigmask, set, sizeof(*set)) &&
	       /* No state of a coprocessor follows. */
	       !__put_user(0, &to->uc.uc_regspace[0]);
}

/* Prepares the call of the handler, and where it returns to: the program's function, or the page of sigpage.c. */
static bool enter_handler(struct ksignal *ksig, unsigned long *gp, void __user *frame, unsigned long __user *retcode)
{
	unsigned long handler = (unsigned long)ksig->ka.sa.sa_handler, thumb = handler & 1, back;

	if (ksig->ka.sa.sa_flags & SA_RESTORER) {
		back = (unsigned long)ksig->ka.sa.sa_restorer;
	} else {
		unsigned int first = l4_sigreturn_code(thumb, ksig->ka.sa.sa_flags & SA_SIGINFO);

		/* Debuggers look for it here. */
		if (__put_user(arch_l4_sigreturn[first], retcode) || __put_user(arch_l4_sigreturn[first + 1], retcode + 1))
			return false;
		back = l4_sigpage() + first * sizeof(long) + thumb;
	}
	gp[HOST_R0] = ksig->sig;
	gp[HOST_SP] = (unsigned long)frame;
	gp[HOST_LR] = back;
	gp[HOST_IP] = handler & ~1UL;
	gp[HOST_CPSR] = (gp[HOST_CPSR] & ~PSR_THUMB) | (thumb ? PSR_THUMB : 0);
	return true;
}

/* A place for a frame, aligned to 8 bytes, or NULL. */
static void __user *frame_place(struct ksignal *ksig, unsigned long sp, size_t size)
{
	void __user *frame = (void __user *)((sigsp(sp, ksig) - size) & ~7UL);

	return access_ok(frame, size) ? frame : NULL;
}

static bool setup_frame(struct ksignal *ksig, unsigned long *gp, const sigset_t *set)
{
	struct sigframe __user *frame = frame_place(ksig, gp[HOST_SP], sizeof(*frame));

	return frame && !__put_user(FLAGS_WITHOUT_INFO, &frame->uc.uc_flags) && put_context(frame, gp, set) &&
	       enter_handler(ksig, gp, frame, frame->retcode);
}

static bool setup_rt_frame(struct ksignal *ksig, unsigned long *gp, const sigset_t *set)
{
	struct rt_sigframe __user *frame = frame_place(ksig, gp[HOST_SP], sizeof(*frame));

	if (!frame || copy_siginfo_to_user(&frame->info, &ksig->info) || __put_user(0, &frame->sig.uc.uc_flags) ||
	    __put_user(NULL, &frame->sig.uc.uc_link) || __save_altstack(&frame->sig.uc.uc_stack, gp[HOST_SP]) ||
	    !put_context(&frame->sig, gp, set) || !enter_handler(ksig, gp, frame, frame->sig.retcode))
		return false;
	gp[HOST_R0 + 1] = (unsigned long)&frame->info;
	gp[HOST_R0 + 2] = (unsigned long)&frame->sig.uc;
	return true;
}

static bool came_from_system_call(const unsigned long *gp)
{
	return (long)PT_SYSCALL_NR(gp) != -1;
}

/* Lets the program execute the instruction again. */
static void restart_system_call(unsigned long *gp)
{
	gp[HOST_R0] = gp[HOST_ORIG_R0];
	gp[HOST_IP] -= gp[HOST_CPSR] & PSR_THUMB ? 2 : 4;
}

static void handle_signal(struct ksignal *ksig, struct pt_regs *regs)
{
	unsigned long *gp = regs->regs.gp;
	const sigset_t *set = sigmask_to_save();
	bool done;

	if (came_from_system_call(gp)) {
		switch ((long)gp[HOST_R0]) {
		case -ERESTART_RESTARTBLOCK:
		case -ERESTARTNOHAND:
			gp[HOST_R0] = -EINTR;
			break;
		case -ERESTARTSYS:
			if (!(ksig->ka.sa.sa_flags & SA_RESTART)) {
				gp[HOST_R0] = -EINTR;
				break;
			}
			fallthrough;
		case -ERESTARTNOINTR:
			restart_system_call(gp);
			break;
		}
		/* Only once: the handler's own system calls come next. */
		PT_SYSCALL_NR(gp) = -1;
	}
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
	if (came_from_system_call(gp)) {
		switch ((long)gp[HOST_R0]) {
		case -ERESTARTNOHAND:
		case -ERESTARTSYS:
		case -ERESTARTNOINTR:
			restart_system_call(gp);
			PT_SYSCALL_NR(gp) = -1;
			break;
		case -ERESTART_RESTARTBLOCK:
			/*
			 * The system call is restarted here, and not by the program, because r7 would have to change.
			 */
			gp[HOST_R0] = current->restart_block.fn(&current->restart_block);
			break;
		}
	}
	restore_saved_sigmask();
}

static bool restore_context(struct uml_pt_regs *regs, struct sigframe __user *frame)
{
	unsigned long *gp = regs->gp;
	struct sigcontext context;
	sigset_t set;

	if (__copy_from_user(&set, &frame->uc.uc_sigmask, sizeof(set)) ||
	    __copy_from_user(&context, &frame->uc.uc_mcontext, sizeof(context)))
		return false;
	set_current_blocked(&set);
	memcpy(gp, &context.arm_r0, CONTEXT_REGISTERS * sizeof(long));
	gp[HOST_CPSR] = (gp[HOST_CPSR] & PSR_USER_FLAGS) | PSR_USER_MODE;
	/* sigreturn() does not restart the interrupted system call. */
	current->restart_block.fn = do_no_restart_syscall;
	PT_SYSCALL_NR(gp) = -1;
	UPT_SYSCALL_NR(regs) = -1;
	set_thread_flag(TIF_HOST_THREAD);
	return true;
}

/* The frame is where the stack pointer is.  It is aligned, unless the program made it itself. */
static bool is_frame(const void __user *frame, size_t bytes)
{
	return !((unsigned long)frame & 7) && access_ok(frame, bytes);
}

SYSCALL_DEFINE0(sigreturn)
{
	struct uml_pt_regs *regs = &current->thread.regs.regs;
	struct sigframe __user *frame = (void __user *)UPT_SP(regs);

	if (is_frame(frame, sizeof(*frame)) && restore_context(regs, frame))
		return regs->gp[HOST_R0];
	force_sig(SIGSEGV);
	return 0;
}

SYSCALL_DEFINE0(rt_sigreturn)
{
	struct uml_pt_regs *regs = &current->thread.regs.regs;
	struct rt_sigframe __user *frame = (void __user *)UPT_SP(regs);

	if (is_frame(frame, sizeof(*frame)) && restore_context(regs, &frame->sig) &&
	    !restore_altstack(&frame->sig.uc.uc_stack))
		return regs->gp[HOST_R0];
	force_sig(SIGSEGV);
	return 0;
}
