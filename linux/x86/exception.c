// SPDX-License-Identifier: GPL-2.0
/* Exceptions of programs as signals, as arch/x86/kernel/traps.c has them. */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <uapi/asm/debugreg.h>
#include <asm/processor-flags.h>
#include <asm/trapnr.h>
#include <sysdep/ptrace.h>
#include "../../../um/os-L4/l4.h"
#include "fpu.h"
#include "selectors.h"

/* What a signal frame tells; CR2 stays that of the last page fault. */
static void note(u32 trap, u32 error)
{
	current->thread.arch.faultinfo.trap_no = trap;
	current->thread.arch.faultinfo.error_code = error;
}

void arch_l4_note_step(void)
{
	note(X86_TRAP_DB, 0);
}

/* A step or a breakpoint; an `int1` shows no cause. */
static void debug_exception(struct uml_pt_regs *regs)
{
	unsigned long *own = current->thread.arch.debugregs;
	u32 cause = l4_debug_status(current), control = own[DR_CONTROL];
	int code = TRAP_BRKPT, i;

	/* The processor also names breakpoints that are not enabled. */
	for (i = 0; i < 4; i++) {
		if (!(control >> i * DR_ENABLE_SIZE & 3))
			cause &= ~(DR_TRAP0 << i);
		/* Before an instruction: it is carried out when the program goes on. */
		else if (cause & DR_TRAP0 << i && !(control >> (DR_CONTROL_SHIFT + i * DR_CONTROL_SIZE) & 3))
			UPT_EFLAGS(regs) |= X86_EFLAGS_RF;
	}
	own[DR_STATUS] = cause & (DR_STEP | DR_TRAP_BITS);
	if (cause & DR_STEP)
		code = TRAP_TRACE;
	else if (cause & DR_TRAP_BITS)
		code = TRAP_HWBKPT;
	note(X86_TRAP_DB, 0);
	force_sig_fault(SIGTRAP, code, (void __user *)UPT_IP(regs));
}

void arch_l4_exception(struct uml_pt_regs *regs, u32 trap, u32 error)
{
	void __user *ip = (void __user *)UPT_IP(regs);
	int code;

	/* The microkernel's own system call is none of a program's: as any other `int`, it is not allowed. */
	if (trap == L4_INT_VECTOR) {
		UPT_IP(regs) -= 2;
		error = trap << 3 | 2;
		trap = X86_TRAP_GP;
	}
	switch (trap) {
	case X86_TRAP_DB:
		debug_exception(regs);
		return;
	case X86_TRAP_MF:
	case X86_TRAP_XF:
		code = l4_fp_exception(trap == X86_TRAP_XF);
		note(trap, 0);
		if (code)
			force_sig_fault(SIGFPE, code, ip);
		return;
	}
	note(trap, error);
	switch (trap) {
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

/* The processor would refuse to go on with such selectors. */
void arch_l4_check_selectors(const struct uml_pt_regs *regs)
{
	if (likely(UPT_CS(regs) == L4_USER_CS && UPT_SS(regs) == L4_USER_DS))
		return;
	note(X86_TRAP_IRET, 0);
	force_sig_fault(SIGILL, ILL_BADSTK, NULL);
}
