// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What the machine model counts of Linux: operations between markers, an interval each.
 * The same program runs on Linux as a server and on Linux alone.
 */
#define _GNU_SOURCE
#include "../../bench/linux/measure.h"
#include <fcntl.h>
#include <linux/random.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* The same under musl's name. */
#ifndef __NR_gettimeofday
#define __NR_gettimeofday	__NR_gettimeofday_time32
#endif

#define REPETITIONS	40
#define MEGABYTE	(1 << 20)

enum { GETPID = 1, GETTIMEOFDAY, READ, WRITE, PIPE, FAULT, FORK, EXEC, RING2, RING8, CLOCK, SIGNAL, MMAP, WARM_FAULT, GETPPID,
       VDSO_READ };

static char buffer[PAGE];

static void caught(int sig)
{
}

/* A token goes once around `count` processes, this one among them. */
static void ring(int count, int rounds, int id)
{
	int first[2], in, i;
	char token = 0;

	if (pipe(first))
		die("pipe");
	in = first[0];
	for (i = 1; i < count; i++) {
		int next[2];

		if (pipe(next))
			die("pipe");
		if (!fork()) {
			close(next[0]);
			close(first[1]);
			/* The last one's input ends when the first one's output is closed. */
			while (read(in, &token, 1) == 1)
				write(next[1], &token, 1);
			_exit(0);
		}
		close(in);
		close(next[1]);
		in = next[0];
	}
	for (i = 0; i < rounds; i++) {
		if (id == RING2)
			BEGIN(RING2);
		else
			BEGIN(RING8);
		write(first[1], &token, 1);
		if (read(in, &token, 1) != 1)
			die("ring");
		if (id == RING2)
			END(RING2);
		else
			END(RING8);
	}
	close(first[1]);
	while (wait(NULL) > 0)
		;
	close(in);
}

/* As lmbench's lat_mmap: maps a file of a megabyte, writes to each tenth page, and unmaps it. */
static void touch(int file)
{
	char *at = mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	int i;

	if (at == MAP_FAILED)
		die("mmap");
	for (i = 0; i < MEGABYTE; i += 10 * PAGE)
		((volatile char *)at)[i] = 1;
	munmap(at, MEGABYTE);
}

/* Calls that the process makes. */
static void calls(void)
{
	char path[] = "/tmp/figuresXXXXXX";
	int file = mkstemp(path), both[2];
	struct timeval tv;
	int i;

	if (file < 0 || pipe(both) || write(file, buffer, PAGE) != PAGE)
		die("open");
	MEASURE(GETPID, REPETITIONS, raw(__NR_getpid, 0, 0, 0));
	MEASURE(GETTIMEOFDAY, REPETITIONS, raw(__NR_gettimeofday, (long)&tv, 0, 0));
	MEASURE(CLOCK, REPETITIONS, gettimeofday(&tv, NULL));
	for (i = 0; i < REPETITIONS; i++) {
		lseek(file, 0, SEEK_SET);
		BEGIN(READ);
		raw(__NR_read, file, (long)buffer, PAGE);
		END(READ);
		lseek(file, 0, SEEK_SET);
		BEGIN(WRITE);
		raw(__NR_write, file, (long)buffer, PAGE);
		END(WRITE);
		lseek(file, 0, SEEK_SET);
		BEGIN(VDSO_READ);
		read(file, buffer, PAGE);
		END(VDSO_READ);
	}
	/* As the C library makes it: by the vDSO's sysenter. */
	MEASURE(GETPPID, REPETITIONS, getppid());
	MEASURE(PIPE, REPETITIONS, raw(__NR_write, both[1], (long)buffer, 1); raw(__NR_read, both[0], (long)buffer, 1));
	/* The handler's page is there: its first run is not measured. */
	signal(SIGUSR1, caught);
	raise(SIGUSR1);
	i = getpid();
	MEASURE(SIGNAL, REPETITIONS, raw(__NR_kill, i, SIGUSR1, 0));
	/* The file's pages are there, as lmbench's are. */
	for (i = 0; i < MEGABYTE; i += PAGE)
		if (pwrite(file, buffer, PAGE, i) != PAGE)
			die("write");
	MEASURE(MMAP, REPETITIONS, touch(file));
	unlink(path);
	close(file);
	close(both[0]);
	close(both[1]);
}

/* Pages, processes, and processes that wait for each other. */
static void processes(void)
{
	char *args[] = { "figures", "exit", NULL }, *env[] = { NULL }, *pages;
	int i;

	pages = mmap(NULL, (REPETITIONS + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < REPETITIONS; i++) {
		BEGIN(FAULT);
		*(volatile char *)(pages + i * PAGE) = 1;
		END(FAULT);
	}
	MEASURE(FORK, REPETITIONS, { int pid = fork(); if (!pid) _exit(0); waitpid(pid, NULL, 0); });
	MEASURE(EXEC, REPETITIONS, { int pid = vfork(); if (!pid) { execve("/proc/self/exe", args, env); _exit(1); } waitpid(pid, NULL, 0); });
	ring(2, REPETITIONS, RING2);
	ring(8, REPETITIONS, RING8);
	/* The frame that was just given back comes again: its lines are in the caches still. */
	pages += REPETITIONS * PAGE;
	*(volatile char *)pages = 1;
	for (i = 0; i < REPETITIONS; i++) {
		madvise(pages, PAGE, MADV_DONTNEED);
		BEGIN(WARM_FAULT);
		*(volatile char *)pages = 1;
		END(WARM_FAULT);
	}
}

/* Begins again with this argument. */
static void again(unsigned long persona, char *argument)
{
	char *args[] = { "figures", argument, NULL };

	if (personality(persona) < 0)
		die("personality");
	execv("/proc/self/exe", args);
	die("exec");
}

/* Linux makes random numbers for each program, in a longer way as long as its pool is not seeded: here it is. */
static void seed(void)
{
	static struct { struct rand_pool_info info; char bytes[32]; } some = { { 256, sizeof(some.bytes) } };
	int pool = open("/dev/urandom", O_WRONLY);

	if (pool < 0 || ioctl(pool, RNDADDENTROPY, &some))
		die("random pool");
	close(pool);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		seed();
		/* Where a stack lies decides what it shares of the data cache: the same place each time. */
		again(ADDR_NO_RANDOMIZE, "calls");
	} else if (!strcmp(argv[1], "calls")) {
		calls();
		/* Processes are made as anybody's. */
		again(PER_LINUX, "processes");
	} else if (!strcmp(argv[1], "processes")) {
		processes();
		return 0;
	}
	/* What the measured exec begins. */
	_exit(0);
}
