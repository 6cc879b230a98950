/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Intervals for the machine model (docs/model.md) in programs for Linux. The book
 * (bench/book) gives their numbers names.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdio.h>
#include <stdlib.h>

#define PAGE	4096

/* `test eax, imm32`: abi::arch::ia32::marker. */
#define MARK(kind, id)	asm volatile (".byte 0xa9; .long %c0" : : "i" (0x4d410000 | (kind) << 12 | (id)) : "cc", "memory")
#define BEGIN(id)	MARK(1, id)
#define END(id)		MARK(2, id)
/* `what`, `count` times, each time an interval. */
#define MEASURE(id, count, what) do { int n_; for (n_ = 0; n_ < (count); n_++) { BEGIN(id); what; END(id); } } while (0)

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

static inline int checked(int result, const char *what)
{
	if (result < 0)
		die(what);
	return result;
}

static inline long raw(int nr, long a, long b, long c)
{
	long result;

	asm volatile ("int $0x80" : "=a" (result) : "a" (nr), "b" (a), "c" (b), "d" (c) : "memory");
	return result;
}

#endif
