// SPDX-License-Identifier: GPL-2.0
/* Registers of programs, and what programs are told about the processor. */
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/debug.h>
#include <linux/string.h>
#include <arch.h>
#include <longjmp.h>
#include <os.h>
#include <registers.h>
#include <sysdep/ptrace_user.h>
#include "../../../um/os-L4/subarch.h"
#include "layout.h"
#include "run.h"
#include "vdso.h"

void os_early_checks(void) { }

void setup_machinename(char *machine_out)
{
	strcpy(machine_out, "ppc");
}

/* The end of user processes.  Upstream subtracts room for its stub pages, which are not used here. */
unsigned long os_get_top_address(void)
{
	return L4_USER_END + 0x4000;
}

/* The vDSO has room after it. */
unsigned long l4_stack_top(void)
{
	return L4_USER_END - (1 + L4_VDSO_PAGES) * PAGE_SIZE;
}

void get_safe_registers(unsigned long *regs, unsigned long *fp_regs)
{
	memset(regs, 0, sizeof(unsigned long) * MAX_REG_NR);
	regs[HOST_MSR] = MSR_USER;
	regs[HOST_SYSCALL_NR] = -1;
}

/* The microkernel takes only those bits of the machine state that a program may change. */
void arch_l4_check_registers(const struct uml_pt_regs *regs) { }

/* Upstream asks whether an instruction of a program is to be replaced by another one. */
int arch_fixup(unsigned long address, struct uml_pt_regs *regs)
{
	return 0;
}

/* In the form of arch/powerpc/kernel/process.c. */
void show_regs(struct pt_regs *regs)
{
	const unsigned long *r = regs->regs.gp;
	int i;

	printk("NIP:  %08lx LR: %08lx CTR: %08lx\n", r[HOST_IP], r[HOST_LR], r[HOST_CTR]);
	printk("MSR:  %08lx  CR: %08lx  XER: %08lx\n", r[HOST_MSR], r[HOST_CR], r[HOST_XER]);
	for (i = 0; i < 32; i += 8)
		printk("GPR%02d: %08lx %08lx %08lx %08lx %08lx %08lx %08lx %08lx\n", i, r[i], r[i + 1], r[i + 2], r[i + 3],
		       r[i + 4], r[i + 5], r[i + 6], r[i + 7]);
	printk("NIP [%08lx] %pS\n", r[HOST_IP], (void *)r[HOST_IP]);
	printk("LR [%08lx] %pS\n", r[HOST_LR], (void *)r[HOST_LR]);
}

unsigned long get_thread_reg(int reg, jmp_buf *buf)
{
	return reg == HOST_IP ? buf[0]->__lr : reg == HOST_SP ? buf[0]->__sp : 0;
}
