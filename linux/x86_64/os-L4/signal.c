// SPDX-License-Identifier: GPL-2.0
/*
 * Signal frames, as arch/x86 makes them for programs of 64 bits (kernel/signal.c, signal_64.c).  This takes the place of
 * upstream's signal.c in arch/um and arch/x86/um.
 */
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <asm/processor-flags.h>
#include <asm/sigframe.h>
#include <asm/ucontext.h>
#include <asm/unistd.h>
#include <kern_util.h>
#include <sysdep/ptrace.h>
#include "fpu.h"
#include "restart.h"
#include "selectors.h"

/* Flags that sigreturn restores. */
#define FRAME_FLAGS	(X86_EFLAGS_AC | X86_EFLAGS_OF | X86_EFLAGS_DF | X86_EFLAGS_TF | \
			 X86_EFLAGS_SF | X86_EFLAGS_ZF | X86_EFLAGS_AF | X86_EFLAGS_PF | \
			 X86_EFLAGS_CF | X86_EFLAGS_RF)

/* Functions of x86-64 use so many bytes below their stack pointer. */
#define RED_ZONE	128

/* The addresses of the frame and of the FPU state.  If the frame would overflow the alternate stack: an invalid address. */
static void __user *frame_place(struct ksignal *ksig, unsigned long sp, size_t size, void __user **fp)
{
	bool on_altstack = on_sig_stack(sp);

	sp -= RED_ZONE;
	if (ksig->ka.sa.sa_flags & SA_ONSTACK && sas_ss_flags(sp) == 0) {
		sp = current->sas_ss_sp + current->sas_ss_size;
		on_altstack = true;
	}
	sp = l4_fp_frame(sp);
	*fp = (void __user *)sp;
	/* By the ABI the word above the return address is aligned to 16 bytes. */
	sp = round_down(sp - size, 16) - sizeof(long);
	if (on_altstack && !__on_sig_stack(sp))
		return (void __user *)-1L;
	return (void __user *)sp;
}

/* AT_MINSIGSTKSZ: the most that a signal takes of a stack, with FPU state and alignment. */
unsigned long l4_sigframe_size(void)
{
	return round_up(RED_ZONE + sizeof(struct rt_sigframe) + 15 + -l4_fp_frame(0) + 63, 16);
}

static void fill_context(struct sigcontext *sc, const unsigned long *gp, void __user *fp, unsigned long mask)
{
	const struct faultinfo *fault = &current->thread.arch.faultinfo;

	*sc = (struct sigcontext){
		.r8 = gp[HOST_R8], .r9 = gp[HOST_R9], .r10 = gp[HOST_R10], .r11 = gp[HOST_R11],
		.r12 = gp[HOST_R12], .r13 = gp[HOST_R13], .r14 = gp[HOST_R14], .r15 = gp[HOST_R15],
		.di = gp[HOST_DI], .si = gp[HOST_SI], .bp = gp[HOST_BP], .bx = gp[HOST_BX],
		.dx = gp[HOST_DX], .ax = gp[HOST_AX], .cx = gp[HOST_CX], .sp = gp[HOST_SP],
		.ip = gp[HOST_IP], .flags = gp[HOST_EFLAGS], .cs = gp[HOST_CS], .ss = gp[HOST_SS],
		.err = fault->error_code, .trapno = fault->trap_no, .oldmask = mask, .cr2 = fault->cr2,
		.fpstate = (unsigned long)fp,
	};
}

static bool setup_rt_frame(struct ksignal *ksig, unsigned long *gp, const sigset_t *set)
{
	struct rt_sigframe f, __user *to;
	void __user *fp;

	/* Only the program knows how a handler returns. */
	if (!(ksig->ka.sa.sa_flags & SA_RESTORER))
		return false;
	to = frame_place(ksig, gp[HOST_SP], sizeof(f), &fp);
	if (!access_ok(to, sizeof(f)) || !l4_fp_to_frame(fp))
		return false;
	memset(&f, 0, sizeof(f));
	f.pretcode = (char __user *)ksig->ka.sa.sa_restorer;
	f.uc.uc_flags = UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS | (l4_fp_has_xsave() ? UC_FP_XSTATE : 0);
	f.uc.uc_stack.ss_sp = (void __user *)current->sas_ss_sp;
	f.uc.uc_stack.ss_flags = sas_ss_flags(gp[HOST_SP]) | current->sas_ss_flags;
	f.uc.uc_stack.ss_size = current->sas_ss_size;
	fill_context(&f.uc.uc_mcontext, gp, fp, set->sig[0]);
	f.uc.uc_sigmask = *set;
	if (ksig->ka.sa.sa_flags & SA_SIGINFO)
		memcpy(&f.info, &ksig->info, sizeof(ksig->info));
	if (__copy_to_user(to, &f, sizeof(f)))
		return false;
	gp[HOST_SP] = (unsigned long)to;
	gp[HOST_DI] = ksig->sig;
	gp[HOST_SI] = (unsigned long)&to->info;
	gp[HOST_DX] = (unsigned long)&to->uc;
	/* In case the handler was declared without prototype. */
	gp[HOST_AX] = 0;
	return true;
}

static void handle_signal(struct ksignal *ksig, struct pt_regs *regs)
{
	unsigned long *gp = regs->regs.gp;
	bool stepping, done;

	restart_after(ksig, gp);
	/* The frame must not have a debugger's trap flag.  The debugger gets the step at the handler's first instruction. */
	stepping = test_thread_flag(TIF_SINGLESTEP);
	if (stepping)
		user_disable_single_step(current);
	done = setup_rt_frame(ksig, gp, sigmask_to_save());
	if (done) {
		gp[HOST_IP] = (unsigned long)ksig->ka.sa.sa_handler;
		gp[HOST_SS] = L4_USER_SS;
		gp[HOST_CS] = L4_USER_CS;
		gp[HOST_EFLAGS] &= ~(X86_EFLAGS_DF | X86_EFLAGS_RF | X86_EFLAGS_TF);
	}
	signal_setup_done(!done, ksig, stepping);
}

void do_signal(struct pt_regs *regs)
{
	unsigned long *gp = regs->regs.gp;
	struct ksignal ksig;

	if (get_signal(&ksig)) {
		handle_signal(&ksig, regs);
		return;
	}
	restart_at_once(gp);
	restore_saved_sigmask();
}

static bool restore_context(struct uml_pt_regs *regs, const struct sigcontext *sc)
{
	unsigned long *gp = regs->gp;

	current->restart_block.fn = do_no_restart_syscall;
	set_thread_flag(TIF_HOST_THREAD);
	gp[HOST_R8] = sc->r8;
	gp[HOST_R9] = sc->r9;
	gp[HOST_R10] = sc->r10;
	gp[HOST_R11] = sc->r11;
	gp[HOST_R12] = sc->r12;
	gp[HOST_R13] = sc->r13;
	gp[HOST_R14] = sc->r14;
	gp[HOST_R15] = sc->r15;
	gp[HOST_BX] = sc->bx;
	gp[HOST_CX] = sc->cx;
	gp[HOST_DX] = sc->dx;
	gp[HOST_SI] = sc->si;
	gp[HOST_DI] = sc->di;
	gp[HOST_BP] = sc->bp;
	gp[HOST_AX] = sc->ax;
	gp[HOST_SP] = sc->sp;
	gp[HOST_IP] = sc->ip;
	gp[HOST_CS] = sc->cs | 3;
	gp[HOST_EFLAGS] = (gp[HOST_EFLAGS] & ~FRAME_FLAGS) | (sc->flags & FRAME_FLAGS);
	/* sigreturn() does not restart the interrupted system call. */
	gp[HOST_ORIG_AX] = -1;
	UPT_SYSCALL_NR(regs) = -1;
	return l4_fp_from_frame((void __user *)sc->fpstate);
}

SYSCALL_DEFINE0(rt_sigreturn)
{
	struct uml_pt_regs *regs = &current->thread.regs.regs;
	struct rt_sigframe __user *frame = (void __user *)(UPT_SP(regs) - sizeof(long));
	struct ucontext uc;

	if (copy_from_user(&uc, &frame->uc, sizeof(uc)))
		goto bad;
	set_current_blocked(&uc.uc_sigmask);
	if (restore_context(regs, &uc.uc_mcontext) && !restore_altstack(&frame->uc.uc_stack))
		return UPT_AX(regs);
bad:
	force_sig(SIGSEGV);
	return 0;
}
