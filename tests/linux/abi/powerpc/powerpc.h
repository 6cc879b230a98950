/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the checks of PowerPC share. */
#ifndef POWERPC_H
#define POWERPC_H

#include "../abi.h"

/* A system call: its result, and in *failed whether that is the number of an error. */
long raw(int nr, long a, long b, long c, int *failed);

/* Instructions as numbers. */
#define ILLEGAL		0x00000000
#define BREAKPOINT	0x7fe00008	/* trap */
#define LI_R3(value)	(0x38600000 | ((value) & 0xffff))
#define BLR		0x4e800020

#endif
