// SPDX-License-Identifier: GPL-2.0
/* Turns exceptions of programs into signals, as arch/x86/kernel/traps.c does. */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <asm/trapnr.h>
#include <sysdep/ptrace.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/subarch.h"
#include "../../../um/os-L4/user_thread.h"
#include "debug.h"
#include "fpu.h"
#include "selectors.h"

/* Records the words of signal frames about an exception.  CR2 stays that of the last page fault. */
static void note(unsigned long trap, unsigned long error)
{
	current->thread.arch.faultinfo.trap_no = trap;
	current->thread.arch.faultinfo.error_code = error;
}

void l4_note_step(void)
{
	note(X86_TRAP_DB, 0);
}

void arch_l4_note_page_fault(struct uml_pt_regs *regs, const struct l4_frame *frame)
{
	regs->faultinfo.cr2 = frame->address;
	/* Whether a page of the kernel is present is not a program's business. */
	regs->faultinfo.error_code = frame->address < TASK_SIZE ? frame->error : frame->error | L4_FAULT_PROTECTION;
	regs->faultinfo.trap_no = frame->vector;
}

void arch_l4_exception(struct uml_pt_regs *regs, const struct l4_frame *frame)
{
	unsigned long trap = frame->vector, error = frame->error;
	void __user *ip = (void __user *)UPT_IP(regs);
	int code;

	if (trap == X86_TRAP_DB) {
		l4_debug_exception(regs);
		return;
	}
	note(trap, error);
	switch (trap) {
	case X86_TRAP_MF:
	case X86_TRAP_XF:
		code = l4_fp_exception(trap == X86_TRAP_XF);
		if (code)
			force_sig_fault(SIGFPE, code, ip);
		break;
	case X86_TRAP_DE:
		force_sig_fault(SIGFPE, FPE_INTDIV, ip);
		break;
	case X86_TRAP_BP:
		force_sig(SIGTRAP);
		break;
	case X86_TRAP_UD:
		force_sig_fault(SIGILL, ILL_ILLOPN, ip);
		break;
	case X86_TRAP_NP:
	case X86_TRAP_SS:
		force_sig(SIGBUS);
		break;
	case X86_TRAP_AC:
		force_sig_fault(SIGBUS, BUS_ADRALN, NULL);
		break;
	default:
		force_sig(SIGSEGV);
	}
}

/*
 * The base of GS is not in the frame: few programs have one, so the others' events do not copy it.  The microkernel is
 * told it when it is not what the user thread has.
 */
static void load_gs_base(struct l4_thread *t, unsigned long base)
{
	if (t->arch.gs_base == base)
		return;
	if (l4_call(L4_OP_SET_STATE, t->slot, L4_STATE_GS_BASE, base, 0))
		force_sig(SIGKILL);
	t->arch.gs_base = base;
}

/*
 * The processor would refuse to return to user mode with another selector.  Any stack selector is taken for the usual
 * one.
 */
void arch_l4_check_registers(const struct uml_pt_regs *regs)
{
	load_gs_base(l4_thread_of(current), regs->gp[HOST_GS_BASE]);
	if (likely(UPT_CS(regs) == L4_USER_CS))
		return;
	note(X86_TRAP_GP, UPT_CS(regs) & ~3UL);
	force_sig(SIGSEGV);
}
