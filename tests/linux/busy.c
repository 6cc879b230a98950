// SPDX-License-Identifier: MIT OR Apache-2.0
/* Computes, for the profiler: main calls prepare, which calls compute. */
#include <stdio.h>

static __attribute__((noinline)) unsigned compute(unsigned rounds)
{
	unsigned state = 1;

	while (rounds--)
		state = state * 1664525 + 1013904223;
	return state;
}

static __attribute__((noinline)) unsigned prepare(unsigned rounds)
{
	return compute(rounds) ^ rounds;
}

int main(int argc, char **argv)
{
	printf("%u\n", prepare(20000000 + argc));
	return 0;
}
