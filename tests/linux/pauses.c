// SPDX-License-Identifier: MIT OR Apache-2.0
/* Pauses for 10 ms until the file that is named exists; says how many times, and by how many us the latest was too long. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PAUSE	10000

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	long long last = now(), latest = 0;
	int pauses;

	for (pauses = 0; access(argv[1], F_OK); pauses++) {
		long long after;

		usleep(PAUSE);
		after = now();
		if (after - last - PAUSE > latest)
			latest = after - last - PAUSE;
		last = after;
	}
	printf("pauses: %d %lld\n", pauses, latest);
	return 0;
}
