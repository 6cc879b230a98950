// SPDX-License-Identifier: MIT OR Apache-2.0
/* Runs a command of the shell a few times, each time an interval: `enclose TIMES COMMAND`. */
#include "measure.h"
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND	400

int main(int argc, char **argv)
{
	int status = 0, i;

	if (argc != 3)
		return 2;
	for (i = 0; i < atoi(argv[1]) && !status; i++) {
		pid_t pid;

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
