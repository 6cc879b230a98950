// SPDX-License-Identifier: GPL-2.0
/* Registers of programs, and what programs are told about the processor. */
#include <linux/kernel.h>
#include <linux/panic.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/debug.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <asm/processor-flags.h>
#include <longjmp.h>
#include <os.h>
#include <registers.h>
#include <sysdep/ptrace_user.h>
#include "../../../um/os-L4/subarch.h"
#include "layout.h"
#include "run.h"
#include "selectors.h"
#include "vdso.h"

long elf_aux_hwcap;

/* AT_HWCAP. */
void os_early_checks(void)
{
	u32 leaf = 1, count = 0, ebx, hwcap;

	asm ("cpuid" : "+a" (leaf), "=b" (ebx), "+c" (count), "=d" (hwcap));
	elf_aux_hwcap = hwcap;
}

void setup_machinename(char *machine_out)
{
	strcpy(machine_out, "x86_64");
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
	regs[HOST_CS] = L4_USER_CS;
	regs[HOST_SS] = L4_USER_SS;
	regs[HOST_EFLAGS] = X86_EFLAGS_IF | X86_EFLAGS_FIXED;
}

/* In the form of arch/x86/kernel/process_64.c. */
void show_regs(struct pt_regs *regs)
{
	const unsigned long *gp = regs->regs.gp;

	printk("\n");
	printk("RIP: %04lx:%pS CPU: %d %s\n", gp[HOST_CS], (void *)gp[HOST_IP], smp_processor_id(), print_tainted());
	printk("RSP: %04lx:%016lx EFLAGS: %08lx\n", gp[HOST_SS], gp[HOST_SP], gp[HOST_EFLAGS]);
	printk("RAX: %016lx RBX: %016lx RCX: %016lx\n", gp[HOST_AX], gp[HOST_BX], gp[HOST_CX]);
	printk("RDX: %016lx RSI: %016lx RDI: %016lx\n", gp[HOST_DX], gp[HOST_SI], gp[HOST_DI]);
	printk("RBP: %016lx R08: %016lx R09: %016lx\n", gp[HOST_BP], gp[HOST_R8], gp[HOST_R9]);
	printk("R10: %016lx R11: %016lx R12: %016lx\n", gp[HOST_R10], gp[HOST_R11], gp[HOST_R12]);
	printk("R13: %016lx R14: %016lx R15: %016lx\n", gp[HOST_R13], gp[HOST_R14], gp[HOST_R15]);
	printk("FS:  %016lx GS:%016lx\n", gp[HOST_FS_BASE], gp[HOST_GS_BASE]);
}

unsigned long get_thread_reg(int reg, jmp_buf *buf)
{
	switch (reg) {
	case HOST_IP:
		return buf[0]->__rip;
	case HOST_SP:
		return buf[0]->__rsp;
	case HOST_BP:
		return buf[0]->__rbp;
	}
	return 0;
}
