// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What the notes on L4Linux (2006) measured: getpid, 100,000 of them, a read that blocks, and fork, with and without
 * spaces and threads of dead processes that it can reuse.
 */
#define _GNU_SOURCE
#include "measure.h"
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GETPID = 300, GETPIDS, BLOCKING_READ, FORK_CACHED, FORK_FRESH };

#define REPETITIONS	40
/* More than the Linux server keeps of dead processes (linux/os-L4): from then on fork finds none. */
#define ALIVE		40

/* How often this process has waited. */
static long waits(void)
{
	struct rusage usage;

	checked(getrusage(RUSAGE_SELF, &usage), "getrusage");
	return usage.ru_nvcsw;
}

/* Another process, which never takes the processor from this one, writes when this one waits. */
static void blocking_read(void)
{
	struct sched_param param = { 0 };
	int to[2], from[2];
	char byte = 0;
	long before;

	checked(pipe(to), "pipe");
	checked(pipe(from), "pipe");
	if (!checked(fork(), "fork")) {
		close(to[1]);
		checked(sched_setscheduler(0, SCHED_IDLE, &param), "sched_setscheduler");
		while (read(to[0], &byte, 1) == 1)
			write(from[1], &byte, 1);
		_exit(0);
	}
	before = waits();
	for (int i = 0; i < REPETITIONS; i++) {
		write(to[1], &byte, 1);
		BEGIN(BLOCKING_READ);
		raw(__NR_read, from[0], (long)&byte, 1);
		END(BLOCKING_READ);
	}
	if (waits() - before < REPETITIONS) {
		fprintf(stderr, "the reads did not block\n");
		exit(1);
	}
	close(to[1]);
	wait(NULL);
}

/* The parent's part of fork, while `alive` others live. */
static void forks(int id, int alive)
{
	pid_t others[ALIVE + REPETITIONS];
	int i, count = 0;

	for (i = 0; i < alive + REPETITIONS; i++) {
		pid_t pid;

		if (i < alive) {
			pid = fork();
		} else if (id == FORK_FRESH) {
			BEGIN(FORK_FRESH);
			pid = fork();
			if (pid)
				END(FORK_FRESH);
		} else {
			BEGIN(FORK_CACHED);
			pid = fork();
			if (pid)
				END(FORK_CACHED);
		}
		if (!pid) {
			if (id == FORK_FRESH)
				pause();
			_exit(0);
		}
		checked(pid, "fork");
		if (id == FORK_FRESH)
			others[count++] = pid;
		else
			waitpid(pid, NULL, 0);
	}
	for (i = 0; i < count; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
}

int main(void)
{
	MEASURE(GETPID, REPETITIONS, raw(__NR_getpid, 0, 0, 0));
	MEASURE(GETPIDS, 1, for (int i = 0; i < 100000; i++) raw(__NR_getpid, 0, 0, 0));
	blocking_read();
	forks(FORK_CACHED, 0);
	forks(FORK_FRESH, ALIVE);
	return 0;
}
