// SPDX-License-Identifier: GPL-2.0
/*
 * Signal frames, as arch/x86 makes them for i386 (kernel/signal.c, signal_32.c).  This takes the place of
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
#include "vdso.h"

/* Flags that sigreturn restores. */
#define FRAME_FLAGS	(X86_EFLAGS_AC | X86_EFLAGS_OF | X86_EFLAGS_DF | X86_EFLAGS_TF | \
			 X86_EFLAGS_SF | X86_EFLAGS_ZF | X86_EFLAGS_AF | X86_EFLAGS_PF | \
			 X86_EFLAGS_CF | X86_EFLAGS_RF)

/* The addresses of the frame and of the FPU state.  If the frame would overflow the alternate stack: an invalid address. */
static void __user *frame_place(struct ksignal *ksig, unsigned long sp, size_t size, void __user **fp)
{
	bool on_altstack = on_sig_stack(sp);

	if (ksig->ka.sa.sa_flags & SA_ONSTACK && sas_ss_flags(sp) == 0) {
		sp = current->sas_ss_sp + current->sas_ss_size;
		on_altstack = true;
	}
	sp = l4_fp_frame(sp);
	*fp = (void __user *)sp;
	/* By the ABI the word above the return address is aligned to 16 bytes. */
	sp = ((sp - size + 4) & -16UL) - 4;
	if (on_altstack && !__on_sig_stack(sp))
		return (void __user *)-1L;
	return (void __user *)sp;
}

/* AT_MINSIGSTKSZ: the most that a signal takes of a stack, with FPU state and alignment. */
unsigned long l4_sigframe_size(void)
{
	size_t frame = max(sizeof(struct sigframe_ia32), sizeof(struct rt_sigframe_ia32));

	return round_up(frame + 15 + -l4_fp_frame(0) + 63, 16);
}

static void fill_context(struct sigcontext_32 *sc, const unsigned long *gp, void __user *fp, unsigned long mask)
{
	const struct faultinfo *fault = &current->thread.arch.faultinfo;
	const u16 *selectors = l4_selectors(gp);

	*sc = (struct sigcontext_32){
		.gs = selectors[L4_GS], .fs = selectors[L4_FS], .es = selectors[L4_ES], .ds = selectors[L4_DS],
		.di = gp[HOST_DI], .si = gp[HOST_SI], .bp = gp[HOST_BP], .sp = gp[HOST_SP],
		.bx = gp[HOST_BX], .dx = gp[HOST_DX], .cx = gp[HOST_CX], .ax = gp[HOST_AX],
		.trapno = fault->trap_no, .err = fault->error_code,
		.ip = gp[HOST_IP], .cs = gp[HOST_CS], .flags = gp[HOST_EFLAGS],
		.sp_at_signal = gp[HOST_SP], .ss = gp[HOST_SS],
		.fpstate = (u32)fp, .oldmask = mask, .cr2 = fault->cr2,
	};
}

static u32 restorer(const struct ksignal *ksig, unsigned long ours)
{
	return ksig->ka.sa.sa_flags & SA_RESTORER ? (u32)ksig->ka.sa.sa_restorer : current->mm->context.id.vdso + ours;
}

/* Debuggers recognise frames by these instructions.  They are not executed. */
static void fill_code(char *code, const char *instructions, u32 nr)
{
	memcpy(code, instructions, 8);
	memcpy(code + (code[0] == 0x58 ? 2 : 1), &nr, sizeof(nr));
}

static bool setup_frame(struct ksignal *ksig, unsigned long *gp, const sigset_t *set)
{
	struct sigframe_ia32 f, __user *to;
	void __user *fp;

	to = frame_place(ksig, gp[HOST_SP], sizeof(f), &fp);
	if (!access_ok(to, sizeof(f)) || !l4_fp_to_frame(fp))
		return false;
	f.pretcode = restorer(ksig, L4_VDSO_SIGRETURN);
	f.sig = ksig->sig;
	fill_context(&f.sc, gp, fp, set->sig[0]);
	f.extramask[0] = set->sig[1];
	/* pop %eax; mov $nr, %eax; int $0x80 */
	fill_code(f.retcode, "\x58\xb8\0\0\0\0\xcd\x80", __NR_sigreturn);
	/* The gap is the former place of the FPU state. */
	if (__copy_to_user(to, &f, offsetof(struct sigframe_ia32, fpstate_unused)) ||
	    __copy_to_user(&to->extramask, &f.extramask,
			   sizeof(f) - offsetof(struct sigframe_ia32, extramask)))
		return false;
	gp[HOST_SP] = (unsigned long)to;
	gp[HOST_DX] = 0;
	gp[HOST_CX] = 0;
	return true;
}

static bool setup_rt_frame(struct ksignal *ksig, unsigned long *gp, const sigset_t *set)
{
	struct rt_sigframe_ia32 f, __user *to;
	void __user *fp;

	to = frame_place(ksig, gp[HOST_SP], sizeof(f), &fp);
	if (!access_ok(to, sizeof(f)) || !l4_fp_to_frame(fp))
		return false;
	f.pretcode = restorer(ksig, L4_VDSO_RT_SIGRETURN);
	f.sig = ksig->sig;
	f.pinfo = (u32)&to->info;
	f.puc = (u32)&to->uc;
	memset(&f.info, 0, sizeof(f.info));
	memcpy(&f.info, &ksig->info, sizeof(ksig->info));
	f.uc.uc_flags = 0;
	f.uc.uc_link = NULL;
	f.uc.uc_stack.ss_sp = (void __user *)current->sas_ss_sp;
	f.uc.uc_stack.ss_flags = sas_ss_flags(gp[HOST_SP]) | current->sas_ss_flags;
	f.uc.uc_stack.ss_size = current->sas_ss_size;
	fill_context(&f.uc.uc_mcontext, gp, fp, set->sig[0]);
	f.uc.uc_sigmask = *set;
	/* mov $nr, %eax; int $0x80 */
	fill_code(f.retcode, "\xb8\0\0\0\0\xcd\x80\0", __NR_rt_sigreturn);
	if (__copy_to_user(to, &f, sizeof(f)))
		return false;
	gp[HOST_SP] = (unsigned long)to;
	gp[HOST_DX] = f.pinfo;
	gp[HOST_CX] = f.puc;
	return true;
}

static void handle_signal(struct ksignal *ksig, struct pt_regs *regs)
{
	unsigned long *gp = regs->regs.gp;
	const sigset_t *set = sigmask_to_save();
	bool stepping, done;

	restart_after(ksig, gp);
	/* The frame must not have a debugger's trap flag.  The debugger gets the step at the handler's first instruction. */
	stepping = test_thread_flag(TIF_SINGLESTEP);
	if (stepping)
		user_disable_single_step(current);
	done = ksig->ka.sa.sa_flags & SA_SIGINFO ? setup_rt_frame(ksig, gp, set) : setup_frame(ksig, gp, set);
	if (done) {
		gp[HOST_IP] = (unsigned long)ksig->ka.sa.sa_handler;
		gp[HOST_AX] = ksig->sig;
		gp[HOST_DS_ES] = L4_USER_DS << 16 | L4_USER_DS;
		gp[HOST_SS] = L4_USER_DS;
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

/* Adds user privilege, unless the selector is null: that has four values. */
static unsigned long with_rpl(u16 selector)
{
	return selector <= 3 ? selector : selector | 3;
}

static bool restore_context(struct uml_pt_regs *regs, const struct sigcontext_32 *sc)
{
	unsigned long *gp = regs->gp;
	u16 *selectors = l4_selectors(gp);

	current->restart_block.fn = do_no_restart_syscall;
	set_thread_flag(TIF_HOST_THREAD);
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
	gp[HOST_SS] = sc->ss | 3;
	selectors[L4_DS] = with_rpl(sc->ds);
	selectors[L4_ES] = with_rpl(sc->es);
	selectors[L4_FS] = with_rpl(sc->fs);
	selectors[L4_GS] = with_rpl(sc->gs);
	gp[HOST_EFLAGS] = (gp[HOST_EFLAGS] & ~FRAME_FLAGS) | (sc->flags & FRAME_FLAGS);
	/* The interrupted system call is not restarted by this one. */
	gp[HOST_ORIG_AX] = -1;
	UPT_SYSCALL_NR(regs) = -1;
	return l4_fp_from_frame((void __user *)sc->fpstate);
}

SYSCALL_DEFINE0(sigreturn)
{
	struct uml_pt_regs *regs = &current->thread.regs.regs;
	struct sigframe_ia32 __user *frame = (void __user *)(UPT_SP(regs) - 8);
	struct sigcontext_32 sc;
	sigset_t set;

	if (copy_from_user(&sc, &frame->sc, sizeof(sc)) || get_user(set.sig[1], &frame->extramask[0]))
		goto bad;
	set.sig[0] = sc.oldmask;
	set_current_blocked(&set);
	if (restore_context(regs, &sc))
		return UPT_AX(regs);
bad:
	force_sig(SIGSEGV);
	return 0;
}

SYSCALL_DEFINE0(rt_sigreturn)
{
	struct uml_pt_regs *regs = &current->thread.regs.regs;
	struct rt_sigframe_ia32 __user *frame = (void __user *)(UPT_SP(regs) - 4);
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
