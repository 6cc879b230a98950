// SPDX-License-Identifier: MIT OR Apache-2.0
/* Faults as signals. */
#include "abi.h"

int faults(void)
{
	volatile int zero = 0;
	char *page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(page + PAGE, PAGE);
	RAISES(SIGSEGV, SEGV_MAPERR, page[PAGE] = 1);
	CHECK(got.si_addr == page + PAGE);
	RAISES(SIGSEGV, SEGV_ACCERR, page[5] = 1);
	CHECK(got.si_addr == page + 5);
	RAISES(SIGSEGV, SEGV_MAPERR, *(volatile int *)(8 + zero) = 1);
	return 1;
}

static char *guarded;

static void unprotect(int sig, siginfo_t *si, void *uc)
{
	handled++;
	mprotect((void *)((unsigned long)si->si_addr & -PAGE), PAGE, PROT_READ | PROT_WRITE);
}

int write_barrier(void)
{
	int i;

	guarded = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < 64; i++)
		guarded[i * PAGE] = i;
	mprotect(guarded, 64 * PAGE, PROT_READ);
	catch(SIGSEGV, unprotect, 0);
	handled = 0;
	for (i = 0; i < 64; i++)
		guarded[i * PAGE] += 1;
	CHECK(handled == 64);
	for (i = 0; i < 64; i++)
		CHECK(guarded[i * PAGE] == i + 1);
	mprotect(guarded, 64 * PAGE, PROT_NONE);
	RAISES(SIGSEGV, SEGV_ACCERR, handled += guarded[0]);
	return 1;
}
