/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the checks of i386 share. */
#ifndef I386_H
#define I386_H

#include "../abi.h"

/* A system call by int 0x80. */
long raw(int nr, long a, long b, long c);
/* The same by sysenter. */
long by_sysenter(int nr, long a, long b, long c, long d, long e, long f);
/* A bit of what the processor has. */
int feature(int bit);
enum { FPU = 0, TSC = 4, SEP = 11, CMOV = 15, FXSR = 24, SSE = 25, SSE2 = 26 };

#endif
