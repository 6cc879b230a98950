/* SPDX-License-Identifier: GPL-2.0 */
/* Frames on the server's own stacks that C and assembly know: offsets from the stack pointer, in bytes. */
#ifndef __POWERPC_OS_L4_SERVER_FRAME_H
#define __POWERPC_OS_L4_SERVER_FRAME_H

/* Of a system call (syscall.S). */
#define CALL_REGS	8
#define CALL_UTCB	12
#define CALL_CR		16
#define CALL_R13	20
#define CALL_FRAME	96

#endif
