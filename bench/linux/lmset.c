// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The operations of lmbench (McVoy and Staelin, 1996) by their definitions in its manual pages,
 * each an interval. Programs of lmbench are lat_NAME and bw_NAME; where this program differs
 * it says so. It runs unchanged on Linux as a server and on Linux alone.
 */
#define _GNU_SOURCE
#include "measure.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NULL_CALL = 500, READ, WRITE, STAT, FSTAT, OPEN, SIG_INSTALL, SIG_CATCH, PROC_FORK, PROC_EXEC, PROC_SH,
       PIPE, UNIX, MMAP, BW_PIPE, BW_UNIX, BW_MEM, BW_MMAP, BW_FILE, CTX = 520, OVERHEAD = 528,
       FIFO = 531 };

#define REPETITIONS	40
/* Repetitions of operations that take long. */
#define FEW		10
#define MEGABYTE	(1 << 20)
/* How many bytes bw_pipe, bw_unix and bw_file_rd move at a time. */
#define BLOCK		(64 << 10)

static char buffer[BLOCK];
static volatile int sum;

/* Data that is read is added up by words, as in lmbench. */
static void add(const void *from, int bytes)
{
	const int *at = from, *end = at + bytes / sizeof *at;
	int total = 0;

	for (; at < end; at += 8)
		total += at[0] + at[1] + at[2] + at[3] + at[4] + at[5] + at[6] + at[7];
	sum = total;
}

/* lat_syscall: getppid, a byte of /dev/zero, a byte to /dev/null, stat, fstat, open and close. */
static void lat_syscall(const char *file)
{
	int zero = checked(open("/dev/zero", O_RDONLY), "zero"), null = checked(open("/dev/null", O_WRONLY), "null");
	struct stat about;
	char byte = 0;

	MEASURE(NULL_CALL, REPETITIONS, syscall(SYS_getppid));
	MEASURE(READ, REPETITIONS, read(zero, &byte, 1));
	MEASURE(WRITE, REPETITIONS, write(null, &byte, 1));
	MEASURE(STAT, REPETITIONS, stat(file, &about));
	MEASURE(FSTAT, REPETITIONS, fstat(zero, &about));
	MEASURE(OPEN, REPETITIONS, close(open(file, O_RDONLY)));
	close(zero);
	close(null);
}

static void handler(int signal)
{
	(void)signal;
}

/* lat_sig: to install a handler, and to catch a signal that the process sends itself. */
static void lat_sig(void)
{
	struct sigaction action = { .sa_handler = handler };

	MEASURE(SIG_INSTALL, REPETITIONS, sigaction(SIGUSR1, &action, NULL));
	MEASURE(SIG_CATCH, REPETITIONS, kill(getpid(), SIGUSR1));
}

/* lat_proc: fork and exit; fork and exec of a small program; fork and a shell that starts one. */
static void lat_proc(const char *self)
{
	char command[64];
	int pid;

	snprintf(command, sizeof command, "%s exit", self);
	MEASURE(PROC_FORK, REPETITIONS, { pid = fork(); if (!pid) _exit(0); waitpid(pid, NULL, 0); });
	MEASURE(PROC_EXEC, REPETITIONS, { pid = fork(); if (!pid) { execl(self, self, "exit", (char *)NULL); _exit(1); } waitpid(pid, NULL, 0); });
	MEASURE(PROC_SH, FEW, { pid = fork(); if (!pid) { execl("/bin/sh", "sh", "-c", command, (char *)NULL); _exit(1); } waitpid(pid, NULL, 0); });
}

/* A process that sends back each byte that comes. Its descriptors are those of two pairs of pipes, or of a socket. */
static pid_t echo(int in, int out, int others)
{
	pid_t pid = checked(fork(), "fork");
	char byte;

	if (pid)
		return pid;
	close(others);
	while (read(in, &byte, 1) == 1)
		write(out, &byte, 1);
	_exit(0);
}

static void potato(int out, int in)
{
	char byte = 0;

	if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
		die("hot potato");
}

/* lat_fifo: as lat_pipe, by pipes that have names. */
static void lat_fifo(void)
{
	const char *names[] = { "/tmp/to", "/tmp/from" };
	int ends[2], i;

	for (i = 0; i < 2; i++) {
		checked(mkfifo(names[i], 0600), "mkfifo");
		ends[i] = checked(open(names[i], O_RDWR), "fifo");
	}
	if (!checked(fork(), "fork")) {
		/* It ends by a byte that is not zero. */
		char byte = 0;

		while (!byte && read(ends[0], &byte, 1) == 1)
			write(ends[1], &byte, 1);
		_exit(0);
	}
	potato(ends[0], ends[1]);
	MEASURE(FIFO, REPETITIONS, potato(ends[0], ends[1]));
	write(ends[0], "e", 1);
	while (wait(NULL) > 0)
		;
	for (i = 0; i < 2; i++) {
		close(ends[i]);
		unlink(names[i]);
	}
}

/* lat_pipe, lat_unix: a byte there and back ("hot potato"). */
static void lat_pipe(void)
{
	int to[2], from[2], both[2];

	checked(pipe(to), "pipe");
	checked(pipe(from), "pipe");
	echo(to[0], from[1], to[1]);
	potato(to[1], from[0]);
	MEASURE(PIPE, REPETITIONS, potato(to[1], from[0]));
	close(to[1]);
	checked(socketpair(AF_UNIX, SOCK_STREAM, 0, both), "socketpair");
	echo(both[1], both[1], both[0]);
	potato(both[0], both[0]);
	MEASURE(UNIX, REPETITIONS, potato(both[0], both[0]));
	close(both[0]);
	while (wait(NULL) > 0)
		;
}

/* lat_mmap: to map a file of a megabyte, touch every tenth page, and unmap it. */
static void lat_mmap(int file)
{
	char *at;
	int i;

	MEASURE(MMAP, FEW, {
		at = mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		for (i = 0; i < MEGABYTE; i += 10 * PAGE)
			((volatile char *)at)[i] = 1;
		munmap(at, MEGABYTE);
	});
}

/* bw_pipe, bw_unix: a megabyte from another process, which always has more. */
static void stream(int id, int in, int out)
{
	pid_t pid = checked(fork(), "fork");
	int left, got, n;

	if (!pid) {
		close(in);
		while (write(out, buffer, BLOCK) > 0)
			;
		_exit(0);
	}
	close(out);
	for (n = 0; n < FEW; n++) {
		if (id == BW_PIPE)
			BEGIN(BW_PIPE);
		else
			BEGIN(BW_UNIX);
		for (left = MEGABYTE; left > 0; left -= got)
			got = checked(read(in, buffer, left < BLOCK ? left : BLOCK), "read");
		if (id == BW_PIPE)
			END(BW_PIPE);
		else
			END(BW_UNIX);
	}
	close(in);
	waitpid(pid, NULL, 0);
}

static void bandwidths(int file)
{
	int both[2], left;
	char *memory;

	signal(SIGPIPE, SIG_DFL);
	checked(pipe(both), "pipe");
	stream(BW_PIPE, both[0], both[1]);
	checked(socketpair(AF_UNIX, SOCK_STREAM, 0, both), "socketpair");
	stream(BW_UNIX, both[0], both[1]);
	memory = mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(memory, 1, MEGABYTE);
	MEASURE(BW_MEM, FEW, add(memory, MEGABYTE));
	memory = mmap(NULL, MEGABYTE, PROT_READ, MAP_SHARED, file, 0);
	add(memory, MEGABYTE);
	MEASURE(BW_MMAP, FEW, add(memory, MEGABYTE));
	MEASURE(BW_FILE, FEW, {
		lseek(file, 0, SEEK_SET);
		for (left = MEGABYTE; left > 0; left -= BLOCK) {
			read(file, buffer, BLOCK);
			add(buffer, BLOCK);
		}
	});
}

#define MOST_PROCESSES	16
#define MOST_BYTES	(16 << 10)

/* lat_ctx: a token goes around `count` processes, each of which adds up `bytes` bytes of its own. */
static int ring_out, ring_in;

static void ring_begin(int count, int bytes)
{
	int first[2], i;

	checked(pipe(first), "pipe");
	ring_in = first[0];
	for (i = 1; i < count; i++) {
		int next[2];

		checked(pipe(next), "pipe");
		if (!checked(fork(), "fork")) {
			char token;

			close(next[0]);
			close(first[1]);
			memset(buffer, i, bytes);
			/* The last one's input ends when the first one's output is closed. */
			while (read(ring_in, &token, 1) == 1) {
				add(buffer, bytes);
				write(next[1], &token, 1);
			}
			_exit(0);
		}
		close(ring_in);
		close(next[1]);
		ring_in = next[0];
	}
	ring_out = first[1];
	memset(buffer, 0, bytes);
}

static void ring_round(int bytes)
{
	char token = 0;

	add(buffer, bytes);
	write(ring_out, &token, 1);
	if (read(ring_in, &token, 1) != 1)
		die("ring");
}

static void ring_end(void)
{
	close(ring_out);
	while (wait(NULL) > 0)
		;
	close(ring_in);
}

/* The work that lmbench subtracts: a token goes through the same number of pipes, all in one process. */
static void overhead(int (*pipes)[2], int count)
{
	int i;

	for (i = 0; i < count; i++)
		potato(pipes[i][1], pipes[i][0]);
}

static void lat_ctx_overhead(void)
{
	int pipes[MOST_PROCESSES][2], i;

	for (i = 0; i < MOST_PROCESSES; i++)
		checked(pipe(pipes[i]), "pipe");
	overhead(pipes, MOST_PROCESSES);
	MEASURE(OVERHEAD + 0, REPETITIONS, overhead(pipes, 2));
	MEASURE(OVERHEAD + 1, REPETITIONS, overhead(pipes, 8));
	MEASURE(OVERHEAD + 2, REPETITIONS, overhead(pipes, MOST_PROCESSES));
	for (i = 0; i < MOST_PROCESSES; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

/* It includes what lmbench subtracts. */
#define LAT_CTX(id, count, bytes) do { \
	ring_begin(count, bytes); \
	ring_round(bytes); \
	MEASURE(id, REPETITIONS, ring_round(bytes)); \
	ring_end(); \
} while (0)

int main(int argc, char **argv)
{
	char path[] = "/tmp/lmsetXXXXXX";
	int file, i;

	if (argc == 2 && !strcmp(argv[1], "exit"))
		_exit(0);
	file = checked(mkstemp(path), "mkstemp");
	for (i = 0; i < MEGABYTE; i += BLOCK)
		if (write(file, buffer, BLOCK) != BLOCK)
			die("write");
	lat_syscall(path);
	lat_sig();
	lat_proc("/bin/lmset");
	lat_pipe();
	lat_mmap(file);
	bandwidths(file);
	LAT_CTX(CTX + 0, 2, 0);
	LAT_CTX(CTX + 1, 8, 0);
	LAT_CTX(CTX + 2, MOST_PROCESSES, 0);
	LAT_CTX(CTX + 3, 2, 4 << 10);
	LAT_CTX(CTX + 4, 8, 4 << 10);
	LAT_CTX(CTX + 5, 2, MOST_BYTES);
	LAT_CTX(CTX + 6, 8, MOST_BYTES);
	LAT_CTX(CTX + 7, MOST_PROCESSES, MOST_BYTES);
	lat_ctx_overhead();
	lat_fifo();
	unlink(path);
	return 0;
}
