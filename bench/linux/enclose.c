// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Runs a command of the shell a few times, each time an interval: `enclose TIMES COMMAND`. With a third argument the
 * machine is idle for so many microseconds before each interval.
 */
#include "measure.h"
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND	400

int main(int argc, char **argv)
{
	int status = 0, i;

	if (argc != 3 && argc != 4)
		return 2;
	for (i = 0; i < atoi(argv[1]) && !status; i++) {
		pid_t pid;

		if (argc == 4)
			usleep(atoi(argv[3]));
		BEGIN(COMMAND);
		pid = fork();
		if (!pid) {
			execl("/bin/sh", "sh", "-c", argv[2], (char *)NULL);
			_exit(127);
		}
		waitpid(checked(pid, "fork"), &status, 0);
		END(COMMAND);
	}
	return status != 0;
}
