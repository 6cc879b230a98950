// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of registers in uml_pt_regs, and constants.  The first registers have the order of the microkernel's
 * frame, so that one copy suffices (run.h).
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
	/* FPU state is only in the user thread (fpu.c). */
	DEFINE(HOST_FP_SIZE, 0);
	DEFINE(HOST_FPX_SIZE, 0);

	AS_MICROKERNEL(HOST_AX, rax);
	AS_MICROKERNEL(HOST_BX, rbx);
	AS_MICROKERNEL(HOST_CX, rcx);
	AS_MICROKERNEL(HOST_DX, rdx);
	AS_MICROKERNEL(HOST_SI, rsi);
	AS_MICROKERNEL(HOST_DI, rdi);
	AS_MICROKERNEL(HOST_BP, rbp);
	AS_MICROKERNEL(HOST_R8, r8);
	AS_MICROKERNEL(HOST_R9, r9);
	AS_MICROKERNEL(HOST_R10, r10);
	AS_MICROKERNEL(HOST_R11, r11);
	AS_MICROKERNEL(HOST_R12, r12);
	AS_MICROKERNEL(HOST_R13, r13);
	AS_MICROKERNEL(HOST_R14, r14);
	AS_MICROKERNEL(HOST_R15, r15);
	AS_MICROKERNEL(HOST_SP, rsp);
	AS_MICROKERNEL(HOST_IP, rip);
	AS_MICROKERNEL(HOST_EFLAGS, rflags);
	AS_MICROKERNEL(HOST_FS_BASE, fs_base);
	AFTER_VECTOR(HOST_CS, 0);
	AFTER_VECTOR(HOST_SS, 1);
	AFTER_VECTOR(HOST_ORIG_AX, 2);
	/* In no frame of the microkernel (exception.c). */
	AFTER_VECTOR(HOST_GS_BASE, 3);
	/* The microkernel has none of these: they are zero. */
	AFTER_VECTOR(HOST_DS, 4);
	AFTER_VECTOR(HOST_ES, 5);
	AFTER_VECTOR(HOST_FS, 6);
	AFTER_VECTOR(HOST_GS, 7);
	DEFINE(UM_FRAME_SIZE, offsetof(struct l4_frame, vector) + 8 * sizeof(long));

	DEFINE(UM_POLLIN, POLLIN);
	DEFINE(UM_POLLPRI, POLLPRI);
	DEFINE(UM_POLLOUT, POLLOUT);

	DEFINE(UM_PROT_READ, PROT_READ);
	DEFINE(UM_PROT_WRITE, PROT_WRITE);
	DEFINE(UM_PROT_EXEC, PROT_EXEC);
}
