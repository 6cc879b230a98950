// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Runs x11perf twice for each operation, with fewer and with more repetitions: in the difference its start does not
 * count.
 */
#include "measure.h"
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The rows of bench/sections/2-spaces.toml have the difference. */
#define FEW	"20"
#define MANY	"120"

static void x11perf(const char *operation, const char *times)
{
	pid_t pid = checked(fork(), "fork");
	int status;

	if (!pid) {
		dup2(checked(open("/tmp/x11perf", O_WRONLY | O_CREAT | O_TRUNC, 0600), "/tmp/x11perf"), STDOUT_FILENO);
		execl("/usr/bin/x11perf", "x11perf", "-repeat", "1", "-reps", times, operation, (char *)NULL);
		die("x11perf");
	}
	checked(waitpid(pid, &status, 0), "waitpid");
	if (status) {
		fprintf(stderr, "x11perf %s ended with %#x\n", operation, status);
		exit(1);
	}
}

int main(void)
{
	/* What only the first one finds in no cache. */
	x11perf("-pointer", FEW);
	MEASURE(644, 1, x11perf("-pointer", FEW));
	MEASURE(645, 1, x11perf("-pointer", MANY));
	MEASURE(646, 1, x11perf("-prop", FEW));
	MEASURE(647, 1, x11perf("-prop", MANY));
	MEASURE(648, 1, x11perf("-getimage10", FEW));
	MEASURE(649, 1, x11perf("-getimage10", MANY));
	return 0;
}
