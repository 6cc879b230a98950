// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A process with a table of descriptors so large that Linux has it in vmalloc, and a few of them one after the other:
 * what was vmalloc's is unmapped when more than 32 MiB of it wait for that, and the next table lies there again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define DESCRIPTORS (4 << 20)
#define PROCESSES 6

static void die(const char *what)
{
	perror(what);
	exit(1);
}

int main(void)
{
	const struct rlimit limit = { DESCRIPTORS, DESCRIPTORS };
	FILE *most = fopen("/proc/sys/fs/nr_open", "w");
	int i, status;

	if (!most || fprintf(most, "%d\n", DESCRIPTORS) < 0 || fclose(most))
		die("nr_open");
	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("setrlimit");
	for (i = 0; i < PROCESSES; i++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (!child) {
			if (dup2(0, DESCRIPTORS - 1) < 0)
				die("dup2");
			_exit(0);
		}
		if (waitpid(child, &status, 0) != child || status)
			return 1;
		/* Linux frees and unmaps in threads of its own. */
		usleep(50000);
	}
	printf("%d tables\n", PROCESSES);
	return 0;
}
