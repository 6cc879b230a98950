/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random mappings in the span of some tables, compared with a model: pages are mapped, moved, protected, dropped,
 * copied by fork.
 */
#define _GNU_SOURCE
#include "chance.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096u
#define TABLE	1024u		/* pages */
#define PAGES	(4 * TABLE)
#define STEPS	1500

static unsigned char *const start = (unsigned char *)0x30000000;
/* Of each page: 0 none, else 1 + PROT_*; and the word that it begins with. */
static unsigned char mapped[PAGES];
static unsigned int word[PAGES];

static volatile unsigned int *at(unsigned int page)
{
	return (volatile unsigned int *)(start + page * PAGE);
}

/* Some pages as the model has them; those that may be written are. */
static void touch(unsigned int from, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < 12; i++) {
		unsigned int page = from + chance(count);

		if (!mapped[page] || !((mapped[page] - 1) & PROT_READ))
			continue;
		expect(*at(page) == word[page], "another word than was written", page);
		if ((mapped[page] - 1) & PROT_WRITE && chance(3))
			*at(page) = word[page] = chance(1 << 24);
	}
}

static void set(unsigned int from, unsigned int count, int prot)
{
	memset(mapped + from, 1 + prot, count);
	memset(word + from, 0, count * sizeof(word[0]));
}

static int all_mapped(unsigned int from, unsigned int count)
{
	return !memchr(mapped + from, 0, count);
}

static void copy(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		int i;

		for (i = 0; i < 20; i++)
			touch(0, PAGES);
		_exit(0);
	}
	expect(waitpid(child, &status, 0) == child && !status, "a child failed", 0);
}

/* A page in each of many tables, again and again; a child checks them, too. */
static void spread(unsigned int tables)
{
	char *p = mmap(NULL, tables * TABLE * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned int round, i;
	int status;
	pid_t child = 1;

	expect(p != MAP_FAILED, "mmap", 0);
	for (round = 0; round < 4; round++) {
		if (round == 3)
			child = fork();
		for (i = 0; i < tables; i++) {
			unsigned int *at = (unsigned int *)(p + i * TABLE * PAGE);

			expect(*at == (round ? i + round : 0), "another word than was written", i * TABLE);
			*at = i + round + 1;
		}
	}
	if (!child)
		_exit(0);
	expect(waitpid(child, &status, 0) == child && !status, "a child failed", 0);
}

/* With a number: many tables instead. */
int main(int argc, char **argv)
{
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };
	unsigned int step;

	if (argc > 1)
		spread(atoi(argv[1]));
	for (step = 0; step < STEPS && argc == 1; step++) {
		/* All of a table, now and then. */
		int whole = !chance(4);
		unsigned int count = whole ? TABLE * (1 + chance(2)) : 1 + chance(200);
		unsigned int from = whole ? TABLE * chance(3) : chance(PAGES - count + 1);
		int prot = prots[chance(3)];
		unsigned int to;

		switch (chance(8)) {
		case 0:
		case 1:
			expect(mmap(start + from * PAGE, count * PAGE, prot | PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
				    -1, 0) != MAP_FAILED, "mmap", from);
			set(from, count, prot | PROT_READ);
			break;
		case 2:
			expect(!munmap(start + from * PAGE, count * PAGE), "munmap", from);
			memset(mapped + from, 0, count);
			break;
		case 3:
			if (!all_mapped(from, count))
				break;
			expect(!mprotect(start + from * PAGE, count * PAGE, prot), "mprotect", from);
			memset(mapped + from, 1 + prot, count);
			break;
		case 4:
			if (!all_mapped(from, count))
				break;
			expect(!madvise(start + from * PAGE, count * PAGE, MADV_DONTNEED), "madvise", from);
			memset(word + from, 0, count * sizeof(word[0]));
			break;
		case 5:
			/* Of one mapping, made for this, to a place that it does not overlap. */
			count = 1 + chance(TABLE);
			from = chance(PAGES / 2 - count);
			to = PAGES / 2 + chance(PAGES / 2 - count);
			expect(mmap(start + from * PAGE, count * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED, "mmap", from);
			set(from, count, PROT_READ | PROT_WRITE);
			touch(from, count);
			expect(mremap(start + from * PAGE, count * PAGE, count * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
				      start + to * PAGE) != MAP_FAILED, "mremap", from);
			memcpy(mapped + to, mapped + from, count);
			memcpy(word + to, word + from, count * sizeof(word[0]));
			memset(mapped + from, 0, count);
			from = to;
			break;
		case 6:
			if (!chance(8))
				copy();
		}
		touch(from, count);
		touch(0, PAGES);
	}
	printf("ok maps\n");
	return 0;
}
