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

#ifdef __arm__
/* A `pld`: abi::arch::armv5::marker. */
#define MARK(kind, id) asm volatile (".inst %c0" : : "i" (0xf750f040 | (kind) | ((id) & 15) << 16 | ((id) >> 4 & 31) << 7 | \
						       ((id) >> 9 & 1) << 5 | ((id) >> 10 & 1) << 23 | ((id) >> 11 & 1) << 2) : "memory")
#define BEGIN(id)	MARK(0, id)
#define END(id)		MARK(1, id)
#elif defined(__powerpc__)
/* An `rlwimi`: abi::arch::powerpc::marker. */
#define MARK(kind, id)	asm volatile (".long %c0" : : "i" (0x50000000 | (28 + (kind)) << 21 | (28 + (kind)) << 16 | (id) << 1) : "memory")
#define BEGIN(id)	MARK(0, id)
#define END(id)		MARK(1, id)
#else
/* `test eax, imm32`: abi::arch::ia32::marker. */
#define MARK(kind, id)	asm volatile (".byte 0xa9; .long %c0" : : "i" (0x4d410000 | (kind) << 12 | (id)) : "cc", "memory")
#define BEGIN(id)	MARK(1, id)
#define END(id)		MARK(2, id)
#endif
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

/* A system call by the processor's own instruction. */
static inline long raw(int nr, long a, long b, long c)
{
#ifdef __arm__
	register long r0 asm ("r0") = a, r1 asm ("r1") = b, r2 asm ("r2") = c, r7 asm ("r7") = nr;

	asm volatile ("swi 0" : "+r" (r0) : "r" (r1), "r" (r2), "r" (r7) : "memory");
	return r0;
#elif defined(__powerpc__)
	register long r0 asm ("r0") = nr, r3 asm ("r3") = a, r4 asm ("r4") = b, r5 asm ("r5") = c;

	/* CR0.SO says that it failed. */
	asm volatile ("sc; bns+ 1f; neg %1, %1; 1:" : "+r" (r0), "+r" (r3), "+r" (r4), "+r" (r5) : :
		      "r6", "r7", "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	return r3;
#elif defined(__x86_64__)
	long result;

	asm volatile ("syscall" : "=a" (result) : "a" ((long)nr), "D" (a), "S" (b), "d" (c) : "rcx", "r11", "memory");
	return result;
#else
	long result;

	asm volatile ("int $0x80" : "=a" (result) : "a" (nr), "b" (a), "c" (b), "d" (c) : "memory");
	return result;
#endif
}

#endif
