// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Makes processes, then threads, until there are no more, ends them and begins again: prints how many there were,
 * or what was wrong. Without one the error is EAGAIN, and none is lost.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 1000
#define ROUNDS 10

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *nothing)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return nothing;
}

/* Each returns how many there were, the error in *error. */
static int processes(int *error)
{
	pid_t made[MOST];
	int n = 0, i, status;

	while (n < MOST && (made[n] = fork()) > 0)
		n++;
	if (n < MOST && made[n] == 0)
		for (;;)
			pause();
	*error = n < MOST ? errno : 0;
	for (i = 0; i < n; i++)
		kill(made[i], SIGTERM);
	for (i = 0; i < n; i++)
		if (waitpid(made[i], &status, 0) < 0 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM)
			*error = -1;
	return n;
}

static int threads(int *error)
{
	pthread_t made[MOST];
	int n = 0, i;

	*error = 0;
	pthread_mutex_lock(&gate);
	while (n < MOST && !(*error = pthread_create(&made[n], NULL, wait_at_gate, NULL)))
		n++;
	pthread_mutex_unlock(&gate);
	for (i = 0; i < n; i++)
		pthread_join(made[i], NULL);
	return n;
}

static int rounds(const char *what, int (*make)(int *))
{
	int first = 0, round;

	for (round = 0; round < ROUNDS; round++) {
		int error, n = make(&error);

		if (error != EAGAIN) {
			printf("%s: error %d (%s) after %d\n", what, error, strerror(error), n);
			return 1;
		}
		if (round == 0)
			first = n;
		if (n == 0 || n < first) {
			printf("%s: %d in round %d, %d at first\n", what, n, round, first);
			return 1;
		}
	}
	printf("%s %d\n", what, first);
	return 0;
}

int main(void)
{
	return rounds("processes", processes) || rounds("threads", threads);
}
