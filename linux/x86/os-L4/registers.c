// SPDX-License-Identifier: GPL-2.0
/* Registers of programs, and what programs are told of the processor. */
#include <linux/kernel.h>
#include <linux/mm_types.h>
#include <linux/panic.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/debug.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>
#include <asm/cpufeatures.h>
#include <asm/processor-flags.h>
#include <longjmp.h>
#include <os.h>
#include <registers.h>
#include <sysdep/ptrace_user.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/subarch.h"
#include "layout.h"
#include "run.h"
#include "selectors.h"
#include "vdso.h"

char *elf_aux_platform = "i686";
long elf_aux_hwcap;
unsigned long vsyscall_ehdr, vsyscall_end, __kernel_vsyscall;

/* AT_HWCAP.  FPU features count only if the microkernel switches their state. */
void os_early_checks(void)
{
	u32 features = l4_kip[L4_KIP_FEATURES / 4];
	u32 leaf = 1, count = 0, ebx, hwcap;

	asm ("cpuid" : "+a" (leaf), "=b" (ebx), "+c" (count), "=d" (hwcap));
	if (!(features & L4_FEATURE_FXSR))
		hwcap &= ~BIT(X86_FEATURE_FXSR % 32);
	if (!(features & L4_FEATURE_SSE))
		hwcap &= ~(BIT(X86_FEATURE_XMM % 32) | BIT(X86_FEATURE_XMM2 % 32));
	elf_aux_hwcap = hwcap;
}

void setup_machinename(char *machine_out)
{
	strcpy(machine_out, "i686");
}

/* The end of user processes.  Upstream subtracts room for its stub pages, which are not used here. */
unsigned long os_get_top_address(void)
{
	return L4_USER_END + 0x4000;
}

void get_safe_registers(unsigned long *regs, unsigned long *fp_regs)
{
	memset(regs, 0, sizeof(unsigned long) * MAX_REG_NR);
	regs[HOST_CS] = L4_USER_CS;
	regs[HOST_SS] = L4_USER_DS;
	regs[HOST_DS_ES] = L4_USER_DS << 16 | L4_USER_DS;
	regs[HOST_EFLAGS] = X86_EFLAGS_IF | X86_EFLAGS_FIXED;
}

/* In the form of upstream's sysrq_32.c. */
void show_regs(struct pt_regs *regs)
{
	const unsigned long *gp = regs->regs.gp;
	const u16 *selectors = l4_selectors(gp);

	printk("\n");
	printk("EIP: %04lx:[<%08lx>] CPU: %d %s", gp[HOST_CS] & 0xffff, gp[HOST_IP], smp_processor_id(), print_tainted());
	if (gp[HOST_CS] & 3)
		printk(" ESP: %04lx:%08lx", gp[HOST_SS] & 0xffff, gp[HOST_SP]);
	printk(" EFLAGS: %08lx\n", gp[HOST_EFLAGS]);
	printk("EAX: %08lx EBX: %08lx ECX: %08lx EDX: %08lx\n", gp[HOST_AX], gp[HOST_BX], gp[HOST_CX], gp[HOST_DX]);
	printk("ESI: %08lx EDI: %08lx EBP: %08lx DS: %04x ES: %04x FS: %04x GS: %04x\n", gp[HOST_SI], gp[HOST_DI],
	       gp[HOST_BP], selectors[L4_DS], selectors[L4_ES], selectors[L4_FS], selectors[L4_GS]);
}

bool l4_read_sixth_argument(struct uml_pt_regs *regs)
{
	unsigned long *gp = regs->gp;

	if (!get_user(gp[HOST_BP], (unsigned long __user *)gp[HOST_SP]))
		return true;
	gp[HOST_AX] = -EFAULT;
	arch_l4_no_system_call(regs);
	return false;
}

unsigned long get_thread_reg(int reg, jmp_buf *buf)
{
	switch (reg) {
	case HOST_IP:
		return buf[0]->__eip;
	case HOST_SP:
		return buf[0]->__esp;
	case HOST_BP:
		return buf[0]->__ebp;
	}
	return 0;
}
