// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A byte goes to another process and back by pipes, an interval of the machine model each time: while both have a TLS
 * descriptor, and when neither has one, as programs without a C library. Linked with musl, so that it can be small
 * (xtask/src/linux/musl.rs).
 */
#include "../../bench/linux/measure.h"
#include <asm/ldt.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPETITIONS 40

enum { WITH_TLS = 1, BARE };

static int to[2], from[2];
static char token;

/* The C library's functions are not to be called afterwards. */
static void drop_tls(void)
{
	unsigned short selector;
	struct user_desc empty = { .read_exec_only = 1, .seg_not_present = 1 };

	asm volatile ("mov %%gs, %0" : "=r" (selector));
	empty.entry_number = selector >> 3;
	if (!selector || raw(SYS_set_thread_area, (long)&empty, 0, 0))
		raw(SYS_exit, 2, 0, 0);
	asm volatile ("mov %0, %%gs" : : "r" (0));
}

/* Until its input ends. */
static void answer(void)
{
	while (raw(SYS_read, to[0], (long)&token, 1) == 1)
		raw(SYS_write, from[1], (long)&token, 1);
	raw(SYS_exit, 0, 0, 0);
}

static void ask(void)
{
	if (raw(SYS_write, to[1], (long)&token, 1) != 1 || raw(SYS_read, from[0], (long)&token, 1) != 1)
		raw(SYS_exit, 3, 0, 0);
}

static void partner(int is_bare)
{
	checked(pipe(to), "pipe");
	checked(pipe(from), "pipe");
	if (checked(fork(), "fork"))
		return;
	close(to[1]);
	if (is_bare)
		drop_tls();
	answer();
}

int main(void)
{
	partner(0);
	MEASURE(WITH_TLS, REPETITIONS, ask());
	close(to[1]);
	wait(NULL);
	partner(1);
	drop_tls();
	MEASURE(BARE, REPETITIONS, ask());
	raw(SYS_exit, 0, 0, 0);
}
