// SPDX-License-Identifier: GPL-2.0
/* Registers as arch/powerpc has them for programs. */
#include <linux/ptrace.h>
#include <linux/string.h>
#include <sysdep/ptrace.h>
#include <sysdep/ptrace_user.h>
#include <asm/ptrace.h>
#include "ptregs.h"

/* Where the words are that follow the general registers. */
static const unsigned char places[] = {
	[PT_NIP] = HOST_IP, [PT_MSR] = HOST_MSR, [PT_ORIG_R3] = HOST_ORIG_R3, [PT_CTR] = HOST_CTR, [PT_LNK] = HOST_LR,
	[PT_XER] = HOST_XER, [PT_CCR] = HOST_CR,
};

#define GENERAL	32
static_assert(HOST_R0 == 0 && PT_NIP == GENERAL);

void l4_to_pt_regs(unsigned long *to, const unsigned long *gp, const struct faultinfo *fault)
{
	int i;

	memset(to, 0, L4_PT_REGISTERS * sizeof(long));
	memcpy(to, gp, GENERAL * sizeof(long));
	for (i = PT_NIP; i <= PT_CCR; i++)
		to[i] = gp[places[i]];
	to[PT_TRAP] = (long)PT_SYSCALL_NR(gp) != -1 ? TRAP_SYSTEM_CALL : fault->trap_no;
	to[PT_DAR] = fault->address;
	to[PT_DSISR] = fault->error_code;
}

void l4_from_pt_regs(unsigned long *gp, const unsigned long *from)
{
	unsigned long msr = gp[HOST_MSR];
	int i;

	memcpy(gp, from, GENERAL * sizeof(long));
	for (i = PT_NIP; i <= PT_CCR; i++)
		gp[places[i]] = from[i];
	gp[HOST_MSR] = (msr & ~MSR_USER_FLAGS) | (from[PT_MSR] & MSR_USER_FLAGS);
}
