// SPDX-License-Identifier: GPL-2.0
/* Turns exceptions of programs into signals, as arch/arm/kernel/traps.c and arch/arm/mm/fault.c do. */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <sysdep/ptrace.h>
#include "../../../um/os-L4/abi.h"
#include "../../../um/os-L4/subarch.h"
#include "alignment.h"

/* Debuggers' breakpoints: undefined instructions of ARM and of Thumb (arch/arm/kernel/ptrace.c). */
#define BREAK_ARM	0x07f001f0
#define BREAK_ARM_MASK	0x0fffffff
#define BREAK_THUMB	0xde01

static void note(unsigned long trap, int error, unsigned long address)
{
	current->thread.arch.faultinfo = (struct faultinfo){ error, address, trap };
}

void arch_l4_note_page_fault(struct uml_pt_regs *regs, const struct l4_frame *frame)
{
	regs->faultinfo = (struct faultinfo){
		.error_code = (frame->error & L4_FAULT_PROTECTION ? FSR_PERMISSION : FSR_TRANSLATION) |
			      (frame->error & L4_FAULT_WRITE ? FSR_WRITE : 0) |
			      (frame->error & L4_FAULT_FETCH ? FSR_FETCH : 0),
		.address = frame->address,
		.trap_no = TRAP_PAGE_FAULT,
	};
}

static bool is_breakpoint(const struct uml_pt_regs *regs)
{
	u32 arm;
	u16 thumb;

	if (regs->gp[HOST_CPSR] & PSR_THUMB)
		return !get_user(thumb, (const u16 __user *)UPT_IP(regs)) && thumb == BREAK_THUMB;
	return !get_user(arm, (const u32 __user *)UPT_IP(regs)) && (arm & BREAK_ARM_MASK) == BREAK_ARM;
}

void arch_l4_exception(struct uml_pt_regs *regs, const struct l4_frame *frame)
{
	void __user *ip = (void __user *)UPT_IP(regs);
	void __user *address = (void __user *)frame->address;

	switch (frame->vector) {
	case L4_VECTOR_BREAKPOINT:
		force_sig_fault(SIGTRAP, TRAP_BRKPT, ip);
		break;
	case L4_VECTOR_UNDEFINED:
		if (is_breakpoint(regs)) {
			force_sig_fault(SIGTRAP, TRAP_BRKPT, ip);
			break;
		}
		note(TRAP_UNDEFINED, 0, 0);
		force_sig_fault(SIGILL, ILL_ILLOPC, ip);
		break;
	case L4_VECTOR_ALIGNMENT:
		if (l4_mend_alignment(regs, frame->address))
			break;
		note(0, FSR_ALIGNMENT, frame->address);
		force_sig_fault(SIGBUS, BUS_ADRALN, address);
		break;
	case L4_VECTOR_BUS:
		force_sig_fault(SIGBUS, BUS_ADRERR, address);
		break;
	default:
		force_sig(SIGSEGV);
	}
}
