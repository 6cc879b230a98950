// SPDX-License-Identifier: GPL-2.0
/* Turns exceptions of programs into signals, as arch/powerpc/kernel/traps.c and arch/powerpc/mm/fault.c do. */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <sysdep/ptrace.h>
#include <asm/ptrace.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "version.h"
#include "../../../um/os-L4/subarch.h"
#include "fpu.h"

void arch_l4_note_page_fault(struct uml_pt_regs *regs, const struct l4_frame *frame)
{
	regs->faultinfo = (struct faultinfo){
		.error_code = (frame->error & L4_FAULT_PROTECTION ? DSISR_PROTECTION : DSISR_NOT_THERE) |
			      (frame->error & L4_FAULT_WRITE ? DSISR_STORE : 0),
		.address = frame->address,
		.trap_no = frame->error & L4_FAULT_FETCH ? TRAP_FETCH : TRAP_DATA,
	};
}

/* mfspr rD, PVR: the C library selects functions by it.  The information page has the register's value. */
#define MFPVR		0x7c1f42a6
#define MFPVR_MASK	0xfc1fffff
/* dcba: a hint that this processor does not have. */
#define DCBA		0x7c0005ec
#define DCBA_MASK	0xffe007ff

/* Carries out the instructions that upstream carries out for programs. */
static bool carry_out(struct uml_pt_regs *regs)
{
	u32 word;

	if (get_user(word, (const u32 __user *)UPT_IP(regs)))
		return false;
	if ((word & MFPVR_MASK) == MFPVR)
		regs->gp[HOST_R0 + (word >> 21 & 31)] = l4_processor_version();
	else if ((word & DCBA_MASK) != DCBA)
		return false;
	UPT_IP(regs) += 4;
	return true;
}

static void program(struct uml_pt_regs *regs, u32 why)
{
	void __user *ip = (void __user *)UPT_IP(regs);

	if (why & (L4_PROGRAM_ILLEGAL | L4_PROGRAM_PRIVILEGED) && carry_out(regs))
		return;
	if (why & L4_PROGRAM_FPU)
		force_sig_fault(SIGFPE, l4_fp_exception(), ip);
	else if (why & L4_PROGRAM_TRAP)
		force_sig_fault(SIGTRAP, TRAP_BRKPT, ip);
	else
		force_sig_fault(SIGILL, why & L4_PROGRAM_PRIVILEGED ? ILL_PRVOPC : ILL_ILLOPC, ip);
}

void arch_l4_exception(struct uml_pt_regs *regs, const struct l4_frame *frame)
{
	void __user *ip = (void __user *)UPT_IP(regs);

	/* The microkernel numbers the processor's exceptions by the address of their code, in units of 256 bytes. */
	current->thread.arch.faultinfo = (struct faultinfo){ frame->error, frame->address, frame->vector << 8 };
	switch (frame->vector) {
	case L4_VECTOR_MACHINE_CHECK:
		force_sig_fault(SIGBUS, BUS_ADRERR, ip);
		break;
	case L4_VECTOR_ALIGNMENT:
		force_sig_fault(SIGBUS, BUS_ADRALN, (void __user *)frame->address);
		break;
	case L4_VECTOR_PROGRAM:
		program(regs, frame->error);
		break;
	case L4_VECTOR_TRACE:
		/* As on arch/powerpc: the next step has to be requested again. */
		regs->gp[HOST_MSR] &= ~MSR_STEP;
		force_sig_fault(SIGTRAP, TRAP_TRACE, ip);
		break;
	default:
		force_sig(SIGSEGV);
	}
}
