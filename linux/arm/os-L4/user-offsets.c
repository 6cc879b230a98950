// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of registers in uml_pt_regs, and constants.  The first registers have the order of the microkernel's
 * frame, so that one copy suffices (run.h).
 */
#include <linux/kbuild.h>
#include <linux/stddef.h>
#include <linux/types.h>
#include <uapi/asm-generic/mman-common.h>
#include <uapi/asm-generic/poll.h>
#include "../../../um/os-L4/abi.h"

#define AS_MICROKERNEL(name, field) DEFINE(name, offsetof(struct l4_frame, field) / sizeof(long))
#define AFTER_VECTOR(name, n) DEFINE(name, offsetof(struct l4_frame, vector) / sizeof(long) + (n))

void foo(void);

void foo(void)
{
	DEFINE(HOST_FP_SIZE, 0);

	AS_MICROKERNEL(HOST_R0, r[0]);
	AS_MICROKERNEL(HOST_SP, sp);
	AS_MICROKERNEL(HOST_LR, lr);
	AS_MICROKERNEL(HOST_IP, pc);
	AS_MICROKERNEL(HOST_CPSR, cpsr);
	AFTER_VECTOR(HOST_ORIG_R0, 0);
	AFTER_VECTOR(HOST_SYSCALL_NR, 1);
	DEFINE(UM_FRAME_SIZE, offsetof(struct l4_frame, vector) + 2 * sizeof(long));

	DEFINE(UM_POLLIN, POLLIN);
	DEFINE(UM_POLLPRI, POLLPRI);
	DEFINE(UM_POLLOUT, POLLOUT);

	DEFINE(UM_PROT_READ, PROT_READ);
	DEFINE(UM_PROT_WRITE, PROT_WRITE);
	DEFINE(UM_PROT_EXEC, PROT_EXEC);
}
