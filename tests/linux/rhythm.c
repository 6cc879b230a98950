// SPDX-License-Identifier: GPL-2.0
/*
 * Whether time passes evenly: prints by how many milliseconds the latest of 20 beats was late, and how much processor
 * time a program that computes gets in a second.
 */
#include <stdio.h>
#include <time.h>

#define BEATS	20
#define BEAT_NS	100000000LL
#define SECOND	1000000000LL
/* The time between two reads of the clock: it is longer if others ran. */
#define GAP_NS	1000000LL

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

int main(void)
{
	long long due = now(), late, latest = 0, end, last, next, had = 0;
	int i;

	for (i = 0; i < BEATS; i++) {
		due += BEAT_NS;
		struct timespec at = { due / SECOND, due % SECOND };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		late = now() - due;
		if (late > latest)
			latest = late;
	}
	last = now();
	end = last + SECOND;
	while (last < end) {
		next = now();
		if (next - last < GAP_NS)
			had += next - last;
		last = next;
	}
	printf("%d %lld %lld\n", BEATS, latest / 1000000, had * 100 / SECOND);
	return 0;
}
