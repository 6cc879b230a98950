/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random operations on a file that is mapped shared, against a model of it: written where it is mapped, by two processes and at two
 * addresses, and unmapped; read and written by calls meanwhile and after; written to the disk, forgotten, and read from there.
 */
#define _GNU_SOURCE
#include "chance.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096u
#define PAGES	12u
#define WORDS	(PAGE / sizeof(unsigned int))
#define STEPS	300

/* The file as it is to be.  Both processes have it. */
static unsigned int (*model)[WORDS];
static const char *path;
static int file;

static volatile unsigned int *map(unsigned int page, int prot, int flags)
{
	void *at = mmap(NULL, PAGE, prot, flags, file, page * PAGE);

	expect(at != MAP_FAILED, "mmap", page);
	return at;
}

/* Some words where it is mapped are as the model has them; if `writes`, others are written. */
static void touch(volatile unsigned int *at, unsigned int page, int writes)
{
	unsigned int i;

	for (i = 0; i < 16; i++) {
		unsigned int word = chance(WORDS);

		expect(at[word] == model[page][word], "what is mapped", page);
		if (writes)
			at[word] = model[page][word] = chance(1 << 24);
	}
}

static void all_of(const unsigned int *words, unsigned int page, const char *what)
{
	expect(!memcmp(words, model[page], PAGE), what, page);
}

static void read_page(unsigned int page)
{
	static unsigned int words[WORDS];

	expect(pread(file, words, PAGE, page * PAGE) == (ssize_t)PAGE, "pread", page);
	all_of(words, page, "what was read");
}

static void write_words(unsigned int page)
{
	unsigned int first = chance(WORDS - 64), n = 1 + chance(64), i;

	for (i = first; i < first + n; i++)
		model[page][i] = chance(1 << 24);
	expect(pwrite(file, model[page] + first, n * 4, page * PAGE + first * 4) == (ssize_t)(n * 4), "pwrite", page);
}

/* Writes everything to the disk, and drops it from memory: later reads come from the disk. */
static void forget(void)
{
	unsigned int page;

	expect(!fsync(file), "fsync", 0);
	expect(!posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), "posix_fadvise", 0);
	for (page = 0; page < PAGES; page++)
		read_page(page);
}

/* As the disk has it, if there is one. */
static void read_directly(void)
{
	static unsigned int words[WORDS] __attribute__((aligned(4096)));
	int direct = open(path, O_RDONLY | O_DIRECT);
	unsigned int page = chance(PAGES);

	if (direct < 0 && errno == EINVAL)
		return;
	expect(direct >= 0, "open", page);
	expect(pread(direct, words, PAGE, page * PAGE) == (ssize_t)PAGE, "pread of the disk", page);
	all_of(words, page, "what the disk has");
	close(direct);
}

static void step(void)
{
	unsigned int page = chance(PAGES);
	volatile unsigned int *at = NULL, *other;

	switch (chance(8)) {
	case 0:
		read_page(page);
		return;
	case 1:
		write_words(page);
		return;
	case 2:
		forget();
		return;
	case 3:
		read_directly();
		return;
	case 4:
		/* Nobody writes to it: it is cached. */
		at = map(page, PROT_READ, chance(2) ? MAP_SHARED : MAP_PRIVATE);
		touch(at, page, 0);
		break;
	case 5:
		/* Where it is mapped twice. */
		at = map(page, PROT_READ | PROT_WRITE, MAP_SHARED);
		other = map(page, PROT_READ | PROT_WRITE, MAP_SHARED);
		touch(at, page, 1);
		touch(other, page, 1);
		touch(at, page, 0);
		munmap((void *)other, PAGE);
		break;
	default:
		at = map(page, PROT_READ | PROT_WRITE, MAP_SHARED);
		touch(at, page, chance(4));
		break;
	}
	/* Calls while it is mapped. */
	if (chance(2)) {
		read_page(page);
		touch(at, page, 0);
	}
	if (!chance(3)) {
		write_words(page);
		touch(at, page, 0);
	}
	if (!chance(3)) {
		expect(!msync((void *)at, PAGE, MS_SYNC), "msync", page);
		touch(at, page, 0);
	}
	munmap((void *)at, PAGE);
	if (chance(2))
		read_page(page);
}

/* Another process works on the file for a while; one of its pages this one has mapped. */
static void other_process(void)
{
	unsigned int page = chance(PAGES), i;
	volatile unsigned int *at = map(page, PROT_READ | PROT_WRITE, MAP_SHARED);
	int status;
	pid_t child;

	touch(at, page, chance(2));
	child = fork();
	if (!child) {
		touch(at, page, 1);
		for (i = 0; i < 10; i++)
			step();
		exit(0);
	}
	expect(waitpid(child, &status, 0) == child && !status, "a child failed", page);
	touch(at, page, 0);
	read_page(page);
	munmap((void *)at, PAGE);
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc != 2)
		return 2;
	path = argv[1];
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	model = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	expect(file >= 0 && model != MAP_FAILED, "open", 0);
	expect(!ftruncate(file, PAGES * PAGE), "ftruncate", 0);
	for (i = 0; i < STEPS; i++)
		if (chance(10))
			step();
		else
			other_process();
	for (i = 0; i < PAGES; i++)
		read_page(i);
	puts("ok");
	return 0;
}
