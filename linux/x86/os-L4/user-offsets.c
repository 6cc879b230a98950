// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of registers in uml_pt_regs, and constants.  The first registers lie as in the microkernel's frame, so that
 * one copy suffices (run.h).
 */
#include <linux/kbuild.h>
#include <asm/ptrace-abi.h>
#include <uapi/asm-generic/mman-common.h>
#include <uapi/asm-generic/poll.h>
#include "../../../um/os-L4/abi.h"

#define AS_MICROKERNEL(name, field) DEFINE(name, offsetof(struct l4_frame, field) / sizeof(long))
#define AFTER_VECTOR(name, n) DEFINE(name, offsetof(struct l4_frame, vector) / sizeof(long) + (n))

void foo(void);

void foo(void)
{
	/* FPU state lies only in the user thread (fpu.c). */
	DEFINE(HOST_FP_SIZE, 0);
	DEFINE(HOST_FPX_SIZE, 0);

	AS_MICROKERNEL(HOST_AX, eax);
	AS_MICROKERNEL(HOST_BX, ebx);
	AS_MICROKERNEL(HOST_CX, ecx);
	AS_MICROKERNEL(HOST_DX, edx);
	AS_MICROKERNEL(HOST_SI, esi);
	AS_MICROKERNEL(HOST_DI, edi);
	AS_MICROKERNEL(HOST_BP, ebp);
	AS_MICROKERNEL(HOST_SP, esp);
	AS_MICROKERNEL(HOST_IP, eip);
	AS_MICROKERNEL(HOST_EFLAGS, eflags);
	AS_MICROKERNEL(HOST_DS_ES, ds_es);
	AS_MICROKERNEL(HOST_FS_GS, fs_gs);
	/* Upstream has macros with these names, which are not used. */
	AS_MICROKERNEL(HOST_DS, ds_es);
	AS_MICROKERNEL(HOST_ES, ds_es);
	AFTER_VECTOR(HOST_CS, 0);
	AFTER_VECTOR(HOST_SS, 1);
	AFTER_VECTOR(HOST_ORIG_AX, 2);

	DEFINE(UM_FRAME_SIZE, FRAME_SIZE * sizeof(long));

	DEFINE(UM_POLLIN, POLLIN);
	DEFINE(UM_POLLPRI, POLLPRI);
	DEFINE(UM_POLLOUT, POLLOUT);

	DEFINE(UM_PROT_READ, PROT_READ);
	DEFINE(UM_PROT_WRITE, PROT_WRITE);
	DEFINE(UM_PROT_EXEC, PROT_EXEC);
}
