// SPDX-License-Identifier: MIT OR Apache-2.0
/* What operations take by Linux's clock: a line each, its name and nanoseconds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE	4096
#define PAGES	64
/* An operation is repeated until it took so long, in nanoseconds. */
#define ENOUGH	200000000LL

static char buffer[PAGE];
static int file, both[2], ring[2], back[2];
static volatile int caught;

static void catch(int sig) { caught++; }

static void get_pid(void) { syscall(SYS_getpid); }
static void read_page(void) { pread(file, buffer, PAGE, 0); }
static void write_page(void) { pwrite(file, buffer, PAGE, 0); }
static void send_self(void) { kill(getpid(), SIGUSR1); }

static void use_pipe(void)
{
	write(both[1], buffer, 1);
	read(both[0], buffer, 1);
}

static void go_round(void)
{
	write(ring[1], buffer, 1);
	read(back[0], buffer, 1);
}

static void touch_pages(void)
{
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	for (i = 0; i < PAGES; i++)
		*(volatile char *)(p + i * PAGE) = 1;
	munmap(p, PAGES * PAGE);
}

static void fork_one(void)
{
	int pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void exec_one(void)
{
	char *args[] = { "wall", "exit", NULL }, *env[] = { NULL };
	int pid = vfork();

	if (!pid) {
		execve("/proc/self/exe", args, env);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static const struct {
	const char *name;
	void (*go)(void);
} operations[] = {
	{ "getpid", get_pid }, { "read-4K", read_page }, { "write-4K", write_page }, { "pipe-round-trip", use_pipe },
	{ "signal", send_self }, { "64-pages", touch_pages }, { "fork+exit+wait", fork_one },
	{ "vfork+exec+wait", exec_one }, { "ring-of-2", go_round },
};

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Sends back what goes round, until there is nothing more. */
static void answer(void)
{
	close(ring[1]);
	while (read(ring[0], buffer, 1) == 1)
		write(back[1], buffer, 1);
	_exit(0);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/wallXXXXXX";
	unsigned int i;

	/* What exec_one() begins. */
	if (argc > 1)
		_exit(0);
	file = mkstemp(path);
	signal(SIGUSR1, catch);
	if (file < 0 || write(file, buffer, PAGE) != PAGE || pipe(both) || pipe(ring) || pipe(back)) {
		perror("wall");
		return 1;
	}
	unlink(path);
	if (!fork())
		answer();
	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		long long count = 1, took;

		for (;; count *= 2) {
			long long n, begun = now();

			for (n = 0; n < count; n++)
				operations[i].go();
			took = now() - begun;
			if (took >= ENOUGH)
				break;
		}
		printf("%s %lld\n", operations[i].name, took / count);
	}
	return 0;
}
