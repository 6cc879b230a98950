// SPDX-License-Identifier: MIT OR Apache-2.0
/* Signals and system calls that they interrupt. */
#include "abi.h"

int signals(void)
{
	sigset_t set, old;
	stack_t stack = { .ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ };
	int pipes[2], pid, fd;
	struct signalfd_siginfo info;
	char c;

	CHECK(!sigaltstack(&stack, NULL));
	catch(SIGSEGV, jump, SA_ONSTACK);
	if (!sigsetjmp(back, 1)) {
		push_without_stack();
		CHECK(!"no signal");
	}
	/* A read starts again after a handler, or fails. */
	CHECK(!pipe(pipes));
	pid = fork();
	if (!pid) {
		usleep(20000);
		kill(getppid(), SIGUSR1);
		usleep(20000);
		write(pipes[1], "x", 1);
		_exit(0);
	}
	catch(SIGUSR1, tick, SA_RESTART);
	ticks = 0;
	CHECK(read(pipes[0], &c, 1) == 1 && ticks == 1);
	if (!wait_for(pid, 0))
		return 0;
	pid = fork();
	if (!pid) {
		usleep(20000);
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	catch(SIGUSR1, tick, 0);
	CHECK(read(pipes[0], &c, 1) == -1 && errno == EINTR);
	if (!wait_for(pid, 0))
		return 0;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &old);
	fd = signalfd(-1, &set, 0);
	kill(getpid(), SIGUSR2);
	CHECK(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGUSR2);
	sigprocmask(SIG_SETMASK, &old, NULL);
	pid = fork();
	if (!pid) {
		signal(SIGPIPE, SIG_DFL);
		close(pipes[0]);
		for (;;)
			write(pipes[1], "x", 1);
	}
	close(pipes[0]);
	return wait_for(pid, SIGPIPE);
}
