// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What programs expect of Linux, a named check each; passes on any Linux that
 * runs programs of this processor. Prints a line each, and ends with the number that failed.
 */
#include "abi.h"

sigjmp_buf back;
siginfo_t got;
volatile int handled, ticks;

void jump(int sig, siginfo_t *si, void *uc)
{
	got = *si;
	siglongjmp(back, 1);
}

void catch(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags };

	sigaction(sig, &sa, NULL);
}

void tick(int sig, siginfo_t *si, void *uc)
{
	ticks++;
}

int wait_for(int pid, int expected)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	if (status != expected)
		printf("# status %x\n", status);
	CHECK(status == expected);
	return 1;
}

long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#define ROW(name) { #name, name },
static const struct { const char *name; int (*fn)(void); } checks[] = { CHECKS(ROW) CHECKS_HERE(ROW) };

int main(int argc, char **argv)
{
	unsigned int i, failed = 0;

	if (argc == 3 && !strcmp(argv[1], "exit"))
		return atoi(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "as"))
		return as(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "hold"))
		return hold(argv[2]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		int good;

		if (argc > 1 && strcmp(argv[1], checks[i].name))
			continue;
		good = checks[i].fn();
		printf("%s %s\n", good ? "ok" : "not ok", checks[i].name);
		failed += !good;
	}
	return failed;
}
