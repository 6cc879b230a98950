// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What is gained if pages are cleared while no thread runs (docs/powerpc.md, *The idle loop*): after a sleep, data
 * that was in the cache before is read again, and pages are written for the first time. It runs unchanged on Linux as
 * a server and on Linux alone.
 */
#include "measure.h"
#include <sys/mman.h>
#include <unistd.h>

/* Intervals: a read of data that was in the cache; a write of a byte of each page. */
enum { WORK = 560, USE };

#define REPETITIONS	10
/* As many pages as a Linux of this project sets apart (linux/powerpc/os-L4/clear.c). */
#define PAGES		32
/* Half of the smallest cache of data among the processors. */
#define WORDS		(8192 / sizeof(int))
/* Longer than any of the kernels needs to clear the pages. */
#define MICROSECONDS	20000

static volatile int work[WORDS];

static void read_work(void)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		work[i];
}

int main(void)
{
	int n, i;

	for (n = 0; n < REPETITIONS; n++) {
		volatile char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			die("mmap");
		read_work();
		usleep(MICROSECONDS);
		BEGIN(WORK);
		read_work();
		END(WORK);
		BEGIN(USE);
		for (i = 0; i < PAGES; i++)
			at[i * PAGE] = 1;
		END(USE);
		munmap((void *)at, PAGES * PAGE);
	}
	return 0;
}
