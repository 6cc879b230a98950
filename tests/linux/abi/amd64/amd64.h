/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the checks of x86-64 share. */
#ifndef AMD64_H
#define AMD64_H

#include "../abi.h"
#include <asm/prctl.h>
#include <cpuid.h>

/* A system call. */
static inline long raw(long nr, long a, long b, long c)
{
	long result;

	asm volatile ("syscall" : "=a" (result) : "0" (nr), "D" (a), "S" (b), "d" (c) : "rcx", "r11", "memory");
	return result;
}

/* Whether a program may use AVX. */
static inline int has_avx(void)
{
	unsigned int a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
		return 0;
	asm ("xgetbv" : "=a" (a), "=d" (d) : "c" (0));
	return (a & 6) == 6;
}

#endif
