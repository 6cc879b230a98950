// SPDX-License-Identifier: GPL-2.0
/*
 * Register frame and protection constants shared by the kernel proper and
 * the host layer.  No host headers: the frame layout is ours to choose; we
 * keep the i386 ptrace order, as ptrace(2) and core dumps need it anyway.
 */
#include <linux/kbuild.h>
#include <asm/ptrace-abi.h>
#include <uapi/asm-generic/mman-common.h>
#include <uapi/asm-generic/poll.h>

void foo(void);

void foo(void)
{
	DEFINE(HOST_FP_SIZE, 27);	/* fsave image, longs */
	DEFINE(HOST_FPX_SIZE, 128);	/* fxsave image, longs */

	DEFINE(HOST_IP, EIP);
	DEFINE(HOST_SP, UESP);
	DEFINE(HOST_EFLAGS, EFL);
	DEFINE(HOST_AX, EAX);
	DEFINE(HOST_BX, EBX);
	DEFINE(HOST_CX, ECX);
	DEFINE(HOST_DX, EDX);
	DEFINE(HOST_SI, ESI);
	DEFINE(HOST_DI, EDI);
	DEFINE(HOST_BP, EBP);
	DEFINE(HOST_CS, CS);
	DEFINE(HOST_SS, SS);
	DEFINE(HOST_DS, DS);
	DEFINE(HOST_FS, FS);
	DEFINE(HOST_ES, ES);
	DEFINE(HOST_GS, GS);
	DEFINE(HOST_ORIG_AX, ORIG_EAX);

	DEFINE(UM_FRAME_SIZE, FRAME_SIZE * sizeof(long));

	DEFINE(UM_POLLIN, POLLIN);
	DEFINE(UM_POLLPRI, POLLPRI);
	DEFINE(UM_POLLOUT, POLLOUT);

	DEFINE(UM_PROT_READ, PROT_READ);
	DEFINE(UM_PROT_WRITE, PROT_WRITE);
	DEFINE(UM_PROT_EXEC, PROT_EXEC);
}
