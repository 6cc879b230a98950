// SPDX-License-Identifier: GPL-2.0
/* Registers of programs, and what programs are told about the processor. */
#include <linux/elf.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/debug.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <arch.h>
#include <longjmp.h>
#include <os.h>
#include <registers.h>
#include <sysdep/ptrace_user.h>
#include "../../../um/os-L4/subarch.h"
#include "layout.h"
#include "run.h"

/* Of an ELF header's flags. */
#define EABI_MASK	0xff000000
#define FLOAT_HARD	0x00000400

void os_early_checks(void) { }

void setup_machinename(char *machine_out)
{
	strcpy(machine_out, "armv5tel");
}

/* The end of user processes.  Upstream subtracts room for its stub pages, which are not used here. */
unsigned long os_get_top_address(void)
{
	return L4_USER_END + 0x4000;
}

void get_safe_registers(unsigned long *regs, unsigned long *fp_regs)
{
	memset(regs, 0, sizeof(unsigned long) * MAX_REG_NR);
	regs[HOST_CPSR] = PSR_USER_MODE;
	regs[HOST_SYSCALL_NR] = -1;
}

/* Programs of EABI without the instructions of a coprocessor for floating point. */
bool l4_elf_check_arch(const struct elf32_hdr *elf)
{
	if (elf->e_machine != EM_ARM || !(elf->e_flags & EABI_MASK) || elf->e_flags & FLOAT_HARD)
		return false;
	/* ARM instructions are at multiples of 4. */
	return elf->e_entry & 1 || !(elf->e_entry & 3);
}

void l4_start_thread(struct pt_regs *regs, unsigned long entry, unsigned long stack)
{
	regs->regs.gp[HOST_CPSR] = PSR_USER_MODE | (entry & 1 ? PSR_THUMB : 0);
	start_thread(regs, entry & ~1UL, stack);
}

/* The microkernel takes only those bits of the status that a program may change. */
void arch_l4_check_registers(const struct uml_pt_regs *regs) { }

/* Upstream asks whether an instruction of a program is to be replaced by another one. */
int arch_fixup(unsigned long address, struct uml_pt_regs *regs)
{
	return 0;
}

/* In the form of arch/arm/kernel/process.c. */
void show_regs(struct pt_regs *regs)
{
	const unsigned long *r = &regs->regs.gp[HOST_R0];

	printk("\n");
	printk("PC is at %pS\n", (void *)PT_REGS_IP(regs));
	printk("LR is at %pS\n", (void *)regs->regs.gp[HOST_LR]);
	printk("pc : [<%08lx>]    lr : [<%08lx>]    psr: %08lx\n", PT_REGS_IP(regs), regs->regs.gp[HOST_LR],
	       regs->regs.gp[HOST_CPSR]);
	printk("sp : %08lx  ip : %08lx  fp : %08lx\n", PT_REGS_SP(regs), r[12], r[11]);
	printk("r10: %08lx  r9 : %08lx  r8 : %08lx\n", r[10], r[9], r[8]);
	printk("r7 : %08lx  r6 : %08lx  r5 : %08lx  r4 : %08lx\n", r[7], r[6], r[5], r[4]);
	printk("r3 : %08lx  r2 : %08lx  r1 : %08lx  r0 : %08lx\n", r[3], r[2], r[1], r[0]);
}

unsigned long get_thread_reg(int reg, jmp_buf *buf)
{
	return reg == HOST_IP ? buf[0]->__lr : reg == HOST_SP ? buf[0]->__sp : 0;
}
