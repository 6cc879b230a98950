// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Ping-pong over pipes with a working set, as bench/native/src/pingpong.rs does it by IPC: a process uses data or
 * code that fills a TLB or the trace cache, sends a byte to another process and waits for the answer, and uses it
 * again. An interval has the round trip and the second use.
 */
#define _GNU_SOURCE
#include "measure.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPETITIONS	20
#define JUMP_STRIDE	4155
#define READ_STRIDE	4160
#define ITLB_STEP	8
#define DTLB_STEP	4
#define NOP_STEP	1024
#define CODE_BYTES	(660 << 10)
#define DATA_BYTES	(400 << 10)

static unsigned char *code;
static const volatile char *data;
static int to[2], from[2];

static void nops(int count)
{
	memset(code, 0x90, count);
	code[count] = 0xc3;
}

static void jumps(int count)
{
	int i, distance = JUMP_STRIDE - 5;

	for (i = 0; i < count; i++) {
		code[i * JUMP_STRIDE] = 0xe9;
		memcpy(code + i * JUMP_STRIDE + 1, &distance, sizeof distance);
	}
	code[count * JUMP_STRIDE] = 0xc3;
}

static void run_code(int unused)
{
	(void)unused;
	((void (*)(void))code)();
}

static void read_data(int count)
{
	int i;

	for (i = 0; i < count; i++)
		(void)data[i * READ_STRIDE];
}

static void partner(void)
{
	char byte;

	while (raw(__NR_read, to[0], (long)&byte, 1) == 1)
		raw(__NR_write, from[1], (long)&byte, 1);
	_exit(0);
}

static void ping(void)
{
	char byte = 0;

	if (raw(__NR_write, to[1], (long)&byte, 1) != 1 || raw(__NR_read, from[0], (long)&byte, 1) != 1)
		die("pipe");
}

/* Interval `base` + i: `prepare` makes its working set, and `use` uses it. */
#define POINT(base, i, prepare, use, count) do { \
	prepare; \
	for (n = 0; n < REPETITIONS; n++) { \
		use(count); \
		BEGIN((base) + (i)); \
		ping(); \
		use(count); \
		END((base) + (i)); \
	} \
} while (0);
#define NOPS(i)		POINT(200, i, nops((i) * NOP_STEP), run_code, 0)
#define JUMPS(i)	POINT(220, i, jumps((i) * ITLB_STEP), run_code, 0)
#define READS(i)	POINT(250, i, , read_data, (i) * DTLB_STEP)
#define EIGHT(f, i)	f(i) f((i) + 1) f((i) + 2) f((i) + 3) f((i) + 4) f((i) + 5) f((i) + 6) f((i) + 7)

int main(void)
{
	int n;

	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	data = mmap(NULL, DATA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (code == MAP_FAILED || data == MAP_FAILED)
		die("mmap");
	checked(pipe(to), "pipe");
	checked(pipe(from), "pipe");
	if (!checked(fork(), "fork")) {
		close(to[1]);
		partner();
	}
	/* After the fork the pages are copied at the first write: before anything is measured. */
	memset(code, 0xc3, CODE_BYTES);
	EIGHT(NOPS, 0) EIGHT(NOPS, 8) NOPS(16)
	EIGHT(JUMPS, 0) EIGHT(JUMPS, 8) JUMPS(16) JUMPS(17) JUMPS(18) JUMPS(19) JUMPS(20)
	EIGHT(READS, 0) EIGHT(READS, 8) EIGHT(READS, 16) READS(24)
	close(to[1]);
	wait(NULL);
	return 0;
}
