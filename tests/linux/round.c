// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `round PROCESSES TIMES` passes a number around PROCESSES processes TIMES times. Each adds its own number, and
 * checks that its memory is unchanged. It prints the sum, and fails if that is wrong.
 */
#include "../../bench/linux/measure.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 8192

static unsigned char own[BYTES];

/* Returns the process's exit status. */
static int member(int number, int times, int from, int to)
{
	int i, sum;

	memset(own, number, BYTES);
	for (i = 0; i < times; i++) {
		if (read(from, &sum, sizeof(sum)) != sizeof(sum))
			return 1;
		if (own[0] != (unsigned char)number || own[BYTES - 1] != (unsigned char)number)
			return 2;
		sum += number;
		if (write(to, &sum, sizeof(sum)) != sizeof(sum))
			return 3;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int processes = argc > 1 ? atoi(argv[1]) : 0, times = argc > 2 ? atoi(argv[2]) : 0;
	int first[2], ends[2], from, i, sum = 0, status, failed = 0;

	if (processes < 1 || times < 1 || pipe(first)) {
		fprintf(stderr, "round PROCESSES TIMES\n");
		return 2;
	}
	from = first[0];
	for (i = 0; i < processes; i++) {
		pid_t pid;

		if (pipe(ends) || (pid = fork()) < 0) {
			perror("round");
			return 2;
		}
		if (!pid) {
			close(ends[0]);
			_exit(member(i, times, from, ends[1]));
		}
		close(ends[1]);
		close(from);
		from = ends[0];
	}
	for (i = 0; i < times; i++) {
		/* An interval of the machine model. */
		BEGIN(1);
		if (write(first[1], &sum, sizeof(sum)) != sizeof(sum) || read(from, &sum, sizeof(sum)) != sizeof(sum)) {
			fprintf(stderr, "round: the number is lost\n");
			return 1;
		}
		END(1);
	}
	while (wait(&status) > 0)
		if (status) {
			fprintf(stderr, "round: a process ended with %x\n", status);
			failed = 1;
		}
	printf("%d\n", sum);
	return failed || sum != times * (processes * (processes - 1) / 2);
}
