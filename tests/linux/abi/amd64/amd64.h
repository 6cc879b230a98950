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

/* Whether a program may use these registers, by their bits in XCR0. */
static inline int may_use(unsigned int registers)
{
	unsigned int a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return 0;
	asm ("xgetbv" : "=a" (a), "=d" (d) : "c" (0));
	return (a & registers) == registers;
}

/* Whether it may use AVX. */
static inline int has_avx(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_AVX) && may_use(6);
}

/* Whether it may use AVX-512. */
static inline int has_avx512(void)
{
	unsigned int a, b, c, d;

	return has_avx() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512F) && may_use(0xe6);
}

#endif
